//! Flushes and compactions, from RocksDB's information log.
//!
//! An event is a line that ends with `EVENT_LOG_v1` and a JSON object. A flush consists of the lines `flush_started`,
//! `table_file_creation` with the size of the file, and `flush_finished`, all with the same job. A compaction is the
//! single line `compaction_finished`. Times are wall-clock times in microseconds.

use crate::backend::Cycle;
use crate::error::DbError;
use serde::Deserialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const MARK: &str = "EVENT_LOG_v1 ";

#[derive(Debug, Deserialize)]
struct LogEvent {
    time_micros: u64,
    #[serde(default)]
    job: u64,
    event: String,
    #[serde(default)]
    file_size: u64,
    #[serde(default)]
    compaction_time_micros: u64,
    #[serde(default)]
    total_output_size: u64,
}

/// Follows the information log as it grows.
#[derive(Debug)]
pub struct Events {
    log: BufReader<File>,
    path: PathBuf,
    /// The start of an incomplete line.
    line: Vec<u8>,
    rounds: FlushRounds,
}

/// Combines events into rounds.
#[derive(Debug)]
struct FlushRounds {
    /// The same moment on two clocks: wall clock in microseconds, and monotonic clock.
    moment: (u64, Instant),
    block_bytes: u64,
    /// Current flushes by job: start, and bytes written.
    flushes: HashMap<u64, (u64, u64)>,
}

impl Events {
    /// Follows the log of a database that this process has open, from its current end.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn follow(folder: &Path, block_bytes: u64) -> Result<Self, DbError> {
        let path = folder.join("LOG");
        let log = File::open(&path).map_err(|error| crate::directory::fault(&path, &error))?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let moment = (now.as_micros() as u64, Instant::now());
        let rounds = FlushRounds { moment, block_bytes, flushes: HashMap::new() };
        let mut events = Self { log: BufReader::new(log), path, line: Vec::new(), rounds };
        // Events of the recovery do not belong to a run.
        events.rounds()?;
        Ok(events)
    }

    /// Returns the rounds logged since the previous call.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn rounds(&mut self) -> Result<Vec<Cycle>, DbError> {
        let mut cycles = Vec::new();
        loop {
            let read = self.log.read_until(b'\n', &mut self.line);
            read.map_err(|error| crate::directory::fault(&self.path, &error))?;
            if self.line.last() != Some(&b'\n') {
                return Ok(cycles);
            }
            if let Some(event) = event(&self.line) {
                cycles.extend(self.rounds.see(&event));
            }
            self.line.clear();
        }
    }
}

/// Returns the event in a line; `None` if there is none.
fn event(line: &[u8]) -> Option<LogEvent> {
    let line = std::str::from_utf8(line).ok()?;
    serde_json::from_str(&line[line.find(MARK)? + MARK.len()..]).ok()
}

impl FlushRounds {
    fn see(&mut self, event: &LogEvent) -> Option<Cycle> {
        let LogEvent { time_micros, job, file_size, .. } = *event;
        match event.event.as_str() {
            "flush_started" => {
                self.flushes.insert(job, (time_micros, 0));
                None
            }
            "table_file_creation" => {
                // Compactions also create files, but report the total size at the end.
                let (_, bytes) = self.flushes.get_mut(&job)?;
                *bytes = bytes.saturating_add(file_size);
                None
            }
            "flush_finished" => {
                let (began, bytes) = self.flushes.remove(&job)?;
                Some(self.cycle(time_micros, time_micros.saturating_sub(began), bytes))
            }
            "compaction_finished" => {
                let took = event.compaction_time_micros;
                Some(self.cycle(time_micros, took, event.total_output_size))
            }
            _ => None,
        }
    }

    fn cycle(&self, ended_micros: u64, took_micros: u64, bytes: u64) -> Cycle {
        let (micros, instant) = self.moment;
        let since = Duration::from_micros(ended_micros.saturating_sub(micros));
        // The wall clock may be set during a run.
        let now = Instant::now();
        let ended = instant.checked_add(since).unwrap_or(now).min(now);
        let blocks = bytes.div_ceil(self.block_bytes.max(1));
        Cycle { ended, took: Duration::from_micros(took_micros), blocks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn update_rounds_are_assembled_from_event_log_lines() {
        let dir = tempfile::tempdir().unwrap();
        let mut log = File::create(dir.path().join("LOG")).unwrap();
        let old = r#"EVENT_LOG_v1 {"time_micros": 5, "job": 1, "event": "compaction_finished"}"#;
        writeln!(log, "{old}").unwrap();
        let mut events = Events::follow(dir.path(), 4096).unwrap();
        let at = events.rounds.moment;
        let line = |log: &mut File, micros: u64, rest: &str| {
            let time = at.0 + micros;
            write!(
                log,
                "2026/11/22-06:14:26.1 77 EVENT_LOG_v1 {{\"time_micros\": {time}, {rest}}}"
            )
            .unwrap();
        };
        std::thread::sleep(Duration::from_millis(10));
        line(&mut log, 1000, r#""job": 7, "event": "flush_started", "num_memtables": 1"#);
        writeln!(log).unwrap();
        line(&mut log, 1500, r#""job": 6, "event": "table_file_creation", "file_size": 99999"#);
        writeln!(log, "\nRocksDB says something else").unwrap();
        line(&mut log, 2000, r#""job": 7, "event": "table_file_creation", "file_size": 8193"#);
        writeln!(log).unwrap();
        line(&mut log, 3000, r#""job": 7, "event": "flush_finished""#);
        assert_eq!(events.rounds().unwrap(), [], "its last line has no end");
        writeln!(log).unwrap();
        let micros = Duration::from_micros;
        let flush = Cycle { ended: at.1 + micros(3000), took: micros(2000), blocks: 3 };
        assert_eq!(events.rounds().unwrap(), [flush]);
        line(
            &mut log,
            4000,
            r#""job": 6, "event": "compaction_finished", "compaction_time_micros": 3500, "total_output_size": 4096"#,
        );
        writeln!(log).unwrap();
        let compaction = Cycle { ended: at.1 + micros(4000), took: micros(3500), blocks: 1 };
        assert_eq!(events.rounds().unwrap(), [compaction]);
        assert_eq!(events.rounds().unwrap(), []);
    }
}
