//! The thread that writes logs.

use super::file::LogFile;
use super::recorder::{Chunk, Recorder, Shared};
use super::{CHUNK_IOS, CHUNKS, FEWEST_CHUNKS, MOST_CHUNKS};
use iogauge_fio::log_out::{JobLog, LogKind, LogText, LoggedIo};
use iogauge_model::histogram::FIO_BUCKETS;
use iogauge_model::load::{Load, Logs};
use serde::{Deserialize, Serialize};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two looks of the writer if there is nothing to write. It is not woken, because that would cost the
/// workers system calls.
const LOOK: Duration = Duration::from_millis(1);

/// The logs of one worker.
#[derive(Debug, Clone)]
pub struct WorkerLogs {
    pub logs: Logs,
    /// Its files, in the order of [`LogKind::ALL`]; `None` for kinds that it does not write.
    pub files: [Option<Arc<LogFile>>; LogKind::ALL.len()],
}

/// How often and how long workers waited because their logs were not written fast enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogWaits {
    pub times: u64,
    /// Sum over all workers, in nanoseconds.
    pub ns: u64,
}

/// Returns the number of chunks of each of so many workers.
fn chunks_each(workers: usize) -> usize {
    (CHUNKS / workers.max(1)).clamp(FEWEST_CHUNKS, MOST_CHUNKS)
}

/// Returns the memory that the logs of so many workers take at most.
#[must_use]
pub fn footprint_bytes(workers: u64) -> u64 {
    let each = chunks_each(usize::try_from(workers).unwrap_or(usize::MAX)) * CHUNK_IOS;
    // Three windows of histograms for two directions, and buffered lines.
    let windows = 3 * 2 * FIO_BUCKETS * size_of::<u64>();
    let buffered = LogKind::ALL.len() * super::file::BUFFER_BYTES;
    workers.saturating_mul((each * size_of::<LoggedIo>() + windows + buffered) as u64)
}

/// A thread that writes the logs of workers. Dropping it waits until everything recorded is written.
#[derive(Debug)]
pub struct LogWriter {
    shared: Arc<Shared>,
    /// The recorder of each worker, until the worker takes it.
    recorders: Vec<Option<Recorder>>,
    /// Set once no worker records any more.
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl LogWriter {
    /// Starts the thread. `workers` are the logs of each worker, by its number. Workers record from their start if
    /// `from_start` is set, otherwise when the first measured window begins.
    ///
    /// # Errors
    /// If there is no thread for it.
    pub fn start(workers: Vec<Option<WorkerLogs>>, from_start: bool) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        shared.counts.store(from_start, Ordering::Relaxed);
        let logged = workers.iter().flatten().count();
        let chunks = chunks_each(logged);
        let (full, filled) = sync_channel(logged.max(1) * (chunks + 1));
        let (mut recorders, mut open) = (Vec::new(), Vec::new());
        for (number, logs) in workers.into_iter().enumerate() {
            let Some(logs) = logs else {
                recorders.push(None);
                open.push(None);
                continue;
            };
            let (emptied, empty) = sync_channel(chunks);
            for _ in 0..chunks {
                // There is room for all of them.
                let _ = emptied.send(Vec::with_capacity(CHUNK_IOS));
            }
            let worker = number as u32;
            recorders.push(Some(Recorder::new(worker, shared.clone(), full.clone(), empty)));
            open.push(Some(OpenLog { logs, job: None, emptied }));
        }
        let ends = Arc::new(AtomicBool::new(false));
        let writing = Writing { open, text: LogText::default() };
        let thread = std::thread::Builder::new().name("iogauge-logs".to_owned()).spawn({
            let ends = ends.clone();
            move || writing.run(&filled, &ends)
        })?;
        Ok(Self { shared, recorders, ends, thread: Some(thread) })
    }

    /// Returns the recorder of a worker with this load; `None` if it writes no logs or has its recorder already.
    pub(crate) fn recorder(&mut self, worker: u32, load: &Load) -> Option<Recorder> {
        let recorder = self.recorders.get_mut(worker as usize)?.take()?;
        Some(recorder.counting_to_the_end(load.ends_by_itself()))
    }

    /// Lets workers record. They begin when they apply the next change of settings.
    pub(crate) fn begin(&self) {
        self.shared.counts.store(true, Ordering::Relaxed);
    }

    /// Lets workers end their records when they apply the next change of settings, unless all their I/Os count.
    pub(crate) fn end(&self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
    }

    /// Waits until everything recorded is written. To be called after the workers have ended.
    pub(crate) fn finish(&mut self) -> LogWaits {
        self.ends.store(true, Ordering::Release);
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        let (times, ns) = (&self.shared.waits, &self.shared.waited_ns);
        LogWaits { times: times.load(Ordering::Relaxed), ns: ns.load(Ordering::Relaxed) }
    }
}

impl Drop for LogWriter {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The logs of a worker, as the thread sees them.
#[derive(Debug)]
struct OpenLog {
    logs: WorkerLogs,
    /// `None` before the first chunk and after the last.
    job: Option<JobLog>,
    emptied: SyncSender<Vec<LoggedIo>>,
}

#[derive(Debug)]
struct Writing {
    open: Vec<Option<OpenLog>>,
    text: LogText,
}

impl Writing {
    fn run(mut self, filled: &Receiver<Chunk>, ends: &AtomicBool) {
        loop {
            // Read first: what was sent before it was set is then received below.
            let is_last = ends.load(Ordering::Acquire);
            match filled.try_recv() {
                Ok(chunk) => self.write(chunk),
                Err(TryRecvError::Empty) if !is_last => std::thread::sleep(LOOK),
                Err(_) => break,
            }
        }
    }

    fn write(&mut self, chunk: Chunk) {
        let Chunk { worker, began_unix_ms, mut ios, ended_ns } = chunk;
        let Some(open) = self.open.get_mut(worker as usize).and_then(Option::as_mut) else {
            return;
        };
        let OpenLog { logs: WorkerLogs { logs, files }, job, emptied } = open;
        let text = &mut self.text;
        let job = job.get_or_insert_with(|| JobLog::new(logs.clone(), began_unix_ms));
        ios.iter().for_each(|io| job.add(io, text));
        ios.clear();
        // A worker that has ended takes no more chunks.
        let _ = emptied.try_send(ios);
        if let Some(ended_ns) = ended_ns {
            job.end(ended_ns, text);
        }
        for (kind, file) in LogKind::ALL.into_iter().zip(files) {
            if let Some(file) = file {
                file.append(text.of(kind));
            }
        }
        text.clear();
    }
}
