#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| iogauge_fuzz::fio_results(bytes));
