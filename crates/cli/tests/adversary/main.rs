//! Job files and names made to reach what they must not: a foreign file, a foreign directory, a loop device and a
//! mounted one.
//!
//! Each case runs unprotected (plain fio on the original job file), with the guards and the rewritten job file alone,
//! with the kernel's protection alone, and through the binary.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
#[path = "../common/mod.rs"]
mod common;
mod harmless;
mod world;

use cases::{Case, Reach};
use common::skip;
use iogauge_fio::job::FioJobs;
use iogauge_io::confine::{Domain, protection};
use iogauge_io::pool::fio::FioBinary;
use iogauge_io::targets::Intent;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::{Blind, Interrupt};
use iogauge_lab::session::prepare::prepare_own;
use iogauge_lab::session::via;
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use world::{Disk, Stage, World};

/// A minimum for the cases that do harm when nothing protects the canaries. With fewer, the test would prove nothing.
const LEAST_HARM: usize = 100;
/// Number of cases that run at the same time.
const AT_A_TIME: usize = 2;
/// A run of fio that takes longer is killed.
const PATIENCE: Duration = Duration::from_secs(20);

/// One way to run a case. Returns when all its processes have ended.
type Way = fn(&World, &Case);

/// Runs plain fio on the original job file.
fn nothing_protects(world: &World, case: &Case) {
    end(plain_fio(world, case));
}

/// Lets iogauge read, judge and rewrite the job file, then runs fio unconfined.
fn guards_alone(world: &World, case: &Case) {
    let Ok(jobs) = FioJobs::read(&world.job_file(), &Disk::new(&case.variables)) else { return };
    let Ok(mut judged) = via::judge("adversary", jobs, &Intent::default()) else { return };
    let interrupt = Interrupt::default();
    let watch = &mut Watch { observer: &mut Blind, interrupt: &interrupt };
    if prepare_own(&mut judged.rig, watch).is_err() {
        return;
    }
    let Ok((text, handed)) = judged.for_fio() else { return };
    let fio = FioBinary::find(Path::new("fio")).unwrap();
    // A failure of fio does no harm.
    let _ = via::run_file(&judged.rig, &fio, text, handed.held_by_guards_alone(), watch);
}

/// Runs plain fio on the original job file, confined to its own directory.
fn kernel_alone(world: &World, case: &Case) {
    let mut command = plain_fio(world, case);
    let own = File::open(world.own()).unwrap();
    Domain::reading().directory(own).unwrap().bind(&mut command).unwrap();
    end(command);
}

/// Runs the binary, with the job file and with the name if there is one.
fn binary(world: &World, case: &Case) {
    let job = world.job_file();
    let mut lines = vec![vec!["run", job.to_str().unwrap(), "--via", "fio", "-q"]];
    if let Some(name) = &case.target {
        let load = ["--rw=randwrite", "--size=1m", "--direct=0", "--ioengine=psync", "-q"];
        let time = ["--runtime=50ms", "--ramp_time=0"];
        let native = [&["run", name.as_str()][..], &load, &time].concat();
        lines.push([&native[..], &["--via", "fio"]].concat());
        lines.push(native);
    }
    for line in lines {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iogauge"));
        command.args(line).current_dir(world.own()).envs(case.variables.iter().cloned());
        command.env("XDG_DATA_HOME", world.data());
        let code = end(command);
        assert_ne!(code, Some(101), "{}: a panic", case.name);
    }
}

fn plain_fio(world: &World, case: &Case) -> Command {
    let mut command = Command::new("fio");
    command.arg("--output=/dev/null").arg(world.job_file()).current_dir(world.own());
    command.envs(case.variables.iter().cloned());
    command
}

/// Waits for a command to end. Returns its exit code, or `None` if it was killed.
fn end(mut command: Command) -> Option<i32> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        if begin.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Runs all cases in one way. Returns the names of those that did harm.
fn harm(stages: &[Stage], cases: &[Case], way: Way) -> Vec<String> {
    let next = AtomicUsize::new(0);
    let harmed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for stage in stages {
            scope.spawn(|| {
                // SAFETY: of the state that threads share, only the working directory of this one becomes separate.
                unsafe { unshare_unsafe(UnshareFlags::FS) }.unwrap();
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let world = World::new(stage, case);
                    // In every way to run a case, relative names lead to the stage.
                    std::env::set_current_dir(world.own()).unwrap();
                    way(&world, case);
                    if let Some(what) = world.harm() {
                        harmed.lock().unwrap().push(format!("{}: {what}", case.name));
                    }
                }
            });
        }
    });
    let mut harmed = harmed.into_inner().unwrap();
    harmed.sort();
    harmed
}

#[test]
fn hostile_job_files_and_names_modify_no_foreign_file() {
    const TEST: &str = "hostile_job_files_and_names_modify_no_foreign_file";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(TEST, "fio is not installed");
    }
    let stages: Result<Vec<Stage>, String> = (0..AT_A_TIME).map(|_| Stage::new()).collect();
    let stages = match stages {
        Ok(stages) => stages,
        Err(why) => return skip(TEST, &why),
    };
    let cases = cases::all();
    let unprotected = harm(&stages, &cases, nothing_protects);
    assert!(
        unprotected.len() >= LEAST_HARM,
        "{} of {} do harm: {unprotected:#?}",
        unprotected.len(),
        cases.len()
    );
    for reach in [Reach::File, Reach::Directory, Reach::Device, Reach::Mounted] {
        let word = format!("{reach:?}");
        assert!(unprotected.iter().any(|case| case.contains(&word)), "none reaches {word}");
    }
    let mut ways: Vec<(&str, Way)> =
        vec![("the guards alone", guards_alone), ("the binary", binary)];
    if protection().is_enforced() {
        ways.insert(1, ("the kernel alone", kernel_alone));
    } else {
        skip(TEST, "the kernel confines nothing here");
    }
    for (word, way) in ways {
        let harmed = harm(&stages, &cases, way);
        assert!(harmed.is_empty(), "with {word}: {harmed:#?}");
    }
    println!("adversary: {} tried, {} held", cases.len(), cases.len());
    eprintln!("{} of them do harm where nothing protects", unprotected.len());
}
