//! TARGET as typed. What it means has to come back from what is shown of it.
#![no_main]

use iogauge_io::target::TargetSpec;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<TargetSpec>() {
        Ok(TargetSpec::Paths(paths)) => assert!(!paths.is_empty()),
        Ok(TargetSpec::Simulated(text)) => assert!(text.starts_with("sim:")),
        Err(error) => assert!(!error.to_string().contains('\n') || text.contains('\n')),
    }
});
