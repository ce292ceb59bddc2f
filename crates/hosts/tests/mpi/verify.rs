//! Verification and logs on several hosts.

use super::common::{Done, Hosts, Place, built_for, hosts};
use super::*;
use iogauge_test_support::{Loop, MIB, Mount, Throttle, mounted};
use serde_json::Value;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Bytes that each host writes.
const BYTES: u64 = 8 * MIB;
const WRITES: [&str; 6] = [
    "--rw=randwrite",
    "--norandommap=0",
    "--verify=crc32c",
    "--size=8m",
    "--io_size=8m",
    "--iodepth=6",
];
const READS: [&str; 5] =
    ["--rw=read", "--verify=crc32c", "--size=8m", "--io_size=8m", "--iodepth=6"];

fn file_of(data: &Path, host: u32) -> PathBuf {
    data.join(format!("iogauge-host-{host}.dat"))
}

/// Inverts some bytes of a file.
fn corrupt(path: &Path, offset_bytes: u64) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, offset_bytes).unwrap();
    file.write_all_at(&bytes.map(|byte| !byte), offset_bytes).unwrap();
    file.sync_all().unwrap();
}

/// Returns the figures of a verification: bytes, wrong blocks, and the hosts that found them.
fn verified(document: &Value) -> (u64, u64, Vec<&str>) {
    let verify = &document["steps"][0]["verify"];
    let count = |name: &str| verify[name].as_u64().unwrap_or_else(|| panic!("{document:#}"));
    let hosts = verify["findings"].as_array().unwrap().iter().map(|f| f["host"].as_str().unwrap());
    (count("bytes"), count("corrupted"), hosts.collect())
}

#[test]
fn wrong_data_in_the_file_of_one_host_is_found_and_names_the_host() {
    let mpi = built_for();
    let network =
        or_skip!("wrong_data_in_the_file_of_one_host_is_found_and_names_the_host", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let target = data.to_str().unwrap();
    let run = |options: &[&str], code: i32| {
        let line = [&["run", target], options].concat();
        place.run(&network, mpi, &line).ends(code)
    };
    let document = run(&[&WRITES[..], &["--json"]].concat(), 0).json();
    assert_eq!(verified(&document), (3 * BYTES, 0, Vec::new()));
    assert_eq!(document["steps"][0]["write"]["bytes"], 3 * BYTES);
    assert_eq!(document["steps"][0]["verify"]["read"]["bytes"], 3 * BYTES);
    let document = run(&[&READS[..], &["--json"]].concat(), 0).json();
    assert_eq!(verified(&document), (3 * BYTES, 0, Vec::new()));
    corrupt(&file_of(&data, 2), 3 * MIB + 100);
    let done = run(&READS, 4);
    let named = format!("host-2: {} offset {}", file_of(&data, 2).display(), 3 * MIB);
    assert!(done.stdout.contains(&named), "{}", done.stdout);
    let document = run(&[&READS[..], &["--json"]].concat(), 4).json();
    assert_eq!(verified(&document), (3 * BYTES, 1, vec!["host-2"]));
}

#[test]
fn data_that_is_overwritten_during_the_run_is_found_when_it_is_read_back() {
    let mpi = built_for();
    let network = or_skip!(
        "data_that_is_overwritten_during_the_run_is_found_when_it_is_read_back",
        hosts(2, mpi)
    );
    let place = Place::new();
    let data = place.data();
    // The first pass writes all blocks long before the end, and no block is written again.
    let line = [
        "run",
        data.to_str().unwrap(),
        "--rw=randwrite",
        "--norandommap=0",
        "--verify=crc32c",
        "--size=2m",
        "--io_size=2m",
        "--rate_iops=200",
        "--iodepth=2",
        "--json",
    ];
    let child = place.start(&network, mpi, &line);
    eventually(|| (1..=2).all(|host| file_of(&data, host).exists()));
    std::thread::sleep(Duration::from_secs(4));
    // All of the file: some of it has been written already.
    let file = std::fs::File::options().write(true).open(file_of(&data, 2)).unwrap();
    file.write_all_at(&vec![7; 2 << 20], MIB).unwrap();
    file.sync_all().unwrap();
    let document = Done::of(&child.wait_with_output().unwrap()).ends(4).json();
    let (bytes, corrupted, hosts) = verified(&document);
    assert!(bytes == 4 * MIB && corrupted > 10, "{document:#}");
    assert!(hosts.iter().all(|host| *host == "host-2"), "{hosts:?}");
}

#[test]
fn verify_states_of_hosts_find_lost_writes() {
    let mpi = built_for();
    let network = or_skip!("verify_states_of_hosts_find_lost_writes", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    let target = data.to_str().unwrap();
    let run = |options: &[&str], code: i32| {
        let line = [&["run", target, "--name=a"], &WRITES[..], options, &["--json"]].concat();
        place.run(&network, mpi, &line).ends(code)
    };
    let done = run(&["--verify_state_save"], 0);
    for host in 1..=2 {
        let state = format!("host-{host}-a-0-verify.state");
        assert!(
            place.path().join(&state).exists() && done.stderr.contains(&state),
            "{}",
            done.stderr
        );
    }
    let earlier = std::fs::read(file_of(&data, 1)).unwrap();
    run(&["--verify_state_save"], 0);
    let again = ["--verify_only", "--verify_state_load"];
    assert_eq!(verified(&run(&again, 0).json()), (2 * BYTES, 0, Vec::new()));
    // A block of the first run, as if the device had lost the write of the second.
    let file = std::fs::File::options().write(true).open(file_of(&data, 1)).unwrap();
    file.write_all_at(&earlier[5 << 20..][..4096], 5 << 20).unwrap();
    file.sync_all().unwrap();
    let document = run(&again, 4).json();
    assert_eq!(verified(&document), (2 * BYTES, 1, vec!["host-1"]));
    let reason = &document["steps"][0]["verify"]["findings"][0]["reason"]["kind"];
    assert_eq!(reason, "other_run");
    // One host does not verify what several have written.
    let state = |host: &str| place.path().join(format!("{host}-a-0-verify.state"));
    std::fs::copy(state("host-1"), state("local")).unwrap();
    let own = file_of(&data, 1);
    let line = [&["run", "--name=a", own.to_str().unwrap()], &WRITES[..], &again].concat();
    let alone = Done::of(&place.run_alone(&line)).ends(2).stderr;
    assert!(alone.contains("is of a run by 2 hosts, and this one has 1\nhint: "), "{alone}");
    // What only one of the hosts has written cannot be verified by both.
    std::fs::remove_file(file_of(&data, 2)).unwrap();
    let error = run(&again, 2).stderr;
    assert!(error.contains("host host-2: ") && error.contains("nothing to verify"), "{error}");
    assert!(!file_of(&data, 2).exists());
}

#[test]
fn file_that_all_hosts_write_is_not_verified() {
    let mpi = built_for();
    let network = or_skip!("file_that_all_hosts_write_is_not_verified", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    let shared = data.join("shared.dat");
    let line = [&["run", shared.to_str().unwrap()], &WRITES[..]].concat();
    let error = place.run(&network, mpi, &line).ends(2).stderr;
    assert!(error.contains("overwrite each other's data\nhint: use a directory"), "{error}");
    assert!(!shared.exists());
    // The jobs of a file, on a directory.
    let jobs = format!(
        "[global]\nfilename={}\nsize=2m\nverify=md5\n[w]\nrw=write\n[r]\nstonewall\nrw=randread\n",
        data.display()
    );
    let file = place.path().join("jobs.fio");
    std::fs::write(&file, jobs).unwrap();
    let line = ["run", file.to_str().unwrap(), "--json"];
    let document = place.run(&network, mpi, &line).ends(0).json();
    let steps = document["steps"].as_array().unwrap();
    for step in steps {
        assert_eq!(step["verify"]["bytes"], 4 * MIB, "{step:#}");
    }
    assert_eq!(steps.len(), 2);
}

#[test]
fn suite_verify_covers_the_blocks_of_all_hosts() {
    let mpi = built_for();
    let network = or_skip!("suite_verify_covers_the_blocks_of_all_hosts", hosts(2, mpi));
    let place = Place::new();
    let data = place.data();
    let line = ["suite", "verify", data.to_str().unwrap(), "--size=4m", "--rounds=2"];
    let done = place.run(&network, mpi, &line).ends(0);
    let verdict = "2,048 blocks written 2 times and read back: every one as it was written.";
    assert!(done.stdout.contains(verdict), "{}", done.stdout);
}

#[test]
fn logs_of_hosts_have_all_ios_of_the_result() {
    let mpi = built_for();
    let network = or_skip!("logs_of_hosts_have_all_ios_of_the_result", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let line = [
        "run",
        data.to_str().unwrap(),
        "--rw=randread",
        "--size=4m",
        "--iodepth=6",
        "--rate_iops=3000",
        "--runtime=3s",
        "--ramp_time=1s",
        "--write_lat_log=x",
        "--write_iops_log=x",
        "--write_bw_log=x",
        "--write_hist_log=x",
        "--log_hist_msec=500",
        "--log_unix_epoch=1",
        "--json",
    ];
    let document = place.run(&network, mpi, &line).ends(0).json();
    let logs = |kind: &str| -> Vec<Vec<Vec<u64>>> {
        let log = |host| {
            std::fs::read_to_string(place.path().join(format!("x_{kind}.1.log.host-{host}")))
        };
        let numbers = |line: &str| line.split(", ").map(|n| n.parse().unwrap()).collect();
        (1..=3).map(|host| log(host).unwrap().lines().map(numbers).collect()).collect()
    };
    let ios = document["steps"][0]["read"]["ios"].as_u64().unwrap();
    let latency = logs("lat");
    let lines: usize = latency.iter().map(Vec::len).sum();
    if document["caveats"].to_string().contains("\"paused\"") {
        // The result has no I/Os of pauses.
        assert!(lines as u64 >= ios, "{lines} {ios}");
        return;
    }
    // A worker that is late counts an I/O in another window than it logs it.
    assert!((lines as u64).abs_diff(ios) <= 15, "{lines} {ios}");
    for (host, lines) in document["steps"][0]["hosts"].as_array().unwrap().iter().zip(&latency) {
        let of_host = host["ios"].as_u64().unwrap();
        assert!((lines.len() as u64).abs_diff(of_host) <= 5, "{} {of_host}", lines.len());
    }
    let mean = latency.iter().flatten().map(|line| line[1] as f64).sum::<f64>() / lines as f64;
    let expected = document["steps"][0]["read"]["service_ns"]["mean"].as_f64().unwrap();
    assert!((mean / expected - 1.0).abs() < 0.05, "{mean} {expected}");
    let counted: u64 = logs("clat_hist").iter().flatten().flat_map(|line| &line[3..]).sum();
    assert!(counted.abs_diff(ios) <= 15, "{counted} {ios}");
    // All begin at the same time. The first I/O is due within some milliseconds.
    let begun: Vec<u64> = latency.iter().map(|lines| lines[0][0]).collect();
    let (first, last) = (begun.iter().min().unwrap(), begun.iter().max().unwrap());
    assert!(last - first < 200, "{begun:?}");
}

#[test]
fn foreign_file_in_place_of_a_log_on_one_host_refuses_for_all() {
    let mpi = built_for();
    let network =
        or_skip!("foreign_file_in_place_of_a_log_on_one_host_refuses_for_all", hosts(3, mpi));
    let place = Place::new();
    let data = place.data();
    let foreign = place.path().join("x_lat.1.log.host-3");
    std::fs::write(&foreign, "a letter\n").unwrap();
    let line = [
        "run",
        data.to_str().unwrap(),
        "--size=4m",
        "--runtime=1s",
        "--write_lat_log=x",
        "--iodepth=3",
    ];
    let error = place.run(&network, mpi, &line).ends(3).stderr;
    assert!(error.contains("host host-3: ") && error.contains("x_lat.1.log.host-3"), "{error}");
    assert_eq!(std::fs::read_dir(&data).unwrap().count(), 0, "nothing was written");
    assert_eq!(std::fs::read_to_string(&foreign).unwrap(), "a letter\n");
}

/// Three hosts whose files are on a slow device.
struct Slow {
    network: Hosts,
    place: Place,
    data: PathBuf,
    device: Loop,
    _mount: Mount,
    _throttle: Throttle,
}

impl Slow {
    fn new() -> Result<Self, String> {
        let network = hosts(3, built_for())?;
        let place = Place::new();
        let data = place.data();
        let (mount, device) = mounted("ext4", 2048 * MIB)?;
        for host in 1..=3 {
            network.bind(host, &mount.point, &data)?;
        }
        let throttle = Throttle::of_each(&[(&device.path, 200)])?;
        Ok(Self { network, place, data, device, _mount: mount, _throttle: throttle })
    }

    fn reads(&self) -> u64 {
        let name = self.device.path.file_name().unwrap().to_str().unwrap();
        let stat = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        stat.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// Starts a run, and returns once its data is being read back.
    fn reading_back(&self) -> Child {
        let line = [
            "run",
            self.data.to_str().unwrap(),
            "--rw=randrw",
            "--rwmixread=20",
            "--norandommap=0",
            "--verify=crc32c",
            "--size=2m",
            "--io_size=2m",
            "--iodepth=6",
        ];
        let child = self.place.start(&self.network, built_for(), &line);
        let before = self.reads();
        // Each host first reads a sample of 256 blocks. A fifth of the 1536 I/Os of the workload are reads; 1229 blocks
        // are read back.
        eventually(|| self.reads() > before + 3 * 256 + 307 + 300);
        child
    }

    /// Checks the result of a verification that did not end.
    fn is_kept(&self) {
        let document = self.place.last();
        let verify = &document["steps"][0]["verify"];
        assert_eq!(
            (&document["interrupted"], &verify["end"]),
            (&true.into(), &"interrupted".into())
        );
        let (bytes, corrupted, _) = verified(&document);
        assert!(bytes > 0 && corrupted == 0, "{verify:#}");
    }
}

#[test]
fn host_that_is_lost_while_it_reads_back_ends_the_run_and_keeps_the_result() {
    let slow = or_skip!(
        "host_that_is_lost_while_it_reads_back_ends_the_run_and_keeps_the_result",
        Slow::new()
    );
    let child = slow.reading_back();
    slow.network.freeze(3);
    result_after_loss(&slow.place, &slow.network, child, "host-3");
    slow.is_kept();
}

#[test]
fn interrupt_ends_the_verification_on_all_hosts() {
    let slow = or_skip!("interrupt_ends_the_verification_on_all_hosts", Slow::new());
    let child = slow.reading_back();
    let begin = Instant::now();
    iogauge_test_support::run("kill", &["-s", "INT", &child.id().to_string()]).unwrap();
    let done = Done::of(&child.wait_with_output().unwrap());
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}: {}", begin.elapsed(), done.stderr);
    slow.is_kept();
}
