//! Output of fio, text and JSON. What is read can be kept, and does not depend on how the bytes come
//! in.
#![no_main]

use iogauge_model::fio::{Found, read_results};
use iogauge_model::result::StepResult;
use libfuzzer_sys::fuzz_target;
use std::io::BufReader;

fn read(bytes: &[u8], chunk: usize) -> Vec<Found> {
    let mut all = Vec::new();
    let input = BufReader::with_capacity(chunk, bytes);
    read_results("f", input, &mut |found| all.push(found)).expect("memory is read");
    all
}

fuzz_target!(|bytes: &[u8]| {
    let found = read(bytes, 1 << 16);
    assert!(!found.is_empty(), "a file without results is told of");
    assert_eq!(found, read(bytes, 7));
    for result in found {
        let Found::Result(result) = result else { continue };
        let stored = serde_json::to_string(&result.to_step()).expect("a step has a stored form");
        assert!(serde_json::from_str::<StepResult>(&stored).is_ok(), "{stored}");
    }
});
