//! Lengths of windows.

/// Interval between two checks while a point is measured.
pub(super) const TICK_NS: u64 = 25_000_000;
/// Minimum length of a window, however fast the device.
pub(super) const SHORTEST_NS: u64 = 250_000_000;
/// Maximum length of a window outside a confirmation, however large the budget: the rest is for the confirmation.
pub(super) const LONGEST_NS: u64 = 5_000_000_000;

/// Allowed length of a window. The maximum is no less than the minimum.
#[derive(Debug, Clone, Copy)]
pub(super) struct WindowLength {
    pub(super) shortest_ns: u64,
    pub(super) longest_ns: u64,
    /// True if the window continues the last confirmation, at the same queue depth.
    pub(super) resumes: bool,
}

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
