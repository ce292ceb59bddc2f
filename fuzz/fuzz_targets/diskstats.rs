//! The text of `/proc/diskstats`.
#![no_main]

use iogauge_io::system::{DiskCounters, parse_diskstats};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut before = DiskCounters::default();
    for line in parse_diskstats(text) {
        let _ = line.counters.since(&before, line.device);
        before = line.counters;
    }
});
