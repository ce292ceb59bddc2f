//! The worker's side of logs.

use super::CHUNK_IOS;
use iogauge_fio::log_out::LoggedIo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// What recorders and their writer share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    /// True once I/Os are to be recorded.
    pub(super) counts: AtomicBool,
    /// True once the last window has begun to end.
    pub(super) is_over: AtomicBool,
    /// Number of times that workers waited for an empty chunk.
    pub(super) waits: AtomicU64,
    /// Sum of these waits, in nanoseconds.
    pub(super) waited_ns: AtomicU64,
}

/// I/Os of one worker, in the order of their completion.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) worker: u32,
    /// When the worker began to record, in milliseconds since 1970.
    pub(super) began_unix_ms: u64,
    pub(super) ios: Vec<LoggedIo>,
    /// Set in the last chunk: when the worker ended, in nanoseconds since it began to record.
    pub(super) ended_ns: Option<u64>,
}

/// Whether a worker records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Before,
    /// Since this time on the clock of the worker's engine.
    Since(u64),
    After,
}

/// Records the completed I/Os of a worker. Does not allocate.
#[derive(Debug)]
pub struct Recorder {
    worker: u32,
    shared: Arc<Shared>,
    full: SyncSender<Chunk>,
    empty: Receiver<Vec<LoggedIo>>,
    ios: Vec<LoggedIo>,
    state: State,
    began_unix_ms: u64,
    /// True if I/Os also count that complete after the request to stop.
    counts_to_the_end: bool,
}

impl Recorder {
    pub(super) fn new(
        worker: u32,
        shared: Arc<Shared>,
        full: SyncSender<Chunk>,
        empty: Receiver<Vec<LoggedIo>>,
    ) -> Self {
        let ios = empty.try_recv().unwrap_or_default();
        Self {
            worker,
            shared,
            full,
            empty,
            ios,
            state: State::Before,
            began_unix_ms: 0,
            counts_to_the_end: false,
        }
    }

    /// Also records the I/Os that complete after the request to stop, if that is set.
    pub(super) fn counting_to_the_end(self, counts_to_the_end: bool) -> Self {
        Self { counts_to_the_end, ..self }
    }

    /// Begins to record, if the writer requests it.
    #[cold]
    pub(crate) fn begin_if_wanted(&mut self, now_ns: u64) {
        if self.state == State::Before && self.shared.counts.load(Ordering::Relaxed) {
            let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            self.began_unix_ms = u64::try_from(unix.as_millis()).unwrap_or(u64::MAX);
            self.state = State::Since(now_ns);
        }
    }

    /// Records an I/O that completed at `io.ended_ns` on the clock of the engine.
    #[inline]
    pub(crate) fn record(&mut self, io: LoggedIo) {
        let State::Since(began_ns) = self.state else { return };
        self.ios.push(LoggedIo { ended_ns: io.ended_ns.saturating_sub(began_ns), ..io });
        if self.ios.len() == CHUNK_IOS {
            self.hand_over(None);
        }
    }

    /// Ends after the last window, if I/Os that complete from now on do not count.
    pub(crate) fn end_if_uncounted(&mut self, stopping: bool, now_ns: u64) {
        if !self.counts_to_the_end && (stopping || self.shared.is_over.load(Ordering::Relaxed)) {
            self.end(now_ns);
        }
    }

    /// Stops recording and hands over what is left.
    #[cold]
    pub(crate) fn end(&mut self, now_ns: u64) {
        if let State::Since(began_ns) = self.state {
            self.hand_over(Some(now_ns.saturating_sub(began_ns)));
        }
        self.state = State::After;
    }

    /// Hands the I/Os over to the writer and takes an empty chunk.
    fn hand_over(&mut self, ended_ns: Option<u64>) {
        let ios = std::mem::take(&mut self.ios);
        let chunk = Chunk { worker: self.worker, began_unix_ms: self.began_unix_ms, ios, ended_ns };
        // There is room for all chunks. Only a writer that was left behind does not receive them.
        let sent = self.full.send(chunk).is_ok();
        match self.empty.try_recv() {
            Ok(empty) => self.ios = empty,
            Err(TryRecvError::Empty) if sent && ended_ns.is_none() => self.wait(),
            Err(_) => self.state = State::After,
        }
    }

    #[cold]
    fn wait(&mut self) {
        let since = Instant::now();
        match self.empty.recv() {
            Ok(empty) => self.ios = empty,
            Err(_) => self.state = State::After,
        }
        let waited_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.shared.waits.fetch_add(1, Ordering::Relaxed);
        self.shared.waited_ns.fetch_add(waited_ns, Ordering::Relaxed);
    }
}
