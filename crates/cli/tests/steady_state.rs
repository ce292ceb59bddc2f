//! Runs that end at a steady state: fio's `steadystate` options.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, skip};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

const USAGE: i32 = 2;

fn run(place: &Place, target: &str, options: &[&str]) -> Done {
    place.run(&[&["run", target, "--ramp-time=0"], options].concat())
}

/// Returns the first step of the document.
fn step(done: &Done) -> Value {
    done.json()["steps"][0].clone()
}

#[test]
fn run_ends_when_the_steady_state_is_attained() {
    let place = Place::new();
    let options = ["--ss=iops:20%", "--ss-dur=5", "--ss-ramp=2", "--runtime=60", "--json"];
    let done = run(&place, "sim:nvme", &options).ends(0);
    let steady = step(&done)["steady_state"].clone();
    // Two seconds are left out, and five measurements fill the window.
    assert_eq!(steady["points"].as_array().unwrap().len(), 5);
    for seconds in [&steady["attained_at_seconds"], &step(&done)["seconds"]] {
        let seconds = seconds.as_f64().unwrap();
        assert!((6.99..7.2).contains(&seconds), "{seconds} s");
    }
    assert!(
        done.stderr.contains("Steady state iops:20% for 5 s: attained after 7.0 s"),
        "{}",
        done.stderr
    );
}

#[test]
fn window_with_a_jump_is_not_steady() {
    // The device serves a burst, then falls to its sustained rate. The window must leave the fall behind.
    let place = Place::new();
    let device = "sim:nvme,iops_cap=1000,burst=20000";
    let options =
        ["--ss=iops:10%", "--ss-dur=4", "--runtime=120", "--rate_iops=8000", "--json", "-q"];
    let done = run(&place, device, &options).ends(0);
    let found = step(&done);
    let iops = |points: &Value| -> Vec<f64> {
        points.as_array().unwrap().iter().map(|point| point["iops"].as_f64().unwrap()).collect()
    };
    let window = iops(&found["steady_state"]["points"]);
    assert!(window.iter().all(|iops| (900.0..1100.0).contains(iops)), "{window:?}");
    let attained = found["steady_state"]["attained_at_seconds"].as_f64().unwrap();
    // 20,000 I/Os at 7,000 above the sustained rate last about 3 s.
    assert!((6.0..9.0).contains(&attained), "{attained} s");
}

#[test]
fn steady_state_that_is_not_attained_is_a_caveat() {
    let place = Place::new();
    let options = ["--ss=iops:0.00001%", "--ss-dur=3", "--runtime=6"];
    let done = run(&place, "sim:nvme", &options).ends(0);
    assert!(
        done.stdout.contains("Steady state iops:0.00001% for 3 s: not attained, "),
        "{}",
        done.stdout
    );
    let caveat = "the steady state iops:0.00001% was not attained: ";
    assert!(done.stdout.contains(caveat), "{}", done.stdout);
    let short =
        run(&place, "sim:nvme", &["--ss=bw_slope:1m", "--ss-dur=30", "--runtime=6"]).ends(0);
    assert!(
        short.stdout.contains("not attained, because no window was complete"),
        "{}",
        short.stdout
    );
    let attained = run(&place, "sim:nvme", &["--ss=lat:1s", "--ss-dur=3", "--runtime=60"]).ends(0);
    assert!(!attained.stdout.contains("was not attained"), "{}", attained.stdout);
}

#[test]
fn contradictory_steady_state_options_are_rejected() {
    let place = Place::new();
    let sim = ["run", "sim:nvme", "-q"];
    for (options, word) in [
        (&["--ss=iops:5%"][..], "has no effect without steadystate_duration"),
        (&["--ss-dur=10"], "--runtime=10m"),
        (&["--ss-dur=1", "--runtime=9"], "at least two intervals"),
        (&["--ss-dur=9", "--ss-interval=1ms", "--runtime=9"], "100ms"),
        (&["--ss-dur=9", "--ss=iops", "--runtime=9"], "not a criterion with a bound"),
        (&["--ss-dur=9", "--ss=p99:5%", "--runtime=9"], "not a criterion with a bound"),
        (&["--ss-dur=9", "--ss=iops:0%", "--runtime=9"], "not above 0"),
        (&["--job", "rw=read ss_dur=9", "--job", "rw=write", "--runtime=60"], "for all of them"),
    ] {
        let told = place.run(&[&sim[..], options].concat()).ends(USAGE).stderr;
        assert!(told.contains(word), "{word}: {told}");
    }
    let told = place.run(&["find", "sim:nvme", "--ss-dur=10"]).ends(USAGE).stderr;
    assert!(told.contains("only iogauge run can do this"), "{told}");
    let file = place.work().join("a.fio");
    fs::write(
        &file,
        "[a]\nioengine=null\nsize=1g\nss_dur=5\nruntime=9\n[b]\nioengine=null\nsize=1g\n",
    )
    .unwrap();
    let told = place.run(&["run", "a.fio", "-q"]).ends(USAGE).stderr;
    assert!(told.contains("a.fio:6: ") && told.contains("stonewall"), "{told}");
}

/// Returns the keys of an object and of the objects in it.
fn keys(value: &Value) -> BTreeSet<String> {
    let object = value.as_object().unwrap();
    let inner = object.values().filter(|value| value.is_object()).flat_map(keys);
    object.keys().cloned().chain(inner).collect()
}

/// Both run a job at a fixed rate, which is steady at once.
#[test]
fn steady_state_of_a_job_file_is_reported_like_fio() {
    const TEST: &str = "steady_state_of_a_job_file_is_reported_like_fio";
    let place = Place::new();
    let job = "[a]\nfilename=f\nsize=1m\nrw=randread\nbs=4k\nioengine=psync\nrate_iops=200\ntime_based\n\
               runtime=60\nss=iops:50%\nss_dur=3\nss_ramp=1\n";
    fs::write(place.work().join("a.fio"), job).unwrap();
    let fio = Command::new("fio")
        .args(["--output-format=json", "--output=fio.json", "a.fio"])
        .current_dir(place.work())
        .status();
    if !fio.is_ok_and(|status| status.success()) {
        skip(TEST, "fio");
        return;
    }
    fs::remove_file(place.work().join("f")).unwrap();
    let theirs: Value =
        serde_json::from_slice(&fs::read(place.work().join("fio.json")).unwrap()).unwrap();
    let ours = place.run(&["run", "a.fio", "-q", "--output-format=json"]).ends(0).json();
    let [theirs, ours] = [theirs, ours].map(|document| document["jobs"][0].clone());
    assert_eq!(keys(&ours["steadystate"]), keys(&theirs["steadystate"]));
    for key in ["ss", "duration", "attained"] {
        assert_eq!(ours["steadystate"][key], theirs["steadystate"][key], "{key}");
    }
    for job in [&theirs, &ours] {
        let seconds = job["read"]["runtime"].as_f64().unwrap() / 1e3;
        // Reported from the first I/O, which may begin after the clock that ends the job.
        assert!((3.5..9.0).contains(&seconds), "{seconds} s");
        assert_eq!(job["steadystate"]["data"]["iops"].as_array().unwrap().len(), 3);
        let iops = job["steadystate"]["data"]["iops_mean"].as_f64().unwrap();
        assert!((150.0..250.0).contains(&iops), "{iops}");
    }
}
