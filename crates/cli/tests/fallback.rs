//! Where the kernel forbids io_uring, another engine measures and the result says so.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

/// Runs iogauge under a seccomp filter that refuses `io_uring_setup`, as container profiles do.
fn without_io_uring(directory: &std::path::Path, engine: &[&str]) -> Output {
    const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let step = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let filter = [
        // The system call's number is the first word of seccomp_data.
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_io_uring_setup as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let mut command = Command::new(env!("CARGO_BIN_EXE_iogauge"));
    command.arg("run").arg(directory).args(["--size=64m", "--runtime=300ms", "--ramp_time=0"]);
    command.args(["--iodepth=8", "--json", "--quiet", "--history=none"]).args(engine);
    // SAFETY: between fork and exec only two system calls are made, on memory owned here.
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
    command.output().unwrap()
}

#[test]
fn the_default_engine_gives_way_with_a_caveat() {
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
fn an_engine_asked_for_by_name_is_not_replaced() {
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let output = without_io_uring(directory.path(), &["--ioengine=io_uring"]);
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.contains("--ioengine=libaio would work"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    assert!(directory.path().read_dir().unwrap().next().is_none(), "nothing may be made");
}
