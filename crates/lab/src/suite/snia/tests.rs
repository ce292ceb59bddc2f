//! Tests of the rounds and of their conclusions on made-up steps.

use super::super::made_up::build;
use super::super::{Site, Suite, SuiteStep};
use super::made_up::{measured, settings, site};
use super::rounds::{Access, Measure, Rounds};
use crate::stats::steady_state;
use iogauge_model::result::{Conclusion, SuiteStepResult, SuiteTable, Table};
use proptest::prelude::*;

const READS: Access = Access { read_percent: 100, block_bytes: 1 << 20 };
const WRITES: Access = Access { read_percent: 0, block_bytes: 1 << 20 };

fn test_of_two() -> Rounds {
    Rounds {
        name: "snia-test",
        settings: settings(),
        accesses: vec![READS, WRITES],
        trackers: vec![READS, WRITES],
        measure: Measure::Iops,
        random: false,
        precondition_bytes: 1 << 20,
        figures: |_| (String::new(), Table::new("", &[])),
    }
}

fn suite(name: &str, typed: &[(&str, &str)]) -> Box<dyn Suite> {
    build(&format!("snia-{name}"), typed).unwrap()
}

/// Runs a plan as the runner does, each step at the given IOPS.
fn course(
    plan: &[SuiteStep],
    wants: impl Fn(&SuiteStep, &[SuiteStepResult]) -> bool,
    iops: impl Fn(&SuiteStep) -> f64,
) -> Vec<SuiteStepResult> {
    let mut done = Vec::new();
    for step in plan {
        if wants(step, &done) {
            done.push(measured(step, iops(step)));
        }
    }
    done
}

fn run(suite: &dyn Suite, site: &Site, iops: impl Fn(&SuiteStep) -> f64) -> Vec<SuiteStepResult> {
    course(&suite.plan(site).unwrap(), |step, done| suite.wants(site, step, done), iops)
}

fn tables(conclusion: &Conclusion) -> Vec<&Table> {
    let mut own = Vec::new();
    for table in &conclusion.tables {
        if let SuiteTable::Own(table) = table {
            own.push(table);
        }
    }
    own
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn rounds_end_after_first_steady_window(
        reads in prop::collection::vec(900u32..1150, 25),
        writes in prop::collection::vec(900u32..1150, 25),
    ) {
        let (test, site) = (test_of_two(), site());
        let plan = test.plan(&site).unwrap();
        let of = |step: &SuiteStep| match step.place.round {
            Some(round) if step.place.key.starts_with("100/0") => reads[round as usize - 1],
            Some(round) => writes[round as usize - 1],
            None => 1000,
        };
        let done = course(&plan, |s, done| test.wants(&site, s, done), |s| f64::from(of(s)));
        let is_steady = |values: &[u32], last: usize| {
            let rounds: Vec<f64> = values[last - 5..last].iter().map(|v| f64::from(*v)).collect();
            steady_state(rounds.first_chunk().unwrap()).is_steady()
        };
        let expected = (5..=25).find(|last| is_steady(&reads, *last) && is_steady(&writes, *last));
        prop_assert_eq!(done.len(), 1 + 2 * expected.unwrap_or(25));
    }
}

#[test]
fn run_following_the_specification_conforms() {
    for name in ["iops", "throughput", "latency"] {
        let (suite, site) = (suite(name, &[("purged", "")]), site());
        let done = run(suite.as_ref(), &site, |_| 5000.0);
        let (conclusion, caveats) = suite.conclude(&site, &done);
        let findings = &conclusion.findings;
        assert!(findings["conforms"] == true && findings["rounds"] == 5, "{findings}");
        assert!(conclusion.verdict[0].starts_with("Steady in rounds 1 to 5: "));
        assert!(conclusion.verdict[1].contains("conforms to SNIA PTS 2.0.2"));
        assert!(caveats.is_empty());
        let rounds = tables(&conclusion)[1];
        assert!(rounds.title == "Rounds" && rounds.rows.len() == 5);
        assert!(findings["tracked"].as_array().unwrap().iter().all(|t| t["steady"] == true));
    }
}

#[test]
fn table_contains_each_mix_and_block_size_once() {
    let (suite, site) = (suite("iops", &[]), site());
    let done =
        run(
            suite.as_ref(),
            &site,
            |step| if step.place.round == Some(3) { 1100.0 } else { 1000.0 },
        );
    let (conclusion, _) = suite.conclude(&site, &done);
    let matrix = tables(&conclusion)[0];
    assert_eq!((matrix.rows.len(), matrix.columns.len()), (8, 8));
    let cells = conclusion.findings["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 56);
    // Four rounds of 1000 and one of 1100.
    assert!(cells.iter().all(|c| (c["iops"].as_f64().unwrap() - 1020.0).abs() < 0.1), "{cells:?}");
    assert!(conclusion.verdict[0].contains("1,020 IOPS of random 4 KiB writes"));
}

#[test]
fn unsupported_block_sizes_are_left_out() {
    let site = Site { block_bytes: 4096, ..site() };
    for (name, elements) in [("iops", 49), ("latency", 6)] {
        let suite = suite(name, &[("purged", "")]);
        let plan = suite.plan(&site).unwrap();
        assert_eq!(plan.iter().filter(|step| step.place.round == Some(1)).count(), elements);
        let done = run(suite.as_ref(), &site, |_| 1000.0);
        assert_eq!(done.len(), 1 + 5 * elements);
        let (conclusion, _) = suite.conclude(&site, &done);
        let reasons = &conclusion.findings["reasons"];
        assert_eq!(
            reasons[0], "512 B was left out: the target accepts multiples of 4 KiB",
            "{reasons}"
        );
        assert_eq!(reasons.as_array().unwrap().len(), 1);
    }
    let coarse = Site { block_bytes: 16 << 10, ..site };
    let error = suite("latency", &[]).plan(&coarse).unwrap_err().to_string();
    assert!(error.contains("accepts multiples of 16 KiB"), "{error}");
}

#[test]
fn unsteady_test_runs_all_rounds() {
    let (suite, site) = (suite("throughput", &[("purged", "")]), site());
    let done = run(suite.as_ref(), &site, |step| match step.place.round {
        Some(round) if round % 2 == 0 => 1000.0,
        _ => 2000.0,
    });
    assert_eq!(done.len(), 1 + 2 * 25);
    let (conclusion, caveats) = suite.conclude(&site, &done);
    let first = &conclusion.verdict[0];
    assert!(first.starts_with("Not steady within 25 rounds; rounds 21 to 25: "), "{first}");
    assert_eq!(conclusion.findings["conforms"], false);
    assert!(
        caveats.len() == 1 && caveats[0].message.contains("100/0 1 MiB ranged over 62 %"),
        "{caveats:?}"
    );
}

#[test]
fn truncated_run_reports_early_end() {
    let (suite, site) = (suite("throughput", &[("purged", "")]), site());
    let mut done = run(suite.as_ref(), &site, |_| 1000.0);
    done.truncate(1 + 2 * 4 + 1);
    let (conclusion, caveats) = suite.conclude(&site, &done);
    assert_eq!(conclusion.verdict[0], "Ended after 4 complete rounds; the rule needs five.");
    let reasons = conclusion.findings["reasons"].to_string();
    assert!(reasons.contains("ended after 4 rounds") && caveats.is_empty(), "{reasons}");
    // The interrupted step does not count. It runs again when the run is resumed.
    done.last_mut().unwrap().interrupted = true;
    let whole: Vec<_> = done.iter().filter(|step| !step.interrupted).cloned().collect();
    let plan = suite.plan(&site).unwrap();
    assert!(suite.wants(&site, &plan[1 + 2 * 4], &whole));
    let (conclusion, _) = suite.conclude(&site, &[]);
    assert!(conclusion.verdict[0].contains("Ended after 0 complete rounds"));
    assert!(conclusion.findings["reasons"].to_string().contains("not written twice"));
}

#[test]
fn every_step_has_a_distinct_random_seed() {
    for name in ["iops", "latency", "saturation"] {
        let plan = suite(name, &[]).plan(&site()).unwrap();
        let seeds =
            plan.iter().filter(|s| s.place.round.is_some()).map(|s| s.asked().jobs[0].load.seed);
        let mut seeds: Vec<u64> = seeds.collect();
        let steps = seeds.len();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), steps, "{name}");
    }
}

#[test]
fn saturation_ends_after_writing_four_times_capacity() {
    let (suite, site) = (suite("saturation", &[("purged", "")]), site());
    // 24 576 000 writes a minute write 1 TiB in 10.9 rounds, and four times as much in 43.7.
    let quick = |round: u32| if round <= 12 { 409_600.0 } else { 102_400.0 };
    let done = run(suite.as_ref(), &site, |step| quick(step.place.round.unwrap()));
    let written =
        |rounds: usize| -> u64 { done[..rounds].iter().map(|s| s.step().unwrap().bytes()).sum() };
    let four = 4 * site.size_bytes();
    assert!(written(done.len()) >= four && written(done.len() - 1) < four, "{}", done.len());
    let (conclusion, _) = suite.conclude(&site, &done);
    let findings = &conclusion.findings;
    assert_eq!(findings["conforms"], true, "{}", findings["reasons"]);
    assert_eq!(findings["falls_at_bytes"], written(12));
    assert_eq!(
        (&findings["iops_first"], &findings["iops_last"]),
        (&409_600.0.into(), &102_400.0.into())
    );
    assert!(tables(&conclusion)[0].rows.len() <= 20);
    assert!(
        conclusion.verdict[0].contains("fall from 409,600 IOPS to 102,400 once 1.10 TiB"),
        "{:?}",
        conclusion.verdict
    );
    // A device too slow for that ends after 24 hours.
    let slow = run(suite.as_ref(), &site, |_| 1.0);
    assert_eq!(slow.len(), 1440);
    let (conclusion, _) = suite.conclude(&site, &slow);
    assert_eq!(conclusion.findings["conforms"], true);
    assert!(conclusion.verdict[0].contains("do not fall"));
    let (conclusion, _) = suite.conclude(&site, &slow[..1]);
    assert!(conclusion.verdict[0].contains("one round shows no trend"));
    let (conclusion, _) = suite.conclude(&site, &slow[..3]);
    assert!(conclusion.findings["reasons"][0].as_str().unwrap().contains("four times"));
}
