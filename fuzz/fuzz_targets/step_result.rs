//! A step as the history and the documents keep it. What is read can be written and read again,
//! and its histograms answer.
#![no_main]

use iogauge_model::result::{LatencySummary, StepResult};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(step) = serde_json::from_str::<StepResult>(text) else { return };
    for direction in step.read.iter().chain(&step.write).chain(&step.sync) {
        let _ = LatencySummary::of(&direction.service_histogram, [0.0, 0.0]);
        let _ = direction.service_histogram.fold_to_fio();
    }
    let again = serde_json::to_string(&step).expect("a step has a stored form");
    assert!(serde_json::from_str::<StepResult>(&again).is_ok(), "{again}");
});
