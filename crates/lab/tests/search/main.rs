//! Tests the search on devices with a known capacity, in virtual time.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod answer;
mod check;
mod closed;
mod hosts;
mod hosts_curve;
mod open;
mod queue;
mod starvation;

#[track_caller]
fn close(value: f64, wanted: f64, percent: f64) {
    assert!(
        (value / wanted - 1.0).abs() * 100.0 <= percent,
        "{value} is not {wanted} ± {percent} %"
    );
}
