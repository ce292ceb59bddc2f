//! What the tests of the guards resolve, and how.

pub use iogauge_test_support::*;

use iogauge_io::targets::{GuardError, Intent, Roots, Target, TargetError};
use std::path::Path;

pub fn reads() -> Intent {
    Intent::default()
}

pub fn writes() -> Intent {
    Intent { writes: true, ..Intent::default() }
}

/// Writing with every consent there is.
pub fn writes_anything() -> Intent {
    Intent { writes: true, destroy_data: true, overwrite: true, ..Intent::default() }
}

pub fn resolve(path: &Path, intent: Intent) -> Result<Target, TargetError> {
    Target::resolve(&[path.to_owned()], &intent, &Roots::default())
}

/// The guard's refusal; fails where there is none. Its message must be one line.
pub fn refusal(path: &Path, intent: Intent) -> GuardError {
    match resolve(path, intent) {
        Err(TargetError::Guard(refusal)) => {
            assert!(!refusal.to_string().contains('\n'), "{refusal}");
            refusal
        }
        other => panic!("{} was not refused: {other:?}", path.display()),
    }
}
