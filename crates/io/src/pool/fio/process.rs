//! fio as a child process: started with a job file, read as it goes, ended and reaped.

use super::directory::FioDirectory;
use super::empty::EmptyIos;
use super::handed::Handed;
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

/// Time between two documents of fio's.
pub(super) const INTERVAL: Duration = Duration::from_millis(100);
/// fio that has not ended so long after it was asked to is killed: I/Os of slow devices take their
/// time to come back.
const PATIENCE_TO_END: Duration = Duration::from_secs(5);
/// A process that was killed and is not gone after this is stuck in the kernel, and left behind.
const PATIENCE_TO_DIE: Duration = Duration::from_secs(2);
/// Output that others hold open is read no longer once fio has ended.
const PATIENCE_FOR_OUTPUT: Duration = Duration::from_secs(1);
/// fio's processes are looked at after each such time, and without I/O more often.
const PATIENCE_TO_LOOK: Duration = Duration::from_secs(1);
const PATIENCE_WITHOUT_IO: Duration = Duration::from_millis(200);
/// A process of fio's that somebody stopped, and that stands so long, is not waited for.
const PATIENCE_WITH_STOPPED: Duration = Duration::from_secs(4);
/// fio that printed documents and prints no more is given up.
const PATIENCE_WITH_SILENT: Duration = Duration::from_secs(8);
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
    /// Why fio was given up, where it was.
    lost: Option<&'static str>,
    life: Life,
    empty: EmptyIos,
    heart: Heartbeat,
    /// Times in which this process or fio stood still, but for those that were taken.
    paused: Paused,
    handed: Handed,
    directory: FioDirectory,
}

/// What shows whether fio goes on.
#[derive(Debug)]
struct Life {
    /// I/Os of the last document.
    ios: u64,
    /// When it printed a document, if ever, and when one had more I/Os than the one before.
    heard: Option<Instant>,
    moved: Instant,
    looked: Instant,
    /// Since when one of its processes is stopped.
    stopped: Option<Instant>,
    /// Since when it has ended while its output is open.
    exited: Option<Instant>,
}

impl FioProcess {
    /// Starts fio with the text of a job file, on its standard input, in a directory of its own. It
    /// inherits what it is handed, and may write nothing else.
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

    /// Waits for the next document, at most so long.
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
                // Somebody else holds its output open, who is none to wait for.
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

    /// fio has said all. The counts of one that has ended by itself are exact.
    fn last_words(&mut self) -> Next {
        let status = self.reap(PATIENCE_TO_END);
        let again = status.code().and_then(|_| self.empty.at_end());
        again.map_or(Next::Ended(status), Next::Document)
    }

    /// Why fio is not to be waited for any longer, if so.
    fn is_stuck(&mut self) -> Option<&'static str> {
        let own = self.heart.take();
        if own.times > 0 {
            // What fio said meanwhile is read now.
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

    /// Looks whether somebody stopped a process of fio's, where it is time to.
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

    /// True while a process of fio's is stopped.
    pub(super) fn is_stopped(&self) -> bool {
        self.life.stopped.is_some()
    }

    /// Times in which this process or fio stood still, since they were taken last.
    pub(super) fn take_pauses(&mut self) -> Paused {
        std::mem::take(&mut self.paused)
    }

    /// What became of I/Os that moved nothing, where there are any.
    pub(super) fn empty_ios(&self) -> Option<String> {
        self.empty.words()
    }

    /// Ends fio at once.
    pub(super) fn give_up(&mut self, why: &'static str) -> Next {
        self.lost = Some(why);
        Next::Ended(self.reap(Duration::ZERO))
    }

    /// True where the child has ended, whoever it left behind.
    fn has_exited(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().unwrap_or_default();
        }
        self.ended.is_some()
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
        while begin.elapsed() < PATIENCE_TO_END {
            match self.next(PATIENCE_TO_END.saturating_sub(begin.elapsed())) {
                Next::Document(results) => see(results),
                Next::Nothing => {}
                Next::Ended(status) => return status,
            }
        }
        self.reap(Duration::ZERO)
    }

    /// The newest of the documents that came before fio was ended, and were not read yet.
    pub(super) fn rest(&mut self) -> Option<Vec<FioResult>> {
        let mut newest = None;
        while let Ok(results) = self.documents.try_recv() {
            newest = Some(self.empty.see(results));
        }
        newest
    }

    /// How it ended, in words: why it was given up, where it was.
    pub(super) fn fate(&self, status: ExitStatus) -> String {
        self.lost.map_or_else(|| status.to_string(), str::to_owned)
    }

    /// What fio complained of first; what it printed that is no document, where it did not.
    pub(super) fn complaint(&self) -> String {
        let first = |said: &Complaints| said.all().into_iter().next();
        let said = first(&self.complaints).or_else(|| first(&self.noise));
        said.map_or_else(|| "it said nothing".to_owned(), |said| self.handed.in_users_words(&said))
    }

    /// The directory in which it works.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Kills fio with all processes of its jobs.
    fn kill(&mut self) {
        if !self.has_exited() {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
        self.directory.kill_processes();
    }

    /// Waits so long for the end, and forces it then: nothing here lasts longer than some seconds.
    fn reap(&mut self, patience: Duration) -> ExitStatus {
        let begin = Instant::now();
        while !self.has_exited() && begin.elapsed() < patience {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Nothing of it goes on, whatever it started.
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
        // One that waits for output which a stranger holds open ends with this process.
        self.readers.clear();
        status
    }
}

impl Life {
    fn begin() -> Self {
        let now = Instant::now();
        Self { ios: 0, heard: None, moved: now, looked: now, stopped: None, exited: None }
    }

    /// Begins anew to wait, behind a time in which nobody did.
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
        Reading::Result(result) => results.push(*result),
        Reading::Problem(problem) => noise.note(&problem.to_string()),
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
