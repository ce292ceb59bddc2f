//! Lengths of windows.

/// Time between two looks while a point is measured.
pub(super) const TICK_NS: u64 = 25_000_000;
/// No window is shorter, however fast the device.
pub(super) const SHORTEST_NS: u64 = 250_000_000;
/// And none but a hold is longer, however large the budget: what is left goes to the hold.
pub(super) const LONGEST_NS: u64 = 5_000_000_000;

/// True where a window is about as long as the shortest that says something.
pub(super) fn is_whole(window_seconds: f64) -> bool {
    window_seconds >= 0.9 * seconds(SHORTEST_NS)
}

pub(super) fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// When to look again whether a window says enough: not at each tick, since who looks often enough
/// sees what he wants.
pub(super) fn next_look_ns(elapsed_ns: u64) -> u64 {
    elapsed_ns + elapsed_ns / 8
}
