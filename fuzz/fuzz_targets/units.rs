//! Sizes, times, counts, rates and percentages as typed; and how numbers are shown.
#![no_main]

use iogauge_model::units::{
    Bandwidth, Bytes, Count, Latency, parse_bytes_per_sec, parse_count, parse_duration_ns,
    parse_percent, parse_size_bytes,
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(size_bytes) = parse_size_bytes(text) {
        let _ = Bytes(size_bytes).to_string();
    }
    if let Ok(duration_ns) = parse_duration_ns(text) {
        let _ = Latency(duration_ns as f64).to_string();
    }
    if let Ok(count) = parse_count(text) {
        let _ = Count(count as f64).to_string();
    }
    if let Ok(bytes_per_sec) = parse_bytes_per_sec(text) {
        let _ = Bandwidth(bytes_per_sec as f64).to_string();
    }
    if let Ok(percent) = parse_percent(text) {
        assert!((0.0..=100.0).contains(&percent));
    }
});
