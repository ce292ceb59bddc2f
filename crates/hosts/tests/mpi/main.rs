//! The binary iogauge-mpi on hosts of this machine, by Open MPI and MPICH.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod common;
mod databases;
mod ends;
mod files;
mod launcher;
mod one_machine;
mod search;
mod verify;

use common::{BINARY, Done, Place, built_for, hosts, start};
use iogauge_test_support::{Mpi, Network, eventually, or_skip};
use std::path::Path;
use std::process::Child;
use std::time::{Duration, Instant};

/// A lost host has to be noticed within 10 s. The limit is longer, because other tests may keep the machine busy.
const NOTICED: Duration = Duration::from_secs(20);

#[test]
fn stop_ends_all_hosts_and_keeps_the_result() {
    let mpi = built_for();
    let network = or_skip!("stop_ends_all_hosts_and_keeps_the_result", hosts(3, mpi));
    let place = Place::new();
    let child = reading(&place, &network, mpi);
    // On the leading host, which has the history.
    let mut stop = network.on(1, BINARY);
    let stopped = stop.env("XDG_DATA_HOME", place.path()).arg("stop").output().unwrap();
    assert!(stopped.status.success(), "{stopped:?}");
    eventually(|| (1..=3).all(|host| network.ranks(host).is_empty()));
    child.wait_with_output().unwrap();
    let document = place.last();
    assert_eq!(document["interrupted"], true, "{document}");
    assert_eq!(document["steps"][0]["hosts"].as_array().unwrap().len(), 3, "{document}");
}

#[test]
fn refusal_on_one_host_refuses_for_all() {
    let mpi = built_for();
    let network = or_skip!("refusal_on_one_host_refuses_for_all", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let foreign = data.join("iogauge-host-3.dat");
    std::fs::write(&foreign, vec![7u8; 8 << 20]).unwrap();
    let line = ["run", data.to_str().unwrap(), "--rw=randwrite", "--size=4m", "--runtime=1s"];
    let done = place.run(&network, mpi, &line).ends(3);
    assert!(
        done.stderr.contains("host host-3: ") && done.stderr.contains("hint: "),
        "{}",
        done.stderr
    );
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 1, "nothing was written");
    assert_eq!(std::fs::read(&foreign).unwrap(), vec![7u8; 8 << 20]);
}

/// Starts an endless run of reads on three hosts. Returns when all of them do I/O.
fn reading(place: &Place, network: &Network, mpi: Mpi) -> Child {
    reading_with(place, network, mpi, &[])
}

/// As [`reading`], with options of mpirun.
fn reading_with(place: &Place, network: &Network, mpi: Mpi, options: &[String]) -> Child {
    let data = place.data();
    let target = data.to_str().unwrap();
    let line = [
        "run",
        target,
        "--rw=randread",
        "--size=4m",
        "--runtime=1h",
        "--iodepth=3",
        "--ramp-time=0",
    ];
    let child = start(&mut place.command_with(network, mpi, options, &line));
    eventually(|| (1..=3).all(|host| data.join(format!("iogauge-host-{host}.dat")).exists()));
    std::thread::sleep(Duration::from_secs(3));
    child
}

/// Waits for the leading host's result after a host was lost.
fn result_after_loss(place: &Place, network: &Network, mut child: Child, host: &str) {
    let begin = Instant::now();
    let rank = network.ranks(1);
    let leads = |id: &u32| Path::new(&format!("/proc/{id}")).exists();
    while rank.iter().any(leads) {
        assert!(begin.elapsed() < NOTICED, "the leading host does not end");
        std::thread::sleep(Duration::from_millis(50));
    }
    let document = place.last();
    let done = |direction: &str| document["steps"][0][direction]["ios"].as_u64().unwrap_or(0);
    assert!(done("read") + done("write") > 0, "{document}");
    let caveats = document["caveats"].as_array().unwrap();
    let lost = caveats.iter().find(|caveat| caveat["code"] == "host-lost");
    let message = lost.unwrap_or_else(|| panic!("{document}"))["message"].to_string();
    assert!(message.contains(host), "{message}");
    let _ = child.kill();
    let listed = Done::of(&place.run_alone(&["history", "list", "--json"])).stdout;
    assert!(listed.contains("\"state\": \"failed\""), "{listed}");
    let done = Done::of(&child.wait_with_output().unwrap());
    let expected = format!("host {host} was lost: ");
    assert!(done.stderr.contains(&expected), "{}", done.stderr);
}

#[test]
fn frozen_host_ends_the_run_and_keeps_the_result() {
    let mpi = built_for();
    let network = or_skip!("frozen_host_ends_the_run_and_keeps_the_result", hosts(3, mpi));
    let place = Place::new();
    let child = reading(&place, &network, mpi);
    network.freeze(3);
    result_after_loss(&place, &network, child, "host-3");
}

#[test]
fn hosts_end_without_the_leading_one() {
    let mpi = built_for();
    let network = or_skip!("hosts_end_without_the_leading_one", hosts(3, mpi));
    let place = Place::new();
    let mut child = reading(&place, &network, mpi);
    network.freeze(1);
    eventually(|| (2..=3).all(|host| network.ranks(host).is_empty()));
    network.thaw(1);
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn unplugged_host_ends_the_run_and_keeps_the_result() {
    let mpi = built_for();
    let network = or_skip!("unplugged_host_ends_the_run_and_keeps_the_result", hosts(3, mpi));
    let place = Place::new();
    let child = reading(&place, &network, mpi);
    network.unplug(2).unwrap();
    result_after_loss(&place, &network, child, "host-2");
    // The host that was cut off ends by itself.
    eventually(|| network.ranks(2).is_empty());
}

#[test]
fn hosts_with_other_processors_are_named() {
    let mpi = built_for();
    let network = or_skip!("hosts_with_other_processors_are_named", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let line = [
        "run",
        data.to_str().unwrap(),
        "--rw=randread",
        "--size=4m",
        "--runtime=1s",
        "--iodepth=3",
        "--json",
    ];
    // The third host may use one processor.
    let script = place.path().join("start");
    let choose = "[ $(hostname) != host-3 ] || taskset -p 1 $$ >/dev/null";
    std::fs::write(&script, format!("{choose}\nexec {BINARY} \"$@\"\n")).unwrap();
    let mut command = network.mpirun(mpi);
    command.current_dir(place.path());
    command.args(mpi.variable("XDG_DATA_HOME", place.path().to_str().unwrap()));
    let output = command.arg("sh").arg(&script).args(line).output().unwrap();
    let document = Done::of(&output).ends(0).json();
    let caveats = document["caveats"].as_array().unwrap();
    let found = caveats.iter().find(|caveat| caveat["code"] == "hosts-differ");
    let message = found.unwrap_or_else(|| panic!("{document}"))["message"].to_string();
    assert!(message.contains("1 processor on host-3"), "{message}");
    // Hosts that are alike are not named.
    let document = place.run(&network, mpi, &line).ends(0).json();
    assert!(!document["caveats"].to_string().contains("hosts-differ"), "{document}");
}

#[test]
fn frozen_and_continued_host_is_not_lost() {
    let mpi = built_for();
    let network = or_skip!("frozen_and_continued_host_is_not_lost", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let target = data.to_str().unwrap();
    let line =
        ["run", target, "--rw=randread", "--size=4m", "--runtime=8s", "--iodepth=3", "--json"];
    let child = place.start(&network, mpi, &line);
    eventually(|| (1..=3).all(|host| data.join(format!("iogauge-host-{host}.dat")).exists()));
    std::thread::sleep(Duration::from_secs(2));
    network.freeze(2);
    std::thread::sleep(Duration::from_secs(3));
    network.thaw(2);
    let document = Done::of(&child.wait_with_output().unwrap()).ends(0).json();
    let codes: Vec<&str> =
        document["caveats"].as_array().unwrap().iter().filter_map(|c| c["code"].as_str()).collect();
    assert!(!codes.contains(&"host-lost"), "{codes:?}");
}

#[test]
fn signal_to_mpirun_keeps_the_result() {
    let mpi = built_for();
    let network = or_skip!("signal_to_mpirun_keeps_the_result", hosts(3, mpi));
    for signal in ["INT", "TERM"] {
        let place = Place::new();
        let child = reading(&place, &network, mpi);
        let begin = Instant::now();
        iogauge_test_support::run("kill", &["-s", signal, &child.id().to_string()]).unwrap();
        child.wait_with_output().unwrap();
        assert!(begin.elapsed() < NOTICED, "{:?}", begin.elapsed());
        let document = place.last();
        assert_eq!(document["interrupted"], true, "{document}");
        assert!(document["steps"][0]["read"]["ios"].as_u64().unwrap() > 0, "{document}");
    }
}

#[test]
fn control_of_a_host_takes_little_processor_time() {
    let mpi = built_for();
    let network = or_skip!("control_of_a_host_takes_little_processor_time", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    // The workers sleep nearly all of the time.
    let target = data.to_str().unwrap();
    let line = [
        "run",
        target,
        "--rw=randread",
        "--size=4m",
        "--runtime=20s",
        "--rate_iops=2",
        "--iodepth=2",
    ];
    let mut child = place.start(&network, mpi, &line);
    eventually(|| (1..=2).all(|host| data.join(format!("iogauge-host-{host}.dat")).exists()));
    std::thread::sleep(Duration::from_secs(4));
    let rank = *network.ranks(2).first().unwrap();
    let worker = *iogauge_test_support::children(rank).first().unwrap();
    let thread = thread_of(worker, "iogauge-hosts");
    let (begin, before) = (Instant::now(), processor_time_ns(worker, thread));
    std::thread::sleep(Duration::from_secs(8));
    let used = (processor_time_ns(worker, thread) - before) as f64 / 1e9;
    let share = used / begin.elapsed().as_secs_f64();
    let _ = child.kill();
    let _ = child.wait();
    println!("the control thread takes {:.2} % of a processor", share * 100.0);
    assert!(share < 0.01, "{share}");
}

/// Returns the id of a process's thread of this name.
fn thread_of(process: u32, name: &str) -> u32 {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).unwrap();
    let ids = tasks.map(|task| task.unwrap().file_name().to_str().unwrap().parse().unwrap());
    let is_named = |id: &u32| {
        std::fs::read_to_string(format!("/proc/{process}/task/{id}/comm")).unwrap().trim() == name
    };
    ids.into_iter().find(is_named).unwrap_or_else(|| panic!("no thread {name}"))
}

/// Returns the processor time of a thread in nanoseconds (kernel documentation, scheduler/sched-stats). Unlike that in
/// `stat` it is not sampled: a thread that sleeps for whole ticks would be counted too often.
fn processor_time_ns(process: u32, thread: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).unwrap();
    stat.split(' ').next().unwrap().parse().unwrap()
}
