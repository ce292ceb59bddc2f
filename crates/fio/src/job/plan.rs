//! From sections to planned jobs: groups, clones, files, ranges and amounts.

use super::Section;
use super::error::{Fault, JobFileError};
use iogauge_model::limit::Limit;
use iogauge_model::load::options::{MOST, SourceLine, Span, Typed};
use iogauge_model::load::{
    Batch, Distribution, EngineKind, Load, LoadError, Modifier, OwnTime, Thinktime, Verify,
};
use std::path::{Path, PathBuf};

/// Files are used in units of at least this size.
const SECTOR_BYTES: u64 = 512;
/// Maximum number of files of all clones of a job together.
const MOST_FILES: u64 = 16_384;
/// Files of test data end at a multiple of this, so that direct I/O reaches their end.
const FILE_STEP_BYTES: u64 = 4096;

/// Jobs that run together, after the previous group has ended.
#[derive(Debug, Clone)]
pub struct Group {
    /// The jobs, at least one.
    pub jobs: Vec<PlannedJob>,
    /// Time before measuring begins, in nanoseconds; 0 if the jobs have ramp times of their own.
    pub ramp_ns: u64,
    /// Time after which all of them end, in nanoseconds; `None` if each ends when its amount is done, or at
    /// a time of its own.
    pub runtime_ns: Option<u64>,
    /// True if only the sum of the jobs is reported.
    pub sums_up: bool,
}

/// A job, or a clone of one, with its files.
#[derive(Debug, Clone)]
pub struct PlannedJob {
    /// The name that fio gives it.
    pub name: String,
    /// The first line of its section.
    pub place: SourceLine,
    /// Its files and devices, at least one; engine null uses none of them.
    pub files: Vec<PathBuf>,
    /// Required size of each file, if given.
    pub file_size_bytes: Option<u64>,
    /// True if an existing file counts with its whole size, because percentages of it are requested, or all
    /// of it, or because the last block of the range lies partly behind it.
    pub takes_all: bool,
    /// True if missing files may be created.
    pub may_create: bool,
    /// True if files that iogauge created are removed at the end.
    pub unlink: bool,
    /// A search that replaces the workload; the job is then the only one in its file.
    pub search: Option<Search>,
    /// True if a search sets queue depth and time, so that no amount ends the job.
    is_searched: bool,
    /// The workload without range and amount, which depend on the file sizes.
    load: Load,
    /// The clone's number, from 0.
    clone: u32,
    options: Typed,
}

/// fio's `latency_target`: the highest queue depth at which a limit holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Search {
    pub limit: Limit,
    /// The largest queue depth to try.
    pub max_depth: u32,
}

/// Returns the groups of a job file's sections.
pub(super) fn plan(sections: &[Section], random: u64) -> Result<Vec<Group>, JobFileError> {
    let mut groups: Vec<Vec<(usize, PlannedJob)>> = Vec::new();
    let mut threads = 0;
    for (index, section) in sections.iter().enumerate() {
        let barrier = section.options.stonewall || waits(&sections[..index], section, &groups)?;
        if barrier || groups.is_empty() {
            groups.push(Vec::new());
        }
        threads += section.options.plain.numjobs;
        if threads > MOST {
            let reason = format!("the file has more than {MOST} jobs and clones");
            return Err(section.error("numjobs", reason));
        }
        let jobs = clones(section, random, threads - section.options.plain.numjobs)?;
        if let Some(group) = groups.last_mut() {
            group.extend(jobs.into_iter().map(|job| (index, job)));
        }
    }
    let groups: Vec<Group> = groups.into_iter().map(group).collect();
    groups.iter().try_for_each(check_steady_state)?;
    let jobs: Vec<&PlannedJob> = groups.iter().flat_map(|group| &group.jobs).collect();
    if let Some(job) = jobs.iter().find(|job| job.search.is_some())
        && jobs.len() > 1
    {
        let reason = "a search has the storage for itself; hint: use a file of one job";
        return Err(job.error("latency_target", reason));
    }
    Ok(groups)
}

/// Checks that the jobs of a group, which run together, are to attain the same steady state.
fn check_steady_state(group: &Group) -> Result<(), JobFileError> {
    let mut jobs = group.jobs.iter();
    let Some(first) = jobs.next() else { return Ok(()) };
    match jobs.find(|job| job.load.steady_state != first.load.steady_state) {
        None => Ok(()),
        Some(other) => {
            let reason = "jobs that run together attain it together; hint: put the steadystate options into \
                          [global], or use stonewall";
            Err(other.error("steadystate_duration", reason))
        }
    }
}

/// Returns true if the section has to wait for a job of the current group. Jobs of earlier groups have
/// ended anyway.
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
        let why = "other jobs run together with that one; hint: use stonewall, which waits for all";
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

/// Creates a group. Times that all jobs share become those of the group; if they differ, each job keeps its
/// own.
fn group(jobs: Vec<(usize, PlannedJob)>) -> Group {
    let mut jobs: Vec<PlannedJob> = jobs.into_iter().map(|(_, job)| job).collect();
    // A report of some of the jobs together is not possible.
    let is_split = jobs.iter().skip(1).any(|job| job.options.new_group && job.clone == 0);
    let sums_up = !is_split && jobs.iter().all(|job| job.options.group_reporting);
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

/// Returns the jobs of a section. Clones that draw their offsets from the same files become workers of one
/// job, which issues the same I/Os; other clones become separate jobs.
pub(super) fn clones(
    section: &Section,
    random: u64,
    thread: u32,
) -> Result<Vec<PlannedJob>, JobFileError> {
    let o = &section.options;
    let load = load(section)?;
    if o.plain.engine == EngineKind::Null && file_size(o, 1, 0).is_none() {
        let reason = "engine null has no file to take it from; hint: use size=1g";
        return Err(section.error("size", reason));
    }
    let search = search(o);
    if search.is_some() {
        check_search(&load).map_err(|error| section.error(error.option, error.reason))?;
    }
    let apart = matches!(o.offset_increment, Span::Bytes(0) | Span::Percent(0));
    let together = load.rw.is_random() && !o.filename.is_empty() && apart;
    let (jobs, workers) = if together { (1, o.plain.numjobs) } else { (o.plain.numjobs, 1) };
    let each = (o.filename.len() as u64).max(u64::from(o.nrfiles));
    if each * u64::from(jobs) > MOST_FILES {
        let reason = format!("the clones have more than {MOST_FILES} files in all");
        return Err(section.error("nrfiles", reason));
    }
    let job = |clone: u32| {
        // Seeds are consecutive, so that no two jobs draw the same offsets.
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
            takes_all: o.has_shares()
                || (o.size.is_none() && o.file_size.is_none())
                || end_matters(o, &load, files.len() as u64, clone),
            files,
            may_create: o.allow_file_create,
            unlink: o.unlink,
            search,
            is_searched: search.is_some(),
            load,
            clone,
            options: o.clone(),
        }
    };
    Ok((0..jobs).map(job).collect())
}

/// Returns the block size if a load goes through its files in order, with the bytes it skips.
fn in_order(load: &Load) -> Option<(u64, u64)> {
    let block = load.block.single().filter(|_| !load.rw.is_random())?;
    match load.modifier {
        Modifier::None => Some((block, 0)),
        Modifier::Skip(bytes) => Some((block, u64::try_from(bytes).ok()?)),
        _ => None,
    }
}

/// True if it matters what is behind the range: its last block lies partly behind it, a skip leads behind it, or it
/// does not end with a sector.
fn end_matters(o: &Typed, load: &Load, files: u64, clone: u32) -> bool {
    let in_order = in_order(load);
    if in_order.is_some_and(|(_, skip)| skip > 0) {
        return true;
    }
    let (Some(Span::Bytes(size)), None) = (o.size, o.file_size) else { return false };
    let range = size / files.max(1);
    let end = o.offset_bytes(0, clone).saturating_add(range);
    !end.is_multiple_of(SECTOR_BYTES)
        || in_order.is_some_and(|(block, _)| !range.is_multiple_of(block))
}

/// True if a file goes on behind a range, so that fio would not have made it for the range. Files that
/// iogauge makes for a range end at a multiple of [`FILE_STEP_BYTES`].
fn goes_on(range: u64, rest: u64) -> bool {
    range.checked_next_multiple_of(FILE_STEP_BYTES).is_some_and(|end| rest > end)
}

/// Checks that a search can set the load.
fn check_search(load: &Load) -> Result<(), LoadError> {
    let (option, reason) = match () {
        () if load.arrivals.is_some() => {
            ("latency_target", "the search sets the load itself; hint: remove the rate")
        }
        () if load.verify.is_some() => {
            ("verify", "a search does not verify data; hint: use separate jobs")
        }
        () if load.logs.is_some() => {
            ("latency_target", "a search writes no logs; hint: remove the write_…_log options")
        }
        () if load.steady_state.is_some() => (
            "latency_target",
            "a search looks for no steady state; hint: remove steadystate_duration",
        ),
        () if load.engine == EngineKind::Null => {
            ("latency_target", "engine null has no storage; hint: use another engine")
        }
        () => return Ok(()),
    };
    Err(LoadError { option, reason: reason.to_owned() })
}

/// Returns what `latency_target` requests.
fn search(o: &Typed) -> Option<Search> {
    let max_depth = o.plain.iodepth.saturating_mul(o.plain.numjobs).min(65_536);
    o.latency_limit().map(|limit| Search { limit, max_depth })
}

/// Returns the paths of a clone's files, by fio's naming rules.
fn files(section: &Section, clone: u32) -> Vec<PathBuf> {
    let o = &section.options;
    let spread = !o.directory.is_empty() && o.filename.is_empty();
    let directory = if spread { clone as usize % o.directory.len() } else { 0 };
    let directory = Path::new(o.directory.get(directory).map_or("", String::as_str));
    if !o.filename.is_empty() {
        return o.filename.iter().map(|name| plain(&directory.join(name))).collect();
    }
    // The section's name, even if the option `name` is set.
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
    // Without a number, all files have the same name.
    let files = if o.filename_format.contains("$filenum") { o.nrfiles } else { 1 };
    (0..files).map(named).collect()
}

/// Removes `.` from a path, so that each file has one name.
fn plain(path: &Path) -> PathBuf {
    let plain: PathBuf = path.components().collect();
    match plain.strip_prefix(".") {
        Ok(rest) if rest != Path::new("") => rest.to_owned(),
        _ => plain,
    }
}

/// Returns the required size of each file: up to the end of the range.
fn file_size(o: &Typed, files: u64, clone: u32) -> Option<u64> {
    let stretch = o.size.map_or(0, Span::bytes) / files.max(1);
    o.file_size.or((stretch > 0).then(|| o.offset_bytes(0, clone).saturating_add(stretch)))
}

/// Returns the workload of a section, without range and amount.
fn load(section: &Section) -> Result<Load, JobFileError> {
    let o = &section.options;
    let fail = |error: LoadError| section.error(error.option, error.reason);
    let shape = o.shape();
    // With these engines, iogauge's queue depth means one thread per I/O; fio's threads have a depth of 1.
    let iodepth = if o.plain.engine.is_synchronous() { 1 } else { o.plain.iodepth };
    let is_random = o.plain.rw.is_random();
    let each_once = matches!(shape.modifier, Modifier::None | Modifier::Identical(_));
    let aligned = o.plain.blockalign_bytes.is_none() && each_once;
    let uniform = o.plain.distribution == Distribution::Uniform;
    let (arrivals, read_percent) = o.arrivals().map_err(fail)?;
    let load = Load {
        read_percent,
        distribution: if is_random { o.plain.distribution.clone() } else { Distribution::Uniform },
        // As in fio, there is no coverage map if offsets are aligned differently or used for several I/Os.
        coverage: is_random && uniform && shape.coverage && aligned,
        blockalign_bytes: o.plain.blockalign_bytes.filter(|_| is_random),
        thinktime: shape
            .thinktime
            .map(|thinktime| Thinktime { blocks: thinktime.blocks.max(1), ..thinktime }),
        numjobs: 1,
        iodepth,
        arrivals,
        batch: batch(o, iodepth),
        logs: o.logs.named(&job_name(section)),
        verify: shape
            .verify
            .map(|verify| Verify { state: o.verify_state(&job_name(section)), ..verify }),
        ..shape
    };
    if o.verify_only && load.verify.is_none() && load.writes() {
        let reason = "has no effect without verify; hint: use verify=crc32c, too, or rw=read";
        return Err(section.error("verify_only", reason));
    }
    // The amount is unknown here because it depends on the file sizes.
    let ends = !(o.time_based && o.runtime_ns > 0);
    let counted = Load { number_ios: number_ios(o).or(ends.then_some(1)), ..load.clone() };
    counted.validate().map_err(fail)?;
    Ok(load)
}

/// Returns the number of I/Os; fio takes 0 for no number, and with `time_based` begins again after each.
fn number_ios(o: &Typed) -> Option<u64> {
    let ends = !(o.time_based && o.runtime_ns > 0);
    let ios = o.number_ios.filter(|ios| *ios > 0 && ends);
    ios.map(|ios| ios.saturating_mul(o.loops.max(1)))
}

/// Returns the batch sizes. As in fio, they are at most the queue depth. A minimum of 0 means to poll
/// before waiting, which iogauge always does.
fn batch(o: &Typed, iodepth: u32) -> Batch {
    let complete_min = o.batch_complete_min.unwrap_or(1).clamp(1, iodepth);
    Batch {
        submit: o.batch_submit.unwrap_or(0).min(iodepth),
        complete_min,
        complete_max: o.batch_complete_max.map_or(0, |most| most.max(complete_min)),
    }
}

impl Section {
    /// Creates an error about an option, at the line that set it.
    pub(super) fn error(&self, option: &'static str, reason: impl Into<String>) -> JobFileError {
        JobFileError::of(&self.options, &self.place, option, reason)
    }
}

impl PlannedJob {
    fn error(&self, option: &'static str, reason: impl Into<String>) -> JobFileError {
        JobFileError::of(&self.options, &self.place, option, reason)
    }

    /// Returns true if the job changes its files.
    #[must_use]
    pub fn writes(&self) -> bool {
        self.load.writes()
    }

    /// Returns true if the job writes logs.
    #[must_use]
    pub fn writes_logs(&self) -> bool {
        self.load.logs.is_some()
    }

    /// Returns true if the job bypasses the page cache.
    #[must_use]
    pub fn direct(&self) -> bool {
        self.load.direct
    }

    /// Lets a search set queue depth and time in place of the job's own.
    ///
    /// # Errors
    /// The job has a rate, verifies data, or has no storage.
    pub fn searched(mut self) -> Result<Self, JobFileError> {
        check_search(&self.load).map_err(|error| self.error(error.option, error.reason))?;
        self.is_searched = true;
        Ok(self)
    }

    /// Returns the requested engine.
    #[must_use]
    pub fn engine(&self) -> EngineKind {
        self.load.engine
    }

    /// Returns the first byte that the job uses in its files; 0 if it is a percentage.
    #[must_use]
    pub fn least_offset_bytes(&self) -> u64 {
        self.options.offset_bytes(0, self.clone)
    }

    /// Returns true if the other clone of the section begins at the same byte.
    pub(super) fn starts_with(&self, other: &Self) -> bool {
        let moves = !matches!(self.options.offset_increment, Span::Bytes(0) | Span::Percent(0));
        self.clone == other.clone || !moves
    }

    /// Returns the amount that `io_size` requests; fio takes 0 for none.
    fn io_size(&self) -> Option<Span> {
        self.options.io_size.filter(|amount| *amount != Span::Bytes(0))
    }

    /// Returns the amount that `size` requests if `filesize` sets the size of files.
    pub(super) fn amount_for_fio(&self) -> Option<u64> {
        match (self.options.size, self.options.file_size, self.io_size()) {
            (Some(Span::Bytes(size)), Some(_), None) => Some(size),
            (Some(Span::Bytes(size)), Some(_), Some(Span::Percent(percent))) => {
                Some(Span::Percent(percent).of(size))
            }
            _ => None,
        }
    }

    /// Returns the workload for files of these usable sizes, in the order of [`Self::files`].
    ///
    /// # Errors
    /// Fails if a percentage of files of different sizes is requested, or if the range is smaller than a
    /// block.
    pub fn load(&self, file_bytes: &[u64]) -> Result<Load, JobFileError> {
        let o = &self.options;
        let whole = file_bytes.first().copied().unwrap_or(0);
        if o.has_shares() && file_bytes.iter().any(|bytes| *bytes != whole) {
            let reason = "files of different sizes have no share in common; hint: use bytes";
            return Err(self.error("size", reason));
        }
        let whole = o.file_size.unwrap_or(whole);
        let least = file_bytes.iter().min().copied().unwrap_or(0);
        let offset = o.offset_bytes(whole, self.clone);
        if offset >= least {
            let reason = format!("{offset} is not before the end of a file of {least} bytes");
            return Err(self.error("offset", reason));
        }
        let size = self.stretch(whole, file_bytes.len() as u64);
        let rest = least - offset;
        let size = size.map(|range| self.whole_blocks(range, rest));
        let mut load = Load { offset_bytes: offset, size_bytes: size, ..self.load.clone() };
        if !self.is_searched {
            let ranges = file_bytes.iter().map(|bytes| {
                let rest = bytes - offset;
                let range = size.unwrap_or(rest).min(rest);
                (range, if goes_on(range, rest) { rest } else { range })
            });
            load.number_ios = number_ios(o);
            load.io_size_bytes = self.amount(ranges);
        }
        load.validate().map_err(|error| self.error(error.option, error.reason))?;
        Ok(load)
    }

    /// Returns the bytes of each file after the offset; `None` for all of them.
    fn stretch(&self, whole: u64, files: u64) -> Option<u64> {
        let o = &self.options;
        let bytes = match (o.size, o.file_size) {
            (Some(share @ Span::Percent(_)), _) => o.blocks_of(share, whole),
            (_, Some(file_size)) => file_size,
            (Some(Span::Bytes(bytes)), None) => bytes / files.max(1),
            (None, None) => return None,
        };
        Some(bytes).filter(|bytes| *bytes > 0)
    }

    /// Returns the bytes after which each worker ends; `None` if time ends it. `ranges` has the range of
    /// each file, and the bytes from its start to where fio's file would end.
    fn amount(&self, ranges: impl Iterator<Item = (u64, u64)> + Clone) -> Option<u64> {
        let o = &self.options;
        if o.time_based && o.runtime_ns > 0 {
            return None;
        }
        let loops = o.loops.max(1);
        // The block that reaches an amount is whole.
        let looped = |bytes: u64, block: u64| {
            let bytes = bytes.saturating_mul(loops);
            bytes.checked_next_multiple_of(block).unwrap_or(bytes)
        };
        let asked = match o.size {
            Some(Span::Bytes(size)) if size > 0 => size,
            _ => u64::MAX,
        };
        let block = self.load.block.alignment().max(1);
        let bytes = match self.io_size() {
            Some(amount) => {
                let covered = ranges.map(|(range, _)| range).sum::<u64>();
                looped(amount.of(asked.min(covered)), block)
            }
            None => {
                let passes = ranges.map(|(range, rest)| self.pass(range, rest, asked));
                let bytes = passes.sum::<u64>().max(self.size_behind_share());
                let whole = bytes - bytes % block;
                whole.saturating_mul(loops).min(looped(asked, self.load.block.largest()))
            }
        };
        Some(bytes.max(block))
    }

    /// Returns the amount of a job whose range begins at a percentage of the file: in fio that of `size`, even if less
    /// is left of the file. 0 for other jobs.
    fn size_behind_share(&self) -> u64 {
        let o = &self.options;
        match (o.size, [o.offset, o.offset_increment].into_iter().any(Span::is_share)) {
            (Some(Span::Bytes(size)), true) => size,
            _ => 0,
        }
    }

    /// Returns a range with the rest of a block that begins in it, if the job goes through it in order and the
    /// file, of `rest` bytes from its start, goes on behind it. fio issues such a block.
    fn whole_blocks(&self, range: u64, rest: u64) -> u64 {
        let in_order = in_order(&self.load).filter(|_| goes_on(range, rest));
        let Some((block, skip)) = in_order else { return range };
        let last = range.saturating_sub(1) / (block + skip) * (block + skip);
        last.saturating_add(block).max(range).min(rest)
    }

    /// Returns the bytes of one pass over a range, of a file with `rest` bytes from its start. As in fio, a
    /// pass in order has a block at every position in the range. Where the file ends with the range, the
    /// last block is whole, and a skip across the end wraps around unless less than the range is asked for.
    fn pass(&self, range: u64, rest: u64, asked: u64) -> u64 {
        let Some((block, skip)) = in_order(&self.load) else { return range };
        let step = block + skip;
        if rest > range {
            return range.div_ceil(step) * block;
        }
        let Some(room) = range.checked_sub(block) else { return range };
        let whole = room / step + 1;
        let end = (whole - 1) * step + block;
        let is_part = self.options.file_size.is_some() && asked < range;
        let wraps = end < range && range <= end + skip && !is_part;
        (if wraps { range.div_ceil(block) } else { whole }) * block
    }
}
