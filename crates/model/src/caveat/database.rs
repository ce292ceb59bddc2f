//! Facts about a database that may make a result mislead.

use super::command::Command;
use super::{Caveat, CaveatCode, Impact};
use crate::units::Bytes;

/// A fact about a database.
#[derive(Debug, Clone, PartialEq)]
pub enum DatabaseFact {
    /// The database is smaller than `wanted_bytes`.
    Small { data_bytes: u64, memory_bytes: u64, wanted_bytes: u64 },
    /// Caches of the storage may hold the database; those of this machine are bypassed.
    SmallForStorage { data_bytes: u64 },
    /// Commits do not wait for the log; `why` is the reason in words.
    MayLose { why: String },
    /// Acknowledged transactions of the previous run were missing.
    Lost { transactions: u64 },
    /// The run ended before all changed blocks were written.
    NotDrained,
    /// The I/O of the devices is not known: this user cannot see where the files are (`hidden`), or the
    /// kernel shows no device under them.
    DevicesUnknown { hidden: bool },
    /// The server's cache served this percentage of the blocks read.
    CacheHits { percent: f64 },
    /// The database's counts differ from iogauge's: the database's count, iogauge's count, and what was
    /// counted.
    Counts(Vec<(u64, u64, &'static str)>),
    /// A worker failed and ended the run.
    WorkerFailed { worker: u32, error: String },
    /// A disk ran out of space.
    NoRoom { error: String },
    /// The database did not do what it was requested to do after the run.
    Unanswered { error: String },
    /// A rung of a ladder could not be measured.
    RungFailed { processes: u32, error: String },
    /// The server accepts no more processes.
    NoMoreProcesses { error: String },
    /// The search ended because each process needs its own global and there are no more.
    NoMoreGlobals { globals: usize, url: String },
}

impl DatabaseFact {
    pub(super) fn caveat(&self, command: Command) -> Caveat {
        let verify = "iogauge db verify shows whether all acknowledged data is there";
        let (code, message, hint) = match self {
            Self::Small { data_bytes, memory_bytes, wanted_bytes } => {
                let message = format!(
                    "the database has {}, and this machine {} of memory; caches hold much of it, so that \
                     the device does less I/O than for a large database",
                    Bytes(*data_bytes),
                    Bytes(*memory_bytes)
                );
                let size = format!("--size {}g or more", wanted_bytes.div_ceil(1 << 30));
                let hint = match command {
                    Command::DbSetup => format!("use {size}"),
                    _ => format!("run iogauge db setup with {size}"),
                };
                let share = *data_bytes as f64 / (*memory_bytes).max(1) as f64;
                return Caveat::new(CaveatCode::SmallerThanCache, message, hint)
                    .weighed((1.0 - share).max(0.0));
            }
            Self::SmallForStorage { data_bytes } => {
                let message = format!(
                    "the database has {}; reads bypass the caches of this machine, and those of the storage (a \
                     controller, an array, the host of a virtual machine) may hold all of it",
                    Bytes(*data_bytes)
                );
                let hint = "use a database of at least four times the cache of the storage";
                return Caveat::new(CaveatCode::SmallerThanCache, message, hint)
                    .with_impact(Impact::Note);
            }
            Self::MayLose { why } => (
                CaveatCode::VolatileWriteCache,
                format!("commits do not wait for the log: {why}"),
                "leave out the setting, so that each commit waits".to_owned(),
            ),
            Self::Lost { transactions } => {
                let s = if *transactions == 1 { "" } else { "s" };
                let message = format!(
                    "{transactions} transaction{s} that the previous run had acknowledged were missing \
                     when this run began, and db verify now checks this run"
                );
                return Caveat::of(CaveatCode::AcknowledgedLost, message);
            }
            Self::NotDrained => {
                let message = "the I/O of the devices is counted during the run only; changed blocks that \
                               were written later are not in it";
                let caveat = Caveat::of(CaveatCode::UnflushedWrites, message);
                return match command {
                    Command::DbRun => caveat,
                    _ => caveat.hinting("iogauge db run --drain waits for these writes"),
                };
            }
            Self::DevicesUnknown { hidden } => devices_unknown(*hidden),
            Self::CacheHits { percent } => {
                let message =
                    format!("{percent:.1} % of the blocks read were in the server's cache");
                let hint = "use a larger database, or run iogauge on the server's own machine, where it \
                            reads the files";
                return Caveat::new(CaveatCode::PageCache, message, hint).weighed(percent / 100.0);
            }
            Self::Counts(counts) => {
                let differ = counts.iter().map(|(theirs, ours, what)| {
                    format!("{theirs} {what} where iogauge made {ours}")
                });
                let differ: Vec<String> = differ.collect();
                (
                    CaveatCode::OtherLoad,
                    format!("the database counted {}: others work on it", differ.join(" and ")),
                    "repeat while nobody else works on the database".to_owned(),
                )
            }
            Self::WorkerFailed { worker, error } => (
                CaveatCode::IoErrors,
                format!("worker {worker} failed and ended the run: {error}"),
                verify.to_owned(),
            ),
            Self::NoRoom { error } => (
                CaveatCode::Interrupted,
                format!(
                    "the run ended before its time and has what was measured until then: {error}"
                ),
                "use a disk with more room".to_owned(),
            ),
            Self::Unanswered { error } => (
                CaveatCode::IoErrors,
                format!("after the run the database did not do what was requested: {error}"),
                verify.to_owned(),
            ),
            Self::RungFailed { processes, error } => (
                CaveatCode::IoErrors,
                format!("{processes} processes could not be measured: {error}"),
                "correct that, and repeat the ladder from there on".to_owned(),
            ),
            Self::NoMoreProcesses { error } => (
                CaveatCode::SearchCutShort,
                format!("the database accepts no more processes: {error}"),
                "allow more connections in the server's settings".to_owned(),
            ),
            Self::NoMoreGlobals { globals, url } => (
                CaveatCode::SearchCutShort,
                format!("the search ended at {globals} processes, since each needs its own global"),
                format!("iogauge db add-globals {url} --globals {globals}"),
            ),
        };
        Caveat::new(code, message, hint)
    }
}

fn devices_unknown(hidden: bool) -> (CaveatCode, String, String) {
    let (why, hint) = if hidden {
        (
            "the database's files are on another machine, or this user may not see where they are",
            "run iogauge on the server's own machine as a user who may see that (PostgreSQL: GRANT \
             pg_read_all_settings)",
        )
    } else {
        (
            "the kernel shows no device under the database's files",
            "use a file system on a block device",
        )
    };
    let message = format!("the I/O of the devices is not known: {why}");
    (CaveatCode::DevicesUnknown, message, hint.to_owned())
}

/// Returns at least one example of each fact.
pub(super) fn examples() -> Vec<DatabaseFact> {
    let error = || "the server went away".to_owned();
    vec![
        DatabaseFact::Small { data_bytes: 1, memory_bytes: 2, wanted_bytes: 4 },
        DatabaseFact::SmallForStorage { data_bytes: 1 },
        DatabaseFact::MayLose { why: "fsync=off".to_owned() },
        DatabaseFact::Lost { transactions: 1 },
        DatabaseFact::NotDrained,
        DatabaseFact::DevicesUnknown { hidden: true },
        DatabaseFact::DevicesUnknown { hidden: false },
        DatabaseFact::CacheHits { percent: 5.0 },
        DatabaseFact::Counts(vec![(2, 1, "updates"), (2, 1, "commits")]),
        DatabaseFact::WorkerFailed { worker: 1, error: error() },
        DatabaseFact::NoRoom { error: error() },
        DatabaseFact::Unanswered { error: error() },
        DatabaseFact::RungFailed { processes: 2, error: error() },
        DatabaseFact::NoMoreProcesses { error: error() },
        DatabaseFact::NoMoreGlobals { globals: 2, url: "sqlite:d".to_owned() },
    ]
}
