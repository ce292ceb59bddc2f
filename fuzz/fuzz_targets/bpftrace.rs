#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| iogauge_test_support::fuzz::bpftrace(text));
