//! The workload that a result reports, independent of the result's format.

use iogauge_model::result::BlockRange;

/// Name of the result that fio's client prints for all servers together.
pub(super) const ALL_CLIENTS: &str = "All clients";

/// The workload that fio reports: that of one job, or what several have in common.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct ReportedWorkload {
    pub(super) host: String,
    pub(super) rw: String,
    /// Block sizes of reads, writes and trims.
    pub(super) blocks: [Option<BlockRange>; 3],
    pub(super) engine: String,
    pub(super) iodepth: Option<u32>,
    /// True if each write waits for the medium; `None` if unknown.
    pub(super) is_synchronous: Option<bool>,
}

impl ReportedWorkload {
    /// Returns what all of these have in common; the default if there are none.
    pub(super) fn common<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = all.into_iter();
        let mut common = all.next().cloned().unwrap_or_default();
        all.for_each(|other| common.join(other));
        common
    }

    /// Keeps only what is common with another one.
    pub(super) fn join(&mut self, other: &Self) {
        for theirs in other.rw.split('+') {
            if !self.rw.split('+').any(|mine| mine == theirs) {
                self.rw = format!("{}+{theirs}", self.rw);
            }
        }
        for (mine, theirs) in self.blocks.iter_mut().zip(other.blocks) {
            *mine = match (*mine, theirs) {
                (Some(a), Some(b)) => Some(BlockRange {
                    min_bytes: a.min_bytes.min(b.min_bytes),
                    max_bytes: a.max_bytes.max(b.max_bytes),
                }),
                _ => None,
            };
        }
        if self.iodepth != other.iodepth {
            self.iodepth = None;
        }
        if self.is_synchronous != other.is_synchronous {
            // If some are known not to wait, not all of them wait.
            let some_do_not = [self.is_synchronous, other.is_synchronous].contains(&Some(false));
            self.is_synchronous = some_do_not.then_some(false);
        }
        if self.engine != other.engine {
            self.engine.clear();
        }
        if self.host != other.host {
            self.host.clear();
        }
    }
}
