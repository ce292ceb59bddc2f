//! From sections to what runs: groups, clones, files, stretches and amounts.

use super::Section;
use super::error::{Fault, JobFileError};
use iogauge_model::limit::Limit;
use iogauge_model::load::options::{MOST, SourceLine, Span, Typed};
use iogauge_model::load::{
    Batch, Distribution, EngineKind, Load, LoadError, Modifier, OwnTime, Thinktime,
};
use std::path::{Path, PathBuf};

/// Files of all clones of a job together.
const MOST_FILES: u64 = 16_384;

/// Jobs that run together, after those of the group before have ended.
#[derive(Debug, Clone)]
pub struct Group {
    /// The jobs, at least one.
    pub jobs: Vec<PlannedJob>,
    /// Time before measuring begins, in nanoseconds; 0 where jobs have ramps of their own.
    pub ramp_ns: u64,
    /// Time after which all of them end, in nanoseconds; `None` where each ends when its amount is
    /// done, or at a time of its own.
    pub runtime_ns: Option<u64>,
    /// True where only the sum of the jobs is reported.
    pub sums_up: bool,
}

/// A job, or a clone of one, with its files.
#[derive(Debug, Clone)]
pub struct PlannedJob {
    /// fio's name of it.
    pub name: String,
    /// Where its section begins.
    pub place: SourceLine,
    /// Its files and devices, at least one; engine null touches none of them.
    pub files: Vec<PathBuf>,
    /// Size each of them has to have, where that is said.
    pub file_size_bytes: Option<u64>,
    /// True where the whole of a file that is there counts, since shares of it are asked, or all.
    pub takes_all: bool,
    /// True where files that are missing may be made.
    pub may_create: bool,
    /// True where files that iogauge made are to be removed at the end.
    pub unlink: bool,
    /// What to search instead of running the load as it stands; the job is then the only one of
    /// its file.
    pub search: Option<Search>,
    /// The load, but for stretch and amount, which take the sizes of the files.
    load: Load,
    /// The clone's number, from 0.
    clone: u32,
    options: Typed,
}

/// fio's `latency_target`: the highest depth at which a limit holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    /// The limit.
    pub limit: Limit,
    /// The largest depth to try.
    pub max_depth: u32,
}

/// Groups of a job file's sections.
pub(super) fn plan(sections: &[Section], random: u64) -> Result<Vec<Group>, JobFileError> {
    let mut groups: Vec<Vec<(usize, PlannedJob)>> = Vec::new();
    let mut threads = 0;
    for (index, section) in sections.iter().enumerate() {
        let barrier = section.options.stonewall || waits(&sections[..index], section, &groups)?;
        if barrier || groups.is_empty() {
            groups.push(Vec::new());
        }
        threads += section.options.numjobs;
        if threads > MOST {
            let reason = format!("the file has more than {MOST} jobs and clones");
            return Err(section.error("numjobs", reason));
        }
        let jobs = clones(section, random, threads - section.options.numjobs)?;
        if let Some(group) = groups.last_mut() {
            group.extend(jobs.into_iter().map(|job| (index, job)));
        }
    }
    let groups: Vec<Group> = groups.into_iter().map(group).collect();
    let jobs: Vec<&PlannedJob> = groups.iter().flat_map(|group| &group.jobs).collect();
    if let Some(job) = jobs.iter().find(|job| job.search.is_some())
        && jobs.len() > 1
    {
        let reason = "a search has the storage for itself; hint: use a file of one job";
        return Err(job.error("latency_target", reason));
    }
    Ok(groups)
}

/// True where the section waits for a job of the group under way. A job that waits for one of an
/// earlier group does so anyway.
fn waits(
    before: &[Section],
    section: &Section,
    groups: &[Vec<(usize, PlannedJob)>],
) -> Result<bool, JobFileError> {
    let Some(awaited) = &section.options.wait_for else { return Ok(false) };
    let is_awaited = |other: &Section| job_name(other) == *awaited || other.name == *awaited;
    let Some(index) = before.iter().position(is_awaited) else {
        let reason = format!("no job above has the name \"{awaited}\"");
        return Err(section.error("wait_for", reason));
    };
    let Some(group) = groups.last().filter(|group| group.iter().any(|(of, _)| *of == index)) else {
        return Ok(false);
    };
    if group.iter().any(|(of, _)| *of != index) {
        let why = "other jobs run beside that one; hint: use stonewall, which waits for all";
        let place = section.error("wait_for", "").place;
        let (value, why) = (awaited.clone(), why.to_owned());
        return Err(JobFileError {
            place,
            fault: Fault::UnsupportedValue { option: "wait_for", value, why },
        });
    }
    Ok(true)
}

pub(super) fn job_name(section: &Section) -> String {
    section.options.name.clone().unwrap_or_else(|| section.name.clone())
}

/// Times that all jobs have in common are the group's; where they differ, each job has its own.
fn group(jobs: Vec<(usize, PlannedJob)>) -> Group {
    let mut jobs: Vec<PlannedJob> = jobs.into_iter().map(|(_, job)| job).collect();
    let sums_up = jobs.iter().all(|job| job.options.group_reporting);
    let time = |job: &PlannedJob| OwnTime {
        ramp_ns: job.options.ramp_ns,
        runtime_ns: Some(job.options.runtime_ns).filter(|ns| *ns > 0),
    };
    let first = jobs.first().map_or(OwnTime { ramp_ns: 0, runtime_ns: None }, time);
    if jobs.iter().all(|job| time(job) == first) {
        return Group { jobs, ramp_ns: first.ramp_ns, runtime_ns: first.runtime_ns, sums_up };
    }
    for job in &mut jobs {
        job.load.own_time = Some(time(job));
    }
    Group { jobs, ramp_ns: 0, runtime_ns: None, sums_up }
}

/// The jobs a section stands for. Clones that draw their offsets from the same files are workers of
/// one job, which issues the same I/Os; others are jobs of their own.
pub(super) fn clones(
    section: &Section,
    random: u64,
    thread: u32,
) -> Result<Vec<PlannedJob>, JobFileError> {
    let o = &section.options;
    let load = load(section)?;
    if o.engine == EngineKind::Null && file_size(o, 1, 0).is_none() {
        let reason = "engine null has no file to take it from; hint: use size=1g";
        return Err(section.error("size", reason));
    }
    let search = search(o);
    if search.is_some() && load.arrivals.is_some() {
        let reason = "the search sets the load itself; hint: use no rate beside it";
        return Err(section.error("latency_target", reason));
    }
    if search.is_some() && load.verify.is_some() {
        let reason = "a search checks no data; hint: use a job of its own for each";
        return Err(section.error("verify", reason));
    }
    if search.is_some() && o.engine == EngineKind::Null {
        let reason = "engine null has no storage behind it; hint: use another";
        return Err(section.error("latency_target", reason));
    }
    let apart = matches!(o.offset_increment, Span::Bytes(0) | Span::Percent(0));
    let together = load.rw.is_random() && !o.filename.is_empty() && apart;
    let (jobs, workers) = if together { (1, o.numjobs) } else { (o.numjobs, 1) };
    let each = (o.filename.len() as u64).max(u64::from(o.nrfiles));
    if each * u64::from(jobs) > MOST_FILES {
        let reason = format!("the clones have more than {MOST_FILES} files in all");
        return Err(section.error("nrfiles", reason));
    }
    let job = |clone: u32| {
        // One after the other, so that no two jobs draw the same.
        let seed = match (o.randseed, o.randrepeat) {
            (Some(seed), _) => seed.wrapping_add(u64::from(clone)),
            (None, true) => 1 + u64::from(thread + clone),
            (None, false) => random.wrapping_add(u64::from(thread + clone)),
        };
        let mut load = Load { numjobs: workers, seed, ..load.clone() };
        if let Some(arrivals) = &mut load.arrivals {
            arrivals.rate_iops *= f64::from(workers);
        }
        let files = files(section, clone);
        PlannedJob {
            name: job_name(section),
            place: section.place.clone(),
            file_size_bytes: file_size(o, files.len() as u64, clone),
            takes_all: o.has_shares() || (o.size.is_none() && o.file_size.is_none()),
            files,
            may_create: o.allow_file_create,
            unlink: o.unlink,
            search,
            load,
            clone,
            options: o.clone(),
        }
    };
    Ok((0..jobs).map(job).collect())
}

/// What `latency_target` asks for.
fn search(o: &Typed) -> Option<Search> {
    let max_depth = o.iodepth.saturating_mul(o.numjobs).min(65_536);
    o.latency_limit().map(|limit| Search { limit, max_depth })
}

/// Paths of a clone's files, by fio's rules for their names.
fn files(section: &Section, clone: u32) -> Vec<PathBuf> {
    let o = &section.options;
    let spread = !o.directory.is_empty() && o.filename.is_empty();
    let directory = if spread { clone as usize % o.directory.len() } else { 0 };
    let directory = Path::new(o.directory.get(directory).map_or("", String::as_str));
    if !o.filename.is_empty() {
        return o.filename.iter().map(|name| plain(&directory.join(name))).collect();
    }
    // The section's name, whatever its `name`.
    let job = &section.name;
    let named = |file: u32| {
        let name = o
            .filename_format
            .replace("$jobname", job)
            .replace("$jobnum", &clone.to_string())
            .replace("$filenum", &file.to_string())
            .replace("$clientuid", "");
        plain(&directory.join(name))
    };
    // Without a number in it the name is the same for all of them.
    let files = if o.filename_format.contains("$filenum") { o.nrfiles } else { 1 };
    (0..files).map(named).collect()
}

/// The path without `.` in it, so that one file has one name.
fn plain(path: &Path) -> PathBuf {
    let plain: PathBuf = path.components().collect();
    match plain.strip_prefix(".") {
        Ok(rest) if rest != Path::new("") => rest.to_owned(),
        _ => plain,
    }
}

/// Size each file has to have: up to the end of the stretch.
fn file_size(o: &Typed, files: u64, clone: u32) -> Option<u64> {
    let stretch = o.size.map_or(0, Span::bytes) / files.max(1);
    o.file_size.or((stretch > 0).then(|| o.offset_bytes(0, clone).saturating_add(stretch)))
}

/// The load of a section, but for stretch and amount.
fn load(section: &Section) -> Result<Load, JobFileError> {
    let o = &section.options;
    let fail = |error: LoadError| section.error(error.option, error.reason);
    let shape = o.shape();
    // A thread of its own for each I/O is what these engines mean by depth; fio's have one.
    let iodepth = if o.engine.is_synchronous() { 1 } else { o.iodepth };
    let is_random = o.rw.is_random();
    let aligned = o.blockalign.is_none() && shape.modifier == Modifier::None;
    let uniform = o.distribution == Distribution::Uniform;
    let (arrivals, read_percent) = o.arrivals().map_err(fail)?;
    let load = Load {
        read_percent,
        distribution: if is_random { o.distribution.clone() } else { Distribution::Uniform },
        // As in fio: other alignments and several I/Os at an offset leave no map to keep.
        coverage: is_random && uniform && shape.coverage && aligned,
        blockalign_bytes: o.blockalign.filter(|_| is_random),
        thinktime: shape
            .thinktime
            .map(|thinktime| Thinktime { blocks: thinktime.blocks.max(1), ..thinktime }),
        numjobs: 1,
        iodepth,
        arrivals,
        batch: batch(o, iodepth),
        ..shape
    };
    // The files' sizes say how much it does.
    let ends = !(o.time_based && o.runtime_ns > 0);
    let counted = Load { number_ios: number_ios(o).or(ends.then_some(1)), ..load.clone() };
    counted.validate().map_err(fail)?;
    Ok(load)
}

/// fio takes 0 for no number.
fn number_ios(o: &Typed) -> Option<u64> {
    o.number_ios.filter(|ios| *ios > 0)
}

/// fio holds batches to the depth; a minimum of 0 asks to look without waiting first, which is done
/// always.
fn batch(o: &Typed, iodepth: u32) -> Batch {
    let complete_min = o.batch_complete_min.unwrap_or(1).clamp(1, iodepth);
    Batch {
        submit: o.batch_submit.unwrap_or(0).min(iodepth),
        complete_min,
        complete_max: o.batch_complete_max.map_or(0, |most| most.max(complete_min)),
    }
}

impl Section {
    /// What is wrong with an option, where it was set.
    pub(super) fn error(&self, option: &'static str, reason: impl Into<String>) -> JobFileError {
        JobFileError::of(&self.options, &self.place, option, reason)
    }
}

impl PlannedJob {
    fn error(&self, option: &'static str, reason: impl Into<String>) -> JobFileError {
        JobFileError::of(&self.options, &self.place, option, reason)
    }

    /// True where it changes its files.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.load.writes()
    }

    /// True where it goes past the page cache.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.load.direct
    }

    /// The engine it asks for.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.load.engine
    }

    /// True where another clone of its section begins at the same byte.
    pub(super) fn starts_with(&self, other: &Self) -> bool {
        let moves = !matches!(self.options.offset_increment, Span::Bytes(0) | Span::Percent(0));
        self.clone == other.clone || !moves
    }

    /// What `size` asks to be moved where `filesize` says how large files are.
    pub(super) fn amount_for_fio(&self) -> Option<u64> {
        match (self.options.size, self.options.file_size, self.options.io_size) {
            (Some(Span::Bytes(size)), Some(_), None) => Some(size),
            (Some(Span::Bytes(size)), Some(_), Some(Span::Percent(percent))) => {
                Some(Span::Percent(percent).of(size))
            }
            _ => None,
        }
    }

    /// The load on files of these usable sizes, in the order of [`Self::files`].
    ///
    /// # Errors
    /// Where a share of files of different sizes is asked, or the stretch has no room for a block.
    pub fn load(&self, file_bytes: &[u64]) -> Result<Load, JobFileError> {
        let o = &self.options;
        let whole = file_bytes.first().copied().unwrap_or(0);
        if o.has_shares() && file_bytes.iter().any(|bytes| *bytes != whole) {
            let reason = "files of different sizes have no share in common; hint: use bytes";
            return Err(self.error("size", reason));
        }
        let least = file_bytes.iter().min().copied().unwrap_or(0);
        let offset = o.offset_bytes(whole, self.clone);
        if offset >= least {
            let reason = format!("{offset} is not before the end of a file of {least} bytes");
            return Err(self.error("offset", reason));
        }
        let size = self.stretch(whole, file_bytes.len() as u64);
        let covered = file_bytes.iter().map(|bytes| size.unwrap_or(u64::MAX).min(bytes - offset));
        let mut load = Load { offset_bytes: offset, size_bytes: size, ..self.load.clone() };
        if self.search.is_none() {
            load.number_ios = number_ios(o);
            load.io_size_bytes = self.amount(covered.sum());
        }
        load.validate().map_err(|error| self.error(error.option, error.reason))?;
        Ok(load)
    }

    /// Bytes of each file from the offset on; `None` for all there are.
    fn stretch(&self, whole: u64, files: u64) -> Option<u64> {
        let o = &self.options;
        if o.file_size.is_some() {
            return o.file_size;
        }
        let bytes = match o.size? {
            Span::Bytes(bytes) => bytes / files.max(1),
            share => o.blocks_of(share, whole),
        };
        Some(bytes).filter(|bytes| *bytes > 0)
    }

    /// Bytes after which each worker ends; `None` where time ends it.
    fn amount(&self, covered_bytes: u64) -> Option<u64> {
        let o = &self.options;
        if o.time_based && o.runtime_ns > 0 {
            return None;
        }
        let size = match (o.size, o.file_size) {
            (Some(Span::Bytes(size)), Some(_)) => size,
            _ => covered_bytes,
        };
        let bytes = o.io_size.map_or(size, |amount| amount.of(size));
        // Whole blocks only, but one at least.
        let block = self.load.block.alignment().max(1);
        Some((bytes - bytes % block).max(block).saturating_mul(o.loops.max(1)))
    }
}
