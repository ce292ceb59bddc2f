//! Log files in fio's formats, written while workers run.
//!
//! A worker puts its completed I/Os into chunks of fixed size ([`Recorder`]). A thread turns full chunks into lines,
//! writes the lines, and returns the chunks ([`LogWriter`]). A worker without an empty chunk waits, so that no I/O is
//! missing; the waits are counted.

mod file;
mod recorder;
#[cfg(test)]
mod tests;
mod writer;

pub use file::{LogError, LogFile, LogFiles};
pub use recorder::Recorder;
pub use writer::{LogWaits, LogWriter, WorkerLogs, footprint_bytes};

/// Number of I/Os in a chunk.
const CHUNK_IOS: usize = 256;
/// Chunks of all workers together, unless there are more workers than this allows for.
const CHUNKS: usize = 16_384;
/// Limits of the number of chunks of one worker.
const FEWEST_CHUNKS: usize = 4;
const MOST_CHUNKS: usize = 1024;
