//! A job file that fio is to run. iogauge reads it, resolves everything that names a file, and writes the
//! job file that fio receives, so that fio cannot read it differently from the guards.

use super::engines::{self, Reach};
use super::error::{Fault, JobFileError};
use super::plan::{self, PlannedJob, job_name};
use super::reader::{self, Written};
use super::via::{Via, is_plain};
use super::{OptionInfo, Section, Source, Status, find, nearest};
use iogauge_model::load::options::{SourceLine, Typed, Value, Wrong};
use iogauge_model::load::{EngineKind, Load};
use std::path::{Path, PathBuf};

/// Maximum length of the job file for fio. Nobody needs a longer one.
pub(super) const LONGEST_TEXT_BYTES: usize = 16 << 20;
/// Options that fio receives as written and that iogauge reads too, because they determine which bytes of
/// which files a job uses, how, and how much memory it takes.
const READ_TOO: &[&str] =
    &["kb_base", "bs", "bsrange", "bssplit", "iodepth", "direct", "buffered", "io_size"];
/// Options that fio receives as written for engines that use no files.
const WITHOUT_FILES: &[&str] =
    &["nrfiles", "size", "filesize", "offset", "offset_increment", "offset_align", "numjobs"];
/// The same, for engines whose file names refer to something on a network.
const REMOTE_NAMES: &[&str] = &["filename", "directory"];
/// As in fio, only the first of several clones has these.
const FIRST_ONLY: &[&str] = &["stonewall", "new_group"];
/// fio's words for directions, each with the direction whose guards apply: trimmed data is lost like
/// overwritten data.
const DIRECTIONS: &[(&str, &str)] = &[
    ("read", "read"),
    ("randread", "randread"),
    ("write", "write"),
    ("randwrite", "randwrite"),
    ("rw", "rw"),
    ("readwrite", "rw"),
    ("randrw", "randrw"),
    ("trim", "write"),
    ("randtrim", "randwrite"),
    ("trimwrite", "write"),
    ("randtrimwrite", "randwrite"),
];

/// A job file that fio is to run. Every option in it is known, and is passed to fio or implemented by
/// iogauge.
#[derive(Debug, Clone)]
pub struct FioJobs {
    /// Lines of the `[global]` sections, in order.
    global: Vec<Line>,
    jobs: Vec<FioJob>,
}

/// A job of such a file: a section.
#[derive(Debug, Clone)]
pub struct FioJob {
    pub name: String,
    /// fio's word for its direction.
    pub rw: String,
    pub engine: String,
    /// True if the engine has one I/O outstanding in each thread.
    pub synchronous: bool,
    /// True if it changes what it reaches.
    pub writes: bool,
    /// The job with its files, and each clone of it that has files or ranges of its own. Empty if its
    /// engine uses no files.
    pub clones: Vec<PlannedJob>,
    /// Its engine, queue depth, block sizes and threads as a workload, from which its memory and its use of
    /// caches are derived.
    pub shape: Load,
    reach: Reach,
    section: Section,
    /// Number of lines of `[global]` that apply to it, and its own lines.
    global: usize,
    lines: Vec<Line>,
    logs: Vec<Log>,
    kept: Vec<Written>,
}

/// A line as fio receives it.
#[derive(Debug, Clone)]
struct Line {
    option: &'static str,
    text: String,
}

/// A log that a job requests.
#[derive(Debug, Clone)]
struct Log {
    option: &'static str,
    /// Prefix of its name; the job's name is used if there is none.
    prefix: Option<String>,
}

impl Log {
    fn asked(&self, job: &FioJob) -> PathBuf {
        self.prefix.clone().unwrap_or_else(|| job.name.replace('/', "_")).into()
    }
}

/// A file as fio receives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenFile {
    /// Its name for fio: that of a descriptor.
    pub name: String,
    /// First byte that a job may use.
    pub base_bytes: u64,
    /// Number of bytes from there that a job may use.
    pub size_bytes: u64,
}

/// The job file that fio receives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FioText {
    /// The file's contents. Its sections have the names `j0`, `j1` and so on.
    pub text: String,
    /// The user's names of its sections.
    pub names: Vec<String>,
    /// Logs that fio writes, each with the prefix of its name in this file and the prefix that the user
    /// requested.
    pub logs: Vec<(String, PathBuf)>,
}

/// What is known of a section after each line.
#[derive(Debug, Clone)]
struct State {
    options: Typed,
    rw: String,
    engine: String,
    logs: Vec<Log>,
    kept: Vec<Written>,
}

impl FioJobs {
    /// Reads a job file for fio to run.
    ///
    /// # Errors
    /// Returns the first line that is not valid in a job file, or that has an option or value which fio
    /// must not receive.
    pub fn read(path: &Path, source: &dyn Source) -> Result<Self, JobFileError> {
        let mut state = State {
            options: Typed::fio(),
            rw: "read".to_owned(),
            engine: "psync".to_owned(),
            logs: Vec::new(),
            kept: Vec::new(),
        };
        let (mut global, mut jobs) = (Vec::new(), Vec::new());
        for section in reader::read(path, source)? {
            if section.name == "global" {
                state.take(&section.options, &mut global)?;
                state.options.name = None;
                continue;
            }
            let (mut own, mut lines) = (state.clone(), Vec::new());
            own.take(&section.options, &mut lines)?;
            jobs.push(own.job(section, global.len(), lines)?);
        }
        if jobs.is_empty() {
            let place = SourceLine { file: path.into(), line: 0 };
            return Err(JobFileError::form(&place, "has no job; hint: use [NAME]"));
        }
        Ok(Self { global, jobs })
    }

    #[must_use]
    pub fn jobs(&self) -> &[FioJob] {
        &self.jobs
    }

    /// Returns the prefixes of the log names that its jobs request.
    #[must_use]
    pub fn log_prefixes(&self) -> Vec<PathBuf> {
        let logs = self.jobs.iter().flat_map(|job| job.logs.iter().map(|log| log.asked(job)));
        let all: std::collections::BTreeSet<PathBuf> = logs.collect();
        all.into_iter().collect()
    }

    /// Writes the job file that fio receives. `given` returns each file as fio receives it. A `queue_depth`
    /// replaces the file's queue depths and times: the first job then runs at this queue depth until it is
    /// ended.
    ///
    /// # Errors
    /// Returns the first job that does not fit its files.
    pub fn text(
        &self,
        given: &dyn Fn(&Path) -> Option<GivenFile>,
        queue_depth: Option<u32>,
    ) -> Result<FioText, JobFileError> {
        let mut writer = Writer { jobs: self, written: FioText::default(), numbers: Vec::new() };
        let count = if queue_depth.is_some() { 1 } else { self.jobs.len() };
        for index in 0..count {
            writer.job(index, given, queue_depth)?;
        }
        Ok(writer.written)
    }
}

impl State {
    /// Applies options to a section. `kb_base`, which determines how sizes are read, is applied first,
    /// wherever it occurs.
    fn take(&mut self, written: &[Written], lines: &mut Vec<Line>) -> Result<(), JobFileError> {
        let is_base = |written: &&Written| written.name == "kb_base";
        let bases = written.iter().filter(is_base);
        for written in bases.chain(written.iter().filter(|written| !is_base(written))) {
            self.take_one(written, lines)?;
        }
        Ok(())
    }

    fn take_one(&mut self, written: &Written, lines: &mut Vec<Line>) -> Result<(), JobFileError> {
        let fail = |fault| JobFileError { place: written.place.clone(), fault };
        let Some(row) = find(&written.name) else {
            let Some((option, _, via)) = engines::option(&written.name) else {
                let (name, nearest) = (written.name.clone(), nearest(&written.name));
                return Err(fail(Fault::UnknownOption { name, nearest }));
            };
            lines.extend(via.line(option, written)?.map(|text| Line { option, text }));
            return Ok(());
        };
        let option = row.name;
        let wrong = |wrong: Wrong| {
            fail(match wrong {
                Wrong::Value(reason) => Fault::Value { option, reason },
                Wrong::Unsupported(why) => Fault::RefusedVia { option, why },
            })
        };
        match option {
            "rw" => self.rw = direction(written).map_err(wrong)?.to_owned(),
            "ioengine" => {
                let dialect = self.options.dialect;
                let word = Value { text: written.value.as_deref(), dialect };
                let word = word.word().map_err(wrong)?;
                engines::reach(word).map_err(wrong)?;
                self.engine = word.to_owned();
            }
            _ => self.read_too(row, written).map_err(wrong)?,
        }
        if row.via == Via::Log {
            self.logs.retain(|log| log.option != option);
            let prefix = written.value.clone().filter(|prefix| !prefix.is_empty());
            self.logs.push(Log { option, prefix });
        }
        lines.extend(row.via.line(option, written)?.map(|text| Line { option, text }));
        Ok(())
    }

    /// Reads an option that determines which bytes of which files a job uses.
    fn read_too(&mut self, row: &'static OptionInfo, written: &Written) -> Result<(), Wrong> {
        if WITHOUT_FILES.contains(&row.name) || REMOTE_NAMES.contains(&row.name) {
            self.kept.push(Written { name: row.name.to_owned(), ..written.clone() });
        }
        let decides = row.via == Via::Decided || READ_TOO.contains(&row.name);
        if let (true, Status::Handled(handled)) = (decides, row.status) {
            self.options.set(handled, written.value.as_deref(), Some(&written.place))?;
        }
        Ok(())
    }

    fn job(
        self,
        section: reader::Section,
        global: usize,
        lines: Vec<Line>,
    ) -> Result<FioJob, JobFileError> {
        let Self { mut options, rw, engine, logs, kept } = self;
        let word = rw.split(':').next().unwrap_or("read");
        let judged = DIRECTIONS.iter().find(|(name, _)| *name == word).map_or("rw", |pair| pair.1);
        options.plain.rw = judged.parse().unwrap_or(iogauge_model::load::Pattern::RandRw);
        options.plain.engine = EngineKind::Psync;
        let section = Section { name: section.name, place: section.place, options };
        // `reach` accepted the engine before, so it does not fail here.
        let reach = engines::reach(&engine).unwrap_or(Reach::Nothing);
        let clones = match reach {
            Reach::Files => plan::clones(&section, 0, 0)?,
            Reach::Remote | Reach::Nothing => Vec::new(),
        };
        let o = &section.options;
        let shape = Load {
            rw: o.plain.rw,
            engine: engines::nearest_kind(&engine),
            iodepth: o.plain.iodepth,
            numjobs: o.plain.numjobs,
            direct: o.plain.direct,
            block: o.block(),
            ..Load::default()
        };
        Ok(FioJob {
            name: job_name(&section),
            synchronous: engines::is_synchronous(&engine),
            writes: section.options.plain.rw.writes(),
            rw,
            engine,
            clones,
            shape,
            reach,
            section,
            global,
            lines,
            logs,
            kept,
        })
    }
}

/// Returns the direction in a value.
fn direction(written: &Written) -> Result<&str, Wrong> {
    let text = written.value.as_deref().unwrap_or_default();
    let word = text.split(':').next().unwrap_or_default();
    if DIRECTIONS.iter().any(|(name, _)| *name == word) {
        return Ok(text);
    }
    let words: Vec<&str> = DIRECTIONS.iter().map(|(name, _)| *name).collect();
    Err(Wrong::value(format!("\"{text}\" is none of {}", words.join(", "))))
}

impl FioJob {
    /// Returns true if it uses the files and devices that it names.
    #[must_use]
    pub fn has_files(&self) -> bool {
        self.reach == Reach::Files
    }

    /// Returns true if it only pretends to do I/O.
    #[must_use]
    pub fn is_null(&self) -> bool {
        self.reach == Reach::Nothing
    }

    /// Returns true if it writes to something on a network, which no guard can check.
    #[must_use]
    pub fn writes_remotely(&self) -> bool {
        self.reach == Reach::Remote && self.writes
    }
}

struct Writer<'a> {
    jobs: &'a FioJobs,
    written: FioText,
    /// For each written job, the number of its first section and its number of sections.
    numbers: Vec<(usize, usize)>,
}

impl Writer<'_> {
    fn job(
        &mut self,
        index: usize,
        given: &dyn Fn(&Path) -> Option<GivenFile>,
        queue_depth: Option<u32>,
    ) -> Result<(), JobFileError> {
        let job = &self.jobs.jobs[index];
        let awaited = self.awaited(index)?;
        let first = self.written.names.len();
        let alike = |a: &PlannedJob, b: &PlannedJob| a.files == b.files && a.starts_with(b);
        let together = job.clones.windows(2).all(|pair| alike(&pair[0], &pair[1]));
        let count = if together || queue_depth.is_some() { 1 } else { job.clones.len() };
        for clone in 0..count {
            let number = self.written.names.len();
            self.written.names.push(job.name.clone());
            self.line(&format!("[j{number}]"), &job.section.place)?;
            self.lines(job, clone == 0)?;
            if let Some(awaited) = awaited.filter(|_| clone == 0) {
                self.line(&format!("wait_for=j{awaited}"), &job.section.place)?;
            }
            self.files(job, clone, given)?;
            if job.has_files() && count == 1 {
                self.line(
                    &format!("numjobs={}", job.section.options.plain.numjobs),
                    &job.section.place,
                )?;
            }
            self.logs(job)?;
            self.searched(job, queue_depth)?;
        }
        self.numbers.push((first, count));
        Ok(())
    }

    /// Writes the lines that fio receives as written.
    fn lines(&mut self, job: &FioJob, is_first: bool) -> Result<(), JobFileError> {
        let jobs = self.jobs;
        for line in jobs.global[..job.global].iter().chain(&job.lines) {
            if is_first || !FIRST_ONLY.contains(&line.option) {
                self.line(&line.text, &job.section.place)?;
            }
        }
        Ok(())
    }

    /// Writes the files of the job and its range in them.
    fn files(
        &mut self,
        job: &FioJob,
        clone: usize,
        given: &dyn Fn(&Path) -> Option<GivenFile>,
    ) -> Result<(), JobFileError> {
        let place = &job.section.place;
        let Some(planned) = job.clones.get(clone) else {
            for written in &job.kept {
                let names = job.reach == Reach::Remote;
                let option = REMOTE_NAMES.iter().filter(|_| names).chain(WITHOUT_FILES);
                if let Some(option) = option.into_iter().find(|name| **name == written.name)
                    && let Some(text) = Via::Pass.line(option, written)?
                {
                    self.line(&text, place)?;
                }
            }
            return Ok(());
        };
        let files: Option<Vec<GivenFile>> = planned.files.iter().map(|file| given(file)).collect();
        let Some(files) = files.filter(|files| files.iter().all(|file| is_plain(&file.name)))
        else {
            return Err(JobFileError::form(place, "has a file that was not judged"));
        };
        for (option, value) in planned.stretch_for_fio(&files)? {
            self.line(&format!("{option}={value}"), place)?;
        }
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        self.line(&format!("filename={}", names.join(":")), place)?;
        // Every file exists and has its size, so fio must neither create nor recreate one.
        self.line("allow_file_create=0", place)?;
        self.line("fallocate=none", place)
    }

    /// Writes the logs, each with a unique name in fio's directory.
    fn logs(&mut self, job: &FioJob) -> Result<(), JobFileError> {
        for log in &job.logs {
            let asked = log.asked(job);
            let known = self.written.logs.iter().position(|(_, prefix)| *prefix == asked);
            let number = known.unwrap_or(self.written.logs.len());
            if known.is_none() {
                self.written.logs.push((format!("log{number}"), asked));
            }
            self.line(&format!("{}=log{number}", log.option), &job.section.place)?;
        }
        Ok(())
    }

    /// Writes what a search decides, after the job's own options, because fio takes the last value of an
    /// option.
    fn searched(&mut self, job: &FioJob, queue_depth: Option<u32>) -> Result<(), JobFileError> {
        let Some(queue_depth) = queue_depth else { return Ok(()) };
        let (iodepth, numjobs) = if job.synchronous { (1, queue_depth) } else { (queue_depth, 1) };
        let place = &job.section.place;
        for line in [
            &format!("iodepth={iodepth}"),
            &format!("numjobs={numjobs}"),
            "time_based=1",
            // A week, which is practically forever.
            "runtime=604800",
            "ramp_time=0",
            "lat_percentiles=1",
            "group_reporting=1",
        ] {
            self.line(line, place)?;
        }
        Ok(())
    }

    /// Returns the section that a job waits for.
    fn awaited(&self, index: usize) -> Result<Option<usize>, JobFileError> {
        let section = &self.jobs.jobs[index].section;
        let Some(awaited) = &section.options.wait_for else { return Ok(None) };
        let before = &self.jobs.jobs[..index.min(self.numbers.len())];
        let is_awaited = |job: &FioJob| job.name == *awaited;
        let found: Vec<usize> = (0..before.len()).filter(|i| is_awaited(&before[*i])).collect();
        let reason = match found[..] {
            [one] if self.numbers[one].1 == 1 => return Ok(Some(self.numbers[one].0)),
            [] => format!("no job above has the name \"{awaited}\""),
            _ => format!("\"{awaited}\" is the name of several jobs; hint: use stonewall"),
        };
        Err(section.error("wait_for", reason))
    }

    fn line(&mut self, line: &str, place: &SourceLine) -> Result<(), JobFileError> {
        let text = &mut self.written.text;
        if text.len() + line.len() >= LONGEST_TEXT_BYTES {
            let what = format!(
                "the jobs come to more than {} MiB of options; hint: use fewer jobs, or a \
                 shorter [global]",
                LONGEST_TEXT_BYTES >> 20
            );
            return Err(JobFileError::form(place, what));
        }
        text.push_str(line);
        text.push('\n');
        Ok(())
    }
}

impl PlannedJob {
    /// Returns the job's range in its files as fio options. The files exist in full, and fio's `size` is
    /// the total over all of them.
    fn stretch_for_fio(
        &self,
        files: &[GivenFile],
    ) -> Result<Vec<(&'static str, u64)>, JobFileError> {
        let sizes: Vec<u64> = files.iter().map(|file| file.size_bytes).collect();
        let base = files.first().map_or(0, |file| file.base_bytes);
        if files.iter().any(|file| file.base_bytes != base) {
            let what = "files that iogauge made and others begin at different bytes; hint: use \
                        a job of its own for each kind";
            return Err(JobFileError::form(&self.place, what));
        }
        let load = self.load(&sizes)?;
        let count = files.len() as u64;
        let mut options = Vec::new();
        let offset = base.saturating_add(load.offset_bytes);
        if offset > 0 {
            options.push(("offset", offset));
        }
        let same = sizes.windows(2).all(|pair| pair[0] == pair[1]);
        let least = sizes.iter().min().copied().unwrap_or(0);
        let left = least.saturating_sub(load.offset_bytes);
        let each = match load.size_bytes {
            // fio recreates a file that ends before the range does, which it must not do here.
            Some(each) => Some(each.min(left)),
            None if same => Some(left),
            // fio processes each file to its end.
            None => None,
        };
        // For a partial block at the end of the range, fio issues a whole one if the file continues beyond
        // it.
        let block = load.block.alignment().max(1);
        let whole = |each: u64| if each < block { each } else { each - each % block };
        if let Some(each) = each.map(whole) {
            options.push(("size", each.saturating_mul(count)));
        }
        options.extend(self.amount_for_fio().map(|bytes| ("io_size", bytes)));
        Ok(options)
    }
}
