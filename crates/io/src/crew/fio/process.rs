//! fio as a child process: started with a job file, read as it goes, ended and reaped.

use super::{FioBinary, FioError};
use crate::child::{self, Complaints, each_line};
use iogauge_model::fio::{FioResult, Found, read_results};
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two documents of fio's.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// fio that has not ended so long after it was asked to is killed: I/Os of slow devices take their
/// time to come back.
const PATIENCE_TO_END: Duration = Duration::from_secs(20);
/// Longer documents are none of fio's.
const LONGEST_DOCUMENT: usize = 64 << 20;

/// What became of waiting for a document.
#[derive(Debug)]
pub(super) enum Next {
    /// It came.
    Document(Vec<FioResult>),
    /// None came in that time.
    Nothing,
    /// fio has ended, and all it said was read.
    Ended(ExitStatus),
}

/// A running fio. Dropping it kills and reaps it.
#[derive(Debug)]
pub(super) struct FioProcess {
    child: Child,
    documents: Receiver<Vec<FioResult>>,
    complaints: Complaints,
    noise: Complaints,
    readers: Vec<JoinHandle<()>>,
    ended: Option<ExitStatus>,
}

impl FioProcess {
    /// Starts fio with the text of a job file, on its standard input.
    pub(super) fn start(binary: &FioBinary, job_file: &str) -> Result<Self, FioError> {
        let stdin = handed_over(job_file).map_err(FioError::JobFile)?;
        Self::spawn(binary, Path::new("-"), Stdio::from(stdin))
    }

    /// Starts fio with a job file of its own.
    pub(super) fn start_with(binary: &FioBinary, job_file: &Path) -> Result<Self, FioError> {
        // A name with a dash in front would be an option.
        let named = Path::new(".").join(job_file);
        Self::spawn(binary, &named, Stdio::null())
    }

    fn spawn(binary: &FioBinary, job_file: &Path, stdin: Stdio) -> Result<Self, FioError> {
        let mut command = Command::new(binary.path());
        command
            .arg("--output-format=json+")
            .arg(format!("--status-interval={}ms", INTERVAL.as_millis()))
            .arg(job_file)
            .stdin(stdin)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        child::bind(&mut command, Signal::TERM);
        let failed = |source| FioError::Binary { binary: binary.path().to_owned(), source };
        let mut child = command.spawn().map_err(failed)?;
        let (sender, documents) = channel();
        let (complaints, noise) = (Complaints::default(), Complaints::default());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let mut process =
            Self { child, documents, complaints, noise, readers: Vec::new(), ended: None };
        if let Some(stdout) = stdout {
            let noise = process.noise.clone();
            process.read("iogauge-fio-out", move || read_documents(stdout, &sender, &noise))?;
        }
        if let Some(stderr) = stderr {
            let complaints = process.complaints.clone();
            process.read("iogauge-fio-err", move || {
                each_line(stderr, |line| complaints.note(line));
            })?;
        }
        Ok(process)
    }

    fn read(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), FioError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        self.readers.push(thread.map_err(FioError::JobFile)?);
        Ok(())
    }

    /// Waits for the next document, at most so long.
    pub(super) fn next(&mut self, patience: Duration) -> Next {
        match self.documents.recv_timeout(patience) {
            Ok(results) => Next::Document(results),
            Err(RecvTimeoutError::Timeout) => Next::Nothing,
            Err(RecvTimeoutError::Disconnected) => Next::Ended(self.reap()),
        }
    }

    /// Asks fio to end; what it has measured comes as documents still.
    pub(super) fn ask_to_end(&self) {
        if self.ended.is_none() {
            // One that has ended meanwhile is a zombie until it is reaped: the number is its own.
            let _ = kill_process(self.pid(), Signal::INT);
        }
    }

    /// Ends fio and hands out the documents that came meanwhile. One that does not end in time is
    /// killed.
    pub(super) fn end(&mut self, mut see: impl FnMut(Vec<FioResult>)) -> ExitStatus {
        self.ask_to_end();
        let begin = Instant::now();
        loop {
            match self.next(PATIENCE_TO_END.saturating_sub(begin.elapsed())) {
                Next::Document(results) => see(results),
                Next::Nothing => {
                    self.kill();
                    return self.reap();
                }
                Next::Ended(status) => return status,
            }
        }
    }

    /// What fio complained of first; what it printed that is no document, where it did not.
    pub(super) fn complaint(&self) -> String {
        let first = |said: &Complaints| said.all().into_iter().next();
        let said = first(&self.complaints).or_else(|| first(&self.noise));
        said.unwrap_or_else(|| "it said nothing".to_owned())
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Kills fio with the processes of its jobs, which are its group.
    fn kill(&self) {
        if self.ended.is_none() {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
    }

    fn reap(&mut self) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        // It fails only where the child was reaped, which nobody else does.
        let status = self.child.wait().unwrap_or_default();
        self.ended = Some(status);
        for reader in self.readers.drain(..) {
            // A reader that panicked has nothing more to say.
            let _ = reader.join();
        }
        status
    }
}

impl Drop for FioProcess {
    fn drop(&mut self) {
        self.kill();
        self.reap();
    }
}

/// A job file in memory, to be read from its beginning.
fn handed_over(job_file: &str) -> std::io::Result<File> {
    let fd = rustix::fs::memfd_create("iogauge.fio", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(job_file.as_bytes())?;
    file.rewind()?;
    Ok(file)
}

/// Cuts fio's output into documents: each begins with a brace alone on its line and ends with one.
fn read_documents(output: impl Read, documents: &Sender<Vec<FioResult>>, noise: &Complaints) {
    let mut text = String::new();
    each_line(output, |line| {
        let (begins, ends) = (line.trim_end() == "{", line.trim_end() == "}");
        if text.is_empty() && !begins {
            return noise.note(line);
        }
        text.push_str(line);
        if ends {
            // Where nobody listens any more the rest is still read, so that fio can end.
            let _ = documents.send(results(&text, noise));
        }
        if ends || text.len() > LONGEST_DOCUMENT {
            text.clear();
        }
    });
}

fn results(document: &str, noise: &Complaints) -> Vec<FioResult> {
    let mut results = Vec::new();
    let read = read_results("fio", document.as_bytes(), &mut |found| match found {
        Found::Result(result) => results.push(*result),
        Found::Problem(problem) => noise.note(&problem.to_string()),
    });
    // Text in memory does not fail to be read.
    debug_assert!(read.is_ok());
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_told_from_what_stands_between() {
        let job = |ios: u64| {
            format!(
                "{{\n  \"fio version\" : \"fio-3.33\",\n  \"jobs\" : [\n    {{\n      \"jobname\" : \
                 \"a\",\n      \"read\" : {{\n        \"total_ios\" : {ios},\n        \"runtime\" : \
                 5\n      }}\n    }}\n  ]\n}}\n"
            )
        };
        let text = format!("a note\n{}\n\nfio: terminating on signal 2\n{}{{\n", job(1), job(2));
        let (sender, documents) = channel();
        let noise = Complaints::default();
        read_documents(text.as_bytes(), &sender, &noise);
        drop(sender);
        let ios: Vec<u64> =
            documents.iter().map(|results| results[0].read.as_ref().unwrap().ios).collect();
        assert_eq!(ios, [1, 2]);
        assert_eq!(noise.all(), ["a note", "fio: terminating on signal 2"]);
    }
}
