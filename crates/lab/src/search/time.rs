//! Lengths of windows.

/// Interval between two checks while a point is measured.
pub(super) const TICK_NS: u64 = 25_000_000;
/// Minimum length of a window, however fast the device.
pub(super) const SHORTEST_NS: u64 = 250_000_000;
/// Maximum length of a window outside a confirmation, however large the budget: the rest is for the confirmation.
pub(super) const LONGEST_NS: u64 = 5_000_000_000;

/// Returns true if a window is about as long as the shortest useful one.
pub(super) fn is_whole(window_seconds: f64) -> bool {
    window_seconds >= 0.9 * seconds(SHORTEST_NS)
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// Returns when to check again whether a window is long enough. It does not check at each tick, because frequent checks
/// eventually give the desired result by chance.
pub(super) fn next_look_ns(elapsed_ns: u64) -> u64 {
    elapsed_ns + elapsed_ns / 8
}
