//! fio as a child process: started with a job file, read while it runs, ended and reaped.

use super::directory::FioDirectory;
use super::empty::EmptyIos;
use super::inherited_files::Handed;
use super::{FioBinary, FioError};
use crate::child::{self, Complaints, each_line};
use crate::pool::{Heartbeat, Paused};
use iogauge_fio::{Reading, read_results};
use iogauge_model::result::FioResult;
use rustix::fs::MemfdFlags;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two documents of fio.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// fio is killed if it has not ended this long after it was asked to. I/Os of slow devices take time to complete.
const PATIENCE_TO_END: Duration = Duration::from_secs(5);
/// A killed process that still exists after this time is stuck in the kernel and is left behind.
const PATIENCE_TO_DIE: Duration = Duration::from_secs(2);
/// After fio has ended, output that others hold open is read for at most this time.
const PATIENCE_FOR_OUTPUT: Duration = Duration::from_secs(1);
/// Time between two checks of fio's processes. Without I/O they are checked more often.
const PATIENCE_TO_LOOK: Duration = Duration::from_secs(1);
const PATIENCE_WITHOUT_IO: Duration = Duration::from_millis(200);
/// fio is given up if one of its processes has been stopped for this long without progress.
const PATIENCE_WITH_STOPPED: Duration = Duration::from_secs(4);
/// fio is given up if it has printed documents and then nothing for this long.
const PATIENCE_WITH_SILENT: Duration = Duration::from_secs(8);
/// Longer documents are not from fio.
const LONGEST_DOCUMENT: usize = 64 << 20;

/// Result of waiting for a document.
#[derive(Debug)]
pub(super) enum Next {
    /// A document arrived.
    Document(Vec<FioResult>),
    /// None arrived in that time.
    Nothing,
    /// fio has ended, and all its output was read.
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
    /// Why fio was given up, if it was.
    lost: Option<&'static str>,
    life: Life,
    empty: EmptyIos,
    heart: Heartbeat,
    /// Times in which this process or fio stood still and that were not taken yet.
    paused: Paused,
    handed: Handed,
    directory: FioDirectory,
}

/// Signs of whether fio makes progress.
#[derive(Debug)]
struct Life {
    /// I/Os in the last document.
    ios: u64,
    /// Time of the last document, if there was one; below, time of the last document with more I/Os than the previous
    /// one.
    heard: Option<Instant>,
    moved: Instant,
    looked: Instant,
    /// Time since which one of its processes has been stopped.
    stopped: Option<Instant>,
    /// Time since which fio has ended while its output is still open.
    exited: Option<Instant>,
}

impl FioProcess {
    /// Starts fio in its own directory, with the text of a job file on its standard input. fio inherits the files in
    /// `handed` and may write nothing else.
    pub(super) fn start(
        binary: &FioBinary,
        job_file: &str,
        handed: Handed,
    ) -> Result<Self, FioError> {
        let directory = FioDirectory::make().map_err(FioError::Directory)?;
        let stdin = handed_over(job_file).map_err(FioError::JobFile)?;
        let mut command = Command::new(binary.path());
        command
            .arg("--output-format=json+")
            .arg(format!("--status-interval={}ms", INTERVAL.as_millis()))
            .args(handed.only_reads().then_some("--readonly"))
            .arg("-")
            .current_dir(directory.path())
            .stdin(Stdio::from(stdin))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        child::bind(&mut command, Signal::TERM);
        handed.bind(&mut command, directory.fd())?;
        let failed = |source| FioError::Binary { binary: binary.path().to_owned(), source };
        let heart = Heartbeat::start().map_err(FioError::JobFile)?;
        let mut child = command.spawn().map_err(failed)?;
        let (sender, documents) = channel();
        let (complaints, noise) = (Complaints::default(), Complaints::default());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (readers, ended, lost) = (Vec::new(), None, None);
        let (life, empty, paused) = (Life::begin(), EmptyIos::default(), Paused::default());
        let mut process = Self {
            child,
            documents,
            complaints,
            noise,
            readers,
            ended,
            lost,
            life,
            empty,
            heart,
            paused,
            handed,
            directory,
        };
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

    /// Waits for the next document, at most this long.
    pub(super) fn next(&mut self, patience: Duration) -> Next {
        if self.empty.are_many() {
            return self.give_up("its I/Os moved nothing");
        }
        match self.documents.recv_timeout(patience.min(PATIENCE_WITHOUT_IO)) {
            Ok(results) => {
                self.life.hear(&results);
                let results = self.empty.see(results);
                match self.is_stuck() {
                    Some(why) => self.give_up(why),
                    None => Next::Document(results),
                }
            }
            Err(RecvTimeoutError::Disconnected) => self.last_words(),
            Err(RecvTimeoutError::Timeout) if self.has_exited() => {
                let since = *self.life.exited.get_or_insert_with(Instant::now);
                // Another process holds its output open. It is not waited for.
                if since.elapsed() < PATIENCE_FOR_OUTPUT {
                    Next::Nothing
                } else {
                    Next::Ended(self.reap(Duration::ZERO))
                }
            }
            Err(RecvTimeoutError::Timeout) => {
                self.is_stuck().map_or(Next::Nothing, |why| self.give_up(why))
            }
        }
    }

    /// Handles the end of fio's output. If fio has ended by itself, its counts are exact.
    fn last_words(&mut self) -> Next {
        let status = self.reap(PATIENCE_TO_END);
        let again = status.code().and_then(|_| self.empty.at_end());
        again.map_or(Next::Ended(status), Next::Document)
    }

    /// Returns why fio should no longer be waited for, if so.
    fn is_stuck(&mut self) -> Option<&'static str> {
        let own = self.heart.take();
        if own.times > 0 {
            // fio's output from the pause is read now.
            self.paused.add(own);
            self.life.go_on();
        }
        if self.life.heard.is_some_and(|heard| heard.elapsed() > PATIENCE_WITH_SILENT) {
            return Some("it printed nothing more");
        }
        self.look();
        let life = &self.life;
        let stood = |since: Instant| {
            since.elapsed() > PATIENCE_WITH_STOPPED && life.moved.elapsed() > PATIENCE_WITH_STOPPED
        };
        life.stopped.is_some_and(stood).then_some("a process of it was stopped (SIGSTOP)")
    }

    /// Checks whether somebody stopped one of fio's processes, if the next check is due.
    fn look(&mut self) {
        let life = &mut self.life;
        let stands = life.moved.elapsed() >= PATIENCE_WITHOUT_IO;
        let due = if stands { PATIENCE_WITHOUT_IO } else { PATIENCE_TO_LOOK };
        if life.looked.elapsed() < due && life.stopped.is_none() {
            return;
        }
        life.looked = Instant::now();
        let is_stopped = |(_, state): &(Pid, char)| matches!(state, 'T' | 't');
        if self.directory.processes().iter().any(is_stopped) {
            let since = if stands { life.moved } else { life.looked };
            life.stopped.get_or_insert(since);
        } else if let Some(since) = life.stopped.take() {
            let ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
            self.paused.add(Paused { times: 1, ns });
        }
    }

    /// Returns true while a process of fio is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.life.stopped.is_some()
    }

    /// Returns the times in which this process or fio stood still since the last call.
    pub(super) fn take_pauses(&mut self) -> Paused {
        std::mem::take(&mut self.paused)
    }

    /// Describes I/Os that moved no data, if there are any.
    pub(super) fn empty_ios(&self) -> Option<String> {
        self.empty.words()
    }

    /// Ends fio at once.
    pub(super) fn give_up(&mut self, why: &'static str) -> Next {
        self.lost = Some(why);
        Next::Ended(self.reap(Duration::ZERO))
    }

    /// Returns true if the child has ended, even if others of its processes have not.
    fn has_exited(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap_or_default();
        }
        self.ended.is_some()
    }

    /// Asks fio to end. Documents about what it has measured still follow.
    pub(super) fn ask_to_end(&self) {
        if self.ended.is_none() {
            // If it has ended since, it is a zombie until it is reaped, so its number is not reused.
            let _ = kill_process(self.pid(), Signal::INT);
        }
    }

    /// Ends fio and passes on the documents that arrive meanwhile. Kills fio if it does not end in time.
    pub(super) fn end(&mut self, mut see: impl FnMut(Vec<FioResult>)) -> ExitStatus {
        self.ask_to_end();
        let begin = Instant::now();
        while begin.elapsed() < PATIENCE_TO_END {
            match self.next(PATIENCE_TO_END.saturating_sub(begin.elapsed())) {
                Next::Document(results) => see(results),
                Next::Nothing => {}
                Next::Ended(status) => return status,
            }
        }
        self.reap(Duration::ZERO)
    }

    /// Returns the newest document that arrived before fio was ended and was not read yet.
    pub(super) fn rest(&mut self) -> Option<Vec<FioResult>> {
        let mut newest = None;
        while let Ok(results) = self.documents.try_recv() {
            newest = Some(self.empty.see(results));
        }
        newest
    }

    /// Describes how fio ended, or why it was given up.
    pub(super) fn fate(&self, status: ExitStatus) -> String {
        self.lost.map_or_else(|| status.to_string(), str::to_owned)
    }

    /// Returns fio's first complaint, or otherwise the first line of output that is not a document.
    pub(super) fn complaint(&self) -> String {
        let first = |said: &Complaints| said.all().into_iter().next();
        let said = first(&self.complaints).or_else(|| first(&self.noise));
        said.map_or_else(|| "it said nothing".to_owned(), |said| self.handed.in_users_words(&said))
    }

    /// Returns the directory in which fio runs.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Kills fio and all processes of its jobs.
    fn kill(&mut self) {
        if !self.has_exited() {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
        self.directory.kill_processes();
    }

    /// Waits this long for the end, then forces it. Takes some seconds at most.
    fn reap(&mut self, patience: Duration) -> ExitStatus {
        let begin = Instant::now();
        while !self.has_exited() && begin.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Ends everything that it started.
        self.kill();
        let begin = Instant::now();
        while !self.has_exited() && begin.elapsed() < PATIENCE_TO_DIE {
            std::thread::sleep(Duration::from_millis(2));
        }
        let killed = || ExitStatus::from_raw(Signal::KILL.as_raw());
        let status = *self.ended.get_or_insert_with(killed);
        let begin = Instant::now();
        while self.readers.iter().any(|reader| !reader.is_finished())
            && begin.elapsed() < PATIENCE_FOR_OUTPUT
        {
            std::thread::sleep(Duration::from_millis(2));
        }
        // A reader that waits for output that another process holds open ends with this process.
        self.readers.clear();
        status
    }
}

impl Life {
    fn begin() -> Self {
        let now = Instant::now();
        Self { ios: 0, heard: None, moved: now, looked: now, stopped: None, exited: None }
    }

    /// Restarts the waiting times after a time in which nobody waited.
    fn go_on(&mut self) {
        let now = Instant::now();
        self.heard = self.heard.map(|_| now);
        (self.moved, self.stopped, self.exited) = (now, None, None);
    }

    fn hear(&mut self, results: &[FioResult]) {
        let ios = results.iter().flat_map(FioResult::directions).map(|(_, own)| own.ios);
        let ios = ios.sum();
        let now = Instant::now();
        self.heard = Some(now);
        if ios != self.ios {
            (self.ios, self.moved) = (ios, now);
        }
    }
}

impl Drop for FioProcess {
    fn drop(&mut self) {
        self.reap(Duration::ZERO);
    }
}

/// Returns a job file in memory, positioned at its start.
fn handed_over(job_file: &str) -> std::io::Result<File> {
    let fd = rustix::fs::memfd_create("iogauge.fio", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(fd);
    file.write_all(job_file.as_bytes())?;
    file.rewind()?;
    Ok(file)
}
/// Splits fio's output into documents. Each starts with a line that is only an opening brace and ends with a line that
/// is only a closing one.
fn read_documents(output: impl Read, documents: &Sender<Vec<FioResult>>, noise: &Complaints) {
    let mut text = String::new();
    each_line(output, |line| {
        let (begins, ends) = (line.trim_end() == "{", line.trim_end() == "}");
        if text.is_empty() && !begins {
            return noise.note(line);
        }
        text.push_str(line);
        if ends {
            // Without a receiver, the rest is still read, so that fio can end.
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
        Reading::Result(result) => results.push(*result),
        Reading::Problem(problem) => noise.note(&problem.to_string()),
        // It is one document, which names no system.
        Reading::Interim(_) | Reading::System(_) => {}
    });
    // Reading text from memory does not fail.
    debug_assert!(read.is_ok());
    results
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_documents_are_separated_from_other_output() {
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
