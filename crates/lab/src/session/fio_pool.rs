//! Starts fio on a target, as a worker pool.

use crate::error::LabError;
use crate::session::region::Region;
use iogauge_fio::job::FioJobs;
use iogauge_fio::job_out::FilePart;
use iogauge_io::pool::WorkerPool;
use iogauge_io::pool::fio::{FioBinary, FioPool, FioWork, Handed, Span};
use iogauge_io::targets::{Part, Target};
use iogauge_model::{Load, Step};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Starts fio on a step of a target, each job on its own region.
pub(crate) fn pool(
    target: &Target,
    fio: &FioBinary,
    step: &Step,
    regions: &[Region],
    span: Span,
) -> Result<Box<dyn WorkerPool>, LabError> {
    let mut writes = vec![false; target.parts.len()];
    for (_, region) in Region::of_jobs(step, regions).iter().filter(|(load, _)| load.writes()) {
        for number in region.numbers(target) {
            writes[number] = true;
        }
    }
    let handed = Handed::open(&target.parts.iter().zip(writes).collect::<Vec<_>>())?;
    let name = |number: usize| handed.file(number).map(|file| file.name);
    let work = work(target, step, regions, &name);
    Ok(Box::new(FioPool::start(fio.clone(), work, span, handed)?))
}

/// Returns the parts of a target as a job file names them.
#[must_use]
pub fn file_parts(parts: &[Part]) -> Vec<FilePart> {
    parts.iter().map(file_part).collect()
}

fn file_part(part: &Part) -> FilePart {
    FilePart {
        path: part.path.to_string_lossy().into_owned(),
        base_bytes: part.base_bytes,
        size_bytes: part.size_bytes,
    }
}

/// Returns a step as fio runs it, with its files under the names that fio is given.
pub(super) fn work(
    target: &Target,
    step: &Step,
    regions: &[Region],
    name: &dyn Fn(usize) -> Option<String>,
) -> FioWork {
    let part = |number: usize| {
        let part = file_part(target.parts.get(number)?);
        Some(FilePart { path: name(number)?, ..part })
    };
    let parts =
        |(_, region): (Load, Region)| region.numbers(target).into_iter().filter_map(part).collect();
    let parts = Region::of_jobs(step, regions).into_iter().map(parts).collect();
    FioWork::Step { step: step.clone(), parts }
}

/// Opens the files of a job file's jobs for fio, in the order of their paths.
pub(crate) fn handed_to_job(
    parts: &[Part],
    jobs: &FioJobs,
    paths: &[PathBuf],
) -> Result<Handed, LabError> {
    let writing = jobs.jobs().iter().flat_map(|job| &job.clones).filter(|job| job.writes());
    let written: BTreeSet<&PathBuf> = writing.flat_map(|job| &job.files).collect();
    let parts = parts.iter().zip(paths.iter().map(|path| written.contains(path)));
    Ok(Handed::open(&parts.collect::<Vec<_>>())?)
}
