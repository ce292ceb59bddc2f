//! Writes a step as an equivalent fio job file for the same target.

use super::options::{self, clone_rates, file_list, of_load, whole_rate, without_dependence};
use iogauge_model::load::{Distribution, EngineKind, Load, Logs};
use iogauge_model::plan::Step;
use iogauge_model::units::{size_word, time_word};

/// A file or device of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePart {
    pub path: String,
    /// First byte that a workload may use.
    pub base_bytes: u64,
    /// Number of bytes from there that a workload may use.
    pub size_bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobFile {
    /// The file's contents.
    pub text: String,
    /// What it cannot express, or only approximately, one line each.
    pub differs: Vec<String>,
}

/// Why there is no job file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobOutError {
    /// The target is a simulated device.
    #[error("fio has no simulated devices; hint: use a directory, a file or a block device")]
    Simulated,
    /// fio would read the path differently.
    #[error("fio job files cannot hold the path {path:?}; hint: use one without {without}")]
    Path { path: String, without: &'static str },
}

/// The use of a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    /// To be read by people, and run by them.
    Print,
    /// To be run by iogauge, which reads the results.
    Drive { apart: bool },
}

/// Writes the job file of a step on these parts of a target. The step's `ramp_ns` and `runtime_ns` become
/// `ramp_time` and `runtime`.
///
/// # Errors
/// Fails if fio cannot reach the target, or if a job file cannot contain its path.
pub fn job_file(step: &Step, parts: &[FilePart]) -> Result<JobFile, JobOutError> {
    write(step, &[parts.to_vec()], Purpose::Print)
}

/// Writes a job file that iogauge itself runs to read the results. It differs from [`job_file`] in that all
/// latencies are from submission to completion, workers are threads, and errors are counted as iogauge
/// counts them. Each job has parts of its own; if there are more jobs than parts, the remaining jobs use
/// the last ones. Jobs are reported as one unless `apart` is set.
///
/// # Errors
/// Fails like [`job_file`].
pub fn driven_file(
    step: &Step,
    parts: &[Vec<FilePart>],
    apart: bool,
) -> Result<JobFile, JobOutError> {
    write(step, parts, Purpose::Drive { apart })
}

fn write(step: &Step, parts: &[Vec<FilePart>], purpose: Purpose) -> Result<JobFile, JobOutError> {
    let of_job = |job: usize| parts.get(job).or(parts.last()).map_or(&[][..], Vec::as_slice);
    let grounds: Vec<&[FilePart]> = (0..step.jobs.len()).map(of_job).collect();
    let simulated = step.jobs.iter().any(|job| job.load.engine == EngineKind::Sim);
    if simulated || grounds.iter().any(|parts| parts.is_empty()) {
        return Err(JobOutError::Simulated);
    }
    grounds.iter().copied().flatten().try_for_each(|part| check_path(&part.path))?;
    let logs = step.jobs.iter().filter_map(|job| job.load.logs.as_ref());
    logs.flat_map(Logs::prefixes).try_for_each(check_path)?;
    let mut text = format!("# {}\n[global]\n", one_line(&step.label));
    let mut put = |name: &str, value: &str| {
        text.push_str(name);
        text.push('=');
        text.push_str(value);
        text.push('\n');
    };
    let names = |parts: &[FilePart]| file_list(parts.iter().map(|part| part.path.as_str()));
    let shared = grounds.windows(2).all(|pair| pair[0] == pair[1]);
    if let Some(parts) = grounds.first().filter(|_| shared) {
        put("filename", &names(parts));
    }
    put("group_reporting", "1");
    put("time_based", "1");
    put("runtime", &time_word(step.runtime_ns));
    if step.ramp_ns > 0 {
        put("ramp_time", &time_word(step.ramp_ns));
    }
    if purpose != Purpose::Print {
        put("lat_percentiles", "1");
        put("continue_on_error", "all");
        put("thread", "1");
    }
    let mut differs = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    for (job, parts) in step.jobs.iter().zip(&grounds) {
        let word = job.load.rw.as_str();
        let same = words.iter().filter(|known| **known == word).count();
        words.push(word);
        let number = if same == 0 { String::new() } else { format!("-{}", same + 1) };
        text.push_str(&format!("\n[{word}{number}]\n"));
        if purpose == (Purpose::Drive { apart: true }) {
            text.push_str("new_group=1\n");
        }
        if !shared {
            text.push_str(&format!("filename={}\n", names(parts)));
        }
        let (options, job_differs) = job_options(&job.load, parts);
        for (name, value) in options {
            text.push_str(&format!("{name}={value}\n"));
        }
        for line in job_differs {
            if !differs.contains(&line) {
                differs.push(line);
            }
        }
    }
    Ok(JobFile { text, differs })
}

fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn check_path(path: &str) -> Result<(), JobOutError> {
    let without = if path.contains(['#', ';']) {
        "# and ;, where fio ends a line"
    } else if path.chars().any(char::is_control) {
        "control characters"
    } else if path.contains("${") {
        "\"${\""
    } else if path.contains(char::REPLACEMENT_CHARACTER) {
        "bytes that are not UTF-8"
    } else if path.trim() != path {
        "spaces at its ends"
    } else {
        return Ok(());
    };
    Err(JobOutError::Path { path: path.to_owned(), without })
}

/// How a workload is divided among fio's clones of a job.
#[derive(Debug, Clone, Copy)]
struct Clones {
    iodepth: u32,
    clones: u32,
}

impl Clones {
    /// A blocking engine has one I/O outstanding per thread, so the queue depth is the number of clones.
    fn of(load: &Load) -> Self {
        if load.engine.is_synchronous() {
            Self { iodepth: 1, clones: load.queue_depth() }
        } else {
            Self { iodepth: load.iodepth, clones: load.numjobs }
        }
    }
}

/// Returns the options of one job, and the differences from the workload.
fn job_options(load: &Load, parts: &[FilePart]) -> (Vec<options::FioOption>, Vec<String>) {
    let shared = Clones::of(load);
    let mut differs = differences(load, shared);
    let mut options = of_load(load, shared.iodepth, shared.clones);
    options.extend(region(load, parts, &mut differs));
    if load.is_counted() {
        // With `time_based`, the job would continue after its amount is done.
        options.push(("time_based", "0".to_owned()));
    }
    if let (Some(ios), None) = (load.number_ios, load.io_size_bytes) {
        // Without it, the job ends once its size is done, even if I/Os are left.
        let each = ios.div_ceil(u64::from(shared.clones.max(1)));
        options.push(("io_size", size_word(each.saturating_mul(load.block.largest()))));
    }
    if load.writes() && load.content.is_random() {
        // Data that neither compresses nor repeats.
        options.push(("refill_buffers", "1".to_owned()));
    }
    if parts.len() > 1 && load.rw.is_random() {
        options.push(("file_service_type", "random".to_owned()));
    }
    (options, differs)
}

/// Returns the range of the workload. fio's `size` is over all files, and each clone of a sequential job
/// starts where the previous one ends.
fn region(load: &Load, parts: &[FilePart], differs: &mut Vec<String>) -> Vec<options::FioOption> {
    let base = parts.iter().map(|part| part.base_bytes).max().unwrap_or(0);
    let offset = base + load.offset_bytes;
    let left = |part: &FilePart| {
        let left = (part.base_bytes + part.size_bytes).saturating_sub(offset);
        load.size_bytes.map_or(left, |size| size.min(left))
    };
    let least = parts.iter().map(left).min().unwrap_or(0);
    if parts.iter().any(|part| left(part) != least || part.base_bytes != base) {
        differs.push(
            "size: fio uses the same stretch of each file; printed is what the smallest has"
                .to_owned(),
        );
    }
    let alignment = load.block.alignment();
    let streams = u64::from(load.numjobs.max(1));
    let mut each = least / alignment * alignment;
    let mut options = Vec::new();
    if offset > 0 {
        options.push(("offset", size_word(offset)));
    }
    let stretch = each / streams / alignment * alignment;
    if let Some(increment) = load.offset_increment_bytes {
        options.push(("offset_increment", size_word(increment)));
    } else if !load.rw.is_random() && streams > 1 && stretch >= load.block.largest() {
        each = stretch;
        options.push(("offset_increment", size_word(stretch)));
    }
    options.push(("size", size_word(each * parts.len() as u64)));
    options
}

/// Returns what fio has no option for, or counts differently.
fn differences(load: &Load, shared: Clones) -> Vec<String> {
    let mut differs = Vec::new();
    let mut tell = |line: String| differs.push(line);
    let clones = shared.clones;
    if load.dependent {
        tell(
            "dependent: fio's I/Os do not wait for each other; printed are reads and writes mixed \
             half and half"
                .to_owned(),
        );
    }
    if load.arrivals.is_some() {
        let rates = clone_rates(&without_dependence(load), clones);
        if rates.iter().any(|rate| (whole_rate(*rate) as f64 - rate).abs() > 1e-6) {
            tell(format!(
                "rate_iops: fio takes whole I/Os per second for each direction of each of \
                 {clones} jobs; printed is the nearest"
            ));
        }
    }
    if load.engine == EngineKind::IoUring && !shared.iodepth.is_power_of_two() {
        tell(format!(
            "iodepth: io_uring of fio 3.33 keeps as many I/Os outstanding as the next power of two, \
             {}; libaio keeps {}",
            shared.iodepth.next_power_of_two(),
            shared.iodepth
        ));
    }
    if let Some(ios) = load.number_ios
        && !ios.saturating_mul(u64::from(load.numjobs)).is_multiple_of(u64::from(clones.max(1)))
    {
        tell(format!(
            "number_ios: {ios} I/Os do not divide among the jobs that each of the {} becomes; \
             printed is the next number that does",
            load.numjobs
        ));
    }
    if load.coverage && load.rw.is_random() && clones > 1 {
        tell("norandommap: each of fio's jobs visits every block itself".to_owned());
    }
    if let Distribution::Zoned(zones) = &load.distribution
        && zones.iter().any(|z| z.access_percent.fract() != 0.0 || z.size_percent.fract() != 0.0)
    {
        tell("random_distribution: fio takes whole percentages of zones".to_owned());
    }
    if !load.rw.is_random() && clones > load.numjobs {
        tell(format!(
            "iodepth: fio's {} has one I/O outstanding in each job, and each of {clones} jobs \
             goes through the target itself",
            load.engine.as_str()
        ));
    }
    differs
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{ArrivalProcess, Arrivals, BlockSizes, Pattern};
    use iogauge_model::plan::Job;

    fn part(path: &str) -> FilePart {
        FilePart { path: path.to_owned(), base_bytes: 1 << 20, size_bytes: 1 << 30 }
    }

    fn of(load: Load) -> JobFile {
        let step = Step::single(load, 1_000_000_000, 10_000_000_000);
        job_file(&step, &[part("/data/iogauge.dat")]).unwrap()
    }

    #[test]
    fn default_load_is_written_as_job_file() {
        let file = of(Load { iodepth: 16, ..Load::default() });
        let wanted = "\
# randread 4 KiB depth 16
[global]
filename=/data/iogauge.dat
group_reporting=1
time_based=1
runtime=10
ramp_time=1

[randread]
rw=randread
bs=4k
iodepth=16
numjobs=1
ioengine=io_uring
direct=1
norandommap=1
randseed=1
offset=1m
size=1g
";
        assert_eq!(file.text, wanted);
        assert!(file.differs.is_empty(), "{:?}", file.differs);
    }

    #[test]
    fn sequential_clones_get_separate_ranges() {
        let load = Load { rw: Pattern::Write, numjobs: 4, ..Load::default() };
        let text = of(load).text;
        for line in ["size=256m", "offset_increment=256m", "offset=1m", "refill_buffers=1"] {
            assert!(text.lines().any(|l| l == line), "{line}: {text}");
        }
        assert!(!text.contains("norandommap"), "{text}");
        // Too small to be divided.
        let block = BlockSizes::fixed(1 << 20);
        let small = Load {
            rw: Pattern::Read,
            numjobs: 4,
            size_bytes: Some(2 << 20),
            block,
            ..Load::default()
        };
        let text = of(small).text;
        assert!(text.contains("\nsize=2m\n") && !text.contains("increment"), "{text}");
    }

    #[test]
    fn queue_depth_becomes_numjobs_for_synchronous_engines() {
        let load = Load { engine: EngineKind::Psync, iodepth: 8, numjobs: 2, ..Load::default() };
        let file = of(load.clone());
        assert!(file.text.contains("\niodepth=1\nnumjobs=16\n"), "{}", file.text);
        assert!(!file.text.contains("batch"), "{}", file.text);
        assert!(file.differs.is_empty());
        let file = of(Load { rw: Pattern::Read, ..load });
        assert!(file.differs[0].contains("psync"), "{:?}", file.differs);
    }

    #[test]
    fn settings_without_fio_equivalent_are_listed() {
        let arrivals =
            |rate_iops| Some(Arrivals { rate_iops, process: ArrivalProcess::Linear, only: None });
        let cases = [
            (Load { dependent: true, ..Load::default() }, "dependent: "),
            (Load { arrivals: arrivals(1000.0), numjobs: 3, ..Load::default() }, "rate_iops: "),
            (
                Load {
                    number_ios: Some(10),
                    iodepth: 3,
                    engine: EngineKind::Psync,
                    ..Load::default()
                },
                "number_ios: ",
            ),
            (Load { coverage: true, numjobs: 3, ..Load::default() }, "norandommap: "),
            (
                Load {
                    distribution: "zoned:60/10:30/20.5:10/69.5".parse().unwrap(),
                    ..Load::default()
                },
                "random_distribution: ",
            ),
        ];
        for (load, word) in cases {
            let differs = of(load).differs;
            assert!(differs.len() == 1 && differs[0].starts_with(word), "{word}: {differs:?}");
        }
        assert!(
            of(Load { arrivals: arrivals(999.0), numjobs: 3, ..Load::default() })
                .differs
                .is_empty()
        );
    }

    #[test]
    fn each_job_lists_only_its_own_files() {
        let load = Load { rw: Pattern::Read, numjobs: 2, ..Load::default() };
        let jobs = vec![Job { name: String::new(), load }; 2];
        let step = Step { label: "own".to_owned(), jobs, ramp_ns: 0, runtime_ns: 1_000_000_000 };
        let parts = [vec![part("/data/a")], vec![part("/data/b"), part("/data/c")]];
        let text = driven_file(&step, &parts, true).unwrap().text;
        let [head, first, second] = text.split("\n[read").collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        assert!(!head.contains("filename"), "{text}");
        assert!(first.contains("\nfilename=/data/a\n") && first.contains("\nsize=512m\n"));
        assert!(second.contains("\nfilename=/data/b:/data/c\n"), "{text}");
        // In each file, both halves of the range that the job's two workers share.
        assert!(second.contains("\noffset_increment=512m\nsize=1g\n"), "{text}");
        // Jobs after the last parts use the last ones.
        let text = driven_file(&step, &parts[..1], false).unwrap().text;
        assert!(text.matches("filename=").count() == 1, "{text}");
        assert_eq!(
            driven_file(&step, &[parts[0].clone(), vec![]], true),
            Err(JobOutError::Simulated)
        );
    }

    #[test]
    fn job_file_supports_multiple_jobs_and_files() {
        let job = |rw| Job { name: "a name".to_owned(), load: Load { rw, ..Load::default() } };
        let step = Step {
            label: "some\njobs".to_owned(),
            jobs: vec![job(Pattern::RandRead), job(Pattern::Write), job(Pattern::RandRead)],
            ramp_ns: 0,
            runtime_ns: 1_500_000_000,
        };
        let device = FilePart { base_bytes: 0, size_bytes: 1 << 29, ..part("/dev/a:b") };
        let file = job_file(&step, &[part("/data/x"), device]).unwrap();
        for line in [
            "# some jobs",
            "filename=/data/x:/dev/a\\:b",
            "runtime=1500ms",
            "[randread]",
            "[write]",
            "[randread-2]",
            "size=1022m",
            "file_service_type=random",
        ] {
            assert!(file.text.lines().any(|l| l == line), "{line}: {}", file.text);
        }
        assert!(!file.text.contains("ramp_time"));
        assert!(file.differs.len() == 1 && file.differs[0].starts_with("size: "));
    }

    #[test]
    fn targets_unusable_by_fio_are_rejected() {
        let step = Step::single(Load::default(), 0, 1);
        assert_eq!(job_file(&step, &[]), Err(JobOutError::Simulated));
        for path in ["/a\nb", "/a#1", "/a;b", "/${HOME}/x", "/a ", "/\u{fffd}"] {
            let error = job_file(&step, &[part(path)]).unwrap_err();
            assert!(matches!(error, JobOutError::Path { .. }), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }
        let simulated = Step::single(Load { engine: EngineKind::Sim, ..Load::default() }, 0, 1);
        assert_eq!(job_file(&simulated, &[part("/x")]), Err(JobOutError::Simulated));
    }
}
