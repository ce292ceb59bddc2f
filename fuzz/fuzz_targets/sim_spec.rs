//! What stands behind `sim:`. Whatever is accepted has to make a device.
#![no_main]

use iogauge_io::sim::{Device, SimSpec};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(spec) = text.parse::<SimSpec>() {
        assert!(spec.channels > 0);
        let _ = Device::new(spec);
    }
});
