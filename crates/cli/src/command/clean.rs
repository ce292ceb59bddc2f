//! `iogauge clean`: remove what iogauge made, and nothing else.

use crate::args::CleanArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_io::target::{TargetSpec, clean};
use iogauge_lab::{LabError, Rig};
use std::path::PathBuf;

/// Runs the command.
///
/// # Errors
/// Where a file cannot be looked at or removed.
pub fn run(args: &CleanArgs) -> anyhow::Result<Exit> {
    let spec: TargetSpec = args.target.parse().map_err(LabError::from)?;
    let TargetSpec::Paths(paths) = spec else {
        return Err(Usage("a simulated device leaves nothing to clean".to_owned()).into());
    };
    for cleaned in clean(&paths).map_err(LabError::from)? {
        screen::print(&cleaned.to_string())?;
    }
    Ok(Exit::Done)
}

/// Removes the test files of a run that is over, telling on stderr. Takes the rig, whose lock on
/// the files would say that they are in use.
///
/// # Errors
/// As [`run`].
pub fn remove(rig: Rig) -> anyhow::Result<()> {
    let paths = rig.paths();
    remove_some(rig, &paths)
}

/// Removes some of the test files of a run that is over, as [`remove`] does with all of them.
///
/// # Errors
/// As [`run`].
pub fn remove_some(rig: Rig, paths: &[PathBuf]) -> anyhow::Result<()> {
    drop(rig);
    for cleaned in clean(paths).map_err(LabError::from)? {
        screen::tell(&cleaned.to_string());
    }
    Ok(())
}
