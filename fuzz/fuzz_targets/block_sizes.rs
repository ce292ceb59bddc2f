//! `bs` and `bssplit`. Shares add up to 100 and sizes are usable.
#![no_main]

use iogauge_model::load::{BlockSizes, BlockSplit};
use libfuzzer_sys::fuzz_target;

fn check(split: &BlockSplit) {
    assert_eq!(split.entries().iter().map(|(_, percent)| u64::from(*percent)).sum::<u64>(), 100);
    assert!(split.entries().iter().all(|(size_bytes, _)| *size_bytes > 0));
}

fuzz_target!(|text: &str| {
    let sizes = [BlockSizes::parse_bs(text), BlockSizes::parse_bssplit(text)];
    for sizes in sizes.into_iter().flatten() {
        check(&sizes.read);
        check(&sizes.write);
        assert!(sizes.alignment() >= 1 && sizes.alignment() <= sizes.largest());
    }
});
