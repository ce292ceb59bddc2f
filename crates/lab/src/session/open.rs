//! Opening a target, on this host or on all of several hosts.

use crate::error::LabError;
use crate::session::hosts::{self, Opening, Wanted};
use crate::session::rig::{Medium, Rig};
use iogauge_io::sim::DeviceSlot;
use iogauge_io::targets::{Intent, Roots, Target, TargetError, TargetSpec};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Checks that a path exists or that a size is given. A mistyped directory or device must not
/// become a test file somewhere else, so a named file is made only with an explicit size.
pub(crate) fn there_or_sized(path: &Path, intent: &Intent) -> Result<(), TargetError> {
    let error = path.symlink_metadata().err().map(|error| error.kind());
    let under_a_file = error == Some(ErrorKind::NotADirectory);
    let missing = under_a_file || error == Some(ErrorKind::NotFound);
    let meant_directory = under_a_file || path.as_os_str().as_encoded_bytes().ends_with(b"/");
    if !missing || (intent.size_bytes.is_some() && !meant_directory) {
        return Ok(());
    }
    Err(TargetError::NotFound {
        path: path.to_owned(),
        wanted: if meant_directory {
            "a directory that exists".to_owned()
        } else if path.starts_with("/dev") {
            "a device that does".to_owned()
        } else {
            "a directory, file or device that does, or --size=1g to make a file of this name"
                .to_owned()
        },
    })
}

impl Rig {
    /// Identifies the target and lets the guards judge the intent. Changes nothing.
    ///
    /// # Errors
    /// The target is malformed, does not exist, or is refused.
    pub fn open(text: &str, intent: Intent) -> Result<Self, LabError> {
        Self::open_everywhere(Opening { text: text.to_owned(), wanted: Wanted::All(intent) })
    }

    /// Opens the target on all hosts, if this process leads several.
    fn open_everywhere(opening: Opening) -> Result<Self, LabError> {
        let Some(hosts) = hosts::led() else { return Self::open_here(&opening) };
        let mut rig = Self::open_here(&opening.for_host(1, hosts.number() as u32))?;
        if rig.is_simulated() {
            return Err(LabError::Mismatch(format!(
                "{}: a simulated device is on one host; hint: use hosts=N in it, and one host",
                rig.text()
            )));
        }
        let others = hosts.open(&opening)?;
        rig.compare(opening, &hosts.names(), &others)?;
        Ok(rig)
    }

    /// Opens the target on this host only.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub(crate) fn open_here(opening: &Opening) -> Result<Self, LabError> {
        match &opening.wanted {
            Wanted::All(intent) => Self::open_all(&opening.text, intent.clone()),
            Wanted::Each(wanted) => Self::open_these(&opening.text, wanted),
            Wanted::Database { .. } => Err(hosts::other_target()),
        }
    }

    fn open_all(text: &str, intent: Intent) -> Result<Self, LabError> {
        let roots = Roots::default();
        let medium = match text.parse::<TargetSpec>()? {
            TargetSpec::Simulated(spec) => {
                let spec = spec.trim_start_matches("sim:").parse()?;
                Medium::Simulated(DeviceSlot::new(spec))
            }
            TargetSpec::Paths(paths) => {
                paths.iter().try_for_each(|path| there_or_sized(path, &intent))?;
                Medium::Real(Target::resolve(&paths, &intent, &roots)?)
            }
        };
        Ok(Self::of(text, medium, intent, roots))
    }

    /// Identifies these files and devices and lets the guards judge the intent of each. Without
    /// any, the target has no parts, and only workloads of engine null can run on it.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_each(text: &str, wanted: &[(PathBuf, Intent)]) -> Result<Self, LabError> {
        let wanted = Wanted::Each(wanted.to_vec());
        Self::open_everywhere(Opening { text: text.to_owned(), wanted })
    }

    fn open_these(text: &str, wanted: &[(PathBuf, Intent)]) -> Result<Self, LabError> {
        let roots = Roots::default();
        for (path, intent) in wanted {
            there_or_sized(path, intent).map_err(|error| match error {
                TargetError::NotFound { path, .. } => {
                    let wanted = "a file or device that does, or size=1g in its job to make it";
                    TargetError::NotFound { path, wanted: wanted.to_owned() }
                }
                other => other,
            })?;
        }
        let medium = Medium::Real(Target::resolve_each(wanted, &roots)?);
        let mut intent = wanted.first().map_or_else(Intent::default, |(_, intent)| intent.clone());
        intent.writes = wanted.iter().any(|(_, intent)| intent.writes);
        Ok(Self::of(text, medium, intent, roots))
    }
}
