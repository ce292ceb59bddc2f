//! A domain as a Landlock ruleset (landlock(7)).

use super::{ConfineError, Grant};
use ::landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset as Builder, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, make_bitflags,
};
use std::fs::File;
use std::io;

/// A ruleset created in the kernel, ready to be enforced.
pub(super) struct Ruleset(RulesetCreated);

/// Creates a ruleset that allows writing to these objects only.
pub(super) fn ruleset(grants: &[Grant]) -> Result<Ruleset, ConfineError> {
    built(grants).map(Ruleset).map_err(|error| ConfineError::Landlock(in_words(&error)))
}

fn built(grants: &[Grant]) -> Result<RulesetCreated, RulesetError> {
    let everything = AccessFs::from_write(ABI::V5);
    // Writing to the file, and ioctls on a device if the kernel can restrict those.
    let bytes = make_bitflags!(AccessFs::{WriteFile | IoctlDev});
    let mut ruleset = Builder::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_write(ABI::V3))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::IoctlDev)?
        .create()?;
    for grant in grants {
        let access: BitFlags<AccessFs> = match grant {
            Grant::Object(_) => bytes,
            Grant::Ioctls(_) => AccessFs::IoctlDev.into(),
            Grant::Directory(_) => everything,
        };
        ruleset = ruleset.add_rule(PathBeneath::new(grant.fd(), access))?;
    }
    if let Ok(null) = File::open("/dev/null") {
        ruleset = ruleset.add_rule(PathBeneath::new(null, AccessFs::WriteFile))?;
    }
    Ok(ruleset)
}

impl Ruleset {
    /// Confines this thread.
    pub(super) fn enforce(self) -> Result<(), ConfineError> {
        self.0.restrict_self().map(drop).map_err(|error| ConfineError::Landlock(in_words(&error)))
    }

    /// Like [`Self::enforce`], for use between fork and exec: does not allocate.
    pub(super) fn enforce_raw(self) -> io::Result<()> {
        self.0.restrict_self().map(drop).map_err(|_| io::ErrorKind::PermissionDenied.into())
    }
}

/// Returns the text of an error and its causes.
fn in_words(error: &RulesetError) -> String {
    let mut words = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        let inner_words = inner.to_string();
        if !words.contains(&inner_words) {
            words = format!("{words}: {inner_words}");
        }
        cause = inner.source();
    }
    words
}
