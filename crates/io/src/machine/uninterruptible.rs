//! Threads in uninterruptible sleep, from `/proc` (proc(5)).

use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of files to name of which one has the I/O.
const MOST_PATHS: usize = 3;

/// Suffixes of the files that iogauge keeps open beside its history.
const BESIDE: [&str; 4] = ["-wal", "-shm", "-journal", "-lock"];

/// A thread in uninterruptible sleep (state D): it waits in the kernel and receives no signals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UninterruptibleThread {
    name: String,
    id: u32,
    /// Kernel function it sleeps in, if the kernel reports it.
    waits_in: Option<String>,
    /// File or device of the I/O. Several if it may be any of them; empty if it cannot be determined.
    paths: Vec<PathBuf>,
}

impl UninterruptibleThread {
    /// Returns the threads of a process in uninterruptible sleep; none if nothing can be read.
    #[must_use]
    pub fn of_process(process: u32) -> Vec<Self> {
        let tasks = fs::read_dir(format!("/proc/{process}/task"));
        let tasks = tasks.into_iter().flatten().flatten();
        let mut held: Vec<Self> = tasks.filter_map(|task| Self::at(&task.path())).collect();
        held.sort_by_key(|thread| thread.id);
        held
    }

    /// Returns a thread of this process if it is in uninterruptible sleep.
    pub(crate) fn of_own(thread: u32) -> Option<Self> {
        Self::at(Path::new(&format!("/proc/self/task/{thread}")))
    }

    fn at(task: &Path) -> Option<Self> {
        let stat = fs::read_to_string(task.join("stat")).ok()?;
        let (id, name) = uninterruptible(&stat)?;
        let waits_in = fs::read_to_string(task.join("wchan")).ok();
        let waits_in = waits_in.filter(|function| !matches!(function.as_str(), "" | "0"));
        Some(Self { name: name.to_owned(), id, waits_in, paths: paths_of_io(task) })
    }
}

impl fmt::Display for UninterruptibleThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, waits_in, paths } = self;
        write!(f, "thread {} ({id}) waits in the kernel", name.escape_debug())?;
        for (before, path) in
            std::iter::once(" for I/O on").chain(std::iter::repeat(" or")).zip(paths)
        {
            write!(f, "{before} {}", path.to_string_lossy().escape_debug())?;
        }
        waits_in.as_ref().map_or(Ok(()), |function| write!(f, ", in {function}"))
    }
}

/// Returns ID and name of a thread from its line in `stat`, if it is in state D.
fn uninterruptible(stat: &str) -> Option<(u32, &str)> {
    let (id, rest) = stat.split_once(" (")?;
    // The name may contain parentheses.
    let (name, fields) = rest.rsplit_once(") ")?;
    let id = id.parse().ok()?;
    fields.starts_with('D').then_some((id, name))
}

/// Returns the file that is the first argument of the thread's system call, if that is a descriptor. Otherwise returns
/// the open files of the process that do not belong to its own database, unless they are too many to be of use.
fn paths_of_io(task: &Path) -> Vec<PathBuf> {
    let call = fs::read_to_string(task.join("syscall")).unwrap_or_default();
    let argument = call.split_whitespace().nth(1).and_then(|word| word.strip_prefix("0x"));
    let descriptor = argument.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    if let Some(path) = descriptor.and_then(|number| storage(task, OsStr::new(&number.to_string())))
    {
        return vec![path];
    }
    let entries = fs::read_dir(task.join("fd")).into_iter().flatten().flatten();
    let is_stream = |name: &OsStr| ["0", "1", "2"].iter().any(|stream| name == *stream);
    let names = entries.map(|entry| entry.file_name()).filter(|name| !is_stream(name));
    let all: BTreeSet<PathBuf> = names.filter_map(|name| storage(task, &name)).collect();
    let beside =
        |path: &Path| BESIDE.map(|suffix| PathBuf::from(format!("{}{suffix}", path.display())));
    let is_database = |path: &PathBuf| beside(path).iter().any(|other| all.contains(other));
    let is_beside = |path: &PathBuf| all.iter().any(|other| beside(other).contains(path));
    let paths = all.iter().filter(|path| !is_database(path) && !is_beside(path));
    let paths: Vec<PathBuf> = paths.cloned().collect();
    if paths.len() > MOST_PATHS { Vec::new() } else { paths }
}

/// Returns the path of a descriptor if it is open for the I/O of a file or device that stores data.
fn storage(task: &Path, descriptor: &OsStr) -> Option<PathBuf> {
    let path = fs::read_link(task.join("fd").join(descriptor)).ok()?;
    let text = path.to_string_lossy();
    let no_storage = ["/proc/", "/sys/", "/dev/null", "/dev/zero", "/dev/pts/", "/dev/tty"];
    let leads_there = text.starts_with('/') && !no_storage.iter().any(|p| text.starts_with(p));
    let facts = fs::read_to_string(task.join("fdinfo").join(descriptor)).unwrap_or_default();
    (leads_there && !is_path_only(&facts)).then_some(path)
}

/// Returns true if a descriptor was opened with `O_PATH`, which permits no I/O (proc_pid_fdinfo(5)).
fn is_path_only(facts: &str) -> bool {
    let flags = facts.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok());
    flags.is_some_and(|flags| flags & OFlags::PATH.bits() != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn only_threads_in_state_d_are_uninterruptible() {
        assert_eq!(uninterruptible("71 (iogauge-0) D 1 2 3"), Some((71, "iogauge-0")));
        assert_eq!(uninterruptible("71 (a) D (b)) D 1"), Some((71, "a) D (b)")));
        assert_eq!(uninterruptible("71 (iogauge-0) S 1 2 3"), None);
        assert_eq!(uninterruptible("71 (iogauge-0"), None);
    }

    #[test]
    fn blocked_thread_message_contains_path_and_wait_channel() {
        let mut thread =
            UninterruptibleThread { name: "a\nb".to_owned(), id: 7, waits_in: None, paths: vec![] };
        assert_eq!(thread.to_string(), "thread a\\nb (7) waits in the kernel");
        thread.waits_in = Some("io_schedule".to_owned());
        thread.paths = vec![PathBuf::from("/mnt/\u{1b}x")];
        let text = "thread a\\nb (7) waits in the kernel for I/O on /mnt/\\u{1b}x, in io_schedule";
        assert_eq!(thread.to_string(), text);
        thread.paths = vec![PathBuf::from("/a"), PathBuf::from("/b")];
        let text = "thread a\\nb (7) waits in the kernel for I/O on /a or /b, in io_schedule";
        assert_eq!(thread.to_string(), text);
    }

    #[test]
    fn descriptor_that_permits_no_io_is_not_blocked_storage() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let path = file.path().canonicalize().unwrap();
        let task = Path::new("/proc/self");
        let found = |fd: i32| storage(task, OsStr::new(&fd.to_string()));
        let pin = rustix::fs::open(&path, OFlags::PATH, rustix::fs::Mode::empty()).unwrap();
        assert_eq!(found(pin.as_raw_fd()), None);
        assert_eq!(found(file.as_file().as_raw_fd()), Some(path));
    }

    #[test]
    fn running_thread_is_not_uninterruptible() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        assert_eq!(UninterruptibleThread::of_own(own.unsigned_abs()), None);
        assert_eq!(UninterruptibleThread::of_process(0), []);
    }
}
