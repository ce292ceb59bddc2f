//! Retries before a file or device is reported as held.
//!
//! udev and mount probe devices for a moment, and a forked process shares open files and locks with its parent until it
//! calls exec. Neither is a reason to refuse.

use super::error::GuardError;
use crate::targets::error::TargetError;
use std::thread;
use std::time::Duration;

const RETRIES: u32 = 3;
const PAUSE: Duration = Duration::from_millis(100);

/// Repeats an attempt that finds its object held or in use, for up to 300 ms.
pub(crate) fn unless_held_for_long<T>(
    attempt: impl Fn() -> Result<T, TargetError>,
) -> Result<T, TargetError> {
    let mut result = attempt();
    for _ in 0..RETRIES {
        let held = matches!(
            result,
            Err(TargetError::Guard(GuardError::Held { .. } | GuardError::InUse { .. }))
        );
        if !held {
            break;
        }
        thread::sleep(PAUSE);
        result = attempt();
    }
    result
}
