//! Several hosts on this machine, and MPI between them.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use iogauge_test_support::{
    Loop, MIB, Mpi, Network, PATIENCE, Throttle, eventually, mounted_ext4, names, or_skip, run,
};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// Sums rank + 1 over the ranks. With an argument, stays until it is killed.
const SUM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>
int main(int count, char **arguments) {
    int rank, sum, one;
    char host[64];
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    one = rank + 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    gethostname(host, sizeof host);
    printf("rank %d on %s: %d\n", rank, host, sum);
    fflush(stdout);
    while (count > 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        usleep(10000);
    }
#ifdef MPICH_NUMVERSION
    /* MPI_Finalize may wait for ever (github.com/pmodels/mpich/pull/6596). Who exits too early takes unread messages
       along. */
    usleep(100000);
    _exit(0);
#endif
    return MPI_Finalize();
}
"#;

/// Succeeds if the launcher exists.
fn installed(mpi: Mpi) -> Result<(), String> {
    run(mpi.launcher(), &["--version"]).map(drop)
}

/// Compiles the program to a file in a directory.
fn compiled(mpi: Mpi, directory: &Path) -> Result<PathBuf, String> {
    let [source, binary] = ["sum.c", mpi.launcher()].map(|name| directory.join(name));
    std::fs::write(&source, SUM).unwrap();
    run(mpi.compiler(), &["-o", binary.to_str().unwrap(), source.to_str().unwrap()])?;
    Ok(binary)
}

/// Returns the lines that a command prints, sorted. Ends it after a minute.
#[track_caller]
fn lines(command: &mut Command) -> Vec<String> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if begin.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|t| String::from_utf8(t).unwrap());
    assert!(output.status.success(), "{}: {stdout}{stderr}", output.status);
    let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// The ranks of a program that stays, ended when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts the program so that it stays; returns it once each host has a rank.
fn started(network: &Network, mpi: Mpi, program: &Path, hosts: usize) -> Running {
    let mut command = network.mpirun(mpi);
    command.arg(program).arg("stay").stdout(Stdio::null()).stderr(Stdio::null());
    let running = Running(command.spawn().unwrap());
    eventually(|| (1..=hosts).all(|host| network.ranks(host).len() == 1));
    running
}

#[test]
fn each_host_has_its_name_and_its_address() {
    let name = "each_host_has_its_name_and_its_address";
    let network = or_skip!(name, Network::new(3));
    for mpi in Mpi::ALL {
        or_skip!(name, installed(mpi));
        let mut command = network.mpirun(mpi);
        let script = "echo $(hostname) $(ip -brief -4 address show dev eth0 | cut -c 32-)";
        let shown = lines(command.args(["sh", "-c", script]));
        assert_eq!(shown, ["host-1 10.77.0.1/24", "host-2 10.77.0.2/24", "host-3 10.77.0.3/24"]);
    }
    for host in 1..=3 {
        let peer = format!("host-{}", host % 3 + 1);
        let script = format!("getent hosts {peer} | cut -d' ' -f1");
        let found = lines(network.on(host, "sh").args(["-c", &script]));
        assert_eq!(found, [format!("10.77.0.{}", host % 3 + 1)]);
    }
}

#[test]
fn ranks_reach_each_other() {
    let name = "ranks_reach_each_other";
    let directory = tempfile::tempdir().unwrap();
    let network = or_skip!(name, Network::new(3));
    for mpi in Mpi::ALL {
        let program = or_skip!(name, compiled(mpi, directory.path()));
        let mut command = network.mpirun(mpi);
        // A relative path shows that the working directory is kept.
        command.current_dir(directory.path());
        command.arg(Path::new(".").join(program.file_name().unwrap()));
        let expected = [1, 2, 3].map(|n| format!("rank {} on host-{n}: 6", n - 1));
        assert_eq!(lines(&mut command), expected, "{mpi:?}");
    }
}

#[test]
fn eight_hosts_start() {
    let name = "eight_hosts_start";
    let directory = tempfile::tempdir().unwrap();
    let network = or_skip!(name, Network::new(8));
    for mpi in Mpi::ALL {
        let program = or_skip!(name, compiled(mpi, directory.path()));
        let shown = lines(network.mpirun(mpi).arg(&program));
        assert_eq!(shown.len(), 8, "{mpi:?}: {shown:?}");
        assert!(shown.iter().all(|line| line.ends_with(": 36")), "{mpi:?}: {shown:?}");
    }
}

#[test]
fn ranks_get_variables_and_the_group_of_this_process_but_another_home() {
    let name = "ranks_get_variables_and_the_group_of_this_process_but_another_home";
    let network = or_skip!(name, Network::new(2));
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
    for mpi in Mpi::ALL {
        or_skip!(name, installed(mpi));
        let mut command = network.mpirun(mpi);
        command.args(mpi.variable("IOGAUGE_TEST", "a b")).args(["sh", "-c"]);
        command.arg(r#"echo "$IOGAUGE_TEST"; cat /proc/self/cgroup"#);
        let shown = lines(&mut command);
        assert_eq!(shown.iter().filter(|line| *line == "a b").count(), 2, "{mpi:?}: {shown:?}");
        assert!(groups.lines().all(|line| shown.contains(&line.to_owned())), "{mpi:?}: {shown:?}");
    }
}

#[test]
fn a_path_leads_to_another_device_on_each_host() {
    let name = "a_path_leads_to_another_device_on_each_host";
    or_skip!(name, installed(Mpi::Mpich));
    let memory = Path::new("/dev/shm");
    let onto = tempfile::tempdir().unwrap();
    let [slow, fast] = [(); 2].map(|()| Loop::new_in(memory, 16 * MIB));
    let devices = [or_skip!(name, slow), or_skip!(name, fast)];
    let limits = [(&*devices[0].path, 100), (&*devices[1].path, 400)];
    let network = or_skip!(name, Network::new(2));
    // Mounts that are younger than the network are found too.
    let mounts = devices.each_ref().map(|device| mounted_ext4(&device.path).unwrap());
    for (host, mount) in (1..).zip(&mounts) {
        std::fs::write(mount.point.join("data"), vec![1; 1 << 20]).unwrap();
        run("sync", &["-f", mount.point.to_str().unwrap()]).unwrap();
        network.bind(host, &mount.point, onto.path()).unwrap();
    }
    // The ranks are in the group of this process.
    let limits = or_skip!(name, Throttle::of_each(&limits));
    assert!(names(onto.path()).is_empty());
    let script = "begin=$(date +%s%N); dd if=data of=/dev/null bs=4k count=200 iflag=direct \
                  2>/dev/null; echo $(findmnt -no SOURCE -T .) $((($(date +%s%N) - begin) / 1000000))";
    let script = format!("cd {} && {script}", onto.path().display());
    let shown = lines(network.mpirun(Mpi::Mpich).args(["sh", "-c", &script]));
    for (device, low_ms) in devices.iter().zip([1600, 300]) {
        let line = shown.iter().find_map(|line| line.strip_prefix(device.as_str())).unwrap();
        let ms: u32 = line.trim().parse().unwrap();
        assert!((low_ms..low_ms * 4).contains(&ms), "{shown:?}");
    }
    drop(limits);
    drop(network);
}

#[test]
fn a_frozen_host_goes_on_and_an_unplugged_one_is_reached_again() {
    let name = "a_frozen_host_goes_on_and_an_unplugged_one_is_reached_again";
    let network = or_skip!(name, Network::new(2));
    for mpi in Mpi::ALL {
        or_skip!(name, installed(mpi));
        let mut command = network.mpirun(mpi);
        let mut running = Running(command.args(["sleep", "1"]).spawn().unwrap());
        eventually(|| (1..=2).all(|host| network.ranks(host).len() == 1));
        network.freeze(2);
        std::thread::sleep(std::time::Duration::from_millis(1500));
        assert!(running.0.try_wait().unwrap().is_none(), "{mpi:?}");
        network.thaw(2);
        eventually(|| running.0.try_wait().unwrap().is_some());
        assert!(running.0.wait().unwrap().success(), "{mpi:?}");
    }
    let reaches = || {
        let script = "exec 3<>/dev/tcp/host-2/9";
        let mut command = network.on(1, "timeout");
        let output = command.args(["0.5", "bash", "-c", script]).output().unwrap();
        // Nobody listens, but the host says so.
        output.status.code() == Some(1)
    };
    assert!(reaches());
    network.unplug(2).unwrap();
    assert!(!reaches());
    network.plug(2).unwrap();
    eventually(reaches);
}

/// Returns the processes in a network namespace.
fn processes_in(namespace: &File) -> Vec<String> {
    let number = namespace.metadata().unwrap().ino();
    let is_in = |id: &String| {
        let own = std::fs::metadata(format!("/proc/{id}/ns/net"));
        own.is_ok_and(|own| own.ino() == number)
    };
    names(Path::new("/proc")).into_iter().filter(is_in).collect()
}

#[test]
fn nothing_is_left_of_a_network() {
    let name = "nothing_is_left_of_a_network";
    let directory = tempfile::tempdir().unwrap();
    for mpi in Mpi::ALL {
        let program = or_skip!(name, compiled(mpi, directory.path()));
        let network = or_skip!(name, Network::new(2));
        let mut running = started(&network, mpi, &program, 2);
        let links = names(Path::new("/sys/class/net"));
        assert!(!links.iter().any(|link| link == "switch" || link == "host-1"), "{links:?}");
        // While they are open, their numbers do not become those of other namespaces.
        let ids = [running.0.id(), network.ranks(1)[0], network.ranks(2)[0]];
        let namespaces = ids.map(|id| File::open(format!("/proc/{id}/ns/net")).unwrap());
        assert!(namespaces.iter().all(|namespace| !processes_in(namespace).is_empty()));
        let ended = std::panic::catch_unwind(move || {
            let _network = network;
            panic!("a test fails");
        });
        assert!(ended.is_err());
        assert!(!running.0.wait().unwrap().success());
        for namespace in namespaces {
            assert_eq!(processes_in(&namespace), [""; 0], "{mpi:?}");
        }
    }
}
