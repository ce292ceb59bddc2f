//! The front process, which the user started. It forks the working process, passes signals on to
//! it, and ends the way it ended. The front touches no storage, so it responds in time even if the
//! working process is blocked in the kernel forever.

mod report;
mod unfinished;

pub use report::Reporter;

use crate::exit::Exit;
use crate::{launcher, screen};
use anyhow::Context;
use iogauge_lab::process::AddressSpace;
use iogauge_lab::process::UninterruptibleThread;
use report::Reports;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{self as system, Pid, Signal, WaitOptions, WaitStatus};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::low_level::{emulate_default_handler, pipe};
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A second signal within this time is an echo of the first: `timeout` signals a process and then
/// its group, and a terminal signals the whole group.
const ECHO: Duration = Duration::from_secs(1);
/// Time for the working process to end with its result after the first signal.
const GRACE: Duration = Duration::from_secs(8);
/// The same for mpirun, whose processes have such a front each.
const GRACE_OF_HOSTS: Duration = Duration::from_secs(14);
/// Time between two checks whether the process that started this one is alive.
const LOOK_AT_LAUNCHER: Duration = Duration::from_secs(1);
/// Time for a process to exit after it has reported its exit code.
const LEAVING: Duration = Duration::from_secs(5);
/// Time for a killed process to exit.
const KILLED: Duration = Duration::from_secs(1);
/// Stack of the working thread. A user's limit for the first thread's stack may be far too small.
const STACK_BYTES: usize = 8 << 20;
/// Minimum address space: the stack, and memory for a history and a small step.
const LEAST_ADDRESS_BYTES: u64 = 32 << 20;

/// Forks, runs `work` in the new process and watches over it in this one. Returns in both.
///
/// # Errors
/// No process or thread can be created, or signals cannot be watched.
pub fn start(work: impl FnOnce(&Reporter) -> Exit + Send + 'static) -> anyhow::Result<ExitCode> {
    let (reports, reporter) = report::channel().context("cannot make a pipe")?;
    // Before the fork, so that an error is reported once.
    let wake = Wake::new().context("cannot watch signals")?;
    let front = system::getpid();
    match iogauge_lab::process::fork().context("cannot start the process that measures")? {
        None => {
            drop((reports, wake));
            in_child(front, reporter, work)
        }
        Some(child) => {
            drop(reporter);
            Front::new(child, reports, wake)?.watch()
        }
    }
}

/// Runs `work` on a thread with a stack of its own, in a process that is killed if its front dies.
fn in_child(
    front: Pid,
    reporter: Reporter,
    work: impl FnOnce(&Reporter) -> Exit + Send + 'static,
) -> anyhow::Result<ExitCode> {
    system::set_parent_process_death_signal(Some(Signal::KILL))
        .context("cannot tie the process that measures to its parent")?;
    if system::getppid() != Some(front) {
        // The front was killed before the signal was set.
        return Ok(Exit::Fault.into());
    }
    let AddressSpace { bytes: left_bytes, bound } = AddressSpace::left();
    if left_bytes < LEAST_ADDRESS_BYTES {
        let (left, least) = (left_bytes >> 20, LEAST_ADDRESS_BYTES >> 20);
        anyhow::bail!(
            "{bound} leaves {left} MiB of address space; hint: use at least {least} MiB more \
             than iogauge itself takes"
        );
    }
    if left_bytes < u64::MAX {
        iogauge_lab::process::share_one_heap();
    }
    let run = move || {
        let exit = work(&reporter);
        release_streams();
        reporter.ends_with(exit);
        exit
    };
    let thread = std::thread::Builder::new().name("iogauge".to_owned()).stack_size(STACK_BYTES);
    let thread = thread.spawn(run).context("cannot start the thread that works")?;
    match thread.join() {
        Ok(exit) => Ok(exit.into()),
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Releases stdout and stderr, so that their readers see the end even if a thread of this process
/// stays in the kernel.
fn release_streams() {
    if let Ok(nothing) = File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}

/// Signals that request an end. SIGHUP is left out if it is ignored, as under `nohup`.
pub fn ending_signals() -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    let hangs_up = ignored >> (SIGHUP - 1) & 1 == 0;
    [SIGINT, SIGTERM].into_iter().chain(hangs_up.then_some(SIGHUP)).collect()
}

/// How signals wake the front.
struct Wake {
    /// Becomes readable with every signal.
    woken: UnixStream,
    /// Signals to watch, each with the socket end that its handler writes to.
    signals: Vec<(i32, UnixStream)>,
}

impl Wake {
    fn new() -> std::io::Result<Self> {
        let (woken, wakes) = UnixStream::pair()?;
        woken.set_nonblocking(true)?;
        let signals = ending_signals().into_iter().chain([SIGCHLD]);
        let signals = signals.map(|signal| Ok((signal, wakes.try_clone()?)));
        Ok(Self { woken, signals: signals.collect::<std::io::Result<_>>()? })
    }
}

/// What the front knows about the working process.
struct Front {
    child: Pid,
    reports: Reports,
    /// Signals that request an end, each with the flag that its handler sets.
    signals: Vec<(i32, Arc<AtomicBool>)>,
    /// Becomes readable with every signal.
    woken: UnixStream,
    /// Time of the first request to end.
    asked: Option<Instant>,
    /// True if the working process has become mpirun.
    launches: bool,
    /// The process of mpirun that started this one.
    launcher: Option<Pid>,
    /// The exit code that the process reported, and when.
    code: Option<(u8, Instant)>,
}

impl Front {
    fn new(child: Pid, reports: Reports, wake: Wake) -> anyhow::Result<Self> {
        let mut signals = Vec::new();
        for (signal, wakes) in wake.signals {
            pipe::register(signal, wakes).context("cannot watch signals")?;
            if signal != SIGCHLD {
                let flag = Arc::new(AtomicBool::new(false));
                signal_hook::flag::register(signal, flag.clone())
                    .context("cannot watch signals")?;
                signals.push((signal, flag));
            }
        }
        let launcher = launcher::is_launched().then(system::getppid).flatten();
        if launcher.is_some() {
            // MPICH's mpirun sends it when it has lost another process, and goes on. The working process has a handler
            // of the library.
            signal_hook::flag::register(SIGUSR1, Arc::default()).context("cannot watch signals")?;
        }
        Ok(Self {
            child,
            reports,
            signals,
            woken: wake.woken,
            asked: None,
            launches: false,
            launcher,
            code: None,
        })
    }

    /// Passes signals on until the process has ended or its time is over, then ends the same way.
    fn watch(mut self) -> anyhow::Result<ExitCode> {
        loop {
            if let Some(status) = self.status()? {
                self.listen();
                return Ok(self.end_as(status));
            }
            self.listen();
            self.look_at_launcher();
            if self.passes_signals_on() {
                return Ok(self.leave(false));
            }
            let left = self.deadline().map(|end| end.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                return Ok(self.leave(true));
            }
            self.sleep(left)?;
        }
    }

    /// Returns how the process ended; `None` while it runs.
    fn status(&self) -> anyhow::Result<Option<WaitStatus>> {
        let ended = system::waitpid(Some(self.child), WaitOptions::NOHANG);
        let ended = ended.context("cannot wait for the process that measures")?;
        Ok(ended.map(|(_, status)| status))
    }

    /// Records what the process reported.
    fn listen(&mut self) {
        let heard = self.reports.read();
        if heard.was_signalled {
            self.asked.get_or_insert_with(Instant::now);
        }
        self.launches |= heard.launches;
        if let Some(code) = heard.code {
            self.code = Some((code, Instant::now()));
        }
    }

    /// Requests an end if mpirun has ended: nobody else would end this process, or read its result.
    fn look_at_launcher(&mut self) {
        if self.launcher.is_some_and(|launcher| system::getppid() != Some(launcher)) {
            self.launcher = None;
            self.asked.get_or_insert_with(Instant::now);
            // Fails only if the process has just ended.
            let _ = system::kill_process(self.child, Signal::TERM);
        }
    }

    /// Passes on the signals received since the last call. Returns true if one was a second request
    /// to end, and not an echo.
    fn passes_signals_on(&mut self) -> bool {
        let mut again = false;
        for (signal, flag) in &self.signals {
            if !flag.swap(false, Ordering::Relaxed) {
                continue;
            }
            again |= self.asked.is_some_and(|asked| asked.elapsed() >= ECHO);
            self.asked.get_or_insert_with(Instant::now);
            if let Some(signal) = Signal::from_named_raw(*signal) {
                // Fails only if the process has just ended.
                let _ = system::kill_process(self.child, signal);
            }
        }
        again
    }

    /// When the process has to be gone.
    fn deadline(&self) -> Option<Instant> {
        let grace = if self.launches { GRACE_OF_HOSTS } else { GRACE };
        let asked = self.asked.map(|asked| asked + grace);
        asked.into_iter().chain(self.code.map(|(_, at)| at + LEAVING)).min()
    }

    fn sleep(&mut self, left: Option<Duration>) -> anyhow::Result<()> {
        let look = self.launcher.map(|_| LOOK_AT_LAUNCHER);
        let left = left.into_iter().chain(look).min();
        let timeout = left.map(|left| Timespec {
            tv_sec: left.as_secs() as i64,
            // Never shorter than the time left, so that the deadline has passed afterwards.
            tv_nsec: i64::from(left.subsec_nanos()),
        });
        let mut watched = vec![PollFd::new(&self.woken, PollFlags::IN)];
        if !self.reports.is_closed() {
            watched.push(PollFd::new(&self.reports, PollFlags::IN));
        }
        match poll(&mut watched, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => return Err(errno).context("cannot wait for the process that measures"),
        }
        let mut bytes = [0; 64];
        while std::io::Read::read(&mut self.woken, &mut bytes).is_ok_and(|read| read > 0) {}
        Ok(())
    }

    /// Ends a process whose time is over. Prints what it waits for, unless this was the user's
    /// second request and the process is gone.
    fn leave(&mut self, overdue: bool) -> ExitCode {
        let id = self.child.as_raw_nonzero().get().unsigned_abs();
        let threads = UninterruptibleThread::of_process(id);
        if self.code.is_none() {
            // Fails only if the process has just ended.
            let _ = system::kill_process(self.child, Signal::KILL);
        }
        let end = Instant::now() + KILLED;
        let mut gone = false;
        while self.code.is_none() && !gone && Instant::now() < end {
            gone = !matches!(self.status(), Ok(None));
            if !gone {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
        if overdue || !gone {
            for line in unfinished::lines(id, &threads, gone, self.code.is_some()) {
                screen::tell_in_time(&screen::line(&line));
            }
        }
        self.code.map_or_else(|| Exit::Interrupted.into(), |(code, _)| code.into())
    }

    /// Ends this process the way the working process ended: with its exit code, or by the same
    /// signal.
    fn end_as(&self, status: WaitStatus) -> ExitCode {
        if let Some((code, _)) = self.code {
            return code.into();
        }
        // mpirun has codes of its own for an end by a signal.
        let has_lost = status.exit_status() == Some(Exit::HostLost as i32);
        if self.launches && self.asked.is_some() && !has_lost {
            return Exit::Interrupted.into();
        }
        if let Some(code) = status.exit_status() {
            if self.launches && Exit::of_code(code).is_none() {
                screen::error(&format!(
                    "mpirun failed, with exit code {code}; hint: its messages say why; each host needs \
                     iogauge-mpi, and mpirun needs a way to it, such as ssh without a password"
                ));
                return Exit::Fault.into();
            }
            return u8::try_from(code).unwrap_or(1).into();
        }
        let signal = status.terminating_signal().unwrap_or(0);
        // One core file is enough.
        let no_core = system::Rlimit { current: Some(0), maximum: Some(0) };
        let _ = system::setrlimit(system::Resource::Core, no_core);
        let _ = emulate_default_handler(signal);
        // Reached in the first process of a container, which ignores signals.
        u8::try_from(128 + signal).unwrap_or(1).into()
    }
}
