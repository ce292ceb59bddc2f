//! The suite `verify`: correct data is accepted, even after kills. Data that is damaged behind a device is found and
//! named.

use crate::common::{Done, Place, Started, direct_io, eventually, skip};
use iogauge_test_support::Loop;
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

const WRONG: i32 = 4;
/// 512 blocks.
const SIZE: u64 = 2 << 20;

/// A loop device on an image in the working directory of a test.
struct Disk {
    device: Loop,
    image: PathBuf,
}

impl Disk {
    /// Makes the device. Prints a message and returns `None` if there are no loop devices.
    fn new(place: &Place, test: &str) -> Option<Self> {
        let image = place.work().join("image");
        File::create(&image).unwrap().set_len(SIZE).unwrap();
        let device = Loop::on(&image, &[]).map_err(|why| skip(test, &why)).ok()?;
        Some(Self { device, image })
    }

    fn path(&self) -> &str {
        self.device.as_str()
    }

    /// Kills a run on the device. A write that the device has begun outlives the process, so waits for it, too: it would
    /// overwrite what a test writes behind the device.
    #[track_caller]
    fn kill(&self, running: Started) -> Done {
        let done = running.kill();
        let inflight = format!("/sys/block/{}/inflight", self.device.name());
        eventually(|| {
            let counts = std::fs::read_to_string(&inflight).unwrap();
            counts.split_whitespace().all(|count| count == "0")
        });
        done
    }

    /// Returns the file behind the device, to damage it.
    fn spoiler(&self) -> Spoiler {
        Spoiler::of(&self.image)
    }
}

struct Spoiler(File);

impl Spoiler {
    fn of(path: &Path) -> Self {
        Self(File::options().read(true).write(true).open(path).unwrap())
    }

    fn block(&self, number: u64) -> Vec<u8> {
        let mut block = vec![0; 4096];
        self.0.read_exact_at(&mut block, number * 4096).unwrap();
        block
    }

    fn put(&self, offset: u64, bytes: &[u8]) {
        self.0.write_all_at(bytes, offset).unwrap();
        self.0.sync_all().unwrap();
    }

    fn all(&self) -> Vec<u8> {
        let mut bytes = vec![0; SIZE as usize];
        self.0.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    }

    /// Returns the round in which a block was written.
    fn round(&self, number: u64) -> u32 {
        let block = self.block(number);
        u32::from_le_bytes([block[32], block[33], block[34], block[35]])
    }
}

fn verify(device: &Disk, more: &[&str]) -> Vec<String> {
    let words = ["suite", "verify", device.path(), "--destroy-data", "--quiet"];
    words.iter().chain(more).map(|word| (*word).to_owned()).collect()
}

fn run(place: &Place, words: &[String]) -> Done {
    place.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Returns the keys of the steps that the history has of the last run.
fn kept(place: &Place) -> Vec<String> {
    if !place.history().exists() {
        return Vec::new();
    }
    let shown = place.run(&["history", "show", "last", "--format=json"]);
    let stored = serde_json::from_str::<Value>(&shown.stdout).unwrap_or_default();
    let steps = stored["steps"].as_array().cloned().unwrap_or_default();
    // In an unfinished run, each step is inside the entry that the history keeps of it.
    let key = |step: &Value| step["result"]["key"].as_str().map(str::to_owned);
    steps.iter().filter_map(key).collect()
}

/// Runs rounds until this step is kept, and then kills the process.
fn killed_behind(place: &Place, device: &Disk, key: &str, more: &[&str]) {
    let words = verify(device, more);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = place.start(&words);
    eventually(|| kept(place).iter().any(|known| known == key));
    assert_eq!(device.kill(running).code, None);
}

/// Returns the kinds and blocks of the findings.
fn found(document: &Value) -> Vec<(String, u64)> {
    let wrong = document["findings"]["wrong"].as_array().unwrap();
    let one = |wrong: &Value| {
        let block = &wrong["block"];
        let kind = block["reason"]["kind"].as_str().unwrap().to_owned();
        (kind, block["offset_bytes"].as_u64().unwrap() / 4096)
    };
    wrong.iter().map(one).collect()
}

#[test]
fn verify_suite_passes_on_a_correct_device() {
    let place = Place::new();
    for target in ["sim:channels=8,service=100us,size=8m,data=keep", "."] {
        if target == "." && !direct_io("a_device_that_keeps_everything", &place.work()) {
            return;
        }
        for option in ["--rw=randwrite", "--rw=write", "--bs=64k", "--algorithm=sha256"] {
            let line = ["suite", "verify", target, option, "--size=8m", "--rounds=2", "--json"];
            let done = place.run(&line).ends(0);
            let document = done.json();
            let blocks = if option == "--bs=64k" { "128" } else { "2,048" };
            let verdict = format!(
                "{blocks} blocks written 2 times and read back: every one as it was written."
            );
            assert_eq!(document["verdict"][0], verdict.as_str());
            let checked = |step: usize| &document["steps"][step]["result"]["step"]["verify"];
            assert_eq!(checked(3)["units"], document["findings"]["blocks"]);
            assert_eq!(checked(3)["unjudged"], 0);
            assert!(document["steps"][2]["result"]["step"]["sync"]["ios"].as_u64().unwrap() > 0);
        }
    }
}

#[test]
fn verify_suite_refuses_targets_it_cannot_read_back() {
    let place = Place::new();
    let done = place.run(&["suite", "verify", "sim:nvme", "--size=8m"]).ends(2);
    assert!(done.stderr.contains("data=keep"), "{}", done.stderr);
    crate::common::assert_one_message(&done.stderr);
    let done = place.run(&["suite", "verify", ".", "--via=fio", "--size=8m"]).ends(2);
    assert!(done.stderr.contains("without --via"), "{}", done.stderr);
    assert_eq!(place.names(), [""; 0]);
}

/// After several acknowledged rounds, the device is damaged in five ways.
#[test]
fn verify_suite_reports_each_fault_kind_with_its_block() {
    const TEST: &str = "verify_suite_reports_each_fault_kind_with_its_block";
    let place = Place::new();
    let Some(device) = Disk::new(&place, TEST) else { return };
    let file = device.spoiler();
    // At QD 1, the rounds are slow enough to be interrupted between two steps.
    killed_behind(&place, &device, "read 1", &["--rounds=1000", "--iodepth=1"]);
    let first = file.all();
    let words = verify(&device, &["--resume"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = place.start(&words);
    let acknowledged = || {
        let keys = kept(&place);
        keys.iter().filter_map(|key| key.strip_prefix("write ")?.parse::<u32>().ok()).max()
    };
    eventually(|| acknowledged().is_some_and(|round| round >= 6));
    device.kill(running);
    let round = acknowledged().unwrap();

    let byte = file.block(10)[1000] ^ 1 << 6;
    file.put(10 * 4096 + 1000, &[byte]);
    file.put(20 * 4096 + 1024, &first[20 * 4096 + 1024..21 * 4096]);
    file.put(30 * 4096, &file.block(31));
    file.put(40 * 4096, &[0; 4096]);
    file.put(50 * 4096, &first[50 * 4096..51 * 4096]);
    let done = run(&place, &verify(&device, &["--resume", "--json"])).ends(WRONG);
    let document = done.json();
    let kinds = ["corrupt", "torn", "misplaced", "no_header", "stale"].map(str::to_owned);
    let wanted: Vec<(String, u64)> = kinds.into_iter().zip([10, 20, 30, 40, 50]).collect();
    assert_eq!(found(&document), wanted);
    let verdict = document["verdict"].as_array().unwrap();
    let begin = "5 of 512 blocks are not as written, found ";
    assert!(verdict[0].as_str().unwrap().starts_with(begin), "{verdict:?}");
    let flipped =
        format!("{}, offset 40960: corrupt: bit 6 of byte 1000 is flipped.", device.path());
    assert_eq!(verdict[1], flipped.as_str());
    let stale = &document["findings"]["wrong"][4]["block"]["reason"];
    assert!(stale["sequence"].as_u64().unwrap() < u64::from(round), "{stale}");
    // A wrong block is not overwritten.
    assert_eq!(file.block(50), first[50 * 4096..51 * 4096]);
    let steps = document["steps"].as_array().unwrap();
    assert_ne!(steps.last().unwrap()["key"], "write 1000");
}

/// A device that loses flushed data returns to the state of an earlier round.
#[test]
fn verify_suite_detects_a_device_that_loses_flushed_data() {
    const TEST: &str = "verify_suite_detects_a_device_that_loses_flushed_data";
    let place = Place::new();
    let Some(device) = Disk::new(&place, TEST) else { return };
    let file = device.spoiler();
    killed_behind(&place, &device, "read 1", &["--rounds=1000", "--iodepth=1"]);
    let first = file.all();
    let before = file.round(0).max(file.round(511));
    let words = verify(&device, &["--resume"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let running = place.start(&words);
    let wanted = format!("read {}", before + 2);
    eventually(|| kept(&place).contains(&wanted));
    device.kill(running);
    file.put(0, &first);
    let done = run(&place, &verify(&device, &["--resume", "--json"])).ends(WRONG);
    let document = done.json();
    assert_eq!(document["findings"]["corrupted"], 512);
    let faults = found(&document);
    assert!(faults.iter().all(|(kind, _)| kind == "stale"), "{faults:?}");
    assert!(document["verdict"][4].as_str().unwrap().contains("509 more"), "{document}");
}

/// Data of an earlier run with the same options is not mistaken for data of this run.
#[test]
fn verify_suite_distinguishes_old_data_from_lost_writes() {
    const TEST: &str = "verify_suite_distinguishes_old_data_from_lost_writes";
    let place = Place::new();
    let Some(device) = Disk::new(&place, TEST) else { return };
    let file = device.spoiler();
    run(&place, &verify(&device, &["--rounds=1"])).ends(0);
    let old = file.block(7);
    killed_behind(&place, &device, "write 2", &["--rounds=1000", "--iodepth=1"]);
    file.put(7 * 4096, &old);
    let done = run(&place, &verify(&device, &["--resume", "--json"])).ends(WRONG);
    assert_eq!(found(&done.json()), [("other_run".to_owned(), 7)]);
}

/// Kills at any moment lose nothing that was acknowledged, and are not reported as faults of the device.
#[test]
fn kills_at_random_times_cause_no_verify_errors() {
    const TEST: &str = "kills_at_random_times_cause_no_verify_errors";
    let place = Place::new();
    let Some(device) = Disk::new(&place, TEST) else { return };
    let mut words = verify(&device, &["--rounds=30", "--iodepth=8"]);
    // The moments fall into steps of every kind.
    for pause_ms in [90u64, 260, 170, 330, 210] {
        let line: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut running = place.start(&line);
        eventually(|| place.history().exists() || !running.runs());
        std::thread::sleep(Duration::from_millis(pause_ms));
        let done = device.kill(running);
        assert!(matches!(done.code, None | Some(0)), "{done:?}");
        if done.code == Some(0) {
            break;
        }
        words = verify(&device, &["--resume"]);
        if kept(&place).is_empty() && place.runs().is_empty() {
            words = verify(&device, &["--rounds=30", "--iodepth=8"]);
        }
    }
    words.push("--json".to_owned());
    let done = run(&place, &words);
    if done.code == Some(2) && done.stderr.contains("no run of suite") {
        // The run finished before the kills.
        return;
    }
    let document = done.ends(0).json();
    let verdict = document["verdict"][0].as_str().unwrap();
    assert!(verdict.starts_with("512 blocks written 30 times"), "{verdict}");
    assert_eq!(document["findings"]["corrupted"], 0);
}
