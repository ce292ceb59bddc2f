//! Caveats about several hosts.

use super::common::Place;
use super::{assert_provoked, of_code, short};

/// Ten channels of 1 ms. I/Os of the third host take 4 ms longer.
const FAR: &str = "sim:channels=10,service=1ms,hosts=3,far_host=4ms";
const NEAR: &str = "sim:channels=10,service=1ms,hosts=3";

#[test]
fn several_hosts() {
    let place = Place::new();
    let (with, without) = (short(NEAR, &[]), short("sim:channels=10,service=1ms", &[]));
    assert_provoked(&place, "several-hosts", "note", &with, &without);
}

#[test]
fn straggler() {
    let place = Place::new();
    let find = |target| {
        [
            "find",
            target,
            "--limit=mean<=10ms",
            "--budget=10s",
            "--json",
            "--quiet",
            "--history=none",
        ]
    };
    assert_provoked(&place, "straggler", "doubt", &find(FAR), &find(NEAR));
    let found = &of_code(&place.run(&find(FAR)), "straggler")[0];
    let message = found["message"].as_str().unwrap();
    assert!(message.starts_with("host-3 alone breaks mean <= 10 ms: "), "{message}");
    let run = |target| {
        let options = ["--iodepth=30", "--limit=each:mean<=5ms"];
        [&["run", target][..], &options, &super::SHORT].concat()
    };
    let done = place.run(&run(FAR));
    assert_eq!(done.code, Some(5), "{}", done.stderr);
    assert_eq!(of_code(&done, "straggler").len(), 1);
    assert!(of_code(&place.run(&run(NEAR)).ends(0), "straggler").is_empty());
}
