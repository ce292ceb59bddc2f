//! `iometer`: four phases of reads and writes, with a file for each thread.
//!
//! Tools that start a thread for each file run this test: write the file, read it, read it at
//! random, read and write it at random. They use the page cache and need files much larger than
//! memory; this suite bypasses the page cache.

use super::kit::{
    NOTHING, Row, block_fits, capitalized, counted, listed, step_of, table, whole, words,
};
use super::seconds::iops_by_second;
use super::site::processors;
use super::{Needs, Site, SiteKind, Suite, SuiteError, SuiteOptions, SuiteStep};
use crate::session::Region;
use iogauge_model::Caveat;
use iogauge_model::Step;
use iogauge_model::load::{BlockSizes, Load, Pattern};
use iogauge_model::plan::{Job, LONGEST_NS};
use iogauge_model::result::{Cell, Conclusion, SuiteStepResult, SuiteTable, Table};
use iogauge_model::units::{Bandwidth, Bytes, parse_count, size_word};
use serde_json::json;

/// The phases and their patterns.
const PHASES: [(&str, Pattern); 4] = [
    ("write", Pattern::Write),
    ("read", Pattern::Read),
    ("random read", Pattern::RandRead),
    ("random read-write", Pattern::RandRw),
];

/// IOPS are even if the highest second has less than this many times the IOPS of the lowest.
const EVEN: f64 = 1.05;

#[derive(Debug)]
struct IoMeter {
    /// As typed.
    threads: Option<u32>,
    /// Bytes of each thread's file, if typed.
    file_bytes: Option<u64>,
    buffer_bytes: u64,
    read_percent: u32,
    runtime_ns: u64,
    buffered: bool,
    /// True if the first phase writes each file once, and ends then.
    create_once: bool,
}

pub(super) fn build(options: &SuiteOptions) -> Result<Box<dyn Suite>, SuiteError> {
    Ok(Box::new(read(options)?))
}

fn read(options: &SuiteOptions) -> Result<IoMeter, SuiteError> {
    let file_bytes = match options.text("filesize").map(parse_count) {
        // A number without a unit is in MiB.
        Some(Ok(mib)) if options.text("filesize").is_some_and(is_bare) && mib > 0 => {
            Some(mib.saturating_mul(1 << 20))
        }
        _ => options.size_bytes("filesize")?,
    };
    Ok(IoMeter {
        threads: options.count("threads", 1024)?,
        file_bytes,
        buffer_bytes: options.size_bytes("buffersize")?.unwrap_or(65_536),
        read_percent: (options.share("rwmixread")?.unwrap_or(0.5) * 100.0).round() as u32,
        runtime_ns: options.duration_ns("seconds")?.unwrap_or(10_000_000_000),
        buffered: options.has("buffered"),
        create_once: options.has("create-once"),
    })
}

fn is_bare(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The region of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThreadExtent {
    part: usize,
    offset_bytes: u64,
    size_bytes: u64,
}

impl IoMeter {
    fn wanted(&self) -> u32 {
        self.threads.unwrap_or_else(|| 2 * processors())
    }

    /// Returns a region for each thread: its own part, or a share of one.
    fn places(&self, site: &Site) -> Result<Vec<ThreadExtent>, SuiteError> {
        let parts = site.part_bytes.len();
        let mut threads = self.wanted() as usize;
        if threads < parts {
            if self.threads.is_some() {
                let reason = format!(
                    "{threads} would leave parts of the target alone; hint: use {parts} or more"
                );
                return Err(SuiteError::option("threads", reason));
            }
            threads = parts;
        }
        (0..threads).map(|thread| self.place(site, thread, threads)).collect()
    }

    fn place(
        &self,
        site: &Site,
        thread: usize,
        threads: usize,
    ) -> Result<ThreadExtent, SuiteError> {
        let parts = site.part_bytes.len();
        let (part, slot) = (thread % parts, thread / parts);
        let sharing = threads / parts + usize::from(part < threads % parts);
        let whole = |bytes: u64| bytes / self.buffer_bytes * self.buffer_bytes;
        let share_bytes = whole(site.part_bytes[part] / sharing as u64);
        let size_bytes = whole(self.file_bytes.unwrap_or(share_bytes)).min(share_bytes);
        let asked_bytes = self.file_bytes.unwrap_or(self.buffer_bytes);
        if size_bytes == 0 || size_bytes < whole(asked_bytes) {
            let reason = format!(
                "{} for each of {sharing} threads do not fit into {}; hint: use {} at most",
                Bytes(asked_bytes),
                Bytes(site.part_bytes[part]),
                size_word(share_bytes)
            );
            let option = if self.file_bytes.is_some() { "filesize" } else { "buffersize" };
            return Err(SuiteError::option(option, reason));
        }
        Ok(ThreadExtent { part, offset_bytes: slot as u64 * share_bytes, size_bytes })
    }

    fn step(&self, site: &Site, places: &[ThreadExtent], phase: &str, rw: Pattern) -> SuiteStep {
        let is_once = self.create_once && rw == Pattern::Write;
        let job = |(thread, place): (usize, &ThreadExtent)| Job {
            name: format!("thread {}", thread + 1),
            load: Load {
                rw,
                read_percent: self.read_percent,
                block: BlockSizes::fixed(self.buffer_bytes),
                offset_bytes: place.offset_bytes,
                size_bytes: Some(place.size_bytes),
                io_size_bytes: is_once.then_some(place.size_bytes),
                direct: !self.buffered,
                seed: thread as u64 + 1,
                ..site.load()
            },
        };
        let jobs: Vec<Job> = places.iter().enumerate().map(job).collect();
        let label = format!(
            "{rw} {} by {}{}",
            Bytes(self.buffer_bytes),
            counted(jobs.len() as u64, "thread"),
            if is_once { ", once" } else { "" }
        );
        let runtime_ns = if is_once { LONGEST_NS } else { self.runtime_ns };
        let step = Step { label, jobs, ramp_ns: 0, runtime_ns };
        SuiteStep {
            regions: places.iter().map(|place| Region::Parts(vec![place.part])).collect(),
            sums_up: true,
            ..SuiteStep::single(phase, phase, step)
        }
    }
}

impl Suite for IoMeter {
    fn needs(&self) -> Needs {
        let files = self.wanted();
        Needs {
            files,
            size_bytes: self.file_bytes.map(|bytes| bytes.saturating_mul(u64::from(files))),
            size_is_total: true,
            writes: true,
            direct: !self.buffered,
            // The first phase writes every block that a later one reads.
            fresh_devices: self.create_once,
        }
    }

    fn plan(&self, site: &Site) -> Result<Vec<SuiteStep>, SuiteError> {
        if !self.buffered {
            block_fits(site, "buffersize", self.buffer_bytes)?;
        }
        let places = self.places(site)?;
        Ok(PHASES.iter().map(|(phase, rw)| self.step(site, &places, phase, *rw)).collect())
    }

    fn conclude(&self, site: &Site, steps: &[SuiteStepResult]) -> (Conclusion, Vec<Caveat>) {
        let phases: Vec<Phase> =
            PHASES.iter().filter_map(|(phase, _)| Phase::of(phase, steps)).collect();
        let places = self.places(site).unwrap_or_default();
        let files_bytes: u64 = places.iter().map(|place| place.size_bytes).sum();
        let exceed = (site.kind != SiteKind::Simulated && site.memory_bytes > 0)
            .then_some(files_bytes > site.memory_bytes);
        let mut verdict = verdict(&phases, places.len(), self.buffer_bytes);
        if let Some(exceed) = exceed.filter(|_| !phases.is_empty()) {
            verdict.push(of_memory(files_bytes, site.memory_bytes, exceed, self.buffered));
        }
        let own = |phase: &Phase| {
            json!({
                "phase": phase.row.key,
                "bytes_per_sec": phase.row.all.bytes_per_sec,
                "iops": phase.row.all.iops,
                "iops_min": phase.lowest,
                "iops_max": phase.highest,
            })
        };
        let conclusion = Conclusion {
            verdict,
            tables: vec![SuiteTable::Own(self.table(&phases, &places))],
            findings: json!({
                "threads": places.len(),
                "files_bytes": files_bytes,
                "files_exceed_memory": exceed,
                "phases": phases.iter().map(own).collect::<Vec<_>>(),
            }),
        };
        (conclusion, Vec::new())
    }
}

/// The figures of a phase.
#[derive(Debug, Clone, PartialEq)]
struct Phase {
    row: Row,
    /// Its duration in seconds.
    seconds: usize,
    lowest: f64,
    highest: f64,
}

impl Phase {
    fn of(name: &str, steps: &[SuiteStepResult]) -> Option<Self> {
        let step = step_of(steps, name)?;
        let row = Row::of(name, step)?;
        let seconds = iops_by_second(&step.series);
        // Without a series, which fio may omit, every second has the mean.
        let end = |better: fn(f64, f64) -> f64| {
            seconds.iter().copied().reduce(better).unwrap_or(row.all.iops)
        };
        let (lowest, highest) = (end(f64::min), end(f64::max));
        Some(Self { seconds: seconds.len(), lowest, highest, row })
    }
}

impl IoMeter {
    fn table(&self, phases: &[Phase], places: &[ThreadExtent]) -> Table {
        let each = places.iter().map(|place| place.size_bytes).min().unwrap_or(0);
        let title = format!(
            "{} with a file of {} each, by {}",
            counted(places.len() as u64, "thread"),
            Bytes(each),
            Bytes(self.buffer_bytes)
        );
        let mut table = table(
            title,
            phases,
            &[
                ("#phase", &|phase| words(&phase.row.key)),
                ("bandwidth", &|phase| phase.row.bandwidth()),
                ("IOPS", &|phase| phase.row.iops()),
                ("lowest", &|phase| Cell::Iops(phase.lowest)),
                ("highest", &|phase| Cell::Iops(phase.highest)),
                ("mean", &|phase| phase.row.mean()),
                ("p99", &|phase| phase.row.p99()),
                ("max", &|phase| phase.row.max()),
            ],
        );
        let note = "All threads together; IOPS of the phase, and of its lowest and highest second.";
        table.notes.push(note.to_owned());
        table
    }
}

fn verdict(phases: &[Phase], places: usize, buffer_bytes: u64) -> Vec<String> {
    if phases.is_empty() {
        return vec![NOTHING.to_owned()];
    }
    let rate =
        |Phase { row, .. }: &Phase| format!("{} {}", row.key, Bandwidth(row.all.bytes_per_sec));
    let rates = listed(phases.iter().map(rate), ", ");
    let threads = counted(places as u64, "thread");
    let first = capitalized(&format!("{rates}, by {threads} and {}.", Bytes(buffer_bytes)));
    let swing = |phase: &Phase| phase.highest / phase.lowest.max(f64::MIN_POSITIVE);
    let widest = phases
        .iter()
        .filter(|phase| phase.seconds > 1)
        .max_by(|a, b| swing(a).total_cmp(&swing(b)));
    let uneven = widest.map(|phase| {
        if swing(phase) < EVEN {
            return "IOPS were even from second to second.".to_owned();
        }
        format!(
            "{} varied most from second to second: {} to {} IOPS, {} on average.",
            capitalized(&phase.row.key),
            whole(phase.lowest),
            whole(phase.highest),
            whole(phase.row.all.iops)
        )
    });
    std::iter::once(first).chain(uneven).collect()
}

/// Describes how the size of memory affects the figures.
fn of_memory(files_bytes: u64, memory_bytes: u64, exceed: bool, buffered: bool) -> String {
    let (files, memory) = (Bytes(files_bytes), Bytes(memory_bytes));
    let size = if exceed { ", more than" } else { " and fit into" };
    let effect = match (exceed, buffered) {
        (false, false) => "bypassed the page cache: the figures are those of the target",
        (true, false) => "bypassed the page cache",
        (false, true) => {
            "used the page cache (--buffered): reads may never have reached the target, nor writes by the end \
             of the phase"
        }
        (true, true) => "used the page cache (--buffered): a part of it did not reach the target",
    };
    format!("The files have {files}{size} the {memory} of memory. The I/O {effect}.")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::made_up::{self, site};

    fn suite(typed: &[(&str, &str)]) -> IoMeter {
        read(&made_up::options("iometer", typed)).unwrap()
    }

    const MIB: u64 = 1 << 20;

    #[test]
    fn each_thread_uses_its_own_file_or_extent() {
        let four = suite(&[("threads", "4"), ("filesize", "16")]);
        let place = |part, offset_bytes| ThreadExtent { part, offset_bytes, size_bytes: 16 * MIB };
        let files = four.places(&site(SiteKind::Files, &[16 * MIB; 4])).unwrap();
        assert_eq!(files, [place(0, 0), place(1, 0), place(2, 0), place(3, 0)]);
        let device = four.places(&site(SiteKind::Devices, &[64 * MIB])).unwrap();
        assert_eq!(
            device,
            [place(0, 0), place(0, 16 * MIB), place(0, 32 * MIB), place(0, 48 * MIB)]
        );
        let three =
            suite(&[("threads", "3")]).places(&site(SiteKind::Devices, &[64 * MIB, 10 * MIB]));
        let sizes: Vec<_> = three.unwrap().iter().map(|p| (p.part, p.size_bytes / MIB)).collect();
        assert_eq!(sizes, [(0, 32), (1, 10), (0, 32)]);
    }

    #[test]
    fn create_once_bounds_only_the_write_phase_by_size() {
        let plan = |typed: &[(&str, &str)]| {
            let parts = site(SiteKind::Files, &[16 * MIB, 8 * MIB]);
            suite(&[&[("threads", "2")], typed].concat()).plan(&parts).unwrap()
        };
        let amounts = |step: &SuiteStep| {
            let jobs = step.asked().jobs;
            jobs.iter().map(|job| job.load.io_size_bytes).collect::<Vec<_>>()
        };
        let once = plan(&[("create-once", "")]);
        assert_eq!(amounts(&once[0]), [Some(16 * MIB), Some(8 * MIB)]);
        assert_eq!(once[0].asked().label, "write 64 KiB by 2 threads, once");
        let cost = once[0].cost();
        assert_eq!((cost.time_ns, cost.written_bytes), (None, Some(24 * MIB)));
        let timed = plan(&[]);
        for (once, timed) in once.iter().zip(&timed).skip(1) {
            assert_eq!(amounts(once), [None, None]);
            assert_eq!(once, timed);
        }
        assert_eq!(timed[0].cost().time_ns, Some(10_000_000_000));
    }

    #[test]
    fn thread_files_exceeding_the_target_are_rejected() {
        let wrong = |typed: &[(&str, &str)], parts: &[u64]| {
            suite(typed).plan(&site(SiteKind::Devices, parts)).unwrap_err().to_string()
        };
        assert_eq!(
            wrong(&[("threads", "4"), ("filesize", "100")], &[64 * MIB]),
            "--filesize: 100 MiB for each of 4 threads do not fit into 64 MiB; hint: use 16m at most"
        );
        assert!(wrong(&[("threads", "1")], &[MIB, MIB]).contains("hint: use 2 or more"));
        assert!(
            wrong(&[("threads", "40")], &[MIB]).starts_with("--buffersize: 64 KiB for each of 40")
        );
    }

    #[test]
    fn filesize_without_unit_is_in_megabytes() {
        let needs = |text: &str| {
            let typed = [("threads", "2"), ("filesize", text)];
            let suite = made_up::build("iometer", &typed);
            suite.map(|suite| suite.needs().size_bytes.unwrap() / 2)
        };
        assert_eq!(needs("100").ok(), Some(100 * MIB));
        assert_eq!(needs("1g").ok(), Some(1 << 30));
        assert_eq!(needs("512k").ok(), Some(512 << 10));
        assert!(needs("0").is_err() && needs("much").is_err());
    }

    #[test]
    fn memory_note_depends_on_page_cache_use() {
        let words = |exceed, buffered| of_memory(MIB, MIB, exceed, buffered);
        assert!(words(false, false).contains("those of the target"));
        assert!(words(true, false).ends_with("bypassed the page cache."));
        assert!(words(false, true).contains("may never have reached"));
        assert!(words(true, true).contains("a part of it did not"));
    }
}
