//! Verification by a later run, from the state that the writing run saved: fio's `verify_state_save` and
//! `verify_state_load`.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, eventually};
use serde_json::Value;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;

const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const WRONG: i32 = 4;
const INTERRUPTED: i32 = 130;
/// Size of a test file's header.
const BASE: u64 = 1 << 20;
const STATE: &str = "local-one-0-verify.state";
const SAVE: [&str; 6] = [
    "--rw=randwrite",
    "--number_ios=1000",
    "--norandommap=0",
    "--verify=crc32c",
    "--direct=0",
    "--name=one",
];

/// Runs the load on `t`, a file of 4 MiB.
fn run(place: &Place, options: &[&str]) -> Done {
    place.run(
        &[&["run", "t", "--size=4m", "--ramp-time=0", "-q", "--json"], &SAVE[..], options].concat(),
    )
}

fn load(place: &Place) -> Done {
    run(place, &["--verify_only", "--verify_state_load"])
}

fn verify(done: &Done) -> Value {
    done.json()["steps"][0]["verify"].clone()
}

fn kinds(verify: &Value) -> Vec<String> {
    let findings = verify["findings"].as_array().unwrap().iter();
    findings.map(|finding| finding["reason"]["kind"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn interrupted_write_is_verified_up_to_where_it_came() {
    let place = Place::new();
    let slow = ["run", "t", "--size=4m", "--ramp-time=0", "--rate_iops=200", "--verify_state_save"];
    let running = place.start(&[&slow[..], &SAVE].concat());
    let path = place.work().join("t");
    let written = || {
        let text = fs::read(&path).unwrap_or_default();
        text.chunks(4096).filter(|block| block.starts_with(b"IOGverif")).count()
    };
    eventually(|| written() > 50);
    running.signal("INT");
    let ended = running.end().ends(INTERRUPTED);
    assert!(ended.stderr.contains("verify state local-one-0-verify.state"), "{}", ended.stderr);
    let written = written() as u64;
    assert!((50..900).contains(&written), "{written}");
    // Without the state, blocks that were never written count as lost.
    let blind = verify(&run(&place, &["--verify_only"]).ends(WRONG));
    assert!(blind["corrupted"].as_u64().unwrap() > 100, "{blind}");
    let informed = verify(&load(&place).ends(0));
    assert_eq!(informed["corrupted"], 0, "{informed}");
    assert_eq!(informed["units"], written, "{informed}");
    assert_eq!(informed["unjudged"], 1000 - written, "{informed}");
    assert_eq!(informed["unwritten"], 1000 - written, "{informed}");
}

#[test]
fn lost_and_stale_writes_are_found_by_a_later_run() {
    let place = Place::new();
    let path = place.work().join("t");
    run(&place, &[]).ends(0);
    let before = fs::read(&path).unwrap();
    // A second run writes the same blocks with another number of the run.
    assert_eq!(verify(&run(&place, &["--verify_state_save"]).ends(0))["corrupted"], 0);
    assert_eq!(verify(&load(&place).ends(0))["units"], 1000);
    let file = File::options().write(true).open(&path).unwrap();
    let lost = |block: u64| {
        let at = BASE + block * 4096;
        file.write_all_at(&before[at as usize..at as usize + 4096], at).unwrap();
    };
    (100..103).for_each(lost);
    // Each of these blocks is a whole block of this load, in its place.
    assert_eq!(verify(&run(&place, &["--verify_only"]).ends(0))["corrupted"], 0);
    let found = verify(&load(&place).ends(WRONG));
    assert_eq!(kinds(&found), ["other_run"; 3], "{found}");
}

#[test]
fn unusable_states_are_rejected() {
    let place = Place::new();
    let told = load(&place).ends(USAGE).stderr;
    assert!(told.contains("hint: use --verify_state_save with the run that writes"), "{told}");
    run(&place, &["--verify_state_save"]).ends(0);
    let told = run(&place, &["--verify_only", "--verify_state_load", "--bs=8k"]).ends(USAGE).stderr;
    assert!(told.contains("has blocks of 4096 bytes with crc32c"), "{told}");
    let told = run(&place, &["--verify_state_load"]).ends(USAGE).stderr;
    assert!(told.contains("--verify_only"), "{told}");
    let path = place.work().join(STATE);
    let mut text = fs::read(&path).unwrap();
    let end = text.len() - 100;
    text[end] ^= 1;
    fs::write(&path, &text).unwrap();
    assert!(load(&place).ends(USAGE).stderr.contains("it is damaged"));
    // iogauge replaces its own file, and no other.
    run(&place, &["--verify_state_save"]).ends(0);
    fs::write(&path, "mine\n").unwrap();
    let told = run(&place, &["--verify_state_save"]).ends(REFUSED).stderr;
    assert!(told.contains("is not a verify state of iogauge"), "{told}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    assert!(load(&place).ends(USAGE).stderr.contains("it is not a verify state of iogauge"));
}

/// Clones of a job file have a state each, numbered as in fio.
#[test]
fn job_file_saves_and_loads_a_state_for_each_clone() {
    let place = Place::new();
    let job = "[global]\ndirectory=.\nsize=1m\nrw=randwrite\nioengine=psync\nverify=md5\n[a]\nnumjobs=2\n[b/c]\nfilename=f\n";
    let write = |text: &str| fs::write(place.work().join("a.fio"), text).unwrap();
    write(job);
    place.run(&["run", "a.fio", "-q"]).ends(0);
    assert!(!place.names().iter().any(|name| name.ends_with(".state")), "{:?}", place.names());
    write(&job.replace("verify=md5", "verify=md5\nverify_state_save=1"));
    place.run(&["run", "a.fio", "-q"]).ends(0);
    let states: Vec<String> =
        place.names().into_iter().filter(|name| name.ends_with(".state")).collect();
    let expected = ["local-a-0-verify.state", "local-a-1-verify.state", "local-b.c-2-verify.state"];
    assert_eq!(states, expected);
    let load = job.replace("verify=md5", "verify=md5\nverify_only=1\nverify_state_load=1");
    write(&load);
    let done = place.run(&["run", "a.fio", "-q", "--json"]).ends(0);
    assert_eq!(verify(&done)["units"], 3 * 256);
}
