//! What a client does while it lacks processor time is not attributed to the target.

use crate::close;
use crate::closed::find;
use iogauge_lab::session::Searched;
use iogauge_model::result::StoppedBy;
use iogauge_model::{Caveat, CaveatCode};

const DEVICE: &str = "channels=8,service=100us";

fn told(searched: &Searched) -> Option<&Caveat> {
    searched.caveats.iter().find(|caveat| caveat.code == CaveatCode::ClientStarved)
}

#[test]
fn starved_client_windows_are_excluded_with_a_caveat() {
    let quiet = find(DEVICE, &["p99<=2ms"], |_| {});
    assert_eq!(told(&quiet), None);
    for seed in 1..=4 {
        let device = format!("{DEVICE},starve=every:2s,for:100ms,seed={seed}");
        let searched = find(&device, &["p99<=2ms"], |_| {});
        let answer = &searched.outcome.search.answer;
        // The same as without starvation.
        assert_eq!((answer.met, answer.stopped_by), (true, StoppedBy::Limit), "{answer:?}");
        close(answer.iops.mean, quiet.outcome.search.answer.iops.mean, 3.0);
        close(
            f64::from(answer.queue_depth),
            f64::from(quiet.outcome.search.answer.queue_depth),
            5.0,
        );
        let caveat = told(&searched).unwrap();
        let found = &searched.outcome;
        assert!(
            found.starved.left_out > 0 && found.search.measured_seconds < 30.5,
            "{:?}",
            found.starved
        );
        assert!(caveat.message.contains("waited for a processor"), "{}", caveat.message);
        let with = found.with_starved.as_ref().unwrap();
        assert!(with.iops < 0.98 * answer.iops.mean, "{with:?}");
        assert!(
            caveat.message.contains("including them, the answer's load gave"),
            "{}",
            caveat.message
        );
    }
}

#[test]
fn starved_time_is_included_if_max_starvation_allows() {
    let device = format!("{DEVICE},starve=every:2s,for:100ms");
    let searched = find(&device, &["p99<=2ms"], |plan| plan.max_starvation = 1.0);
    assert_eq!(told(&searched), None);
    assert_eq!(searched.outcome.starved.stretches, 0);
    let quiet = find(DEVICE, &["p99<=2ms"], |_| {}).outcome.search.answer.iops.mean;
    assert!(searched.outcome.search.answer.iops.mean < 0.98 * quiet);
}

#[test]
fn mostly_starved_client_yields_no_decision() {
    for limit in ["p99<=2ms", "mean<=1ms", "p99<=50us"] {
        let device = format!("{DEVICE},starve=every:100ms,for:100ms");
        for budget_ms in [2_000, 30_000] {
            let searched = find(&device, &[limit], |plan| plan.budget_ns = budget_ms * 1_000_000);
            let found = &searched.outcome;
            assert_eq!(found.search.answer.stopped_by, StoppedBy::Starved, "{limit} {budget_ms}");
            assert!(told(&searched).is_some_and(Caveat::is_doubt));
            let spent = found.search.measured_seconds;
            assert!(spent <= 1.05 * budget_ms as f64 / 1e3 + 0.3, "{spent} of {budget_ms} ms");
        }
    }
}

#[test]
fn caveat_states_the_result_including_starved_time() {
    // Each I/O of a starved tenth of a second takes longer than the limit.
    let device = format!("{DEVICE},starve=every:2s,for:100ms");
    let searched = find(&device, &["max<=20ms"], |_| {});
    assert!(searched.outcome.search.answer.met);
    assert!(!searched.outcome.with_starved.as_ref().unwrap().is_met());
    let message = &told(&searched).unwrap().message;
    assert!(message.ends_with("which breaks the limit"), "{message}");
}

#[test]
fn arrivals_due_during_starvation_are_dropped() {
    let open = |device: &str| {
        find(device, &["p99<=2ms"], |plan| {
            plan.open_loop = Some(iogauge_model::load::ArrivalProcess::Poisson);
        })
    };
    let quiet = open(DEVICE).outcome.search.answer.iops.mean;
    for seed in 1..=3 {
        let searched = open(&format!("{DEVICE},starve=every:2s,for:100ms,seed={seed}"));
        close(searched.outcome.search.answer.iops.mean, quiet, 5.0);
        assert!(told(&searched).is_some());
    }
}
