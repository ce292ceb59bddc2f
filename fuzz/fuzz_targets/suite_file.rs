#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| iogauge_fuzz::suite_file(text));
