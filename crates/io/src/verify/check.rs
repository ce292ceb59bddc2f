//! Reads back and judges what a step has written: a small loop over an engine, whose figures are not part of any
//! result.

use super::classify::{Expected, UnitPlace};
use super::findings::BadUnit;
use super::ledger::Territory;
use super::verifier::JobVerify;
use crate::buffers::BufferPool;
use crate::engine::io_uring::Uring;
use crate::engine::libaio::Libaio;
use crate::engine::mmap::Mmap;
use crate::engine::psync::Psync;
use crate::engine::{self, Engine, EngineError, Files, Io, Op, Setup};
use crate::pool::place_thread;
use crate::worker::{MAX_DEPTH_PER_WORKER, WorkerError};
use iogauge_model::Histogram;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::result::VerifyFault;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Instant;

/// Stack size of a checking thread.
const STACK_BYTES: usize = 256 << 10;

/// A job whose data is read back.
#[derive(Debug)]
pub struct CheckJob {
    /// The load that wrote the data. Its engine, queue depth and block size are used for reading.
    pub load: Load,
    /// Its files, in order of the target's parts, open for reading.
    pub files: Files,
    /// Record of what it has written.
    pub verify: Arc<JobVerify>,
}

/// Progress of a check, and whether it should stop.
#[derive(Debug, Default)]
struct ReadProgress {
    stop: AtomicBool,
    /// Number of units read.
    units: AtomicU64,
}

/// The reads of a check that succeeded.
#[derive(Debug, Default)]
pub struct CheckReads {
    pub ios: u64,
    pub bytes: u64,
    /// Service times.
    pub service: Histogram,
}

/// A running check.
#[derive(Debug)]
pub struct Check {
    /// Each with the index of its job.
    threads: Vec<(usize, JoinHandle<Result<CheckReads, WorkerError>>)>,
    jobs: usize,
    progress: Arc<ReadProgress>,
    total_units: u64,
}

/// A territory that is read in windows of the largest block, in order of offset. `next` is the first unit of the next
/// window.
#[derive(Debug)]
struct Field {
    territory: Arc<Territory>,
    next: AtomicU64,
}

impl Check {
    /// Starts reading back what these jobs have written, all jobs together. A territory that several jobs have written
    /// is read once.
    ///
    /// # Errors
    /// If the system refuses a thread. [`Self::finish`] returns the errors of engines.
    pub fn start(jobs: Vec<CheckJob>) -> Result<Self, WorkerError> {
        let mut fields: Vec<Arc<Field>> = Vec::new();
        let (threads, progress, all) = (Vec::new(), Arc::default(), jobs.len());
        let mut check = Self { threads, jobs: all, progress, total_units: 0 };
        for (index, job) in jobs.into_iter().enumerate() {
            if !engine::is_direct(&job.load) {
                forget(&job.files);
            }
            let mut own = Vec::new();
            for territory in &job.verify.territories {
                let known = fields.iter().find(|f| Arc::ptr_eq(&f.territory, territory));
                let field = known.cloned().unwrap_or_else(|| {
                    check.total_units += territory.unchecked();
                    Arc::new(Field { territory: territory.clone(), next: AtomicU64::new(0) })
                });
                if !fields.iter().any(|known| Arc::ptr_eq(known, &field)) {
                    fields.push(field.clone());
                }
                own.push(field);
            }
            let synchronous = job.load.engine.is_synchronous();
            let threads = if synchronous { job.load.queue_depth() } else { job.load.numjobs };
            let queue_depth =
                if synchronous { 1 } else { job.load.iodepth.min(MAX_DEPTH_PER_WORKER) };
            let own = Arc::new(own);
            let job = Arc::new(job);
            for number in 0..threads {
                let (job, fields) = (job.clone(), own.clone());
                let progress = check.progress.clone();
                let thread = std::thread::Builder::new()
                    .name(format!("iogauge-check-{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(move || work(&job, &fields, &progress, queue_depth, number))
                    .map_err(WorkerError::Thread)?;
                check.threads.push((index, thread));
            }
        }
        Ok(check)
    }

    /// Returns the number of units to read.
    #[must_use]
    pub fn total_units(&self) -> u64 {
        self.total_units
    }

    /// Returns the number of units read so far.
    #[must_use]
    pub fn done_units(&self) -> u64 {
        self.progress.units.load(Ordering::Relaxed)
    }

    /// Returns true if everything has been read, or nothing more will be.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.threads.iter().all(|(_, thread)| thread.is_finished())
    }

    /// Ends the check after the outstanding I/Os.
    pub fn stop(&self) {
        self.progress.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the check without waiting for threads that do not end. Each thread owns its buffers and files.
    pub fn leave(mut self) {
        self.stop();
        self.threads.clear();
    }

    /// Waits until the check ends, and returns the reads of each job.
    ///
    /// # Errors
    /// If an engine failed or could not be created.
    pub fn finish(mut self) -> Result<Vec<CheckReads>, WorkerError> {
        let mut jobs: Vec<CheckReads> = (0..self.jobs).map(|_| CheckReads::default()).collect();
        let mut result = Ok(());
        for (job, thread) in self.threads.drain(..) {
            match thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) {
                Ok(own) => jobs[job].add(&own),
                Err(error) => result = result.and(Err(error)),
            }
        }
        result.map(|()| jobs)
    }
}

impl CheckReads {
    /// Adds other reads.
    pub fn add(&mut self, other: &Self) {
        self.ios += other.ios;
        self.bytes += other.bytes;
        self.service.merge(&other.service);
    }
}

impl Drop for Check {
    fn drop(&mut self) {
        self.stop();
        for (_, thread) in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Writes the page cache to the device and drops it, so that reads come from the device. Errors are ignored: the reads
/// show them.
fn forget(files: &Files) {
    for file in files.iter() {
        let _ = rustix::fs::fdatasync(file);
        let _ = rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

fn work(
    job: &CheckJob,
    fields: &[Arc<Field>],
    progress: &ReadProgress,
    queue_depth: u32,
    number: u32,
) -> Result<CheckReads, WorkerError> {
    let load = &job.load;
    place_thread(load, number)?;
    let block_bytes = load.block.largest();
    let pool = BufferPool::new(queue_depth, block_bytes, 0)
        .map_err(|source| WorkerError::Memory { slots: queue_depth, block_bytes, source })?;
    let setup = Setup {
        files: job.files.clone(),
        max_depth: queue_depth,
        advised_random: Some(false),
        writes: false,
        syncs_data_only: false,
    };
    let reader = |pool| Reader::new(job, fields, progress, pool, queue_depth);
    match load.engine {
        EngineKind::IoUring => reader(pool).run_with(|pool| Uring::new(&setup, pool)),
        EngineKind::Libaio => reader(pool).run_with(|_| Libaio::new(&setup)),
        EngineKind::Mmap => reader(pool).run_with(|_| Mmap::new(&setup)),
        EngineKind::Psync => reader(pool).run_with(|_| Ok(Psync::new(&setup))),
        EngineKind::Null | EngineKind::Sim => {
            let engine = load.engine.as_str();
            let source = std::io::ErrorKind::Unsupported.into();
            Err(EngineError { engine, call: "read back", source }.into())
        }
    }
}

/// A range of written units that is being read.
#[derive(Debug, Clone, Default)]
struct UnitRange {
    /// Index of the part in the job.
    part: u32,
    units: Range<u64>,
    /// Number of bytes read so far.
    done: u32,
}

/// State of one thread.
#[derive(Debug)]
struct Reader<'a> {
    job: &'a CheckJob,
    fields: &'a [Arc<Field>],
    progress: &'a ReadProgress,
    pool: BufferPool,
    slots: Vec<UnitRange>,
    /// When the read in each slot was submitted.
    begun: Vec<Instant>,
    reads: CheckReads,
    free: Vec<u32>,
    again: Vec<u32>,
    /// Index of the part in the job that is being read.
    part: usize,
    /// Rest of the current window.
    rest: Range<u64>,
}

impl<'a> Reader<'a> {
    fn new(
        job: &'a CheckJob,
        fields: &'a [Arc<Field>],
        progress: &'a ReadProgress,
        pool: BufferPool,
        queue_depth: u32,
    ) -> Self {
        Self {
            job,
            fields,
            progress,
            pool,
            slots: vec![UnitRange::default(); queue_depth as usize],
            begun: vec![Instant::now(); queue_depth as usize],
            reads: CheckReads::default(),
            free: (0..queue_depth).rev().collect(),
            again: Vec::new(),
            part: 0,
            rest: 0..0,
        }
    }

    fn run_with<E: Engine>(
        mut self,
        engine: impl FnOnce(&BufferPool) -> Result<E, EngineError>,
    ) -> Result<CheckReads, WorkerError> {
        let mut engine = engine(&self.pool)?;
        engine.grow(self.slots.len() as u32);
        let result = self.read_all(&mut engine);
        if result.is_err() && E::IO_OUTLIVES_ENGINE {
            self.pool.leak();
        }
        result?;
        Ok(self.reads)
    }

    fn read_all<E: Engine>(&mut self, engine: &mut E) -> Result<(), EngineError> {
        let mut outstanding = 0;
        let mut done = Vec::new();
        loop {
            while let Some(slot) = self.again.pop().or_else(|| self.take()) {
                engine.queue(self.io(slot));
                outstanding += 1;
            }
            if outstanding == 0 {
                return Ok(());
            }
            engine.enter(1, None)?;
            engine.reap(u32::MAX, |slot, result| done.push((slot, result)));
            for (slot, result) in done.drain(..) {
                outstanding -= 1;
                self.complete(slot, result);
            }
        }
    }

    /// Puts the next range into a slot. Returns `None` if no slot is free or nothing is left to read.
    fn take(&mut self) -> Option<u32> {
        if self.free.is_empty() {
            return None;
        }
        let stretch = self.next_stretch()?;
        let slot = self.free.pop()?;
        self.slots[slot as usize] = stretch;
        self.begun[slot as usize] = Instant::now();
        Some(slot)
    }

    /// Returns the next adjacent written units in a window.
    fn next_stretch(&mut self) -> Option<UnitRange> {
        loop {
            if self.progress.stop.load(Ordering::Relaxed) || self.job.verify.findings.is_over() {
                return None;
            }
            let field = self.fields.get(self.part)?;
            let territory = &field.territory;
            let written = |unit: &u64| territory.is_unchecked(*unit);
            if let Some(first) = self.rest.clone().find(written) {
                let end =
                    (first..self.rest.end).find(|unit| !written(unit)).unwrap_or(self.rest.end);
                self.rest.start = end;
                return Some(UnitRange { part: self.part as u32, units: first..end, done: 0 });
            }
            let in_window = (self.job.load.block.largest() / self.unit_bytes()).max(1);
            let window = field.next.fetch_add(in_window, Ordering::Relaxed);
            if window < territory.units {
                self.rest = window..(window + in_window).min(territory.units);
            } else {
                self.part += 1;
                self.rest = 0..0;
            }
        }
    }

    fn unit_bytes(&self) -> u64 {
        self.job.verify.format.unit_bytes.into()
    }

    fn len(&self, slot: u32) -> u32 {
        let units = &self.slots[slot as usize].units;
        ((units.end - units.start) * self.unit_bytes()) as u32
    }

    fn io(&self, slot: u32) -> Io {
        let UnitRange { part, units, done } = &self.slots[slot as usize];
        let territory = &self.fields[*part as usize].territory;
        Io {
            slot,
            op: Op::Read,
            file: *part,
            offset_bytes: territory.offset_of(units.start) + u64::from(*done),
            len: self.len(slot) - done,
            buffer: self.pool.buffer(slot).wrapping_add(*done as usize),
        }
    }

    fn complete(&mut self, slot: u32, result: i32) {
        let refused = result == -libc::EINTR || result == -libc::EAGAIN;
        if refused && !self.progress.stop.load(Ordering::Relaxed) {
            return self.again.push(slot);
        }
        if refused {
            return self.free.push(slot);
        }
        let len = self.len(slot);
        let stretch = &mut self.slots[slot as usize];
        if result > 0 {
            stretch.done += result as u32;
            if stretch.done < len {
                return self.again.push(slot);
            }
            self.reads.ios += 1;
            self.reads.bytes += u64::from(len);
            let taken = self.begun[slot as usize].elapsed();
            self.reads.service.record(u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX));
        }
        let UnitRange { part, units, done } = stretch.clone();
        let territory = self.fields[part as usize].territory.clone();
        let verify = &*self.job.verify;
        let unit_bytes = verify.format.unit_bytes;
        // Units read before the error are judged like any others.
        let whole = u64::from(done / unit_bytes);
        let data = self.pool.bytes(slot, len as usize);
        for (number, unit) in units.clone().zip(data.chunks_exact_mut(unit_bytes as usize)) {
            let offset_bytes = territory.offset_of(number);
            if number - units.start >= whole {
                let fault = VerifyFault::Unreadable { errno: -result };
                let found = BadUnit { part: territory.part, offset_bytes, len: unit_bytes, fault };
                verify.findings.wrong(verify.number, found, verify.fatal);
                continue;
            }
            let place = UnitPlace { part: territory.part, offset_bytes };
            let known = territory.known(number);
            verify.judge(unit, place, Expected::Of { run: territory.run, known });
        }
        self.progress.units.fetch_add(units.end - units.start, Ordering::Relaxed);
        self.free.push(slot);
    }
}
