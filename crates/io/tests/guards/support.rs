//! Helpers that resolve targets for the tests of the guards.

pub use iogauge_test_support::*;

use iogauge_io::targets::{GuardError, Intent, Roots, Target, TargetError};
use std::path::Path;

pub fn reads() -> Intent {
    Intent::default()
}

pub fn writes() -> Intent {
    Intent { writes: true, ..Intent::default() }
}

/// Returns the intent to write, with every consent.
pub fn writes_anything() -> Intent {
    Intent { writes: true, destroy_data: true, overwrite: true, ..Intent::default() }
}

pub fn resolve(path: &Path, intent: Intent) -> Result<Target, TargetError> {
    Target::resolve(&[path.to_owned()], &intent, &Roots::default())
}

/// Returns the guard's refusal. Fails if there is none or if its message has more than one line.
pub fn refusal(path: &Path, intent: Intent) -> GuardError {
    match resolve(path, intent) {
        Err(TargetError::Guard(refusal)) => {
            assert!(!refusal.to_string().contains('\n'), "{refusal}");
            refusal
        }
        other => panic!("{} was not refused: {other:?}", path.display()),
    }
}
