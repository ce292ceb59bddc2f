//! `oltp`: true figures on simulated devices, files per user, block devices, fio.

use crate::common::{EIGHT, Place, near, skip};
use iogauge_test_support::{Loop, MIB, or_skip};
use serde_json::Value;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;

/// Returns the rows of the classic table as name, users, size and IOPS.
fn rows(place: &Place) -> Vec<(String, u32, String, f64)> {
    let csv = place.run(&["history", "show", "last", "--format=csv"]).ends(0).stdout;
    let row = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |cell: usize| cells[cell].parse::<f64>().unwrap();
        (cells[1].to_owned(), number(2) as u32, cells[3].to_owned(), number(9))
    };
    csv.lines().skip(1).map(row).collect()
}

/// All tests, also the one that runs on request only.
const ALL: &str = "--tests=randread,read,write,randrw";

fn steps(document: &Value) -> &Vec<Value> {
    document["steps"].as_array().unwrap()
}

fn codes(document: &Value) -> Vec<&str> {
    let caveats = document["caveats"].as_array().unwrap();
    caveats.iter().map(|caveat| caveat["code"].as_str().unwrap()).collect()
}

#[test]
fn oltp_throughput_saturates_at_eight_channels() {
    let place = Place::new();
    let target = format!("{EIGHT},dist=const,size=64m");
    let line = ["suite", "oltp", &target, "--seconds=200ms", ALL, "--json", "--quiet"];
    let document = place.run(&line).ends(0).json();
    assert_eq!(steps(&document).len(), 27);
    for figures in document["findings"]["matrix"].as_array().unwrap() {
        let users = figures["users"].as_f64().unwrap();
        let iops = users.min(8.0) / 100e-6;
        near(&figures["iops"], iops, 1e-3);
        near(&figures["mean_ns"], users / iops * 1e9, 1e-3);
        near(&figures["bytes_per_sec"], iops * figures["block_bytes"].as_f64().unwrap(), 1e-3);
        if figures["test"] == "randrw" {
            near(&figures["read"]["iops"], 0.8 * iops, 0.1);
        }
    }
    let verdict = document["verdict"].as_array().unwrap();
    let told: Vec<&str> = verdict.iter().map(|sentence| sentence.as_str().unwrap()).collect();
    assert_eq!(
        told[0],
        "Random reads of 8 KiB reach 80,000 IOPS with 8 users, at a mean of 100 µs."
    );
    assert!(told[1].contains("from 8 users on: 16 get 1.0 times the IOPS at 2.0"), "{told:?}");
    assert!(told[2].starts_with("A redo write of 1 KiB takes 100 µs"), "{told:?}");
    assert!(told[3].starts_with("One user reads in sequence at 10.5 GB/s, 1 MiB"), "{told:?}");
    assert!(told[4].contains("mixed 80/20 reach 80,000 IOPS with 8 users"), "{told:?}");
    assert_eq!(told.len(), 5);
    // A mixed test has a row for each direction, every other test has one row.
    let rows = rows(&place);
    assert_eq!(rows.len(), 27 + 5);
    let users = |name: &str| -> Vec<u32> {
        rows.iter().filter(|row| row.0 == name).map(|row| row.1).collect()
    };
    assert_eq!(users("randread"), [1, 8, 16, 32, 64]);
    assert_eq!(users("read"), [1, 1, 1, 1, 8, 16, 32, 64]);
    assert_eq!(users("write"), [1, 1, 1, 4, 4, 4, 16, 16, 16]);
    assert_eq!((users("randrw_r"), users("randrw_w")), (users("randread"), users("randread")));
    let sizes: Vec<&str> = rows[14..18].iter().map(|row| row.2.as_str()).collect();
    assert_eq!(sizes, ["8K", "32K", "128K", "1M"]);
    let text = place.run_on(80, &["history", "show", "last"]).ends(0).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(text.contains("randrw 64   8K w"), "{text}");
}

#[test]
fn oltp_file_per_user_creates_one_file_per_user() {
    let place = Place::new();
    let line =
        ["suite", "oltp", ".", "--file-per-user", "--users=1,3", "--size=24m", "--seconds=100ms"];
    let line = [&line[..], &["--ioengine=psync", "--quiet", "--json", ALL]].concat();
    let document = place.run(&[&line[..], &["--bs=8k,64k"]].concat()).ends(0).json();
    assert_eq!(place.names(), ["iogauge-1.dat", "iogauge-2.dat", "iogauge-3.dat"]);
    let parts = document["target"]["parts"].as_array().unwrap();
    assert!(parts.iter().all(|part| part["size_bytes"] == 8 * MIB), "{parts:?}");
    let of_three: Vec<&Value> = steps(&document)
        .iter()
        .filter(|step| step["key"].as_str().unwrap().ends_with("3 users"))
        .collect();
    assert_eq!(of_three.len(), 8);
    for step in of_three {
        assert_eq!(step["asked"]["jobs"].as_array().unwrap().len(), 3);
        let workers = step["result"]["step"]["workers"].as_array().unwrap();
        assert!(workers.iter().all(|worker| worker["ios"].as_u64() > Some(0)), "{workers:?}");
    }
    let rows = rows(&place);
    assert!(rows.iter().all(|(_, users, _, iops)| [1, 3].contains(users) && *iops > 0.0));
    assert_eq!(rows.len(), 4 * 4 + 4);
    for format in ["classic", "r"] {
        let option = format!("--format={format}");
        let table = place.run(&["history", "show", "last", &option]).ends(0).stdout;
        assert_eq!(table.matches("randread").count(), 4, "{table}");
    }
    // A caveat of one kind is raised once, not once per file.
    let codes = codes(&document);
    let small = codes.iter().filter(|code| **code == "smaller-than-cache");
    assert!(small.count() <= 1, "{codes:?}");
    place.run(&["clean", "."]).ends(0);
    assert!(place.names().is_empty());
}

/// Returns the total size of the sectors of a device's image that are not all zeros.
fn written(device: &Loop) -> u64 {
    // The data that a loop device wrote is in the page cache of its image.
    let image = std::fs::read(device.image()).unwrap();
    image.chunks(512).filter(|sector| sector.iter().any(|byte| *byte != 0)).count() as u64 * 512
}

#[test]
fn oltp_writes_block_devices_only_on_request() {
    const LARGE: u64 = 9 * MIB + 1536;
    let first = or_skip!("oltp_writes_block_devices_only_on_request", Loop::new(8 * MIB));
    let second = or_skip!("oltp_writes_block_devices_only_on_request", Loop::new(LARGE));
    let place = Place::new();
    let target = format!("{},{}", first.path.display(), second.path.display());
    let common = ["suite", "oltp", &target, "--users=1,2", "--seconds=50ms", "--quiet"];
    let with = |more: &[&str]| place.run(&[&common[..], more].concat());
    let reads = with(&["--tests=readrand,read", "--json"]).ends(0).json();
    assert!(codes(&reads).contains(&"zero-blocks"), "{:?}", codes(&reads));
    assert_eq!(written(&first) + written(&second), 0);
    for more in [&["--tests=read", "--init"][..], &["--tests=write"]] {
        let done = with(more).ends(3);
        assert!(done.stderr.contains("--destroy-data"), "{}", done.stderr);
    }
    let share = ["--tests=read", "--size=17m"];
    let done = with(&share).ends(2);
    let told = "holds 8 MiB, less than its share of the 17 MiB spread evenly over 2\nhint: use \
                --size=16m or less";
    assert!(
        done.stderr.contains(told) && crate::common::is_one_message(&done.stderr),
        "{}",
        done.stderr
    );
    assert_eq!(written(&first) + written(&second), 0);
    // First the requested share of each device, then all of both.
    let init = ["--tests=readrand,read", "--init", "--destroy-data", "--json"];
    let part = with(&[&init[..], &["--size=8m"]].concat()).ends(0).json();
    assert_eq!((written(&first), written(&second)), (4 * MIB, 4 * MIB));
    assert!(!codes(&part).contains(&"zero-blocks"), "{:?}", codes(&part));
    let all = with(&init).ends(0).json();
    assert_eq!((written(&first), written(&second)), (8 * MIB, LARGE));
    let fill = &steps(&all)[0];
    assert_eq!((&fill["key"], &fill["phase"]), (&"init".into(), &"init".into()));
    assert_eq!(fill["result"]["step"]["write"]["bytes"], 8 * MIB + LARGE);
    // The prefill is not a row of the table.
    assert!(rows(&place).iter().all(|row| row.0 != "write"));
}

/// A fio that records the job files it is started with, with the paths of their files. It may not write files, so it
/// sends them to a socket.
struct RecordingFio {
    via: String,
    told: UnixListener,
}

impl RecordingFio {
    fn new(place: &Place) -> Self {
        let socket = place.work().join("told");
        let told = UnixListener::bind(&socket).unwrap();
        told.set_nonblocking(true).unwrap();
        let path = place.work().join("recording");
        let script = format!(
            "#!/bin/sh\nif [ \"$1\" = --version ]; then exec fio --version; fi\ncat > asked\n\
             perl -MIO::Socket::UNIX -pe 'BEGIN {{ select IO::Socket::UNIX->new(\"{}\") }} \
             s{{/proc/self/fd/\\d+}}{{readlink $&}}ge' asked\nexec fio \"$@\" < asked\n",
            socket.display()
        );
        std::fs::write(&path, script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { via: format!("--via=fio={}", path.display()), told }
    }

    /// Returns the job files since the last call, as one text.
    fn asked(&self) -> String {
        let mut text = String::new();
        while let Ok((mut asked, _)) = self.told.accept() {
            asked.set_nonblocking(false).unwrap();
            asked.read_to_string(&mut text).unwrap();
        }
        text
    }
}

#[test]
fn oltp_through_fio_runs_the_same_load() {
    const TEST: &str = "oltp_through_fio_runs_the_same_load";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(TEST, "fio is not installed");
    }
    let place = Place::new();
    let fio = RecordingFio::new(&place);
    let common = ["suite", "oltp", ".", "--users=1,3", "--bs=8k", "--seconds=200ms", "--quiet"];
    let with = |more: &[&str]| place.run(&[&common[..], &[&fio.via, "--json"], more].concat());
    let shared = with(&["--size=24m", ALL]).ends(0).json();
    assert_eq!(steps(&shared).len(), 8);
    assert!(codes(&shared).contains(&"via-fio"));
    let all = shared["findings"]["matrix"].as_array().unwrap();
    assert!(all.len() == 8 && all.iter().all(|entry| entry["iops"].as_f64() > Some(0.0)));
    let text = fio.asked();
    // Each of the three users covers a third of the 24 MiB after the file's header.
    assert_eq!(text.matches("\noffset=1m\noffset_increment=8m\nsize=8m\n").count(), 2, "{text}");
    assert_eq!(text.matches("\nsync=sync\n").count(), 2, "{text}");
    assert_eq!(text.matches("\nrwmixread=80\n").count(), 2, "{text}");
    place.run(&["clean", "."]).ends(0);
    let more = ["--size=24m", "--file-per-user", "--tests=readrand,write"];
    let own = with(&more).ends(0).json();
    let text = fio.asked();
    for (number, jobs) in [(1, 4), (2, 2), (3, 2)] {
        let name = format!("\nfilename={}/iogauge-{number}.dat\n", place.work().display());
        assert_eq!(text.matches(&name).count(), jobs, "{name} {text}");
    }
    assert!(!text.contains("offset_increment"), "{text}");
    assert_eq!(text.matches("\nsize=8m\n").count(), 8, "{text}");
    let rows = rows(&place);
    let users: Vec<u32> = rows.iter().map(|row| row.1).collect();
    assert_eq!(users, [1, 3, 1, 3]);
    // The row sums the three users.
    let three = &steps(&own)[1]["result"]["step"]["read"];
    near(&three["iops"]["mean"], rows[1].3, 0.01);
}

#[test]
fn oltp_through_fio_assigns_devices_to_users() {
    const TEST: &str = "oltp_through_fio_assigns_devices_to_users";
    if Command::new("fio").arg("--version").output().is_err() {
        return skip(TEST, "fio is not installed");
    }
    let first = or_skip!("oltp_through_fio_assigns_devices_to_users", Loop::new(8 * MIB));
    let second = or_skip!("oltp_through_fio_assigns_devices_to_users", Loop::new(8 * MIB));
    let place = Place::new();
    let target = format!("{},{}", first.path.display(), second.path.display());
    let line = ["suite", "oltp", &target, "--file-per-user", "--users=1", "--bs=64k", "--json"];
    let more = ["--tests=readrand", "--init", "--destroy-data", "--size=8m", "--seconds=100ms"];
    let document =
        place.run(&[&line[..], &more, &["--via=fio", "--quiet"]].concat()).ends(0).json();
    assert_eq!((written(&first), written(&second)), (4 * MIB, 4 * MIB));
    assert_eq!(steps(&document)[0]["result"]["step"]["write"]["bytes"], 8 * MIB);
}
