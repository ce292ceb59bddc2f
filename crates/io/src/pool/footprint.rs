//! The resources that workers need, computed before the first worker exists.

use super::threads::STACK_BYTES;
use crate::buffers;
use crate::logs;
use crate::machine::{GroupLimits, Memory, Roots};
use crate::verify::verifier::WrittenRange;
use crate::worker::directions;
use iogauge_model::histogram::BUCKETS;
use iogauge_model::load::Load;
use iogauge_model::units::Bytes;
use rustix::process::{Resource, getrlimit};

/// Alignment of buffers.
const ALIGNMENT_BYTES: u64 = 4096;
/// What a worker stores per slot: the I/O itself, lists of free slots, the rings of an engine.
const SLOT_BYTES: u64 = 512;
/// Memory per thread: the part of its stack that it touches, its kernel stack, and its tables.
const THREAD_BYTES: u64 = 64 << 10;
/// Memory that fio needs per job process besides the buffers, as measured with 200 processes of fio 3.33.
const FIO_JOB_BYTES: u64 = 1 << 20;
/// Copies of a job's latencies: current, taken, summed up, in the result, and in what is kept of it.
const COPIES: u64 = 8;
/// Banks per worker.
const BANKS: u64 = 2;
/// Mappings per worker: its stack with the guard page, its buffers, and what its engine maps.
const MAPPINGS: u64 = 4;
/// Mappings of everything else in the process.
const OTHER_MAPPINGS: u64 = 1000;
/// More threads would not show anything more about storage.
const MOST_WORKERS: u64 = 16_384;

/// Maximum memory and threads that a step needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Footprint {
    pub memory_bytes: u64,
    /// Address space, in bytes. It is reserved before it becomes memory.
    pub address_bytes: u64,
    /// Number of workers, each with a thread.
    pub workers: u64,
}

impl Footprint {
    /// Returns what jobs that run together need, each at the queue depth of its load.
    #[must_use]
    pub fn of<'a>(loads: impl Iterator<Item = &'a Load>) -> Self {
        let mut sum = Self::default();
        let mut jobs = 0u64;
        let mut latencies_bytes = 0u64;
        let mut logged = 0;
        for load in loads {
            let one = Self::at_depth(load, load.queue_depth());
            sum.memory_bytes = sum.memory_bytes.saturating_add(one.memory_bytes);
            sum.address_bytes = sum.address_bytes.saturating_add(one.address_bytes);
            sum.workers = sum.workers.saturating_add(one.workers);
            latencies_bytes = latencies_bytes.saturating_add(self::latencies_bytes(load));
            logged += if load.logs.is_some() { one.workers } else { 0 };
            jobs += 1;
        }
        // With a single job, its latencies are those of the step and are not kept separately.
        let kept = if jobs > 1 { latencies_bytes.saturating_mul(COPIES) } else { 0 };
        let kept = kept.saturating_add(logs::footprint_bytes(logged));
        sum.memory_bytes = sum.memory_bytes.saturating_add(kept);
        sum.address_bytes = sum.address_bytes.saturating_add(kept);
        sum
    }

    /// Returns what fio needs for jobs that run together.
    #[must_use]
    pub fn through_fio<'a>(loads: impl Iterator<Item = &'a Load>) -> Self {
        let sum = Self::of(loads);
        let jobs_bytes = sum.workers.saturating_mul(FIO_JOB_BYTES);
        Self {
            memory_bytes: sum.memory_bytes.saturating_add(jobs_bytes),
            // fio reserves its own address space.
            address_bytes: 0,
            ..sum
        }
    }

    /// Returns what one job needs at this queue depth.
    fn at_depth(load: &Load, queue_depth: u32) -> Self {
        let queue_depth = u64::from(queue_depth);
        let workers =
            if load.engine.is_synchronous() { queue_depth } else { u64::from(load.numjobs) }.max(1);
        let slots = queue_depth.max(workers);
        let block_bytes = load.block.largest().next_multiple_of(ALIGNMENT_BYTES);
        // Each worker has one buffer more, from which the others are filled.
        let buffers_bytes = block_bytes.saturating_mul(slots + workers);
        let banks_bytes = latencies_bytes(load).saturating_mul(BANKS * workers);
        let memory_bytes = buffers_bytes
            .saturating_add(banks_bytes)
            .saturating_add(backlog_bytes(load).saturating_mul(workers))
            .saturating_add(slots * SLOT_BYTES)
            .saturating_add(workers * THREAD_BYTES);
        // Each worker reserves its stack, and its buffers in whole huge pages.
        let own_bytes = block_bytes.saturating_mul(slots.div_ceil(workers) + 1);
        let mapped_bytes = usize::try_from(own_bytes.min(1 << 60))
            .map_or(u64::MAX, |bytes| buffers::mapped_bytes(bytes) as u64);
        let reserved_bytes =
            mapped_bytes.saturating_add(STACK_BYTES as u64).saturating_mul(workers);
        let address_bytes = reserved_bytes.saturating_add(memory_bytes - buffers_bytes);
        Self { memory_bytes, address_bytes, workers }
    }

    /// Compares the footprint with what is available.
    ///
    /// # Errors
    /// If it is more than may be used.
    pub fn check(&self, room: &Room) -> Result<(), FootprintError> {
        if self.workers > room.workers {
            let (asked, most, bound) = (self.workers, room.workers, room.workers_bound.clone());
            return Err(FootprintError::Workers { asked, most, bound });
        }
        let memory = (self.memory_bytes, room.memory_bytes, room.memory_bound.as_str());
        let address = (self.address_bytes, room.address_bytes, room.address_bound);
        for (asked_bytes, most_bytes, bound) in [memory, address] {
            if asked_bytes > most_bytes {
                let bound = bound.to_owned();
                return Err(FootprintError::Memory { asked_bytes, most_bytes, bound });
            }
        }
        Ok(())
    }

    /// Returns the largest queue depth up to `most` that a search may use for a job; at least 1.
    #[must_use]
    pub fn deepest(load: &Load, most: u32, room: &Room) -> u32 {
        let fits = |queue_depth: &u32| Self::at_depth(load, *queue_depth).check(room).is_ok();
        if fits(&most) {
            return most;
        }
        let (mut low, mut high) = (1, most.max(1));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if fits(&middle) { low = middle } else { high = middle }
        }
        low
    }
}

/// Returns the memory in which a worker remembers the writes that it will read back.
fn backlog_bytes(load: &Load) -> u64 {
    let backlog = load.verify.as_ref().and_then(|verify| verify.backlog);
    backlog.map_or(0, |backlog| u64::from(backlog.writes) * size_of::<WrittenRange>() as u64)
}

/// Returns the size of one set of histograms of a load.
fn latencies_bytes(load: &Load) -> u64 {
    let used = directions(load).iter().filter(|used| **used).count() as u64;
    let kinds = 1 + u64::from(load.arrivals.is_some());
    used * kinds * BUCKETS as u64 * 8
}

/// Maximum that a step may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Room {
    /// Memory, in bytes: half of what is available.
    pub memory_bytes: u64,
    /// What `memory_bytes` is half of.
    memory_bound: String,
    /// Address space, in bytes: half of what is left.
    pub address_bytes: u64,
    /// What `address_bytes` is half of.
    address_bound: &'static str,
    pub workers: u64,
    workers_bound: String,
}

impl Room {
    /// Returns what `memory_bytes` is half of.
    pub(crate) fn memory_bound(&self) -> &str {
        &self.memory_bound
    }

    /// Reads what is available now, from a few small files.
    #[must_use]
    pub fn here() -> Self {
        let roots = Roots::default();
        let processes = getrlimit(Resource::Nproc).current;
        // The number of root's threads is not limited.
        let processes = processes.filter(|_| !rustix::process::geteuid().is_root());
        Self::of(&roots, AddressSpace::left(), processes)
    }

    /// Returns what is available, given the remaining address space and the number of processes that this user may
    /// have.
    fn of(roots: &Roots, address_space: AddressSpace, processes: Option<u64>) -> Self {
        let mut memory = (u64::MAX, "this system".to_owned());
        let mut tighten = |bytes: Option<u64>, bound: String| {
            if let Some(bytes) = bytes.filter(|bytes| *bytes < memory.0) {
                memory = (bytes, bound);
            }
        };
        tighten(
            Memory::read(roots).map(|memory| memory.available_bytes),
            "MemAvailable".to_owned(),
        );
        let groups = GroupLimits::read(roots);
        if let Some(group) = groups.memory_bytes {
            tighten(Some(group.value), group.file.display().to_string());
        }
        let mut workers = (MOST_WORKERS, "iogauge".to_owned());
        let mut bound = |threads: Option<u64>, bound: &str| {
            if let Some(threads) = threads.filter(|threads| *threads < workers.0) {
                workers = (threads, bound.to_owned());
            }
        };
        let number = |below: &str| -> Option<u64> {
            std::fs::read_to_string(roots.path(below)).ok()?.trim().parse().ok()
        };
        let there = threads_there(roots);
        let half_left = |all: u64| all.saturating_sub(there) / 2;
        let maps = number("proc/sys/vm/max_map_count");
        bound(maps.map(|maps| maps.saturating_sub(OTHER_MAPPINGS) / MAPPINGS), "vm.max_map_count");
        bound(number("proc/sys/kernel/threads-max").map(half_left), "kernel.threads-max");
        bound(number("proc/sys/kernel/pid_max").map(half_left), "kernel.pid_max");
        bound(processes.map(|processes| processes / 2), "ulimit -u");
        if let Some(tasks) = groups.tasks {
            bound(Some(tasks.value / 2), &tasks.file.display().to_string());
        }
        Self {
            memory_bytes: memory.0 / 2,
            memory_bound: memory.1,
            address_bytes: address_space.bytes / 2,
            address_bound: address_space.bound,
            workers: workers.0,
            workers_bound: workers.1,
        }
    }
}

/// Returns the number of threads on the machine, from the fourth field of `/proc/loadavg` (proc_loadavg(5)).
fn threads_there(roots: &Roots) -> u64 {
    let text = std::fs::read_to_string(roots.path("proc/loadavg")).unwrap_or_default();
    let field = text.split_whitespace().nth(3).and_then(|field| field.split_once('/'));
    field.and_then(|(_, all)| all.parse().ok()).unwrap_or(0)
}

/// Address space that this process may still use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressSpace {
    /// Bytes; [`u64::MAX`] if there is no limit.
    pub bytes: u64,
    pub bound: &'static str,
}

const UNBOUNDED: AddressSpace = AddressSpace { bytes: u64::MAX, bound: "ulimit -v" };

impl AddressSpace {
    /// Reads how much is left of `ulimit -v`, which counts everything, and of `ulimit -d`, which counts data and stacks
    /// (getrlimit(2), proc_pid_statm(5)). Reads one small file for each such limit.
    #[must_use]
    pub fn left() -> Self {
        let limits = [(Resource::As, 0, "ulimit -v"), (Resource::Data, 5, "ulimit -d")];
        let page_bytes = rustix::param::page_size() as u64;
        let left = |(resource, field, bound): (Resource, usize, &'static str)| {
            let most = getrlimit(resource).current?;
            let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
            let pages: u64 =
                text.split_whitespace().nth(field).and_then(|n| n.parse().ok()).unwrap_or(0);
            Some(Self { bytes: most.saturating_sub(pages.saturating_mul(page_bytes)), bound })
        };
        limits.into_iter().filter_map(left).min_by_key(|space| space.bytes).unwrap_or(UNBOUNDED)
    }
}

/// The load needs more than is available.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FootprintError {
    #[error(
        "the workers' buffers and histograms would take {}, and half of what is available by {bound} is {}; \
         hint: use a smaller --bs, --iodepth or --numjobs, or fewer jobs",
        Bytes(*asked_bytes), Bytes(*most_bytes)
    )]
    Memory { asked_bytes: u64, most_bytes: u64, bound: String },
    #[error(
        "the load would take {asked} threads, and {bound} allows {most} of them; hint: use a smaller \
         --iodepth or --numjobs, or --ioengine=io_uring, which keeps many I/Os outstanding in one thread"
    )]
    Workers { asked: u64, most: u64, bound: String },
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{BlockSizes, EngineKind, Verify, VerifyAlgorithm, VerifyBacklog};

    fn load(options: &[(&str, &str)]) -> Load {
        let mut load = Load::default();
        for (name, value) in options {
            match *name {
                "bs" => load.block = BlockSizes::parse_bs(value).unwrap(),
                "iodepth" => load.iodepth = value.parse().unwrap(),
                "numjobs" => load.numjobs = value.parse().unwrap(),
                "psync" => load.engine = EngineKind::Psync,
                other => panic!("{other}"),
            }
        }
        load
    }

    fn machine(files: &[(&str, &str)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (below, text) in files {
            let path = dir.path().join(below);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let roots = Roots::at(dir.path());
        (dir, roots)
    }

    const MACHINE: [(&str, &str); 5] = [
        ("proc/meminfo", "MemTotal: 16777216 kB\nMemAvailable: 8388608 kB\n"),
        ("proc/loadavg", "0.00 0.01 0.05 1/200 4711\n"),
        ("proc/sys/vm/max_map_count", "65530\n"),
        ("proc/sys/kernel/threads-max", "32200\n"),
        ("proc/sys/kernel/pid_max", "4194304\n"),
    ];

    #[test]
    fn buffer_memory_is_block_size_times_queue_depth() {
        let one = Footprint::of([&load(&[("bs", "1m"), ("iodepth", "32")])].into_iter());
        let least = 33 << 20;
        assert!((least..least + (1 << 20)).contains(&one.memory_bytes), "{one:?}");
        assert_eq!(one.workers, 1);
        let clones = load(&[("bs", "1m"), ("iodepth", "32"), ("numjobs", "4")]);
        let four = Footprint::of([&clones].into_iter());
        assert_eq!(four.workers, 4);
        assert!(four.memory_bytes >= 4 * least, "{four:?}");
        let verify = Verify {
            backlog: Some(VerifyBacklog { writes: 65_536, batch: 1 }),
            ..Verify::with(VerifyAlgorithm::Md5)
        };
        let checked = Load { verify: Some(verify), ..clones };
        let checked = Footprint::of([&checked].into_iter());
        assert!(checked.memory_bytes - four.memory_bytes >= 4 * 65_536 * 16, "{checked:?}");
        // Nothing overflows.
        let huge = load(&[("bs", "1g"), ("iodepth", "65536"), ("numjobs", "4096")]);
        assert!(Footprint::of([&huge, &huge].into_iter()).memory_bytes > 1 << 57);
    }

    #[test]
    fn synchronous_engine_needs_one_thread_per_outstanding_io() {
        let one = Footprint::of([&load(&[("psync", ""), ("iodepth", "65536")])].into_iter());
        assert_eq!(one.workers, 65_536);
        // Two banks of one histogram each.
        assert!(one.memory_bytes > 65_536 * 2 * BUCKETS as u64 * 8, "{one:?}");
    }

    #[test]
    fn fio_needs_more_memory_per_job() {
        let jobs = load(&[("psync", ""), ("iodepth", "100")]);
        let [own, fio] = [Footprint::of, Footprint::through_fio].map(|of| of([&jobs].into_iter()));
        assert_eq!((fio.workers, fio.address_bytes), (100, 0));
        assert_eq!(fio.memory_bytes, own.memory_bytes + (100 << 20));
    }

    #[test]
    fn tightest_resource_limit_applies() {
        let (_dir, roots) = machine(&MACHINE);
        let room = Room::of(&roots, UNBOUNDED, None);
        assert_eq!((room.memory_bytes, room.workers), (4 << 30, 16_000));
        assert_eq!(room.workers_bound, "kernel.threads-max");
        let room = Room::of(&roots, AddressSpace { bytes: 1 << 20, ..UNBOUNDED }, Some(100));
        assert_eq!((room.address_bytes, room.workers), (1 << 19, 50));
        // A 4 KiB buffer with its pattern, and a stack.
        assert!(Footprint::of([&load(&[("bs", "4k")])].into_iter()).check(&room).is_ok());
        let two = load(&[("bs", "4k"), ("psync", ""), ("iodepth", "2")]);
        let text = Footprint::of([&two].into_iter()).check(&room).unwrap_err().to_string();
        assert!(text.contains("ulimit -v"), "{text}");
        let groups = [
            ("proc/self/cgroup", "0::/a\n"),
            ("proc/self/mountinfo", "30 23 0:26 / /cg rw - cgroup2 cgroup2 rw\n"),
            ("cg/a/memory.max", "1073741824\n"),
            ("cg/a/pids.max", "300\n"),
            ("cg/a/pids.current", "100\n"),
        ];
        let (_dir, roots) = machine(&[&MACHINE[..], &groups].concat());
        let room = Room::of(&roots, UNBOUNDED, None);
        assert_eq!((room.memory_bytes, room.workers), (512 << 20, 100));
        let error = Footprint { memory_bytes: 1 << 30, address_bytes: 0, workers: 1 }
            .check(&room)
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("memory.max") && text.contains("512"), "{text}");
        assert!(!text.contains('\n') && !text.contains("  "), "{text}");
    }

    #[test]
    fn search_queue_depth_is_limited_by_resources() {
        let (_dir, roots) = machine(&MACHINE);
        let room = Room::of(&roots, UNBOUNDED, None);
        let deepest = |options: &[(&str, &str)]| Footprint::deepest(&load(options), 65_536, &room);
        assert_eq!(deepest(&[("bs", "4k")]), 65_536);
        let large = deepest(&[("bs", "1m")]);
        assert!((4080..4096).contains(&large), "{large}");
        assert_eq!(deepest(&[("bs", "1g")]), 2);
        assert_eq!(deepest(&[("bs", "4k"), ("psync", "")]), 16_000);
        // A block that does not fit is left for `check` to refuse.
        let room = Room { memory_bytes: 1 << 30, ..room };
        assert_eq!(Footprint::deepest(&load(&[("bs", "1g")]), 65_536, &room), 1);
    }
}
