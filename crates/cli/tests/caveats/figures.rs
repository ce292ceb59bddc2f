//! Caveats that the figures themselves raise, mostly on simulated devices made for them.

use crate::common::Place;
use crate::{assert_provoked, assert_raised, assert_silent, noise, of_code, short};
use iogauge_test_support::MIB;

/// Returns the command line of a run of a minute of virtual time.
fn minute<'a>(target: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    let rest = ["--runtime=60", "--ramp-time=0", "--json", "--quiet", "--history=none"];
    [&["run", target], options, &rest].concat()
}

fn find<'a>(target: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["find", target], options, &["--json", "--quiet", "--history=none"]].concat()
}

#[test]
fn depth_not_reached() {
    let place = Place::new();
    noise(&place, "file", 16 * MIB);
    // A read from memory completes within its submission. If I/Os are submitted one by one, two are never outstanding.
    let with = short("file", &["--direct=0", "--iodepth=64", "--iodepth-batch-submit=1"]);
    // Of a real target, the system may hold the submissions up.
    let without = minute("sim:channels=64,service=1ms,dist=const", &["--iodepth=64"]);
    assert_provoked(&place, "depth-not-reached", "doubt", &with, &without);
}

#[test]
fn rate_not_reached() {
    let place = Place::new();
    // The device does 1000 I/Os per second.
    let target = "sim:channels=1,service=1ms,dist=const";
    let with = minute(target, &["--rate-iops=2000", "--iodepth=64"]);
    let without = minute(target, &["--rate-iops=500", "--iodepth=64"]);
    assert_provoked(&place, "rate-not-reached", "doubt", &with, &without);
}

#[test]
fn arrivals_waited() {
    let place = Place::new();
    // The device does eight I/Os at a time, and the queue depth is at most four.
    let target = "sim:channels=8,service=100us";
    let options = ["--open-loop", "--limit=mean<=300us", "--budget=10s"];
    let with = find(target, &[&options[..], &["--max-depth=4"]].concat());
    let without = find(target, &options);
    assert_provoked(&place, "arrivals-waited", "doubt", &with, &without);
}

#[test]
fn nothing_completed() {
    let place = Place::new();
    let with = minute("sim:channels=1,service=100s,dist=const", &[]);
    let without = minute("sim:channels=1,service=50s,dist=const", &[]);
    assert_provoked(&place, "nothing-completed", "doubt", &with, &without);
}

#[test]
fn paused() {
    let place = Place::new();
    let with = minute("sim:channels=8,service=100us,pause=every:20s,for:10s", &["--iodepth=8"]);
    let without = minute("sim:channels=8,service=100us,pause=every:10m,for:10s", &["--iodepth=8"]);
    assert_provoked(&place, "paused", "doubt", &with, &without);
    let seldom = minute("sim:channels=8,service=100us,pause=every:40s,for:2s", &["--iodepth=8"]);
    assert_raised(&place.run(&seldom).ends(0), "paused", "note");
}

#[test]
fn too_few_samples() {
    let place = Place::new();
    let target = "sim:channels=1,service=10ms";
    let with = minute(target, &["--number-ios=50"]);
    let without = minute(target, &["--number-ios=5000"]);
    assert_provoked(&place, "too-few-samples", "doubt", &with, &without);

    // p99.9 needs 10 000 I/Os. The first device does a hundred a second, which is also too few for an answer.
    let limit = ["--limit", "p99.9<=1s", "--budget=20s"];
    let few = place.run(&find(target, &limit)).ends(7);
    assert_raised(&few, "too-few-samples", "doubt");
    let told = of_code(&few, "too-few-samples");
    assert!(told[0]["message"].as_str().unwrap().contains("10,000"), "{told:?}");
    let many = place.run(&find("sim:channels=8,service=100us", &limit)).ends(0);
    assert_silent(&many, "too-few-samples");
    // The mean needs only a hundred I/Os.
    let mean = ["--limit", "mean<=1s", "--budget=20s"];
    assert_silent(&place.run(&find(target, &mean)).ends(0), "too-few-samples");
}

#[test]
fn not_steady() {
    let place = Place::new();
    let with = minute("sim:channels=8,service=1ms,fade=2%", &["--iodepth=8"]);
    let without = minute("sim:channels=8,service=1ms", &["--iodepth=8"]);
    assert_provoked(&place, "not-steady", "doubt", &with, &without);
}

#[test]
fn regime_change() {
    let place = Place::new();
    // 80 000 credits, spent at 7000 a second, last for 11 s.
    let burst = "sim:channels=8,service=1ms,iops_cap=1000,burst=80000";
    let with = minute(burst, &["--iodepth=8"]);
    let without = minute("sim:channels=8,service=1ms,iops_cap=1000", &["--iodepth=8"]);
    assert_provoked(&place, "regime-change", "doubt", &with, &without);
    assert_silent(&place.run(&with).ends(0), "not-steady");
}

#[test]
fn io_errors() {
    let place = Place::new();
    let with = minute("sim:channels=8,service=1ms,eio=5%", &[]);
    let without = minute("sim:channels=8,service=1ms", &[]);
    assert_provoked(&place, "io-errors", "doubt", &with, &without);
}

#[test]
fn latency_overflow() {
    let place = Place::new();
    let hours = |target| {
        let line = ["run", target, "--runtime=5h", "--ramp-time=0", "--json", "--quiet"];
        place.run(&[&line[..], &["--history=none"]].concat()).ends(0)
    };
    assert_raised(&hours("sim:channels=1,service=20m,dist=const"), "latency-overflow", "note");
    assert_silent(&hours("sim:channels=1,service=10m,dist=const"), "latency-overflow");
}

#[test]
fn search_cut_short() {
    let place = Place::new();
    let target = "sim:channels=8,service=100us";
    let (with, without) = (find(target, &["--max-depth=4"]), find(target, &[]));
    assert_provoked(&place, "search-cut-short", "doubt", &with, &without);

    // The caveat counts windows that broke the limit and were left out of the curve.
    let noisy = "sim:channels=8,service=100us,dist=exp,noise=60%:500ms,seed=7";
    let line = find(noisy, &["--limit=p99<=3ms", "--budget=3s"]);
    let told = of_code(&place.run(&line).ends(0), "search-cut-short");
    let message = told[0]["message"].as_str().unwrap();
    assert!(
        message.ends_with("a window with more load broke a limit and was taken for noise"),
        "{message}"
    );
}
