//! `iogauge clean`: removes what iogauge made, and nothing else.

use crate::args::CleanArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::target::{TargetSpec, clean, clean_parts};
use iogauge_lab::{LabError, Rig};
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A file cannot be inspected or removed.
pub fn run(args: &CleanArgs) -> anyhow::Result<Exit> {
    let spec: TargetSpec = args.target.parse().map_err(LabError::from)?;
    let TargetSpec::Paths(paths) = spec else {
        return Err(Usage("a simulated device leaves nothing to clean".to_owned()).into());
    };
    for cleaned in clean(&paths).map_err(LabError::from)? {
        screen::say(&cleaned.to_string())?;
    }
    Ok(Exit::Done)
}

/// Removes the test files that a finished run measured, if they are still in place, and reports
/// each on stderr.
///
/// # Errors
/// As [`run`].
pub fn remove(rig: &Rig) -> anyhow::Result<()> {
    remove_where(rig, |_| true)
}

/// Removes some of the test files of a finished run, as [`remove`] removes all of them.
///
/// # Errors
/// As [`run`].
pub fn remove_some(rig: &Rig, paths: &[PathBuf]) -> anyhow::Result<()> {
    // A path as typed may contain symbolic links.
    let real: Vec<_> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    remove_where(rig, |path| paths.iter().chain(&real).any(|wanted| wanted == path))
}

fn remove_where(rig: &Rig, is_wanted: impl Fn(&Path) -> bool) -> anyhow::Result<()> {
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    let parts: Vec<_> = parts.iter().filter(|part| is_wanted(&part.path)).cloned().collect();
    for cleaned in clean_parts(&parts).map_err(LabError::from)? {
        screen::tell(&screen::line(&cleaned.to_string()));
    }
    Ok(())
}
