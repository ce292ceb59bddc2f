//! Threads in uninterruptible sleep, from `/proc` (proc(5)).

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

/// A thread in uninterruptible sleep (state D): it waits in the kernel and receives no signals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UninterruptibleThread {
    name: String,
    id: u32,
    /// Kernel function it sleeps in, if the kernel reports it.
    waits_in: Option<String>,
    /// File or device of the I/O, if it can be determined.
    path: Option<PathBuf>,
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
        Some(Self { name: name.to_owned(), id, waits_in, path: path_of_io(task) })
    }
}

impl fmt::Display for UninterruptibleThread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, id, waits_in, path } = self;
        write!(f, "thread {} ({id}) waits in the kernel", name.escape_debug())?;
        if let Some(path) = path {
            write!(f, " for I/O on {}", path.to_string_lossy().escape_debug())?;
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
/// the first open file of the process that does not belong to its own database.
fn path_of_io(task: &Path) -> Option<PathBuf> {
    let call = fs::read_to_string(task.join("syscall")).unwrap_or_default();
    let argument = call.split_whitespace().nth(1).and_then(|word| word.strip_prefix("0x"));
    let descriptor = argument.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let named = descriptor.and_then(|number| storage(&task.join(format!("fd/{number}"))));
    named.or_else(|| {
        let entries = fs::read_dir(task.join("fd")).ok()?;
        let is_stream = |name: &OsStr| ["0", "1", "2"].iter().any(|stream| name == *stream);
        let files = entries.flatten().filter(|entry| !is_stream(&entry.file_name()));
        let mut open: Vec<PathBuf> = files.filter_map(|entry| storage(&entry.path())).collect();
        open.sort();
        let all = open.clone();
        // SQLite keeps a file with this name open for the history.
        let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
        open.retain(|path| !all.contains(&log(path)));
        open.retain(|path| !all.iter().any(|other| *path == log(other)));
        let is_shared_memory =
            |path: &PathBuf| path.as_os_str().as_encoded_bytes().ends_with(b"-shm");
        open.into_iter().find(|path| !is_shared_memory(path))
    })
}

/// Returns the path of a descriptor if it is a file or device that stores data.
fn storage(link: &Path) -> Option<PathBuf> {
    let path = fs::read_link(link).ok()?;
    let text = path.to_string_lossy();
    let no_storage = ["/proc/", "/sys/", "/dev/null", "/dev/zero", "/dev/pts/", "/dev/tty"];
    let leads_there = text.starts_with('/') && !no_storage.iter().any(|p| text.starts_with(p));
    leads_there.then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            UninterruptibleThread { name: "a\nb".to_owned(), id: 7, waits_in: None, path: None };
        assert_eq!(thread.to_string(), "thread a\\nb (7) waits in the kernel");
        thread.waits_in = Some("io_schedule".to_owned());
        thread.path = Some(PathBuf::from("/mnt/\u{1b}x"));
        let text = "thread a\\nb (7) waits in the kernel for I/O on /mnt/\\u{1b}x, in io_schedule";
        assert_eq!(thread.to_string(), text);
    }

    #[test]
    fn running_thread_is_not_uninterruptible() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        assert_eq!(UninterruptibleThread::of_own(own.unsigned_abs()), None);
        assert_eq!(UninterruptibleThread::of_process(0), []);
    }
}
