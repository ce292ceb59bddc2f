#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iogauge_test_support::fuzz::verify_state(bytes));
