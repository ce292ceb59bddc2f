//! `iogauge clean`: removes what iogauge made, and nothing else.

use crate::args::CleanArgs;
use crate::exit::{Exit, Usage};
use crate::job_source;
use crate::screen;
use anyhow::Context;
use iogauge_lab::session::hosts;
use iogauge_lab::target::{
    Cleaned, LeftBecause, Ownership, TargetSpec, clean, clean_parts, ownership,
};
use iogauge_lab::{LabError, Rig};
use std::path::{Path, PathBuf};

/// Runs the command.
///
/// # Errors
/// A job file, or a file that cannot be inspected or removed.
pub fn run(args: &CleanArgs) -> anyhow::Result<Exit> {
    job_source::refuse_with(&args.target, |_| "use its files or their directory".to_owned())?;
    let spec: TargetSpec = args.target.parse().map_err(LabError::from)?;
    let TargetSpec::Paths(paths) = spec else {
        return Err(Usage("a simulated device leaves nothing to clean".to_owned()).into());
    };
    let mut exit = Exit::Done;
    for path in paths {
        for cleaned in clean_target(path)? {
            screen::say(&cleaned.to_string())?;
            if let Cleaned::Left { because: LeftBecause::InUse | LeftBecause::Refused(_), .. } =
                cleaned
            {
                exit = Exit::Refused;
            }
        }
    }
    Ok(exit)
}

/// Removes the test files of a path. In a directory, these are all that iogauge made, whatever their names:
/// those of job files have fio's.
fn clean_target(path: PathBuf) -> anyhow::Result<Vec<Cleaned>> {
    let own = own_files(&path)?;
    // Without any, the file that a run would use says what is wrong.
    let files = if own.is_empty() { vec![path] } else { own };
    Ok(clean(&files).map_err(LabError::from)?)
}

/// Returns the files in a directory that iogauge made, sorted. Skips links, directories, and files that cannot
/// be read.
fn own_files(directory: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !directory.is_dir() {
        return Ok(Vec::new());
    }
    let failed = || format!("cannot look into {}", directory.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(failed)? {
        let entry = entry.with_context(failed)?;
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && matches!(ownership(&entry.path()), Ok(Ownership::Ours(_))) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

/// Removes the test files that a finished run measured, if they are still in place, and reports
/// each on stderr.
///
/// # Errors
/// As [`run`].
pub fn remove(rig: &Rig) -> anyhow::Result<()> {
    remove_where(rig, |_| true)?;
    remove_on_others(None)
}

/// Removes some of the test files of a finished run, as [`remove`] removes all of them.
///
/// # Errors
/// As [`run`].
pub fn remove_some(rig: &Rig, paths: &[PathBuf]) -> anyhow::Result<()> {
    // A path as typed may contain symbolic links.
    let real: Vec<_> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let wanted: Vec<_> = paths.iter().chain(&real).cloned().collect();
    remove_where(rig, |path| wanted.iter().any(|wanted| wanted == path))?;
    remove_on_others(Some(&wanted))
}

/// Lets the other hosts of the run remove what they made.
fn remove_on_others(paths: Option<&[PathBuf]>) -> anyhow::Result<()> {
    let Some(hosts) = hosts::led() else { return Ok(()) };
    for line in hosts.remove(paths)? {
        screen::tell(&screen::line(&line));
    }
    Ok(())
}

fn remove_where(rig: &Rig, is_wanted: impl Fn(&Path) -> bool) -> anyhow::Result<()> {
    let parts = rig.target().map_or(&[][..], |target| &target.parts);
    let parts: Vec<_> = parts.iter().filter(|part| is_wanted(&part.path)).cloned().collect();
    for cleaned in clean_parts(&parts).map_err(LabError::from)? {
        screen::tell(&screen::line(&cleaned.to_string()));
    }
    Ok(())
}
