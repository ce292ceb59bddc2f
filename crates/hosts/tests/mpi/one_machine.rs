//! Several processes of one machine, whose messages go through shared memory, and what ends some of them.

use crate::NOTICED;
use crate::common::{BINARY, Place, alone, built_for};
use iogauge_test_support::{Mpi, children, eventually, is_gone, or_skip, run};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Starts an endless run of reads by three processes. Returns mpirun and their front processes when all of them do I/O.
fn reading(place: &Place, mpi: Mpi) -> (Child, Vec<u32>) {
    let data = place.data();
    let mut command = Command::new(mpi.launcher());
    match mpi {
        Mpi::Open => {
            command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            command.args(["--mca", "mpi_yield_when_idle", "1"]);
        }
        // Otherwise it kills all processes when one has been killed.
        Mpi::Mpich => {
            command.arg("-disable-auto-cleanup");
        }
    }
    command.args(["-n", "3", BINARY, "run", data.to_str().unwrap(), "--rw=randread", "--size=4m"]);
    command.args(["--runtime=1h", "--iodepth=3", "--ramp-time=0"]);
    command.env("XDG_DATA_HOME", place.path()).current_dir(place.path());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let child = command.spawn().unwrap();
    eventually(|| std::fs::read_dir(&data).unwrap().count() >= 3);
    std::thread::sleep(Duration::from_secs(3));
    if mpi == Mpi::Mpich {
        // It kills them at once when it has been killed: only what was saved before is kept.
        eventually(|| place.last()["steps"].as_array().is_some_and(|steps| !steps.is_empty()));
    }
    let ranks = ranks(&child);
    (child, ranks)
}

/// Returns the front process of each rank, in order.
fn ranks(child: &Child) -> Vec<u32> {
    let is_rank = |id: &u32| {
        std::fs::read_to_string(format!("/proc/{id}/comm"))
            .is_ok_and(|name| name.trim() == "iogauge-mpi")
    };
    let rank_of = |id: &u32| {
        let variables = std::fs::read(format!("/proc/{id}/environ")).unwrap();
        let variables = String::from_utf8_lossy(&variables).into_owned();
        let rank = |text: &str| Some(text.split_once("_RANK=")?.1.to_owned());
        let ours = ["OMPI_COMM_WORLD_RANK=", "PMI_RANK="];
        let found =
            variables.split('\0').find(|text| ours.iter().any(|name| text.starts_with(name)));
        found.and_then(rank).unwrap()
    };
    let near = children(child.id());
    let further = near.iter().flat_map(|id| children(*id));
    let mut all: Vec<u32> = near.iter().copied().chain(further).filter(is_rank).collect();
    // The working process of a rank is the child of its front process.
    let below: Vec<u32> = all.iter().flat_map(|id| children(*id)).collect();
    all.retain(|id| !below.contains(id));
    all.sort_by_key(rank_of);
    assert_eq!(all.len(), 3, "{all:?}");
    all
}

fn signal(name: &str, processes: &[u32]) {
    for id in processes {
        let _ = run("kill", &["-s", name, &id.to_string()]);
    }
}

/// Waits until these processes have ended.
fn ended(processes: &[u32]) {
    let begin = Instant::now();
    let lives = |id: &u32| !is_gone(*id);
    while processes.iter().any(lives) {
        assert!(begin.elapsed() < NOTICED, "they do not end");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Returns the reads of the last result, whether its run has ended or not.
fn reads(place: &Place) -> u64 {
    let document = place.last();
    let step = &document["steps"][0];
    let step = if document["run"].is_null() { step } else { &step["result"] };
    step["read"]["ios"].as_u64().unwrap_or_else(|| panic!("{document:.500}"))
}

#[test]
fn processes_end_without_the_leading_one() {
    let mpi = built_for();
    let _alone = or_skip!("processes_end_without_the_leading_one", alone(mpi));
    let place = Place::new();
    let (mut child, ranks) = reading(&place, mpi);
    let leader = children(ranks[0]);
    signal("STOP", &leader);
    ended(&[children(ranks[1]), children(ranks[2])].concat());
    signal("CONT", &leader);
    let _ = child.kill();
    let _ = child.wait();
    ended(&ranks);
}

#[test]
fn processes_end_without_mpirun_and_the_result_is_kept() {
    let mpi = built_for();
    let _alone = or_skip!("processes_end_without_mpirun_and_the_result_is_kept", alone(mpi));
    let place = Place::new();
    let (mut child, ranks) = reading(&place, mpi);
    child.kill().unwrap();
    child.wait().unwrap();
    ended(&ranks);
    assert!(reads(&place) > 0);
}

#[test]
fn killed_process_ends_the_run_and_the_result_is_kept() {
    let mpi = built_for();
    let _alone = or_skip!("killed_process_ends_the_run_and_the_result_is_kept", alone(mpi));
    let place = Place::new();
    let (mut child, ranks) = reading(&place, mpi);
    signal("KILL", &ranks[2..]);
    ended(&ranks);
    child.wait().unwrap();
    assert!(reads(&place) > 0);
}
