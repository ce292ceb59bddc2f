//! The workload of a job, from the options in fio's JSON (fio 2.6 and later).

use super::stored::StoredOptions;
use crate::reported_workload::ReportedWorkload;
use iogauge_model::result::BlockRange;
use iogauge_model::units::parse_size_bytes;

/// fio's default block size.
const DEFAULT_BLOCK: &str = "4k";

/// The options of a job that describe its result.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct JobOptions {
    pub(super) asked: ReportedWorkload,
    numjobs: Option<u32>,
    verifies: bool,
}

/// What a document says about the number of processes in a result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Processes {
    /// The option `numjobs`; `None` if unknown.
    pub(super) numjobs: Option<u32>,
    /// Processes that the sum of their run times takes at least.
    pub(super) at_least: u32,
}

impl Processes {
    /// Returns the number of processes in a result. `alike` is the number of results with this name in the
    /// document: clones that fio did not report as a group have a result each.
    pub(super) fn users(self, alike: usize) -> Option<u32> {
        let numjobs = self.numjobs?;
        Some(if alike > 1 { 1 } else { numjobs.max(self.at_least) })
    }
}

impl JobOptions {
    /// Reads the options of a job, then those of all jobs, then fio's defaults. Nothing is known if the job
    /// has no options at all.
    pub(super) fn of(job: Option<&StoredOptions>, global: &StoredOptions) -> Self {
        let Some(job) = job else { return Self::default() };
        let get = |names: &[&str]| job.get(names).or_else(|| global.get(names));
        let number = |name| get(&[name]).map_or(Some(1), |text| text.trim().parse().ok());
        let rw = get(&["rw", "readwrite"]).unwrap_or("read");
        let rw = rw.split(':').next().unwrap_or(rw).trim();
        let verifies = get(&["verify"]).is_some_and(|value| value.trim() != "0");
        let asked = ReportedWorkload {
            host: String::new(),
            rw: if rw == "readwrite" { "rw" } else { rw }.to_owned(),
            blocks: [0, 1, 2].map(|direction| block(&get, direction)),
            engine: get(&["ioengine"]).unwrap_or("psync").to_owned(),
            iodepth: number("iodepth"),
            // Without a value, it is the flag of older versions.
            is_synchronous: Some(
                get(&["sync"]).is_some_and(|value| !matches!(value.trim(), "0" | "none")),
            ),
        };
        Self { asked, numjobs: number("numjobs"), verifies }
    }

    /// Returns what is known about the number of processes. fio's JSON does not have it for a group, nor the
    /// option `group_reporting` if it was given on the command line. But it has the sum of their run times,
    /// which includes the verification after the writes.
    pub(super) fn processes(&self, job_runtime_ms: Option<f64>, runtime_ms: f64) -> Processes {
        let numjobs = self.numjobs;
        if self.verifies {
            return Processes { numjobs, at_least: 1 };
        }
        let summed = job_runtime_ms.filter(|_| runtime_ms > 0.0).unwrap_or_default() / runtime_ms;
        // No process runs longer than the group; rounding must not add a process.
        let at_least = if summed.is_finite() { (summed - 0.05).ceil() as u32 } else { 1 };
        Processes { numjobs, at_least: at_least.max(1) }
    }
}

/// Returns the block sizes of a direction: 0 for reads, 1 for writes, 2 for trims.
fn block<'a>(get: &impl Fn(&[&str]) -> Option<&'a str>, direction: usize) -> Option<BlockRange> {
    if let Some(split) = get(&["bssplit"]) {
        let entries = of_direction(split, direction).split(':');
        let sizes = entries.map(|entry| size(entry.split('/').next().unwrap_or(entry)));
        let sizes: Option<Vec<u64>> = sizes.collect();
        let sizes = sizes?;
        return Some(BlockRange {
            min_bytes: *sizes.iter().min()?,
            max_bytes: *sizes.iter().max()?,
        });
    }
    let text = get(&["bsrange", "blocksize_range"]).or_else(|| get(&["bs", "blocksize"]));
    let text = of_direction(text.unwrap_or(DEFAULT_BLOCK), direction);
    let text = if text.is_empty() { DEFAULT_BLOCK } else { text };
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    Some(BlockRange { min_bytes: size(min)?, max_bytes: size(max)? })
}

/// Returns the part of `READ,WRITE,TRIM` for a direction; the last part also applies to the directions
/// after it.
fn of_direction(text: &str, direction: usize) -> &str {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or(text);
    parts.take(direction).last().unwrap_or(first).trim()
}

fn size(text: &str) -> Option<u64> {
    parse_size_bytes(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(job: &str, global: &str) -> JobOptions {
        let options = |text: &str| serde_json::from_str::<StoredOptions>(text).unwrap();
        JobOptions::of(Some(&options(job)), &options(global))
    }

    fn asked(job: &str, global: &str) -> ReportedWorkload {
        of(job, global).asked
    }

    fn range(min_bytes: u64, max_bytes: u64) -> Option<BlockRange> {
        Some(BlockRange { min_bytes, max_bytes })
    }

    #[test]
    fn job_options_override_globals_and_defaults() {
        let job = asked(r#"{"rw": "randrw:8", "bs": "8k"}"#, r#"{"bs": "4k", "iodepth": "16"}"#);
        assert_eq!((job.rw.as_str(), job.engine.as_str()), ("randrw", "psync"));
        assert_eq!((job.blocks[1], job.iodepth), (range(8192, 8192), Some(16)));
        assert_eq!(asked("{}", "{}").blocks, [range(4096, 4096); 3]);
        assert_eq!(asked(r#"{"readwrite": "readwrite"}"#, "{}").rw, "rw");
        assert_eq!(asked(r#"{"iodepth": 4}"#, "{}").iodepth, Some(4), "as other tools write it");
        let untold = JobOptions::of(None, &StoredOptions::default());
        assert_eq!((&untold, untold.asked.is_synchronous), (&JobOptions::default(), None));
    }

    #[test]
    fn block_sizes_per_direction_are_read() {
        let blocks = |option: &str| asked(&format!("{{{option}}}"), "{}").blocks;
        let (k4, k8) = (range(4096, 4096), range(8192, 8192));
        assert_eq!(blocks(r#""bs": "4k,8k""#), [k4, k8, k8]);
        assert_eq!(blocks(r#""bs": ",8k""#), [k4, k8, k8]);
        assert_eq!(blocks(r#""bs": "8k,""#), [k8, k4, k4]);
        assert_eq!(blocks(r#""bsrange": "4k-8k,8k-8k""#), [range(4096, 8192), k8, k8]);
        assert_eq!(blocks(r#""bssplit": "4k/60:8k/40,8k/100""#), [range(4096, 8192), k8, k8]);
        assert_eq!(blocks(r#""bs": "many""#), [None; 3]);
    }

    #[test]
    fn sync_option_marks_writes_as_synchronous() {
        let waits = |job: &str, global: &str| asked(job, global).is_synchronous.unwrap();
        for yes in ["1", "sync", "dsync", ""] {
            assert!(waits(&format!(r#"{{"sync": "{yes}"}}"#), "{}"), "{yes}");
        }
        assert!(waits(r#"{"bs": "1k"}"#, r#"{"sync": 1}"#));
        assert!(!waits(r#"{"sync": "0"}"#, r#"{"sync": "1"}"#));
        // The time of a flush after a write is not part of the write's.
        for no in [r#"{"sync": "none"}"#, r#"{"fsync": "1"}"#, r#"{"direct": "1"}"#, "{}"] {
            assert!(!waits(no, "{}"), "{no}");
        }
        let joined = |mine, theirs| {
            let of =
                |is_synchronous| ReportedWorkload { is_synchronous, ..ReportedWorkload::default() };
            ReportedWorkload::common([&of(mine), &of(theirs)]).is_synchronous
        };
        assert_eq!(joined(Some(true), Some(true)), Some(true));
        assert_eq!(joined(Some(true), None), None);
        assert_eq!(joined(None, Some(false)), Some(false));
    }

    #[test]
    fn process_count_is_derived_from_numjobs_and_job_runtime() {
        let one = of(r#"{"numjobs": "1"}"#, "{}");
        assert_eq!(
            one.processes(Some(24_000.0), 3001.0).users(1),
            Some(8),
            "a group of eight jobs"
        );
        assert_eq!(one.processes(Some(3002.0), 3001.0).users(1), Some(1));
        assert_eq!(one.processes(None, 3001.0).users(1), Some(1));
        assert_eq!(one.processes(Some(1.0), 0.0).users(1), Some(1));
        let clones = of(r#"{"numjobs": "4"}"#, "{}");
        assert_eq!(clones.processes(Some(6000.0), 3000.0).users(1), Some(4), "two ended early");
        assert_eq!(clones.processes(Some(3000.0), 3000.0).users(4), Some(1), "a result each");
        assert_eq!(JobOptions::default().processes(Some(1.0), 1.0).users(1), None);
        let verifying = of(r#"{"verify": "crc32c"}"#, "{}");
        assert_eq!(verifying.processes(Some(6000.0), 3000.0).users(1), Some(1));
    }
}
