//! The clock for latencies: the processor's time-stamp counter if it can be trusted.

use rustix::time::{ClockId, clock_gettime};
use std::sync::OnceLock;

/// Returns `CLOCK_MONOTONIC` in nanoseconds. Takes about 25 ns.
#[must_use]
pub fn monotonic_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Converts a time-stamp counter to nanoseconds on the scale of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
struct Calibration {
    base_ticks: u64,
    base_ns: u64,
    /// Nanoseconds per tick, times 2³².
    multiplier: u64,
}

/// A monotonic nanosecond clock, the same for all threads of the process.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    tsc: Option<Calibration>,
}

impl Clock {
    /// Returns the process's clock. The first call takes 10 ms to calibrate the time-stamp counter against
    /// `CLOCK_MONOTONIC`. The clock is `CLOCK_MONOTONIC` if the counter is missing or not invariant (Intel SDM 3B,
    /// 17.17; AMD APM 2, 13.2.4), or if the kernel does not trust it.
    #[must_use]
    pub fn get() -> Self {
        static CLOCK: OnceLock<Clock> = OnceLock::new();
        *CLOCK.get_or_init(|| Self { tsc: calibrate() })
    }

    /// Returns the current time in nanoseconds. Takes about 8 ns with the counter.
    #[inline(always)]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        match self.tsc {
            Some(calibration) => {
                // On another processor, the counter may lag behind the base by a few ticks.
                let ticks = read_ticks().saturating_sub(calibration.base_ticks);
                let scaled = u128::from(ticks) * u128::from(calibration.multiplier);
                calibration.base_ns + (scaled >> 32) as u64
            }
            None => monotonic_ns(),
        }
    }

    /// Returns the name of the time source: `tsc` or `monotonic`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        if self.tsc.is_some() { "tsc" } else { "monotonic" }
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn read_ticks() -> u64 {
    // SAFETY: every x86-64 processor has RDTSC. User mode may use it if the kernel relies on it, which `calibrate` has
    // checked.
    unsafe { core::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn read_ticks() -> u64 {
    0
}

#[cfg(target_arch = "x86_64")]
fn counter_is_trusted() -> bool {
    use core::arch::x86_64::__cpuid;
    if __cpuid(0x8000_0000).eax < 0x8000_0007 || __cpuid(0x8000_0007).edx & (1 << 8) == 0 {
        return false;
    }
    // The kernel watches the counters of all processors and stops using `tsc` if they disagree.
    let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    std::fs::read_to_string(source).is_ok_and(|text| text.trim() == "tsc")
}

#[cfg(not(target_arch = "x86_64"))]
fn counter_is_trusted() -> bool {
    false
}

/// Reads both clocks close together: of several pairs, returns the one with the smallest gap.
fn read_pair() -> (u64, u64) {
    let mut best = (u64::MAX, 0, 0);
    for _ in 0..16 {
        let before = read_ticks();
        let ns = monotonic_ns();
        let after = read_ticks();
        let gap = after.wrapping_sub(before);
        if gap < best.0 {
            best = (gap, before + gap / 2, ns);
        }
    }
    (best.1, best.2)
}

fn calibrate() -> Option<Calibration> {
    if !counter_is_trusted() {
        return None;
    }
    let (start_ticks, start_ns) = read_pair();
    std::thread::sleep(std::time::Duration::from_millis(10));
    let (end_ticks, end_ns) = read_pair();
    let ticks = end_ticks.checked_sub(start_ticks)?;
    let elapsed_ns = end_ns.checked_sub(start_ns)?;
    if ticks == 0 || elapsed_ns < 1_000_000 {
        return None;
    }
    let multiplier = ((u128::from(elapsed_ns) << 32) / u128::from(ticks)) as u64;
    Some(Calibration { base_ticks: end_ticks, base_ns: end_ns, multiplier })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clock_matches_kernel_monotonic_clock() {
        let clock = Clock::get();
        let (ours, theirs) = (clock.now_ns(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(100));
        let (ours, theirs) = (clock.now_ns() - ours, monotonic_ns() - theirs);
        assert!(ours.abs_diff(theirs) < 200_000, "{ours} {theirs}");
    }

    #[test]
    fn clock_is_monotonic() {
        let clock = Clock::get();
        let mut last = clock.now_ns();
        for _ in 0..100_000 {
            let now = clock.now_ns();
            assert!(now >= last);
            last = now;
        }
    }
}
