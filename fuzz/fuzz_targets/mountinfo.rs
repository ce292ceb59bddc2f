//! The text of `/proc/PID/mountinfo`.
#![no_main]

use iogauge_io::kernel::parse_mountinfo;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &[u8]| {
    let lines = text.split(|byte| *byte == b'\n').count();
    assert!(parse_mountinfo(text).len() <= lines);
});
