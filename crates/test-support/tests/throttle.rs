//! Limits on the speed of devices.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_test_support::{Loop, MIB, Throttle, or_skip, run};
use std::path::Path;
use std::time::{Duration, Instant};

/// Returns how long this many direct reads of a device take.
fn read(device: &Path, reads: u32) -> Duration {
    let begin = Instant::now();
    let input = format!("if={}", device.display());
    let count = format!("count={reads}");
    run("dd", &[&input, "of=/dev/null", "bs=4k", "iflag=direct", &count]).unwrap();
    begin.elapsed()
}

#[test]
fn each_device_has_its_own_limit() {
    let name = "each_device_has_its_own_limit";
    let memory = Path::new("/dev/shm");
    let [slow, fast] = [(); 2].map(|()| Loop::new_in(memory, 8 * MIB));
    let (slow, fast) = (or_skip!(name, slow), or_skip!(name, fast));
    let _limits = or_skip!(name, Throttle::of_each(&[(&slow.path, 100), (&fast.path, 400)]));
    let times = std::thread::scope(|scope| {
        let both = [(&slow, 100), (&fast, 400)];
        both.map(|(device, reads)| scope.spawn(move || read(&device.path, reads)))
            .map(|reading| reading.join().unwrap().as_secs_f64())
    });
    // A busy machine is slower, but the kernel lets no more pass.
    assert!(times.iter().all(|s| (0.8..3.0).contains(s)), "{times:?}");
}
