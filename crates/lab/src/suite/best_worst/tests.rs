//! Tests of the suite on made-up steps.

use super::plan::{CACHED_READ, HYBRID, RANDOM_READ, RANDOM_WRITE, ROUNDS, SEQUENTIAL_READ};
use super::*;
use crate::suite::made_up::{self, site};
use crate::suite::{SiteKind, Work};
use iogauge_model::Impact;
use iogauge_model::result::StepPlace;
use serde_json::json;

const GIB: u64 = 1 << 30;

fn suite(typed: &[(&str, &str)]) -> Box<dyn Suite> {
    made_up::build("best-worst", typed).unwrap()
}

fn refused(typed: &[(&str, &str)]) -> String {
    made_up::build("best-worst", typed).unwrap_err().to_string()
}

type Side = Option<(f64, u64)>;

fn step(phase: &str, key: &str, read: Side, write: Side) -> SuiteStepResult {
    let round = key.strip_prefix("round ").map(|number| number.parse().unwrap());
    made_up::step(StepPlace { key: key.to_owned(), phase: phase.to_owned(), round }, read, write)
}

fn round(number: usize, rate: f64) -> SuiteStepResult {
    step(ROUNDS, &format!("round {number}"), None, Some((rate, 1_000_000)))
}

/// Returns the rounds that the suite runs on a device with these rates.
fn rounds_wanted(suite: &dyn Suite, rates: impl Fn(usize) -> f64) -> Vec<SuiteStepResult> {
    let site = site(SiteKind::Simulated, &[GIB]);
    let mut done = Vec::new();
    for planned in suite.plan(&site).unwrap() {
        if planned.place.phase == ROUNDS && suite.wants(&site, &planned, &done) {
            done.push(round(done.len() + 1, rates(done.len())));
        }
    }
    done
}

#[test]
fn rounds_end_when_five_consecutive_are_steady() {
    let suite = suite(&[]);
    assert_eq!(rounds_wanted(suite.as_ref(), |_| 1000.0).len(), 5);
    let falling = |round: usize| if round < 4 { 5000.0 / (round + 1) as f64 } else { 1000.0 };
    let done = rounds_wanted(suite.as_ref(), falling);
    assert_eq!(done.len(), 9);
    let place = site(SiteKind::Simulated, &[20 * GIB]);
    let (conclusion, caveats) = suite.conclude(&place, &done);
    assert_eq!(conclusion.findings["steady_at_round"], 9);
    assert_eq!(caveats, []);
    let never = rounds_wanted(suite.as_ref(), |round| if round % 2 == 0 { 1000.0 } else { 2000.0 });
    assert_eq!(never.len(), 25);
    let (conclusion, caveats) = suite.conclude(&place, &never);
    assert_eq!(caveats[0].code, CaveatCode::NotSteady);
    assert!(
        conclusion.verdict[1].starts_with("The target was not steady after 25 rounds, in which")
    );
}

#[test]
fn interrupted_round_is_not_counted() {
    let suite = suite(&[]);
    let mut done: Vec<SuiteStepResult> = (1..=4).map(|number| round(number, 1000.0)).collect();
    done.push(SuiteStepResult { interrupted: true, ..round(5, 1000.0) });
    assert_eq!(suite.conclude(&site(SiteKind::Simulated, &[GIB]), &done).0.findings["rounds"], 4);
}

#[test]
fn verdict_states_best_and_worst_in_one_sentence() {
    let suite = suite(&[("users", "8"), ("cache", "64m")]);
    let slow = Some((10_000.0, 800_000));
    let steps = [
        step("best", SEQUENTIAL_READ, Some((500_000.0, 100_000)), None),
        step("best", CACHED_READ, Some((80_000.0, 100_000)), None),
        step("worst", RANDOM_READ, Some((20_000.0, 400_000)), None),
        step("worst", RANDOM_WRITE, None, slow),
        step("worst", HYBRID, Some((8_000.0, 400_000)), Some((4_000.0, 800_000))),
        step("dependent", "dependent 1 user", Some((1000.0, 400_000)), Some((1000.0, 600_000))),
        step("dependent", "independent 1 user", Some((1000.0, 400_000)), Some((1000.0, 600_000))),
        step("dependent", "dependent 8 users", Some((5000.0, 400_000)), Some((5000.0, 600_000))),
        step("dependent", "independent 8 users", Some((6000.0, 400_000)), Some((6000.0, 600_000))),
    ];
    let (conclusion, caveats) = suite.conclude(&site(SiteKind::Devices, &[GIB]), &steps);
    assert_eq!(
        conclusion.verdict,
        [
            "At its best 2.05 GB/s and 80,000 IOPS, at its worst 10,000 IOPS (random write; the best \
             is 8.0 times as high).",
            "A reader and a writer at the same time get 8,000 and 4,000 IOPS.",
            "Where each block is written back before the next is read, one user makes 1,000 updates/s of \
             two I/Os each, 17 % of the 12,000 IOPS of 8 users that do not wait; 8 such users make 5,000 \
             updates/s.",
        ]
    );
    let findings = conclusion.findings;
    assert_eq!(
        (&findings["best_to_worst"], &findings["capacity_read"]),
        (&json!(8.0), &json!(null))
    );
    assert_eq!(findings["dependent"][1]["updates_per_sec"], 5000.0);
    assert_eq!(caveats, []);
    assert_eq!(
        suite.conclude(&site(SiteKind::Devices, &[GIB]), &[]).0.verdict,
        ["Nothing was measured."]
    );
}

#[test]
fn small_target_caveat_depends_on_known_cache_size() {
    let caveat = |typed: &[(&str, &str)], size_bytes| {
        let place = site(SiteKind::Devices, &[size_bytes, 100 * GIB]);
        let (_, caveats) = suite(typed).conclude(&place, &[]);
        caveats.first().map(|caveat| (caveat.code, caveat.impact))
    };
    assert_eq!(caveat(&[], 10 * GIB), None);
    assert_eq!(caveat(&[], 9 * GIB), Some((CaveatCode::SmallerThanCache, Impact::Note)));
    assert_eq!(caveat(&[("cache", "2g")], 10 * GIB).unwrap().1, Impact::Doubt);
    assert_eq!(caveat(&[("cache", "512m")], 9 * GIB), None);
}

#[test]
fn read_only_suite_plans_no_writes() {
    let place = site(SiteKind::Devices, &[GIB]);
    let reading = suite(&[("read-only", ""), ("limit", "mean<=1ms,write:p99<=2ms")]);
    assert!(!reading.needs().writes);
    let plan = reading.plan(&place).unwrap();
    assert!(plan.iter().all(|step| !step.writes()));
    let keys: Vec<&str> = plan.iter().map(|step| step.place.key.as_str()).collect();
    assert_eq!(
        keys,
        ["sequential read", "fill cache", "cached read", "random read", "capacity random read"]
    );
    let Work::Search { plan, .. } = &plan[4].work else { panic!("no search") };
    assert_eq!(plan.limits.len(), 1, "a limit on writes bounds no reads");
    assert!(suite(&[]).needs().writes);
    assert!(
        refused(&[("read-only", ""), ("limit", "write:p99<=2ms")])
            .contains("--read-only makes none")
    );
}

#[test]
fn hot_region_fits_in_cache_and_target() {
    let hot = |cache: Option<u64>, part_bytes| {
        let suite = BestWorst {
            block_bytes: 4096,
            cache_bytes: cache,
            users: 1,
            runtime_ns: 1,
            round_ns: 1,
            rounds: 5,
            limits: vec![Limit::default()],
            budget_ns: 1,
            read_only: false,
            size_bytes: None,
        };
        suite.hot_bytes(&site(SiteKind::Devices, &[part_bytes]))
    };
    assert_eq!(hot(None, 100 * GIB), GIB / 2);
    assert_eq!(hot(Some(64 << 20), 100 * GIB), 32 << 20);
    assert_eq!(hot(None, 40 << 20), 4 << 20);
    assert_eq!(hot(Some(1), 100 * GIB), 4096);
}

#[test]
fn expected_drift_and_cache_caveats_are_suppressed() {
    let suite = suite(&[]);
    let place = site(SiteKind::Devices, &[GIB]);
    let filter = suite.caveat_filter(&place, &[]);
    let kept = |step: &SuiteStepResult, code| filter(&Caveat::of(code, ""), step);
    let (round, worst) = (round(1, 1.0), step("worst", RANDOM_READ, None, None));
    assert!(!kept(&round, CaveatCode::NotSteady) && kept(&worst, CaveatCode::NotSteady));
    let fill = step("best", plan::FILL_CACHE, None, None);
    assert!(!kept(&fill, CaveatCode::TooFewSamples) && kept(&fill, CaveatCode::IoErrors));
    let cached = step("best", CACHED_READ, None, None);
    assert!(!kept(&cached, CaveatCode::PageCache) && kept(&worst, CaveatCode::PageCache));
}

#[test]
fn best_worst_rejects_impossible_options_with_hint() {
    assert!(refused(&[("rounds", "4")]).contains("takes five rounds"));
    assert!(refused(&[("budget", "1ms")]).contains("hint: use 1s or more"));
    let small = suite(&[]).plan(&site(SiteKind::Devices, &[4 << 20])).unwrap_err().to_string();
    assert!(small.ends_with("too little for a best and a worst; hint: use 8m or more"), "{small}");
}
