//! The device under a database: where its test file is, and which workload it gets.

use super::{about, side};
use crate::args::DbBesideArgs;
use crate::command::clean;
use crate::exit::Usage;
use iogauge_lab::db::{DbLoad, DbTarget, Mode};
use iogauge_lab::measure::Watch;
use iogauge_lab::search::SearchPlan;
use iogauge_lab::target::{Intent, side_file};
use iogauge_lab::{Region, Rig, session};
use iogauge_model::caveat::Command;
use iogauge_model::limit::{Side, tightest};
use iogauge_model::load::{BlockSizes, Load, Pattern, SyncMode};
use iogauge_model::result::BesideSide;
use iogauge_model::{Caveat, Limit};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Name of the test file. No other command uses it, so an existing one was left by a killed
/// command.
const TEST_FILE_NAME: &str = "iogauge-beside.dat";
/// A test file takes at most one part in this many of the free space.
const FREE_SHARE: u64 = 10;
/// A smaller test file fits into any cache.
const LEAST_BYTES: u64 = 64 << 20;
/// Upper bound of the queue depth.
const MOST_DEPTH: u32 = 16_384;

/// A test file to be made, with its workload and limits.
pub(super) struct Device {
    rig: Rig,
    load: Load,
    limits: Vec<Limit>,
}

impl Device {
    /// Returns the device measurement that belongs to a database. Makes and changes nothing.
    ///
    /// # Errors
    /// No test file can be made on the database's file system.
    pub(super) fn under(
        target: &DbTarget,
        asked: &DbLoad,
        plan: &SearchPlan,
        args: &DbBesideArgs,
    ) -> anyhow::Result<Self> {
        let directory = directory(&target.database().paths()?, args.directory.as_deref())?;
        let size_bytes = args.size.unwrap_or_else(|| default_size(&directory, target));
        let path = directory.join(TEST_FILE_NAME);
        // The file is always written, so the guards refuse one that belongs to somebody else.
        let intent = Intent { writes: true, size_bytes: Some(size_bytes), ..Intent::default() };
        let mut rig = Rig::open_each(&path.display().to_string(), &[(path.clone(), intent)])?;
        rig.set_command(Command::DbBesideDevice);
        let (engine, _) = rig.engine(None)?;
        let load = Load { engine, ..load(asked.mode, &plan.limits, target) };
        Ok(Self { rig, load, limits: limits(&plan.limits) })
    }

    /// Measures the device, then removes the test file.
    ///
    /// # Errors
    /// The test file cannot be made or removed, or a fault while measuring.
    pub(super) fn measure(
        mut self,
        plan: &SearchPlan,
        watch: &mut Watch<'_>,
    ) -> anyhow::Result<(BesideSide, Vec<Caveat>)> {
        let searched = self.search(plan, watch);
        let removed = clean::remove(&self.rig);
        let searched = searched?;
        removed?;
        Ok(searched)
    }

    fn search(
        &mut self,
        plan: &SearchPlan,
        watch: &mut Watch<'_>,
    ) -> anyhow::Result<(BesideSide, Vec<Caveat>)> {
        let Self { rig, load, limits } = self;
        let plan = SearchPlan { limits: limits.clone(), max_depth: MOST_DEPTH, ..plan.clone() };
        let (_, mut found) = session::ready_on(rig, &[(load.clone(), Region::All)], watch)?;
        let searched = session::find(rig, load, &plan, watch)?;
        found.extend(searched.caveats);
        Ok((side(label(load), searched.outcome.search), about("device", found)))
    }
}

/// Returns the label without the queue depth, because the search varies the queue depth.
fn label(load: &Load) -> String {
    let durable = if load.sync == SyncMode::Dsync { ", durable" } else { "" };
    format!("{}{durable}", load.label().replace(&format!(" depth {}", load.queue_depth()), ""))
}

/// Returns the equivalent workload for a device: random I/O with the database's block size. If
/// commits are bounded and wait for the medium, each write waits, too.
fn load(mode: Mode, limits: &[Limit], target: &DbTarget) -> Load {
    let (rw, read_percent) = match mode {
        Mode::Read => (Pattern::RandRead, None),
        Mode::Write => (Pattern::RandWrite, None),
        Mode::Io { read_percent } => (Pattern::RandRw, Some(read_percent)),
        Mode::ReadersWriters { .. } => (Pattern::RandRw, None),
    };
    let usual = Load::default();
    let bounds_commits = limits.iter().any(|limit| limit.side == Side::Sync);
    let durable = bounds_commits && target.about.may_lose.is_none();
    Load {
        rw,
        read_percent: read_percent.unwrap_or(usual.read_percent),
        block: BlockSizes::fixed(target.about.block_bytes),
        sync: if durable { SyncMode::Dsync } else { usual.sync },
        ..usual
    }
}

/// A device makes no commits, so a limit on commits becomes a limit on writes.
fn limits(of_database: &[Limit]) -> Vec<Limit> {
    tightest(of_database.iter().map(|limit| match limit.side {
        Side::Sync => Limit { side: Side::Write, ..*limit },
        _ => *limit,
    }))
}

/// Returns the directory for the test file, on the file system that holds the database's `paths`:
/// the requested one, or the parent of the database's.
fn directory(paths: &[PathBuf], asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let paths: Vec<PathBuf> = paths.iter().filter_map(|path| path.canonicalize().ok()).collect();
    let Some(first) = paths.first() else {
        let text = "the database is not on this machine, and neither is its device; hint: use \
                    iogauge db beside on the server itself";
        return Err(Usage(text.to_owned()).into());
    };
    let found = match asked {
        Some(asked) => named(asked, &paths),
        None => match first.parent().filter(|around| same_file_system(around, first)) {
            Some(around) => Ok(around.to_owned()),
            None => Err(format!(
                "the database at {0} has a file system of its own, and a test file beside it would \
                 be on another; hint: use an empty directory made on that of {0}, and \
                 --directory with its path",
                first.display()
            )),
        },
    };
    found.map_err(|text| Usage(text).into())
}

/// Returns the requested directory, or why it cannot be used.
fn named(asked: &Path, paths: &[PathBuf]) -> Result<PathBuf, String> {
    let shown = asked.display();
    let directory =
        asked.canonicalize().map_err(|error| format!("--directory {shown}: {error}"))?;
    let entries = std::fs::read_dir(&directory);
    let entries = entries.map_err(|error| format!("--directory {shown}: {error}"))?;
    if !paths.iter().any(|path| same_file_system(path, &directory)) {
        let database = paths.first().map(|path| path.display().to_string()).unwrap_or_default();
        return Err(format!(
            "--directory {shown} is not on the file system of the database at {database}; hint: use a \
             directory that is"
        ));
    }
    let side = side_file(Path::new(TEST_FILE_NAME));
    let left = |name: &Path| name == Path::new(TEST_FILE_NAME) || name == side;
    let is_empty = entries.flatten().all(|entry| left(Path::new(&entry.file_name())));
    if !is_empty && paths.iter().any(|path| directory.starts_with(path)) {
        return Err(format!(
            "--directory {shown} holds files of the database, where no other belongs; hint: use an \
             empty directory"
        ));
    }
    Ok(directory)
}

fn same_file_system(one: &Path, other: &Path) -> bool {
    let device = |path: &Path| path.metadata().map(|about| about.dev()).ok();
    device(one).is_some() && device(one) == device(other)
}

/// The database's size, at least [`LEAST_BYTES`] and at most a share of the free space.
fn default_size(directory: &Path, target: &DbTarget) -> u64 {
    let free_bytes = rustix::fs::statvfs(directory).map_or(0, |stat| stat.f_bavail * stat.f_frsize);
    size_for(target.size.data_bytes, free_bytes)
}

fn size_for(database_bytes: u64, free_bytes: u64) -> u64 {
    database_bytes.min(free_bytes / FREE_SHARE).max(LEAST_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_file_size_matches_the_database_within_bounds() {
        let gib = 1 << 30;
        assert_eq!(size_for(8 * gib, 1000 * gib), 8 * gib);
        assert_eq!(size_for(8 * gib, 10 * gib), gib);
        assert_eq!(size_for(1 << 20, 1000 * gib), 64 << 20);
        assert_eq!(size_for(8 * gib, 0), 64 << 20);
    }

    #[test]
    fn commit_limits_become_device_write_limits() {
        let of = |texts: &[&str]| -> Vec<String> {
            let typed: Vec<Limit> = texts.iter().map(|text| text.parse().unwrap()).collect();
            limits(&typed).iter().map(ToString::to_string).collect()
        };
        assert_eq!(of(&["commit:p99<=20ms"]), ["write:p99 <= 20 ms"]);
        assert_eq!(of(&["write:mean<=5ms", "commit:mean<=2ms"]), ["write:mean <= 2 ms"]);
        assert_eq!(of(&["mean<=5ms", "commit:mean<=5ms"]), ["mean <= 5 ms", "write:mean <= 5 ms"]);
        assert_eq!(of(&["read:max<=1s"]), ["read:max <= 1 s"]);
    }
}
