//! The files that the jobs of a job file use, and the intended use of each.

use iogauge_fio::job::PlannedJob;
use iogauge_io::targets::Intent;
use iogauge_model::load::EngineKind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Returns each file of the jobs with its intended use, in the order in which the files are named. `permitted` has what
/// the user permits.
#[must_use]
pub fn wanted<'a>(
    jobs: impl Iterator<Item = &'a PlannedJob>,
    permitted: &Intent,
) -> Vec<(PathBuf, Intent)> {
    let mut wanted: Vec<Wanted> = Vec::new();
    let mut numbers: BTreeMap<&Path, usize> = BTreeMap::new();
    for job in jobs.filter(|job| job.engine() != EngineKind::Null) {
        for path in &job.files {
            let own = Intent {
                writes: job.writes(),
                size_bytes: job.file_size_bytes,
                offset_bytes: job.least_offset_bytes(),
                direct: job.direct(),
                create: job.may_create,
                ..permitted.clone()
            };
            let Some(number) = numbers.get(path.as_path()) else {
                numbers.insert(path, wanted.len());
                wanted.push(Wanted { path: path.clone(), all: own, whole: job.takes_all });
                continue;
            };
            let Wanted { all, whole, .. } = &mut wanted[*number];
            *whole |= job.takes_all;
            all.writes |= own.writes;
            all.size_bytes = all.size_bytes.max(own.size_bytes);
            all.offset_bytes = all.offset_bytes.min(own.offset_bytes);
            all.direct &= own.direct;
            all.create |= own.create;
        }
    }
    for Wanted { path, all, .. } in wanted.iter_mut().filter(|wanted| wanted.whole) {
        // A file that is large enough for all its jobs is used as it is.
        let is_enough = |size: u64| path.metadata().is_ok_and(|m| !m.is_file() || m.len() >= size);
        if all.size_bytes.is_some_and(is_enough) {
            all.size_bytes = None;
        }
    }
    wanted.into_iter().map(|Wanted { path, all, .. }| (path, all)).collect()
}

/// A file with the combined intent of all its jobs.
struct Wanted {
    path: PathBuf,
    all: Intent,
    /// True if a job uses the whole of an existing file.
    whole: bool,
}
