#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| iogauge_fuzz::bpftrace(text));
