//! `--hosts`, which starts mpirun.

use crate::NOTICED;
use crate::common::{BINARY, Done, Place, built_for, hosts};
use iogauge_test_support::program::fio::program;
use iogauge_test_support::{children, eventually, or_skip};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;

/// Returns a start of iogauge that finds a program in place of mpirun, of Open MPI, which prints what it was called with.
pub fn with_echo_for_mpirun(place: &Place) -> Command {
    let bin = place.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    let script =
        "case $1 in --version) echo 'mpirun (Open MPI) 4.1.4';; *) echo \"called $*\";; esac";
    program(&bin, "mpirun", script);
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new(BINARY);
    command.env("PATH", path).env("XDG_DATA_HOME", place.path());
    command
}

#[test]
fn hosts_option_starts_mpirun_and_says_how() {
    let place = Place::new();
    let mut command = with_echo_for_mpirun(&place);
    let line = ["find", "/mnt", "--hosts", "a,n[1-2]", "--limit", "p99<=5ms"];
    let done = Done::of(&command.args(line).output().unwrap()).ends(0);
    let options = "-np 3 --host a,n1,n2 --map-by ppr:1:node --bind-to none";
    assert!(done.stdout.contains(&format!("called {options}")), "{}", done.stdout);
    assert!(done.stdout.contains("iogauge-mpi find /mnt --limit p99<=5ms"), "{}", done.stdout);
    assert!(done.stderr.contains(&format!("running mpirun {options}")), "{}", done.stderr);
    assert!(done.stderr.contains("'p99<=5ms'"), "{}", done.stderr);
}

#[test]
fn failed_mpirun_has_an_exit_code_and_a_message_of_iogauge() {
    let place = Place::new();
    let mut command = with_echo_for_mpirun(&place);
    let script = "case $1 in --version) echo 'mpirun (Open MPI) 4.1.4';; *) exit 213;; esac";
    program(&place.path().join("bin"), "mpirun", script);
    let done = Done::of(&command.args(["find", "/mnt", "--hosts=a,b"]).output().unwrap()).ends(1);
    let told = "error: mpirun failed, with exit code 213\nhint: its messages say why";
    assert!(done.stderr.contains(told), "{}", done.stderr);
}

/// Ctrl-C signals all processes of the terminal's group at once. A program that is started in the background by a script
/// is signalled alike, and ignored SIGINT before.
#[test]
fn interrupted_hosts_option_keeps_the_result() {
    let mpi = built_for();
    let network = or_skip!("interrupted_hosts_option_keeps_the_result", hosts(2, mpi));
    for ignores in [false, true] {
        let place = Place::new();
        let data = place.data();
        let bin = place.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        program(&bin, "mpirun", &format!("exec {} \"$@\"", mpi.launcher()));
        let trap = if ignores { "trap '' INT;" } else { "" };
        let mut command = network.front(mpi, "sh");
        command.env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
        command.env("XDG_DATA_HOME", place.path()).current_dir(place.path()).process_group(0);
        command.args(["-c", &format!("{trap} exec \"$@\""), "sh"]).arg(BINARY);
        command.args(["run", data.to_str().unwrap(), "--rw=randread", "--size=4m", "--runtime=1h"]);
        command.args(["--iodepth=2", "--ramp-time=0", "--hosts=host-[1-2]", "--history=h.db"]);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        eventually(|| (1..=2).all(|host| data.join(format!("iogauge-host-{host}.dat")).exists()));
        std::thread::sleep(std::time::Duration::from_secs(3));
        let begin = Instant::now();
        assert!(!children(child.id()).is_empty());
        iogauge_test_support::run("kill", &["-s", "INT", "--", &format!("-{}", child.id())])
            .unwrap();
        let done = Done::of(&child.wait_with_output().unwrap());
        assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
        let done = done.ends(130);
        assert!(
            done.stdout.contains("Interrupted: these are the figures up to then."),
            "{}\n{}",
            done.stdout,
            done.stderr
        );
        eventually(|| (1..=2).all(|host| network.ranks(host).is_empty()));
    }
}

#[test]
fn version_has_the_feature() {
    let done = Done::of(&Command::new(BINARY).arg("--version").output().unwrap()).ends(0);
    let features = done.stdout.lines().find(|line| line.starts_with("features: "));
    assert!(features.is_some_and(|line| line.ends_with("mpi")), "{}", done.stdout);
}
