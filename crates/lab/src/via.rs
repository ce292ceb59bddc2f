//! Plans driven through real fio instead of iogauge's own workers.

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::{Phase, Status};
use crate::rig::{Ground, Rig};
use iogauge_io::crew::Crew;
use iogauge_io::crew::fio::{FioBinary, FioCrew, FioJobFile, FioWork, Span};
use iogauge_io::target::{Part, Target};
use iogauge_io::worker::WorkerError;
use iogauge_model::fio::FioResult;
use iogauge_model::fio::job_out::FilePart;
use iogauge_model::result::Via;
use iogauge_model::{Caveat, CaveatCode, Impact, Load, Step};
use std::path::Path;

/// Most threads of fio's: as many as it has jobs for, and some are left.
pub(crate) const MOST_CLONES: u32 = 2048;

/// Starts fio on a step of a target, each job on its own ground.
pub(crate) fn crew(
    rig: &Rig,
    target: &Target,
    fio: &FioBinary,
    step: &Step,
    grounds: &[Ground],
    span: Span,
) -> Result<Box<dyn Crew>, LabError> {
    let mut files = Vec::new();
    for (load, ground) in Ground::of_jobs(step, grounds) {
        files.push(rig.open_files(target, &load, &ground)?);
    }
    let work = work(target, step, grounds);
    Ok(Box::new(FioCrew::start(fio.clone(), work, span, files)?))
}

/// The parts of a target as a job file names them.
#[must_use]
pub fn file_parts(target: &Target) -> Vec<FilePart> {
    target.parts.iter().map(file_part).collect()
}

fn file_part(part: &Part) -> FilePart {
    FilePart {
        path: part.path.to_string_lossy().into_owned(),
        base_bytes: part.base_bytes,
        size_bytes: part.size_bytes,
    }
}

/// A step as fio is asked it.
fn work(target: &Target, step: &Step, grounds: &[Ground]) -> FioWork {
    let parts = |(_, ground): (Load, Ground)| ground.parts(target).iter().map(file_part).collect();
    let parts = Ground::of_jobs(step, grounds).into_iter().map(parts).collect();
    FioWork::Step { step: step.clone(), parts }
}

/// How documents tell which program did the I/O.
#[must_use]
pub fn describe(fio: &FioBinary) -> Via {
    Via { version: fio.version().to_owned(), binary: fio.path().display().to_string() }
}

/// What a reader of figures that fio measured has to know.
#[must_use]
pub fn caveat(fio: &FioBinary) -> Caveat {
    Caveat::of(
        CaveatCode::ViaFio,
        format!(
            "{} did the I/O and took its latencies: the depth achieved is rate times latency \
             (Little's law), and percentiles come from buckets of 1/64",
            fio.version()
        ),
    )
}

/// Doubts about loads that fio cannot make exactly, each on its own ground.
#[must_use]
pub fn differences(step: &Step, grounds: &[Ground], target: &Target) -> Vec<Caveat> {
    let differs = work(target, step, grounds).differs();
    let of = |line: &String| {
        Caveat::new(
            CaveatCode::ViaFio,
            format!("fio was asked for another load: {line}"),
            "leave out --via to measure the load itself",
        )
        .with_impact(Impact::Doubt)
    };
    let rated = step.jobs.iter().any(|job| job.load.arrivals.is_some());
    let late = Caveat::new(
        CaveatCode::ViaFio,
        "fio measures an I/O from when it is issued, not from when it was due: with --rate_iops its \
         latencies hide what waits",
        "leave out --via to measure response times",
    )
    .with_impact(Impact::Doubt);
    differs.iter().map(of).chain(rated.then_some(late)).collect()
}

/// The largest depth a search may ask of fio for a load.
#[must_use]
pub(crate) fn most_depth(rig: &Rig, load: &Load) -> u32 {
    let synchronous = rig.foreign().map_or(load.engine.is_synchronous(), |job| job.synchronous);
    if synchronous { MOST_CLONES } else { u32::MAX }
}

/// Lets fio run a job file as it stands, and returns what it reported, and whether the user ended
/// it.
///
/// # Errors
/// Where fio does not run it.
pub fn run_file(
    fio: &FioBinary,
    path: &Path,
    watch: &mut Watch<'_>,
) -> Result<(Vec<FioResult>, bool), LabError> {
    let started = FioJobFile::start(fio.clone(), path);
    let mut running = started.map_err(WorkerError::from)?;
    let mut interrupted = false;
    while !running.has_ended() && !interrupted {
        let window = running.advance();
        interrupted = watch.interrupt.is_set();
        watch.observer.status(&Status {
            phase: Phase::Measuring,
            depth: window.depth().round() as u32,
            iops: window.iops(),
            bytes_per_sec: window.bytes_per_sec(),
            latency_mean_ns: window.service().mean_ns(),
            limits: &[],
            left_ns: None,
        });
    }
    let results = running.finish().map_err(WorkerError::from)?;
    Ok((results, interrupted))
}
