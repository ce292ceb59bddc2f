//! Runs plans with fio instead of iogauge's own workers.

use super::{job_files, reserve};
use crate::caveats;
use crate::error::LabError;
use crate::measure::{Watch, process_pauses};
use crate::observe::{self, Phase, Status};
use crate::session::fio_pool::{handed_to_job, work};
use crate::session::region::Region;
use crate::session::rig::Rig;
use crate::session::via_logs::{self, Logs};
use iogauge_fio::job::{FioJobs, FioText};
use iogauge_io::pool::fio::{FioBinary, FioEnd, FioError, FioJobFile, Handed};
use iogauge_io::pool::{Footprint, Paused, Room};
use iogauge_io::targets::{Intent, ReserveWatch, Target};
use iogauge_io::worker::WorkerError;
use iogauge_model::caveat::{Fact, NothingWhy, ToolFact};
use iogauge_model::result::FioResult;
use iogauge_model::result::{StepResult, Via};
use iogauge_model::{Caveat, Load, Step};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Maximum number of fio threads; leaves some of the jobs that fio supports unused.
pub(crate) const MOST_CLONES: u32 = 2048;

/// Returns the program that did the I/O, for documents.
#[must_use]
pub fn describe(fio: &FioBinary) -> Via {
    Via { version: fio.version().to_owned(), binary: fio.path().display().to_string() }
}

/// Returns the fact that fio measures.
#[must_use]
pub fn fact(fio: &FioBinary) -> Fact {
    ToolFact::Fio { version: fio.version().to_owned() }.into()
}

/// Returns how fio's workload differs from the requested one, each job on its own region.
#[must_use]
pub fn differences(step: &Step, regions: &[Region], target: &Target) -> Vec<Fact> {
    let name = |number: usize| Some(format!("{number}"));
    let differs = work(target, step, regions, &name).differs().into_iter();
    let rated = step.jobs.iter().any(|job| job.load.arrivals.is_some());
    let facts = differs.map(|why| ToolFact::OtherLoad { why });
    facts.chain(rated.then_some(ToolFact::FioRate)).map(Fact::from).collect()
}

/// Returns the largest queue depth that a search may request from fio for a workload.
#[must_use]
pub(crate) fn most_depth(rig: &Rig, load: &Load) -> u32 {
    let synchronous = rig.foreign().map_or(load.engine.is_synchronous(), |job| job.synchronous);
    if synchronous { MOST_CLONES } else { u32::MAX }
}

/// Returns the fact that fio ended unexpectedly.
#[must_use]
pub fn lost(why: &str) -> Fact {
    ToolFact::FioLost { why: why.to_owned() }.into()
}

/// A job file that passed the guards and that fio is to run.
#[derive(Debug)]
pub struct JudgedFile {
    /// The files and devices of its jobs.
    pub rig: Rig,
    /// The file as it was read.
    pub jobs: FioJobs,
    /// The files as the job file names them, in the order of the parts.
    pub paths: Vec<PathBuf>,
}

/// Lets the guards judge the jobs of a job file. `name` is the file's name for messages, and
/// `permitted` has what the user permits.
///
/// # Errors
/// A refusal, or a file that cannot be used.
pub fn judge(name: &str, jobs: FioJobs, permitted: &Intent) -> Result<JudgedFile, LabError> {
    if let Some(job) = jobs.jobs().iter().find(|job| job.writes_remotely())
        && !permitted.destroy_data
    {
        return Err(LabError::Refused(format!(
            "{name}: [{}]: engine {} writes where iogauge cannot look; --destroy-data lets it",
            job.name, job.engine
        )));
    }
    via_logs::judge(&jobs.log_prefixes())?;
    let planned = jobs.jobs().iter().flat_map(|job| &job.clones);
    let wanted = job_files::wanted(planned, permitted);
    let mut rig = Rig::open_each(name, &wanted)?;
    rig.keep_devices_fresh();
    let paths = wanted.into_iter().map(|(path, _)| path).collect();
    Ok(JudgedFile { rig, jobs, paths })
}

impl JudgedFile {
    /// Returns the job file's text and open files for fio, once the files exist.
    ///
    /// # Errors
    /// A job that does not fit its files, or files that cannot be opened.
    pub fn for_fio(&self) -> Result<(FioText, Handed), LabError> {
        text_for_fio(&self.rig, &self.jobs, &self.paths)
    }
}

/// As [`JudgedFile::for_fio`], from the fields of a [`JudgedFile`].
///
/// # Errors
/// As there.
pub fn text_for_fio(
    rig: &Rig,
    jobs: &FioJobs,
    paths: &[PathBuf],
) -> Result<(FioText, Handed), LabError> {
    let handed = handed_to_job(rig.parts(), jobs, paths)?;
    let numbers: BTreeMap<&Path, usize> =
        paths.iter().enumerate().map(|(number, path)| (path.as_path(), number)).collect();
    let given = |path: &Path| handed.file(*numbers.get(path)?);
    let text = jobs.text(&given, None).map_err(FioError::from).map_err(WorkerError::from)?;
    Ok((text, handed))
}

/// Returns the workloads of a job file's jobs, as far as caveats depend on them, each with its
/// region. Jobs that use no storage of this machine have none.
///
/// # Errors
/// A job that does not fit its files.
pub fn loads(
    rig: &Rig,
    jobs: &FioJobs,
    paths: &[PathBuf],
) -> Result<Vec<(Load, Region)>, LabError> {
    let parts = rig.parts();
    let numbers: BTreeMap<&Path, usize> =
        paths.iter().enumerate().map(|(number, path)| (path.as_path(), number)).collect();
    let mut loads = Vec::new();
    for job in jobs.jobs() {
        if job.is_null() {
            loads.push((job.shape.clone(), Region::Nothing { size_bytes: 0 }));
        }
        for clone in &job.clones {
            let own = clone.files.iter().filter_map(|file| numbers.get(file.as_path()).copied());
            let own: Vec<usize> = own.collect();
            let sizes: Vec<u64> =
                own.iter().filter_map(|n| parts.get(*n)).map(|part| part.size_bytes).collect();
            let load = clone.load(&sizes).map_err(FioError::from).map_err(WorkerError::from)?;
            loads.push((Load { engine: job.shape.engine, ..load }, Region::Parts(own)));
        }
    }
    Ok(loads)
}

/// Checks that there is enough memory for fio to run the jobs of a job file.
///
/// # Errors
/// There is too little memory.
pub fn check_footprint(jobs: &FioJobs) -> Result<(), LabError> {
    let footprint = Footprint::through_fio(jobs.jobs().iter().map(|job| &job.shape));
    Ok(footprint.check(&Room::here()).map_err(WorkerError::from)?)
}

/// Returns the caveats of what fio reported for the jobs of a job file, one of each kind.
#[must_use]
pub fn caveats(rig: &Rig, steps: &[StepResult], paused: Paused) -> Vec<Caveat> {
    let is_null = |step: &StepResult| step.fio.as_ref().is_some_and(|fio| fio.engine == "null");
    let mut found = Vec::new();
    for step in steps.iter().filter(|step| !is_null(step)) {
        found.extend(caveats::nothing_in(step, Some(NothingWhy::NoneReported)));
        found.extend(caveats::of_figures(step));
    }
    let seconds = steps.iter().map(|step| step.seconds).fold(0.0, f64::max);
    found.extend(process_pauses::fact_within(paused, seconds));
    caveats::one_of_each(rig.caveats(found))
}

/// The result of a job file that fio ran.
#[derive(Debug)]
pub struct RanFile {
    /// What fio reported for each job or group.
    pub results: Vec<FioResult>,
    /// True if the user ended it.
    pub interrupted: bool,
    /// Why fio ended early, if it did.
    pub lost: Option<String>,
    /// The logs that fio wrote, at their requested paths.
    pub logs: Vec<PathBuf>,
    /// What is wrong with logs, one line each.
    pub bad_logs: Vec<String>,
    /// Pauses of iogauge or fio.
    pub paused: Paused,
}

/// Interval between two checks on fio while it may write logs, and while it may not.
const LOOK: Duration = Duration::from_millis(50);
const LOOK_WITHOUT_LOGS: Duration = Duration::from_millis(200);
/// Time for fio to end after it was asked to: it may have logs to write.
const PATIENCE_TO_END: Duration = Duration::from_secs(5);

/// Lets fio run a job file as iogauge rewrote it. Ends fio before a disk has less free space than
/// its reserve, as by an interrupt, and before its logs fill the file system of its directory.
///
/// # Errors
/// fio does not run it, or a file cannot be inspected.
pub fn run_file(
    rig: &Rig,
    fio: &FioBinary,
    file: FioText,
    handed: Handed,
    watch: &mut Watch<'_>,
) -> Result<RanFile, LabError> {
    let logs = file.logs.clone();
    let (end, interrupted, logs) = reserve::watched(rig, watch, |watch| {
        let started = FioJobFile::start(fio.clone(), file, handed);
        let mut running = started.map_err(WorkerError::from)?;
        let followed = follow(&mut running, !logs.is_empty(), watch)?;
        let mut moved = Logs::default();
        let end = running.finish(|directory| moved = via_logs::move_out(directory, &logs));
        moved.wrong.splice(..0, followed.cut_off);
        Ok((end.map_err(WorkerError::from)?, followed.interrupted, moved))
    })?;
    let FioEnd { results, lost, paused } = end;
    let Logs { made: logs, wrong: bad_logs } = logs;
    Ok(RanFile { results, interrupted, lost, logs, bad_logs, paused })
}

/// How fio ended.
struct Followed {
    interrupted: bool,
    /// Why fio was cut off, if its logs would have filled a file system.
    cut_off: Option<String>,
}

/// Shows the progress of fio until it ends.
fn follow(
    running: &mut FioJobFile,
    has_logs: bool,
    watch: &mut Watch<'_>,
) -> Result<Followed, LabError> {
    let mut room = ReserveWatch::default();
    if has_logs {
        room = ReserveWatch::of_directory(running.directory())?;
    }
    let look = if has_logs { LOOK } else { LOOK_WITHOUT_LOGS };
    let mut cut_off = None;
    let mut asked: Option<Instant> = None;
    while !running.has_ended() {
        let window = running.advance(look);
        if asked.is_some_and(|since| since.elapsed() >= PATIENCE_TO_END) {
            running.cut_off();
        }
        if let Err(error) = room.check() {
            running.cut_off();
            cut_off = Some(format!("fio was ended while it wrote its logs: {error}"));
        }
        if watch.interrupt.is_set() && asked.is_none() {
            running.ask_to_end();
            asked = Some(Instant::now());
        }
        watch.observer.status(&Status {
            phase: Phase::Measuring,
            queue_depth: window.queue_depth().round() as u32,
            iops: window.iops(),
            bytes_per_sec: window.bytes_per_sec(),
            by_direction: observe::by_direction(&window),
            latency_mean_ns: window.service().mean_ns(),
            limits: &[],
            left_ns: None,
            total_ns: None,
        });
    }
    Ok(Followed { interrupted: asked.is_some(), cut_off })
}
