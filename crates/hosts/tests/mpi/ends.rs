//! What mpirun returns, and what is printed, when a process ends.

use crate::common::{BINARY, Done, Place, alone, built_for, hosts};
use crate::reading_with;
use iogauge_test_support::{Mpi, or_skip, run};
use std::process::Command;

/// Runs of each kind. Whether the end of a process disturbs another one is a matter of milliseconds.
const RUNS: usize = 4;

/// Checks the exit codes of short runs, and of commands that end as soon as they have begun.
fn codes_are_those_of_the_runs(place: &Place, start: impl Fn(&[&str]) -> Command) {
    let data = place.data();
    let run = ["run", data.to_str().unwrap(), "--size=4m", "--iodepth=3", "--runtime=300ms"];
    let (mistake, refusal) = (["run", "--no-such-option"], ["run", "/proc/version"]);
    for (line, code) in [(&run[..], 0), (&mistake, 2), (&refusal, 3)] {
        for _ in 0..RUNS {
            let done = Done::of(&start(line).output().unwrap()).ends(code);
            let all = done.stdout + &done.stderr;
            assert!(!all.contains("TERMINATION"), "mpirun takes it for a failure: {all}");
        }
    }
}

#[test]
fn hosts_end_with_the_code_of_the_run() {
    let mpi = built_for();
    let network = or_skip!("hosts_end_with_the_code_of_the_run", hosts(3, mpi));
    let place = Place::new();
    codes_are_those_of_the_runs(&place, |line| place.command(&network, mpi, line));
}

#[test]
fn processes_of_one_machine_end_with_the_code_of_the_run() {
    let mpi = built_for();
    let _alone = or_skip!("processes_of_one_machine_end_with_the_code_of_the_run", alone(mpi));
    let place = Place::new();
    codes_are_those_of_the_runs(&place, |line| {
        let mut command = Command::new(mpi.launcher());
        if mpi == Mpi::Open {
            command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            command.args(["--mca", "mpi_yield_when_idle", "1"]);
        }
        command.args(["-n", "3", BINARY]).args(line);
        command.env("XDG_DATA_HOME", place.path()).current_dir(place.path());
        command
    });
}

#[test]
fn result_is_printed_after_a_process_of_another_host_was_killed() {
    const NAME: &str = "result_is_printed_after_a_process_of_another_host_was_killed";
    let mpi = built_for();
    if mpi == Mpi::Open {
        // It ends all processes when one was killed.
        return;
    }
    let network = or_skip!(NAME, hosts(3, mpi));
    let place = Place::new();
    let child = reading_with(&place, &network, mpi, &["-disable-auto-cleanup".to_owned()]);
    let front = network.ranks(3);
    assert_eq!(front.len(), 1, "{front:?}");
    run("kill", &["-s", "KILL", &front[0].to_string()]).unwrap();
    let done = Done::of(&child.wait_with_output().unwrap());
    assert!(done.stdout.contains("host host-3 was lost: "), "{}\n{}", done.stdout, done.stderr);
    assert!(done.stdout.contains("queue depth 3 requested"), "{}", done.stdout);
}
