//! fio as the worker pool: its workers do the I/O, and its documents report what they did.
//!
//! Several times a second, fio prints what it has counted since it started. Windows are the differences between two
//! such documents, on fio's clock. A running fio cannot be changed: another queue depth needs another fio.

mod binary;
mod directory;
mod empty;
mod error;
mod inherited_files;
mod job_file;
mod process;
mod snapshot;
mod work;

pub use binary::FioBinary;
pub use error::FioError;
pub use inherited_files::Handed;
pub use job_file::{FioEnd, FioJobFile};
pub use work::{FioWork, ForeignJob};

use super::{Arrivals, LiveFigures, Paused, WorkerHandle, WorkerPool};
use crate::clock::Clock;
use crate::machine::{
    DeviceQueues, ProcessCpu, QueueLimit, QueueReading, Roots, Starvation, StarvationReader,
    Waiting,
};
use crate::worker::WorkerError;
use crate::worker::accounting::Window;
use process::{FioProcess, INTERVAL, Next};
use snapshot::Snapshot;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// fio is given up if it has printed nothing after this time.
const PATIENCE_TO_BEGIN: Duration = Duration::from_secs(30);
/// If fio prints documents without any I/O, the pool waits this long for the first one and then goes on: the target
/// does not respond.
const PATIENCE_FOR_IO: Duration = Duration::from_secs(5);
/// fio is ended if it still runs this long after its time is over.
const PATIENCE_PAST_TIME: Duration = Duration::from_secs(10);
/// An advance without a document ends after this many of fio's intervals, so that an interrupt is noticed.
const MISSED_INTERVALS: u32 = 10;

/// Who controls how long fio runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// fio: it ramps up, measures and ends according to its job file.
    Own,
    /// The controller: fio runs until it is changed or stopped.
    Open,
}

/// A worker pool whose workers are fio's.
#[derive(Debug)]
pub struct FioPool {
    binary: FioBinary,
    work: FioWork,
    span: Span,
    /// Files that the guards checked.
    handed: Handed,
    clock: Clock,
    arrivals: Arrivals,
    queue_depth: u32,
    process: Option<FioProcess>,
    /// True once the process has printed a document.
    any: bool,
    /// When it was last heard from.
    heard: Instant,
    /// Documents before this moment may contain I/Os that were outstanding during a pause.
    settled: Instant,
    /// The last document of the process.
    last: Snapshot,
    /// Measurements since the last window.
    pending: Window,
    live: LiveFigures,
    cpu: ProcessCpu,
    /// What ended fio early, if it had measured something by then.
    lost: Option<String>,
    /// Time by which fio must have ended, if it keeps its own time.
    overdue: Option<Instant>,
    /// Pauses of processes that have ended.
    paused: Paused,
    starvation: StarvationReader,
    queues: Option<DeviceQueues>,
}

impl FioPool {
    /// Starts fio. Unless fio keeps its own time, waits for its first figures, which takes some tenths of a second. fio
    /// gets the files in `handed`, which stay open as long as the pool exists.
    ///
    /// # Errors
    /// If fio does not start, refuses its work, or prints nothing that can be read. If fio keeps its own time,
    /// [`WorkerPool::advance`] returns the latter two.
    pub fn start(
        binary: FioBinary,
        work: FioWork,
        span: Span,
        handed: Handed,
    ) -> Result<Self, WorkerError> {
        let mut pool = Self {
            queue_depth: work.queue_depth(),
            binary,
            work,
            span,
            handed,
            lost: None,
            overdue: None,
            paused: Paused::default(),
            queues: None,
            starvation: StarvationReader::new(Roots::real()),
            clock: Clock::get(),
            arrivals: Arrivals::default(),
            process: None,
            any: false,
            heard: Instant::now(),
            settled: Instant::now(),
            last: Snapshot::default(),
            pending: Window::default(),
            live: LiveFigures::default(),
            cpu: ProcessCpu::default(),
        };
        pool.launch()?;
        Ok(pool)
    }

    fn launch(&mut self) -> Result<(), FioError> {
        let job_file = self.work.job_file(self.queue_depth, self.span, &self.handed)?;
        self.last = Snapshot::default();
        self.process = Some(FioProcess::start(&self.binary, &job_file, self.handed.clone())?);
        self.heard = Instant::now();
        self.any = false;
        let begin = Instant::now();
        let lasts = self.work.lasts().filter(|_| self.span == Span::Own);
        self.overdue = lasts.and_then(|lasts| begin.checked_add(lasts + PATIENCE_PAST_TIME));
        while self.span == Span::Open && self.process.is_some() && !self.last.counts() {
            self.take_next(INTERVAL)?;
            if self.any && begin.elapsed() > PATIENCE_FOR_IO {
                break;
            }
        }
        Ok(())
    }

    fn silent(&mut self) -> FioError {
        let said = self.process.take().map(|process| process.complaint()).unwrap_or_default();
        let (version, seconds) = (self.version(), PATIENCE_TO_BEGIN.as_secs());
        FioError::Silent { version, seconds, said }
    }

    fn version(&self) -> String {
        self.binary.version().to_owned()
    }

    /// Waits for a document, at most this long.
    fn take_next(&mut self, patience: Duration) -> Result<(), FioError> {
        let Some(process) = &mut self.process else { return Ok(()) };
        match process.next(patience) {
            Next::Document(results) => {
                (self.any, self.heard) = (true, Instant::now());
                self.take(Snapshot::of(&results));
                Ok(())
            }
            Next::Nothing if self.heard.elapsed() > PATIENCE_TO_BEGIN && !self.any => {
                Err(self.silent())
            }
            Next::Nothing => Ok(()),
            Next::Ended(status) => self.ended(status, false),
        }
    }

    /// Adds what a document reports beyond the previous one.
    fn take(&mut self, snapshot: Snapshot) {
        let now_ns = self.clock.now_ns();
        if !snapshot.counts() {
            return;
        }
        if snapshot.begins_anew(&self.last) {
            self.last = Snapshot::default();
        }
        let mut window = snapshot.since(&self.last);
        window.ended_ns = now_ns;
        self.live.ios += window.ios();
        self.live.bytes += window.bytes();
        let service = window.service();
        self.live.latency_ns += u64::try_from(service.sum_ns()).unwrap_or(u64::MAX);
        self.live.outstanding = window.queue_depth().round() as u32;
        let (used, before) = (snapshot.cpu(), self.last.cpu());
        self.cpu.user_ns += used.user_ns.saturating_sub(before.user_ns);
        self.cpu.system_ns += used.system_ns.saturating_sub(before.system_ns);
        self.pending.append(&window);
        self.last = snapshot;
    }

    /// Handles the end of fio, whether it ended by itself or because it was asked to.
    fn ended(&mut self, status: ExitStatus, asked: bool) -> Result<(), FioError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        self.paused.add(process.take_pauses());
        if let Some(words) = process.empty_ios().filter(|_| self.span == Span::Own) {
            self.lost = Some(words);
            return Ok(());
        }
        // If fio failed and reports I/O errors, it has done what it could.
        let failed = || status.code().is_some() && self.last.whole().errors() > 0 && self.worked();
        if asked || (status.success() && self.any) || failed() {
            return Ok(());
        }
        let (version, said) = (self.version(), process.complaint());
        if self.span == Span::Own && !status.success() && self.worked() {
            self.lose(format!(
                "{version} ended before its time ({}): {said}",
                process.fate(status)
            ));
            return Ok(());
        }
        if status.success() {
            return Err(FioError::Mute { version, said });
        }
        if status.code().is_some() && !self.worked() {
            return Err(FioError::Refused { version, said });
        }
        Err(FioError::Ended { version, status: process.fate(status), said })
    }

    /// Ends fio if it still runs, and keeps everything it has measured.
    fn end(&mut self) -> Result<(), FioError> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        let status = process.end(|results| self.take(Snapshot::of(&results)));
        self.process = Some(process);
        self.live.outstanding = 0;
        self.ended(status, true)
    }

    /// Ends fio if it still runs although its time is over.
    fn end_overdue(&mut self) -> Result<(), FioError> {
        self.end()?;
        if self.worked() {
            self.lose(format!("{} went on when its time was over, and was ended", self.version()));
        }
        Ok(())
    }

    /// Records that fio was lost with I/Os outstanding. Its measurements are kept, and count one error.
    fn lose(&mut self, why: String) {
        let mut failed = self.last.clone();
        failed.fail_once();
        self.take(failed);
        self.lost = Some(why);
    }

    /// Returns true if an I/O was done.
    fn worked(&self) -> bool {
        self.live.ios > 0
    }

    fn window(&mut self) -> Window {
        let mut window = std::mem::take(&mut self.pending);
        window.ended_ns = window.ended_ns.max(self.clock.now_ns());
        window
    }
}

impl WorkerPool for FioPool {
    /// Returns with fio's next document, which may be later than requested.
    fn advance(&mut self, _ns: u64) -> Result<(), WorkerError> {
        if self.process.is_some() && self.overdue.is_some_and(|end| Instant::now() >= end) {
            self.end_overdue()?;
        }
        self.take_next(INTERVAL * MISSED_INTERVALS)?;
        // Continue until the stop is over, so that all of it is in one window.
        while self.process.as_ref().is_some_and(FioProcess::is_stopped) {
            self.take_next(INTERVAL)?;
        }
        Ok(())
    }

    /// Includes the pauses of this process and those of fio.
    fn take_pauses(&mut self) -> Paused {
        let mut paused = std::mem::take(&mut self.paused);
        if let Some(process) = &mut self.process {
            paused.add(process.take_pauses());
        }
        if paused.times > 0 {
            self.settled = Instant::now() + INTERVAL;
        }
        paused
    }

    /// fio's jobs share the processors as the job file says.
    fn starvation(&self) -> Option<Starvation> {
        Some(self.starvation.read(Waiting::Ignored))
    }

    fn watch_queues(&mut self, queues: DeviceQueues) {
        self.queues = Some(queues);
    }

    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        let queues = self.queues.as_ref()?;
        Some((queues.read()?, queues.limit(self.controls().len())))
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        Ok(self.window())
    }

    /// Ends fio and starts another one, which takes some tenths of a second.
    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        if queue_depth == self.queue_depth && self.process.is_some() {
            return self.take_window();
        }
        self.end()?;
        let window = self.window();
        self.queue_depth = queue_depth;
        self.launch()?;
        Ok(window)
    }

    fn set_rate(&mut self, _rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        Err(FioError::OpenLoop.into())
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        self.end()?;
        Ok(self.window())
    }

    fn controls(&self) -> &[WorkerHandle] {
        &[]
    }

    fn workers(&self) -> usize {
        self.work.workers(self.queue_depth) as usize
    }

    fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn cpu(&self) -> Option<ProcessCpu> {
        Some(self.cpu)
    }

    fn estimates_depth(&self) -> bool {
        true
    }

    fn keeps_its_time(&self) -> bool {
        self.span == Span::Own
    }

    fn has_begun(&self) -> bool {
        self.span == Span::Open || self.last.counts()
    }

    fn summed_up(&self) -> Option<Window> {
        (self.span == Span::Own && self.process.is_none()).then(|| self.last.whole())
    }

    /// Each fio starts without I/Os of the previous one. An I/O that was outstanding during a pause may be in the next
    /// document or in the one after it, because fio writes one as soon as it continues.
    fn drained(&self) -> bool {
        self.heard >= self.settled
    }

    fn losses(&self) -> Vec<String> {
        self.lost.iter().cloned().collect()
    }

    fn finished(&self) -> bool {
        self.process.is_none()
    }

    fn live(&self) -> LiveFigures {
        self.live
    }
}
