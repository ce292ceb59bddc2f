//! The process that the user started, beside the one that does the work: signals, and every way to end.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;

use common::{Place, Started, children, eventually, is_gone, state_of};
use iogauge_test_support::{Loop, MIB, Mount, mounted_ext4, or_skip};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The command must end within 10 s of the signal. The limit is twice as long, because other tests may keep the machine
/// busy.
const LATEST: Duration = Duration::from_secs(20);

/// A separate file system. When it is frozen, its writers block in the kernel.
struct Medium {
    mount: Mount,
    _device: Loop,
}

impl Medium {
    fn new() -> Result<Self, String> {
        // In memory, so that writers do not block on a busy disk of the machine.
        Self::on(Loop::new_in(Path::new("/dev/shm"), 256 * MIB)?)
    }

    fn on(device: Loop) -> Result<Self, String> {
        Ok(Self { mount: mounted_ext4(&device.path)?, _device: device })
    }

    fn file(&self, name: &str) -> String {
        self.mount.point.join(name).to_str().unwrap().to_owned()
    }

    fn freeze(&self) -> Result<Frozen, String> {
        iogauge_test_support::run("fsfreeze", &["--freeze", self.mount.point.to_str().unwrap()])?;
        Ok(Frozen(self.mount.point.clone()))
    }
}

/// A frozen file system. It accepts no writes until this is dropped.
struct Frozen(PathBuf);

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = iogauge_test_support::run("fsfreeze", &["--unfreeze", self.0.to_str().unwrap()]);
    }
}

/// Waits until a thread of the process blocks in the kernel, where no signal reaches it.
#[track_caller]
fn await_held_thread(process: u32) {
    let begin = Instant::now();
    let mut since = None;
    eventually(|| {
        since = has_waiting_thread(process).then(|| since.unwrap_or_else(Instant::now));
        since.is_some_and(|since: Instant| since.elapsed() > Duration::from_millis(500))
            && begin.elapsed() > Duration::from_secs(1)
    });
}

fn has_waiting_thread(process: u32) -> bool {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let mut stats = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("stat")).ok());
    stats.any(|stat| stat.contains(") D "))
}

/// Returns the bytes that a process has passed to the storage.
fn written_bytes(process: u32) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{process}/io")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.map_or(0, |bytes| bytes.parse().unwrap())
}

/// Starts an endless run of writes on a file. Returns when the writes have begun.
fn writing(place: &Place, target: &str, more: &[&str]) -> Started {
    std::fs::write(target, vec![7; 16 << 20]).unwrap();
    let line =
        ["run", target, "--overwrite-file", "--rw=randwrite", "--runtime=1h", "--ramp-time=0"];
    let run = place.start(&[&line[..], more].concat());
    let worker = run.worker();
    eventually(|| written_bytes(worker) > MIB);
    run
}

#[test]
fn worker_blocked_by_a_frozen_file_system_is_reported() {
    const NAME: &str = "worker_blocked_by_a_frozen_file_system_is_reported";
    let medium = or_skip!("worker_blocked_by_a_frozen_file_system_is_reported", Medium::new());
    for engine in ["psync", "io_uring", "libaio"] {
        let place = Place::new();
        let target = medium.file("file");
        let engine = format!("--ioengine={engine}");
        let run = writing(&place, &target, &[&engine, "--iodepth=4", "--json"]);
        let worker = run.worker();
        // Workers hand over their results at each tick of the controller. Blocked workers hand over nothing.
        std::thread::sleep(Duration::from_secs(2));
        let frozen = match medium.freeze() {
            Ok(frozen) => frozen,
            Err(why) => return iogauge_test_support::skip(NAME, &why),
        };
        await_held_thread(worker);
        let begin = Instant::now();
        run.signal("INT");
        let done = run.end().ends(130);
        assert!(begin.elapsed() < LATEST, "{:?}", begin.elapsed());
        // The result lacks only what the blocked workers have not handed over.
        let document = done.json();
        assert_eq!(document["interrupted"], true);
        assert!(document["steps"][0]["write"]["ios"].as_u64().unwrap() > 0, "{document}");
        let caveats = document["caveats"].as_array().unwrap();
        let held = caveats.iter().find(|caveat| caveat["code"] == "worker-held");
        let held = held.unwrap_or_else(|| panic!("{engine}: {document}"));
        assert!(held["message"].as_str().unwrap().contains("thread iogauge-"), "{held}");
        let id = document["run_id"].as_str().unwrap();
        let shown = place.run(&["history", "show", id, "--format=json"]).ends(0).json();
        assert_eq!(shown, document);
        // The message says that the process cannot end yet, and what blocks it.
        let line = done.stderr.lines().find(|line| line.contains("cannot end yet"));
        let line = line.unwrap_or_else(|| panic!("{engine}: {}", done.stderr));
        assert!(line.contains(&format!("process {worker}")), "{line}");
        assert!(
            line.contains("waits in the kernel for I/O on") && line.contains("/file"),
            "{line}"
        );
        drop(frozen);
        eventually(|| is_gone(worker));
    }
}

/// A command whose output goes to files, because the pipes of a process that cannot end stay open.
struct ToFiles(Child);

impl ToFiles {
    fn start(place: &Place, line: &[&str]) -> Self {
        let file = |name| std::fs::File::create(place.work().join(name)).unwrap();
        Self(place.command(line).stdout(file("out")).stderr(file("err")).spawn().unwrap())
    }

    fn worker(&self) -> u32 {
        eventually(|| !children(self.0.id()).is_empty());
        children(self.0.id())[0]
    }

    fn signal(&self, signal: Signal) {
        kill_process(pid(self.0.id()), signal).unwrap();
    }

    /// Waits for the end. Returns the exit code, stdout and stderr.
    fn end(mut self, place: &Place) -> (Option<i32>, String, String) {
        let mut status = None;
        eventually(|| {
            status = self.0.try_wait().unwrap();
            status.is_some()
        });
        let text = |name| std::fs::read_to_string(place.work().join(name)).unwrap();
        (status.unwrap().code(), text("out"), text("err"))
    }
}

impl Drop for ToFiles {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn process_blocked_before_exit_is_killed_and_reported() {
    const NAME: &str = "process_blocked_before_exit_is_killed_and_reported";
    let medium = or_skip!("process_blocked_before_exit_is_killed_and_reported", Medium::new());
    let place = Place::new();
    let history = format!("--history={}", medium.file("history.db"));
    let run = ToFiles::start(&place, &["run", "sim:nvme", "--runtime=1000d", "--json", &history]);
    let worker = run.worker();
    eventually(|| Path::new(&medium.file("history.db-wal")).exists());
    let frozen = match medium.freeze() {
        Ok(frozen) => frozen,
        Err(why) => return iogauge_test_support::skip(NAME, &why),
    };
    let begin = Instant::now();
    run.signal(Signal::TERM);
    let (code, _, said) = run.end(&place);
    assert_eq!(code, Some(130), "{said}");
    assert!(begin.elapsed() < LATEST, "{:?}", begin.elapsed());
    let lines: Vec<&str> = said.lines().filter(|line| line.contains("process ")).collect();
    let expected = format!("process {worker} was killed and cannot end yet: thread ");
    assert!(lines[0].contains(&expected), "{said}");
    assert!(lines[0].contains("waits in the kernel"), "{said}");
    assert!(said.contains("hint: iogauge history show"), "{said}");
    drop(frozen);
    eventually(|| is_gone(worker));
}

#[test]
fn second_signal_after_one_second_exits_immediately() {
    const NAME: &str = "second_signal_after_one_second_exits_immediately";
    let medium = or_skip!("second_signal_after_one_second_exits_immediately", Medium::new());
    let place = Place::new();
    let target = medium.file("file");
    std::fs::write(&target, vec![7; 16 << 20]).unwrap();
    let line =
        ["run", &target, "--overwrite-file", "--rw=randwrite", "--ioengine=psync", "--runtime=1h"];
    let run = ToFiles::start(&place, &line);
    let worker = run.worker();
    eventually(|| written_bytes(worker) > MIB);
    let frozen = match medium.freeze() {
        Ok(frozen) => frozen,
        Err(why) => return iogauge_test_support::skip(NAME, &why),
    };
    await_held_thread(worker);
    run.signal(Signal::INT);
    std::thread::sleep(Duration::from_millis(1500));
    run.signal(Signal::INT);
    // The command did not wait for the result.
    let (code, printed, said) = run.end(&place);
    assert_eq!((code, printed.as_str()), (Some(130), ""), "{said}");
    drop(frozen);
    eventually(|| is_gone(worker));
}

/// Interrupts a command that fills something on a file system that accepts no more writes.
fn interrupt_filling(name: &str, medium: &Medium, line: &[&str]) {
    let place = Place::new();
    let run = ToFiles::start(&place, line);
    let worker = run.worker();
    eventually(|| written_bytes(worker) > MIB);
    let frozen = match medium.freeze() {
        Ok(frozen) => frozen,
        Err(why) => return iogauge_test_support::skip(name, &why),
    };
    await_held_thread(worker);
    let begin = Instant::now();
    run.signal(Signal::INT);
    let (code, printed, said) = run.end(&place);
    assert_eq!((code, printed.as_str()), (Some(130), ""), "{line:?}: {said}");
    assert!(begin.elapsed() < LATEST, "{line:?}: {:?}", begin.elapsed());
    let expected = format!("process {worker} was killed and cannot end yet: thread ");
    assert!(said.contains(&expected), "{line:?}: {said}");
    drop(frozen);
    eventually(|| is_gone(worker));
}

#[test]
fn interrupt_ends_filling_of_a_frozen_file_system() {
    const NAME: &str = "interrupt_ends_filling_of_a_frozen_file_system";
    // The image is sparse, and little is written.
    let large = Loop::new(8192 * MIB).and_then(Medium::on);
    let medium = or_skip!("interrupt_ends_filling_of_a_frozen_file_system", large);
    let file = medium.file("file");
    interrupt_filling(NAME, &medium, &["prepare", &file, "--size=6g", "--quiet"]);
    std::fs::remove_file(&file).unwrap_or_default();
    let database = format!("sqlite:{}", medium.file("d"));
    let line = ["db", "setup", &database, "--size=6g", "--quiet"];
    interrupt_filling(NAME, &medium, &line);
}

/// Starts an endless run on a simulated device, in its own process group.
fn endless(place: &Place) -> (Child, u32) {
    let mut command = place.command(&["run", "sim:nvme", "--runtime=1000d", "--json"]);
    let child = command.process_group(0).spawn().unwrap();
    let mut worker = None;
    eventually(|| {
        worker = children(child.id()).first().copied();
        worker.is_some() && place.runs().iter().any(|run| run.1 == "running")
    });
    (child, worker.unwrap())
}

fn pid(process: u32) -> Pid {
    Pid::from_raw(i32::try_from(process).unwrap()).unwrap()
}

/// Returns true if this process, and therefore its children, ignores a signal (signal(7)).
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
    u64::from_str_radix(mask.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

#[test]
fn signal_to_process_and_group_counts_once() {
    let place = Place::new();
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        if is_ignored(signal) {
            // As under nohup: the command ignores the signals that this process ignores.
            continue;
        }
        let (child, _) = endless(&place);
        // `timeout` does the same: both signals within a millisecond.
        kill_process(pid(child.id()), signal).unwrap();
        kill_process_group(pid(child.id()), signal).unwrap();
        let done: common::Done = child.wait_with_output().unwrap().into();
        let document = done.ends(130).json();
        assert_eq!(document["interrupted"], true);
        let id = document["run_id"].as_str().unwrap();
        assert!(place.runs().iter().any(|run| run.0 == id && run.1 == "interrupted"));
    }
}

#[test]
fn ignored_sighup_does_not_end_the_run() {
    let place = Place::new();
    let typed = place.command(&["run", "sim:nvme", "--runtime=1000d", "--json"]);
    let mut command = Command::new("sh");
    command.args(["-c", r#"trap "" HUP; exec "$0" "$@""#]).arg(typed.get_program());
    command.args(typed.get_args()).envs(typed.get_envs().filter_map(|(n, v)| Some((n, v?))));
    command.stdout(std::process::Stdio::piped()).current_dir(place.work());
    let child = command.spawn().unwrap();
    eventually(|| place.runs().iter().any(|run| run.1 == "running"));
    kill_process(pid(child.id()), Signal::HUP).unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(place.runs()[0].1, "running");
    kill_process(pid(child.id()), Signal::TERM).unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(place.runs()[0].1, "interrupted");
}

#[test]
fn killing_the_front_process_ends_the_worker() {
    let place = Place::new();
    let (mut child, worker) = endless(&place);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(|| is_gone(worker));
    assert_eq!(place.runs()[0].1, "crashed");
}

#[test]
fn front_process_exits_with_the_signal_of_the_worker() {
    let place = Place::new();
    for signal in [Signal::KILL, Signal::ABORT, Signal::USR1] {
        let (mut child, worker) = endless(&place);
        kill_process(pid(worker), signal).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(signal.as_raw()));
    }
}

#[test]
fn process_group_stops_and_continues_together() {
    let place = Place::new();
    let (child, worker) = endless(&place);
    let group = pid(child.id());
    kill_process_group(group, Signal::TSTP).unwrap();
    eventually(|| [child.id(), worker].iter().all(|id| state_of(*id) == Some('T')));
    kill_process_group(group, Signal::CONT).unwrap();
    eventually(|| [child.id(), worker].iter().all(|id| state_of(*id) != Some('T')));
    kill_process_group(group, Signal::INT).unwrap();
    let done: common::Done = child.wait_with_output().unwrap().into();
    assert_eq!(done.ends(130).json()["interrupted"], true);
}

#[test]
fn history_records_the_worker_process_id() {
    let place = Place::new();
    let (child, worker) = endless(&place);
    let stopped = place.run(&["stop"]).ends(0);
    assert!(stopped.stdout.contains(&worker.to_string()), "{}", stopped.stdout);
    let done: common::Done = child.wait_with_output().unwrap().into();
    assert_eq!(done.ends(130).json()["interrupted"], true);
}

#[test]
fn detached_run_keeps_running_without_a_terminal() {
    let place = Place::new();
    place.run(&["run", "sim:nvme", "--runtime=1000d", "--detach"]).ends(0);
    assert_eq!(place.runs()[0].1, "running");
    place.run(&["stop"]).ends(0);
    eventually(|| place.runs()[0].1 == "interrupted");
}
