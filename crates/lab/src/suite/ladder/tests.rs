//! Tests of the ladder on made-up rungs.

use super::*;
use crate::suite::SiteKind;
use crate::suite::kit::counted;
use crate::suite::made_up;
use iogauge_model::result::{Cell, Estimate, StepPlace};
use serde_json::json;

fn ladder(typed: &[(&str, &str)]) -> Result<Box<dyn Suite>, SuiteError> {
    made_up::build("ladder", typed)
}

fn refused(typed: &[(&str, &str)]) -> String {
    ladder(typed).unwrap_err().to_string()
}

/// A rung with these IOPS, all I/Os at one latency.
fn step(users: u32, rate: f64, latency_ns: u64) -> SuiteStepResult {
    let place = StepPlace { key: counted(users, "user"), phase: "ladder".to_owned(), round: None };
    made_up::step(place, Some((rate, latency_ns)), None)
}

fn site() -> Site {
    made_up::site(SiteKind::Simulated, &[1 << 30])
}

/// Returns how many of the steps a suite runs, and its conclusion from these.
fn climbed(suite: &dyn Suite, steps: &[SuiteStepResult]) -> (usize, Conclusion) {
    let plan = suite.plan(&site()).unwrap();
    let mut done = Vec::new();
    for (planned, measured) in plan.iter().zip(steps) {
        assert_eq!(planned.place.key, measured.place.key);
        if suite.wants(&site(), planned, &done) {
            done.push(measured.clone());
        }
    }
    (done.len(), suite.conclude(&site(), &done).0)
}

#[test]
fn ladder_ends_when_iops_stop_growing() {
    let suite = ladder(&[]).unwrap();
    let steps = [
        step(1, 10_000.0, 100_000),
        step(2, 20_000.0, 100_000),
        step(4, 36_000.0, 111_000),
        step(8, 44_000.0, 182_000),
        step(16, 90_000.0, 178_000),
    ];
    let (ran, conclusion) = climbed(suite.as_ref(), &steps);
    // 22 % more for 100 % more users. Later rungs do not run.
    assert_eq!(ran, 4);
    let findings = &conclusion.findings;
    assert_eq!((&findings["ended_by"], &findings["users"]), (&json!("growth"), &json!(8)));
    assert_eq!(findings["linear_to_users"], 4);
    assert_eq!(
        conclusion.verdict[0],
        "Count on 44,000 IOPS with 8 users at a mean latency of 182 µs: 8 users bring 22 % more \
         IOPS than 4, at a mean of 182 µs."
    );
    assert!(conclusion.verdict[3].contains("mean <= 10 ms is kept with 8 users"));
    let SuiteTable::Own(table) = &conclusion.tables[0] else { panic!("no table") };
    let percent = |column: usize| match table.rows[3][column] {
        Cell::Percent(percent) => percent.round(),
        ref other => panic!("{other:?}"),
    };
    assert_eq!((percent(8), percent(9)), (22.0, 55.0));
}

#[test]
fn ladder_ends_when_a_limit_is_broken() {
    let suite = ladder(&[("limit", "mean<=10ms,p99<=150us"), ("growth", "0")]).unwrap();
    let steps = [
        step(1, 10_000.0, 100_000),
        step(2, 10_000.0, 100_000),
        step(4, 10_100.0, 140_000),
        step(8, 20_000.0, 400_000),
    ];
    let (ran, conclusion) = climbed(suite.as_ref(), &steps);
    assert_eq!(ran, 4);
    assert_eq!(conclusion.findings["ended_by"], "limit");
    // Four users add one percent, so one user is as good.
    assert_eq!(conclusion.findings["users"], 1);
    assert!(conclusion.verdict[1].starts_with("IOPS do not grow with the users from the first"));
    let first = &conclusion.verdict[0];
    assert!(
        first.contains("with 8 users p99 is 400 µs, which breaks the limit p99 <= 150 µs"),
        "{first}"
    );
    let (ran, conclusion) = climbed(suite.as_ref(), &[step(1, 800.0, 20_000_000)]);
    assert_eq!((ran, &conclusion.findings["users"]), (1, &json!(null)));
    assert_eq!(
        conclusion.verdict[0],
        "Even 1 user breaks the limit mean <= 10 ms: mean is 20.0 ms, at 800 IOPS."
    );
}

#[test]
fn ladder_ends_at_top_rung_or_on_interruption() {
    let suite = ladder(&[("users", "4,1")]).unwrap();
    let steps = [step(1, 10_000.0, 100_000), step(4, 40_000.0, 100_000)];
    let (_, conclusion) = climbed(suite.as_ref(), &steps);
    assert_eq!(conclusion.findings["ended_by"], "users");
    assert!(conclusion.verdict[0].ends_with("no limit broke, and IOPS grew up to this last rung."));
    let (_, conclusion) = climbed(suite.as_ref(), &steps[..1]);
    assert_eq!(conclusion.findings["ended_by"], json!(null));
    assert!(conclusion.verdict[0].ends_with("the run ended at 1 user."));
    assert_eq!(suite.conclude(&site(), &[]).0.verdict, ["Nothing was measured."]);
}

#[test]
fn growth_within_noise_does_not_end_the_ladder() {
    let own = made_up::own("ladder", &[("users", "1,2")]).unwrap();
    let ladder = Ladder { own, limits: vec![Limit::default()], growth: 0.5 };
    let rung = |users, mean: f64, half: f64| {
        let iops = Estimate { mean, ci95: [mean - half, mean + half], n: 100 };
        let step = step(users, mean, 100_000);
        Rung { iops, ..Rung::of(users, step.step().unwrap(), &[]).unwrap() }
    };
    assert!(!ladder.is_growth(&rung(1, 1000.0, 1.0), &rung(2, 1400.0, 1.0)));
    assert!(ladder.is_growth(&rung(1, 1000.0, 50.0), &rung(2, 1400.0, 50.0)));
}

#[test]
fn ladder_rejects_impossible_options_with_reason() {
    assert!(refused(&[("users", "8")]).contains("one rung is not a ladder"));
    assert!(refused(&[("limit", "write:mean<=1ms")]).contains("bounds writes"));
    assert!(refused(&[("rwmixread", "70")]).contains("mixes nothing"));
    assert!(refused(&[("growth", "150")]).contains("between 0 and 100"));
    let suite = ladder(&[("bs", "700")]).unwrap();
    let error = suite.plan(&site()).unwrap_err().to_string();
    assert_eq!(
        error,
        "--bs: 700 is not a multiple of 512, the block of the target; hint: use 1024"
    );
    assert!(ladder(&[("bs", "2g")]).unwrap().plan(&site()).is_err());
}
