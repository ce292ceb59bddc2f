//! Tests caveats whose cause cannot be produced, with made-up kernel files.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use iogauge_io::machine::{CounterReader, DeviceTree, Logical, Roots};
use iogauge_lab::caveats;
use iogauge_model::caveat::Command;
use iogauge_model::{Caveat, CaveatCode};
use std::fs;

/// Returns the caveats of a run in which the hypervisor stole this many of 1000 ticks.
fn after_losing(stolen_ticks: u64) -> Vec<Caveat> {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        fs::create_dir_all(dir.path().join("proc")).unwrap();
        fs::write(dir.path().join("proc").join(name), text).unwrap();
    };
    write("meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n");
    write("stat", "cpu  100 0 100 800 0 0 0 0 0 0\n");
    let roots = Roots::at(dir.path());
    let mut reader = CounterReader::open(&roots, &DeviceTree::default()).unwrap();
    let before = reader.read().unwrap();
    write("stat", &format!("cpu  100 0 100 {} 0 0 0 {stolen_ticks} 0 0\n", 1800 - stolen_ticks));
    let after = reader.read().unwrap();
    let totals = after.since(&before, Logical { ios: 1, bytes: 4096 });
    Command::Run.caveats(caveats::machine(&totals.cpu, 0))
}

#[test]
fn steal_time() {
    let told = |stolen_ticks| after_losing(stolen_ticks).into_iter().next();
    let much = told(150).unwrap();
    assert_eq!((much.code, much.is_doubt()), (CaveatCode::StealTime, true));
    assert!(much.message.contains("15.0 %") && !much.hint.is_empty(), "{much:?}");
    let little = told(50).unwrap();
    assert_eq!((little.code, little.is_doubt()), (CaveatCode::StealTime, false));
    assert_eq!(told(10), None);
    assert_eq!(told(0), None);
}
