//! Runs fuzz targets on generated input instead of under libFuzzer.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestError, TestRunner};
use std::time::{Duration, Instant};

/// Number of cases between two checks of the time.
const CASES: u32 = 512;

/// Runs a target on one case after another.
pub fn fuzz<S: Strategy>(inputs: &S, target: impl Fn(S::Value))
where
    S::Value: std::fmt::Debug,
{
    let seconds = std::env::var("IOGAUGE_FUZZ_SECONDS").ok().and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(0));
    let config = Config { cases: CASES, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new(config);
    loop {
        let run = runner.run(inputs, |input| {
            target(input);
            Ok(())
        });
        match run {
            Err(TestError::Fail(why, input)) => panic!("{input:?}: {why}"),
            Err(TestError::Abort(why)) => panic!("{why}"),
            Ok(()) if Instant::now() >= end => return,
            Ok(()) => {}
        }
    }
}
