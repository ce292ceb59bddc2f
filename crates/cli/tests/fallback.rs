//! If the kernel forbids io_uring, another engine measures and the result says so. If the kernel has no Landlock,
//! another protection replaces it, or there is none; `doctor` reports which.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Done, Place, skip};
use iogauge_db::backend::BACKENDS;
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Runs iogauge with a seccomp filter that refuses `io_uring_setup`, as container profiles do.
fn without_io_uring(directory: &std::path::Path, engine: &[&str]) -> Output {
    with_calls_refused(&[libc::SYS_io_uring_setup], directory, engine)
}

fn with_calls_refused(
    calls: &[libc::c_long],
    directory: &std::path::Path,
    engine: &[&str],
) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_iogauge"));
    command.arg("run").arg(directory).args(["--size=64m", "--runtime=300ms", "--ramp_time=0"]);
    command.args(["--iodepth=8", "--json", "--quiet", "--history=none"]).args(engine);
    forbid(&mut command, calls);
    command.output().unwrap()
}

/// Gives a command a seccomp filter that refuses some system calls.
fn forbid(command: &mut Command, calls: &[libc::c_long]) {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    // The system call number is the first word of seccomp_data.
    let mut filter = vec![step(LOAD_WORD, 0, 0, 0)];
    for call in calls {
        filter.push(step(JUMP_IF_EQUAL, 0, 1, *call as u32));
        filter.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32));
    }
    filter.push(step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    // SAFETY: between fork and exec, the closure makes only two system calls, on memory that it owns.
    unsafe {
        command.pre_exec(move || {
            let program =
                libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
            let mode = libc::SECCOMP_MODE_FILTER;
            let failed = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program) != 0;
            if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
        });
    }
}

#[test]
fn default_engine_falls_back_with_a_caveat() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = without_io_uring(directory.path(), &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["load"]["engine"], "libaio");
    assert!(document["steps"][0]["read"]["ios"].as_u64().unwrap() > 0);
    let caveats = document["caveats"].as_array().unwrap();
    assert!(caveats.iter().any(|c| c["code"] == "engine-fallback"), "{caveats:?}");
}

#[test]
fn explicitly_requested_engine_is_not_replaced() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = without_io_uring(directory.path(), &["--ioengine=io_uring"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("hint: use --ioengine=libaio"), "{message}");
    crate::common::assert_one_message(&message);
    assert!(directory.path().read_dir().unwrap().next().is_none(), "nothing may be made");
}

#[test]
fn system_calls_alone_fill_and_measure_a_file() {
    const CALLS: [libc::c_long; 2] = [libc::SYS_io_uring_setup, libc::SYS_io_setup];
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = with_calls_refused(&CALLS, directory.path(), &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["load"]["engine"], "psync");
    let refused = with_calls_refused(&CALLS, directory.path(), &["--ioengine=libaio"]);
    assert_eq!(refused.status.code(), Some(2));
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(message.contains("hint: use --ioengine=psync"), "{message}");
}

/// With these calls refused, returns the protection that `doctor` reports, and the output of a run that writes.
fn protection_without(calls: &[libc::c_long]) -> (String, Output) {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let iogauge = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iogauge"));
        command.args(arguments).current_dir(directory.path());
        forbid(&mut command, calls);
        command.output().unwrap()
    };
    let doctor = iogauge(&["doctor", ".", "--json"]);
    let document: Value = serde_json::from_slice(&doctor.stdout).unwrap();
    let line = ["run", ".", "--size=16m", "--rw=randwrite", "--runtime=300ms", "--ramp_time=0"];
    let run = iogauge(&[&line[..], &["--json", "--quiet", "--history=none"]].concat());
    (document["machine"]["protection"].as_str().unwrap().to_owned(), run)
}

#[test]
fn doctor_reports_the_active_protection() {
    let (found, run) = protection_without(&[]);
    assert!(found.starts_with("Landlock, ABI ") || found == "private mount namespace", "{found}");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

#[test]
fn mount_namespace_replaces_missing_landlock() {
    let (found, run) = protection_without(&[libc::SYS_landlock_create_ruleset]);
    assert_eq!(found, "private mount namespace");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Sets up, fills, measures, verifies and purges a database of each backend that uses a directory. `alter` changes each
/// command before it starts.
fn databases_work(test: &str, alter: impl Fn(&mut Command)) {
    for info in BACKENDS.iter().filter(|info| info.is_directory) {
        if let Some(why) = (info.absent)() {
            skip(test, &why);
            continue;
        }
        let place = Place::new();
        let work = place.work();
        std::fs::write(work.join("canary"), "alive").unwrap();
        for directory in [&work, work.parent().unwrap()] {
            std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
            std::os::unix::fs::chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let url = format!("{}:d", info.name);
        let db = |action: &str, more: &[&str]| {
            let mut command = place.command(&[&["db", action, &url], more].concat());
            alter(&mut command);
            let done = Done::from(command.output().unwrap());
            assert_eq!(done.code, Some(0), "{url} {action}: {}", done.stderr);
            done
        };
        db("setup", &["--size=16m", "-q"]);
        db("create-globals", &["--globals=2", "--subscripts=2000", "-q"]);
        let short = ["--runtime=300ms", "--ramp-time=0", "--history=none", "--json", "-q"];
        for mode in ["read", "write", "io"] {
            let typed = ["--mode", mode, "--processes=2"];
            let document = db("run", &[&typed[..], &short].concat()).json();
            let step = &document["steps"][0];
            let ios = |direction: &str| step[direction]["ios"].as_u64().unwrap_or(0);
            assert!(ios("read") + ios("write") > 0, "{url} {mode}: {step}");
        }
        let checked = db("verify", &["--json"]).json();
        assert!(checked["acknowledged"].as_u64() > Some(0), "{url}: {checked}");
        assert_eq!(checked["lost"], 0, "{url}: {checked}");
        db("purge", &["--yes"]);
        assert_eq!(std::fs::read_to_string(work.join("canary")).unwrap(), "alive");
        assert_eq!(place.names(), ["canary"], "{url}");
    }
}

#[test]
fn databases_work_in_a_mount_namespace() {
    databases_work("databases_work_in_a_mount_namespace", |command| {
        forbid(command, &[libc::SYS_landlock_create_ruleset]);
    });
}

/// The user `nobody` of most systems.
const NOBODY: u32 = 65534;

#[test]
fn databases_work_without_root() {
    databases_work("databases_work_without_root", |command| {
        command.uid(NOBODY).gid(NOBODY);
    });
}

#[test]
fn run_works_with_guards_only_if_protection_is_missing() {
    let (found, run) = protection_without(&[libc::SYS_landlock_create_ruleset, libc::SYS_unshare]);
    assert!(found.starts_with("none: ") && found.contains("Landlock"), "{found}");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}

/// Without a protection by the kernel, fio is not started if it may write.
#[test]
fn fio_writes_are_refused_without_kernel_protection() {
    if Command::new("fio").arg("--version").output().is_err() {
        return skip("fio_writes_are_refused_without_kernel_protection", "fio is not installed");
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::write(directory.path().join("w.fio"), "[w]\nrw=write\nsize=1m\nfilename=f\n").unwrap();
    std::fs::write(directory.path().join("r.fio"), "[r]\nrw=read\nsize=1m\nfilename=g\n").unwrap();
    let typed = ["run", ".", "--size=16m", "--runtime=300ms", "--ramp_time=0", "--direct=0"];
    let writes = [&typed[..], &["--rw=randwrite"]].concat();
    for (line, code) in
        [(&writes[..], 3), (&typed[..], 0), (&["run", "w.fio"][..], 3), (&["run", "r.fio"][..], 0)]
    {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iogauge"));
        command.args(line).args(["--via=fio", "--quiet", "--history=none"]);
        command.current_dir(directory.path());
        forbid(&mut command, &[libc::SYS_landlock_create_ruleset, libc::SYS_unshare]);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line:?}: {told}");
        assert_eq!(told.contains("nothing would restrict fio"), code == 3, "{line:?}: {told}");
    }
}
