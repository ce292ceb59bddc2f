//! Tests specific to GT.M: routines that must count as iogauge does, and processes that can be killed.

mod crash;
mod disk;
mod routines;

use super::Gtm;
use super::install;
use super::settings::Settings;
use super::tools::Tools;
use crate::backend::{Database, Global};
use crate::directory::Directory;
use crate::progress::Progress;
use crate::url::DbUrl;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Returns a database at a place; skips the test if GT.M is not installed.
fn gtm(test: &str, place: &Path, settings: &str) -> Option<Gtm> {
    let Some(dist) = install::find() else {
        iogauge_test_support::skip(test, &install::absent().unwrap());
        return None;
    };
    let url: DbUrl = format!("gtm:{}?{settings}", place.display()).parse().unwrap();
    let directory = Directory::of(&url, super::NAME);
    let tools = Tools::new(dist, directory.path());
    Some(Gtm { directory, settings: Settings::of(&url).unwrap(), tools })
}

fn progressing<T>(act: impl FnOnce(&mut Progress<'_>) -> T) -> T {
    act(&mut Progress::new(&mut |_, _| {}, &AtomicBool::new(false)))
}

fn set_up(gtm: &Gtm, size_bytes: u64, globals: u32, subscripts: u64) {
    progressing(|progress| gtm.setup(size_bytes, progress)).unwrap();
    for number in 1..=globals {
        let global = Global { number, subscripts, value_bytes: 100 };
        progressing(|progress| gtm.create_global(global, progress)).unwrap();
    }
}

/// Returns GT.M's processes that work in a folder, and their commands.
fn processes(folder: &Path) -> Vec<(u32, String)> {
    let folder: PathBuf = folder.canonicalize().unwrap();
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let Ok(id) = entry.file_name().to_string_lossy().parse() else { continue };
        if std::fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd == folder) {
            let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push((id, String::from_utf8_lossy(&line).replace('\0', " ")));
        }
    }
    found
}

/// Kills the processes of a folder whose command contains this word.
fn kill(folder: &Path, word: &str) -> usize {
    signal(folder, word, rustix::process::Signal::KILL)
}

/// Sends a signal to the processes of a folder whose command contains this word.
fn signal(folder: &Path, word: &str, signal: rustix::process::Signal) -> usize {
    let victims: Vec<_> =
        processes(folder).into_iter().filter(|(_, line)| line.contains(word)).collect();
    for (id, _) in &victims {
        let id = rustix::process::Pid::from_raw(*id as i32).unwrap();
        let _ = rustix::process::kill_process(id, signal);
    }
    victims.len()
}
