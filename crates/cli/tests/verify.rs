//! Data verification on real files and devices: correct data is accepted, and wrong data is named with its place.
#![allow(clippy::unwrap_used)]

mod common;

use common::{Done, Place, direct_io, eventually, skip};
use iogauge_test_support::{Loop, or_skip};
use serde_json::Value;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

const USAGE: i32 = 2;
const REFUSED: i32 = 3;
const WRONG: i32 = 4;
/// Size of a test file's header, which no load accesses.
const BASE: u64 = 1 << 20;

/// Runs a load on `t`, a file of 4 MiB.
fn run(place: &Place, options: &[&str]) -> Done {
    place.run(&[&["run", "t", "--size=4m", "--ramp-time=0"], options].concat())
}

fn verify(done: &Done) -> Value {
    done.json()["steps"][0]["verify"].clone()
}

/// Returns the kinds and offsets of the findings.
fn found(verify: &Value) -> Vec<(String, u64)> {
    let findings = verify["findings"].as_array().unwrap().iter();
    let found = findings.map(|finding| {
        let kind = finding["reason"]["kind"].as_str().unwrap().to_owned();
        (kind, finding["offset_bytes"].as_u64().unwrap())
    });
    found.collect()
}

#[test]
fn syncs_between_writes_do_not_disturb_verification() {
    let place = Place::new();
    let load = ["--rw=write", "--fsync=2", "--number_ios=40", "--verify=crc32c", "--direct=0"];
    let done = run(&place, &[&load[..], &["--json", "-q"]].concat()).ends(0);
    assert_eq!(done.json()["steps"][0]["sync"]["ios"], 20);
}

/// A file that a test changes without iogauge's knowledge.
struct Spoiler(File);

impl Spoiler {
    fn of(path: &Path) -> Self {
        Self(File::options().read(true).write(true).open(path).unwrap())
    }

    fn block(&self, offset: u64) -> Vec<u8> {
        let mut block = vec![0; 4096];
        self.0.read_exact_at(&mut block, offset).unwrap();
        block
    }

    fn put(&self, offset: u64, bytes: &[u8]) {
        self.0.write_all_at(bytes, offset).unwrap();
        self.0.sync_all().unwrap();
    }

    fn flip(&self, offset: u64, bit: u32) {
        let mut byte = [0];
        self.0.read_exact_at(&mut byte, offset).unwrap();
        self.put(offset, &[byte[0] ^ 1 << bit]);
    }

    /// Returns the number of the write in the header of a block.
    fn sequence(&self, offset: u64) -> u32 {
        let block = self.block(offset);
        u32::from_le_bytes([block[32], block[33], block[34], block[35]])
    }
}

#[test]
fn every_checksum_algorithm_verifies_its_own_data() {
    const TEST: &str = "every_checksum_algorithm_verifies_its_own_data";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    for word in [
        "crc32c",
        "crc32c-intel",
        "crc32",
        "crc64",
        "crc16",
        "xxhash",
        "md5",
        "sha1",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "meta",
        "pattern",
        "pattern_hdr",
    ] {
        let option = format!("--verify={word}");
        let mut line = vec!["--rw=randwrite", "--norandommap=0", "--io_size=4m", "--iodepth=16"];
        line.extend([option.as_str(), "--json"]);
        if word.starts_with("pattern") {
            line.push("--verify_pattern=0xaa555aa5");
        }
        let done = run(&place, &line).ends(0);
        let verify = verify(&done);
        assert_eq!(
            (&verify["units"], &verify["bytes"]),
            (&1024.into(), &(4 << 20).into()),
            "{word}"
        );
        assert_eq!((&verify["corrupted"], &verify["end"]), (&0.into(), &"complete".into()));
        let blocks = "verified 4 MiB (1,024 blocks, ";
        assert!(done.stderr.contains(blocks) && done.stderr.contains("all as written"), "{word}");
        // The reads of the verification are in no other figure.
        assert!(done.json()["steps"][0]["read"].is_null());
    }
}

#[test]
fn every_engine_verifies_its_own_data() {
    const TEST: &str = "every_engine_verifies_its_own_data";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    for engine in ["io_uring", "libaio", "psync", "mmap"] {
        for direct in ["0", "1"] {
            let engine = format!("--ioengine={engine}");
            let direct = format!("--direct={direct}");
            // Few blocks and many writes, so that some writes of a block are outstanding together.
            let done = place.run(&[
                "run",
                "t",
                "--ramp-time=0",
                "--rw=randrw",
                "--bssplit=4k/50:12k/50",
                "--size=1m",
                "--number_ios=1500",
                "--iodepth=8",
                "--numjobs=2",
                "--verify=crc32c",
                "--json",
                &engine,
                &direct,
            ]);
            let verify = verify(&done.ends(0));
            assert_eq!((&verify["corrupted"], &verify["end"]), (&0.into(), &"complete".into()));
            // The read-back covers all written blocks, and reads of the load are checked as well.
            let judged = verify["units"].as_u64().unwrap() + verify["unjudged"].as_u64().unwrap();
            assert!(judged > 256, "{engine}: {verify}");
        }
    }
}

#[test]
fn later_verify_run_reports_corrupted_blocks() {
    const TEST: &str = "later_verify_run_reports_corrupted_blocks";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let written =
        run(&place, &["--rw=write", "--io_size=4m", "--verify=md5", "--do_verify=0", "--json"]);
    assert_eq!(verify(&written.ends(0))["end"], "not_asked");
    let reads = |more: &[&str]| {
        let line = ["--rw=read", "--io_size=4m", "--iodepth=4", "--verify=md5", "--json"];
        run(&place, &[&line, more].concat())
    };
    assert_eq!(verify(&reads(&[]).ends(0))["units"], 1024);

    let file = Spoiler::of(&place.work().join("t"));
    let at = |block: u64| BASE + block * 4096;
    file.flip(at(3) + 1000, 6);
    let block = file.block(at(10));
    file.put(at(20), &block);
    file.put(at(30) + 1024, &[0; 3072]);
    file.put(at(40), &[0; 4096]);
    file.put(at(1023), &[7; 4096]);
    let wanted: Vec<(String, u64)> =
        [("corrupt", 3), ("misplaced", 20), ("torn", 30), ("no_header", 40), ("no_header", 1023)]
            .map(|(kind, block)| (kind.to_owned(), at(block)))
            .to_vec();
    for engine in ["io_uring", "libaio", "psync"] {
        let done = reads(&[&format!("--ioengine={engine}")]).ends(WRONG);
        let verify = verify(&done);
        assert_eq!(found(&verify), wanted, "{engine}");
        assert_eq!(verify["corrupted"], 5);
        let first = format!("offset {}, 4096 bytes: corrupt: bit 6 of byte 1000 is flipped", at(3));
        // Lines are wrapped at the width of the page.
        let text = done.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(&first), "{text}");
        let misplaced = format!("misplaced: belongs to offset {}", at(10));
        assert!(text.contains(&misplaced), "{text}");
    }
    let random = run(
        &place,
        &["--rw=randread", "--norandommap=0", "--io_size=4m", "--verify=md5", "--json"],
    );
    assert_eq!(found(&verify(&random.ends(WRONG))), wanted);
    let fatal = verify(&reads(&["--verify_fatal"]).ends(WRONG));
    assert_eq!((&fatal["end"], &found(&fatal)[0]), (&"fatal".into(), &wanted[0]));
    assert!(fatal["units"].as_u64().unwrap() < 1024);
    let other = run(&place, &["--rw=read", "--number_ios=1", "--verify=sha1", "--json"]);
    assert_eq!(found(&verify(&other.ends(WRONG))), [("other_format".to_owned(), BASE)]);
}

/// Blocks that return to an earlier state between their last write and the read-back.
#[test]
fn lost_and_stale_writes_are_detected_in_the_same_run() {
    let place = Place::new();
    // Writes 64 blocks twice, slowly enough to change blocks in between. The read-back waits for the other job.
    let slow = "--job=rw=write size=256k io_size=512k rate_iops=100 verify=xxhash";
    let longer = "--job=rw=read offset=1m size=1m rate_iops=10 io_size=160k";
    let line = ["run", "t", "--size=4m", "--direct=0", slow, longer, "--json"];
    let running = place.start(&line);
    let path = place.work().join("t");
    let at = |block: u64| BASE + block * 4096;
    eventually(|| path.exists() && path.metadata().unwrap().len() > at(63));
    let file = Spoiler::of(&path);
    eventually(|| file.sequence(at(5)) == 1);
    let (old, before) = (file.block(at(5)), file.block(at(60)));
    eventually(|| file.sequence(at(63)) == 2);
    file.put(at(5), &old);
    file.put(at(60), &before);
    let done = running.end().ends(WRONG);
    let verify = verify(&done);
    assert_eq!(found(&verify).len(), 2, "{verify}");
    assert_eq!(found(&verify)[0], ("stale".to_owned(), at(5)));
    let reason = &verify["findings"][0]["reason"];
    assert_eq!((&reason["sequence"], &reason["expected_sequence"]), (&1.into(), &2.into()));
    // The data before the run: a prefill without a header.
    assert_eq!(found(&verify)[1], ("no_header".to_owned(), at(60)));
    assert!(done.stderr.contains("stale: holds write 1"), "{}", done.stderr);
}

#[test]
fn verify_only_reads_back_without_writing() {
    const TEST: &str = "verify_only_reads_back_without_writing";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    // The load does not write every block, and also reads.
    let load = [
        "--rw=randrw",
        "--number_ios=300",
        "--numjobs=2",
        "--iodepth=4",
        "--verify=sha1",
        "--json",
    ];
    assert_eq!(verify(&run(&place, &load).ends(0))["corrupted"], 0);
    let before = std::fs::read(place.work().join("t")).unwrap();
    let only = run(&place, &[&load[..], &["--verify_only"]].concat()).ends(0);
    assert!(verify(&only)["units"].as_u64().unwrap() > 200);
    assert!(only.json()["steps"][0]["write"].is_null());
    assert!(std::fs::read(place.work().join("t")).unwrap() == before);
    // There is nothing to verify in a file that would be made first.
    let line = ["run", "new", "--size=4m", "--rw=read", "--number_ios=1", "--verify=sha1"];
    let told = place.run(&line).ends(USAGE).stderr;
    assert!(
        told.contains("new does not exist yet") && !place.work().join("new").exists(),
        "{told}"
    );
    // A foreign file may only be read.
    std::fs::copy(place.work().join("t"), place.work().join("copy")).unwrap();
    let line = ["run", "copy", "--rw=write", "--number_ios=1", "--verify=sha1"];
    place.run(&line).ends(REFUSED);
    place.run(&[&line[..], &["--verify_only"]].concat()).ends(WRONG);
}

#[test]
fn interrupted_run_reports_that_nothing_was_verified() {
    let place = Place::new();
    let line = ["run", "t", "--size=4m", "--direct=0", "--rw=write", "--verify=crc32c", "--json"];
    let running = place.start(&[&line[..], &["--runtime=60", "--rate_iops=100"]].concat());
    let path = place.work().join("t");
    eventually(|| path.exists() && path.metadata().unwrap().len() > BASE + 4096);
    let file = Spoiler::of(&path);
    eventually(|| file.sequence(BASE + 4096) > 0);
    running.signal("INT");
    let done = running.end().ends(130);
    assert_eq!(verify(&done)["end"], "interrupted");
    assert!(done.stderr.contains("Not verified: the run was interrupted"), "{}", done.stderr);
}

#[test]
fn unverifiable_loads_are_rejected() {
    let place = Place::new();
    let one = "--job=rw=write verify=crc32c size=1m";
    for (line, word) in [
        (
            &["run", "sim:nvme", "--rw=write", "--verify=crc32c"][..],
            "a simulated device does not support it",
        ),
        (&["run", "t", "--size=4m", "--ioengine=null", "--rw=write", "--verify=md5"], "null"),
        (
            &["run", "t", "--size=4m", "--rw=write", "--verify=md5", "--dedupe_percentage=9"],
            "dedupe",
        ),
        (&["run", "t", "--size=4m", "--rw=randrw", "--dependent", "--verify=md5"], "dependent"),
        (&["run", "t", "--size=4m", "--rw=write", "--verify_fatal"], "--verify=crc32c"),
        (&["run", "t", "--size=4m", "--rw=write", "--verify=crc7"], "hint: use crc32c"),
        (&["run", "t", "--size=4m", "--rw=write", "--verify=md5", "--verify_only"], "io_size"),
        (&["run", "t", "--size=4m", one, "--job=rw=randwrite"], "without it"),
        (&["run", "t", "--size=4m", one, "--job=rw=write bs=8k verify=crc32c"], "differ"),
        (&["run", "t", "--size=4m", one, "--job=rw=read verify=crc32c"], "after the other"),
        (&["find", "t", "--size=4m", "--rw=write", "--verify=md5"], "hint: use iogauge run"),
    ] {
        let done = place.run(line).ends(USAGE);
        assert!(done.stderr.contains(word), "\"{word}\" is not in {}", done.stderr);
        crate::common::assert_one_message(&done.stderr);
        assert_eq!(place.names(), [""; 0], "{line:?}");
    }
}

/// fio finds in the data what it would have written itself.
#[test]
fn data_with_a_pattern_is_the_same_as_that_of_fio() {
    const TEST: &str = "data_with_a_pattern_is_the_same_as_that_of_fio";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let fio = |pattern: &str| {
        let verify = format!("--verify_pattern={pattern}");
        let fixed =
            "--name=a --filename=t --offset=1m --size=1m --bs=4k --rw=read --verify=pattern";
        Command::new("fio").args(fixed.split(' ')).arg(verify).current_dir(place.work()).output()
    };
    for pattern in ["0xaa55", "\"abcd\"-120xdeadface", "%o", "0xff%o\"abcd\"-12", "300"] {
        let option = format!("--verify_pattern={pattern}");
        let line = ["--rw=write", "--io_size=1m", "--iodepth=4", "--verify=pattern", &option];
        run(&place, &line).ends(0);
        let Ok(found) = fio(pattern) else { return skip(TEST, "fio is not installed") };
        assert!(found.status.success(), "{pattern}: {}", String::from_utf8_lossy(&found.stderr));
    }
    Spoiler::of(&place.work().join("t")).flip(BASE + 8192, 0);
    assert!(!fio("300").unwrap().status.success());
}

#[test]
fn buffer_pattern_fills_every_block() {
    const TEST: &str = "buffer_pattern_fills_every_block";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let line = ["--rw=randwrite", "--norandommap=0", "--io_size=4m", "--buffer_pattern=\"ab\"7"];
    run(&place, &line).ends(0);
    let file = Spoiler::of(&place.work().join("t"));
    for offset in [BASE, BASE + (4 << 20) - 4096] {
        let block = file.block(offset);
        assert!(block.iter().zip(b"ab\x07".iter().cycle()).all(|(is, ought)| is == ought));
    }
    let wrong = run(&place, &["--rw=write", "--verify=md5", "--buffer_pattern=1"]).ends(USAGE);
    assert!(wrong.stderr.contains("--verify_pattern"), "{}", wrong.stderr);
    run(&place, &["--rw=write", "--dedupe_percentage=9", "--buffer_pattern=1"]).ends(USAGE);
}

#[test]
fn backlog_is_read_back_during_the_run() {
    const TEST: &str = "backlog_is_read_back_during_the_run";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let line = ["--rw=randwrite", "--norandommap=0", "--io_size=4m", "--verify=crc32c", "--json"];
    for (engine, iodepth) in [("io_uring", "8"), ("libaio", "1"), ("psync", "1")] {
        let engine = format!("--ioengine={engine}");
        let depth = format!("--iodepth={iodepth}");
        let own = [engine.as_str(), &depth, "--verify_backlog=16"];
        let all = run(&place, &[&line, &own[..]].concat()).ends(0);
        assert_eq!(all.json()["steps"][0]["read"]["ios"], 1024);
        assert_eq!(all.json()["steps"][0]["write"]["ios"], 1024);
        // Nothing is left to be read back at the end.
        assert_eq!((&verify(&all)["units"], &verify(&all)["read"]), (&1024.into(), &Value::Null));
        let batch = [&own[..], &["--verify_backlog_batch=4"]].concat();
        let some = run(&place, &[&line, &batch[..]].concat()).ends(0);
        assert_eq!(some.json()["steps"][0]["read"]["ios"], 256);
        assert_eq!(verify(&some)["read"]["bytes"], 3 << 20);
    }
    let without = run(&place, &[&line[..], &["--verify_backlog=16", "--do_verify=0"]].concat());
    assert!(without.ends(0).json()["steps"][0]["read"].is_null());
    run(&place, &["--rw=write", "--verify=md5", "--verify_backlog=65537"]).ends(USAGE);
}

#[test]
fn header_at_an_offset_locates_wrong_bytes() {
    const TEST: &str = "header_at_an_offset_locates_wrong_bytes";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let line = ["--io_size=4m", "--verify=md5", "--verify_interval=3000", "--verify_offset=1k"];
    let run = |rw| run(&place, &[&line[..], &[rw, "--json"]].concat());
    assert_eq!(verify(&run("--rw=write").ends(0))["units"], 2048);
    let file = Spoiler::of(&place.work().join("t"));
    assert_eq!(&file.block(BASE)[1024..1032], b"IOGverif");
    for byte in [5, 1500] {
        file.flip(BASE + 4096 + byte, 3);
        let found = verify(&run("--rw=read").ends(WRONG))["findings"][0]["reason"].clone();
        assert_eq!((&found["first_byte"], &found["bit"]), (&byte.into(), &3.into()), "{found}");
        file.flip(BASE + 4096 + byte, 3);
    }
}

/// Runs fio, which returns 0 if all data is correct.
fn fio(directory: &Path, file: &str) -> Option<std::process::Output> {
    Command::new("fio").arg(file).current_dir(directory).output().ok()
}

#[test]
fn job_file_verify_options_match_fio() {
    const TEST: &str = "job_file_verify_options_match_fio";
    let place = Place::new();
    if !direct_io(TEST, &place.work()) {
        return;
    }
    let text = "[global]\nsize=4m\ndirect=1\nioengine=libaio\niodepth=8\nverify=crc32c\n\
                [random]\nrw=randwrite\nfilename=FILE\nbsrange=4k-16k\n\
                [again]\nstonewall\nrw=write\nfilename=FILE\nverify=sha256\nverify_interval=512\n\
                verify_pattern=0xaa555aa5\ndo_verify=0\n\
                [reads]\nstonewall\nrw=randread\nfilename=FILE\nverify=sha256\n\
                verify_interval=512\nverify_pattern=0xaa555aa5\n";
    std::fs::write(place.work().join("ours.fio"), text.replace("FILE", "ours")).unwrap();
    let done = place.run(&["run", "ours.fio", "--json"]).ends(0);
    let document = done.json();
    let units: Vec<_> =
        [0, 1, 2].map(|step| document["steps"][step]["verify"]["units"].clone()).into();
    // With mixed block sizes, too, the first job writes every place once.
    assert_eq!(units, [1024, 0, 8192]);
    let file = Spoiler::of(&place.work().join("ours"));
    file.flip(BASE + 5 * 512 + 200, 0);
    let reads = text.split("[random]").next().unwrap().to_owned()
        + "[reads]\nrw=read\n\
                filename=ours\nverify=sha256\nverify_interval=512\nverify_pattern=0xaa555aa5\n";
    std::fs::write(place.work().join("reads.fio"), reads).unwrap();
    let done = place.run(&["run", "reads.fio", "--json"]).ends(WRONG);
    assert_eq!(found(&verify(&done)), [("corrupt".to_owned(), BASE + 5 * 512)]);

    std::fs::write(place.work().join("fios.fio"), text.replace("FILE", "fios")).unwrap();
    let printed = run(
        &place,
        &["--rw=randwrite", "--norandommap=0", "--io_size=4m", "--verify=md5", "--print-fio"],
    );
    assert!(printed.stdout.contains("\nverify=md5\n"), "{}", printed.stdout);
    let printed = printed.stdout.replace("time_based=1\n", "").replace("/t\n", "/printed\n");
    std::fs::write(place.work().join("printed.fio"), printed).unwrap();
    for name in ["fios.fio", "printed.fio"] {
        let Some(output) = fio(&place.work(), name) else {
            return skip(TEST, "fio is not installed");
        };
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn bit_flip_under_a_block_device_is_detected() {
    const TEST: &str = "bit_flip_under_a_block_device_is_detected";
    let place = Place::new();
    let image = place.work().join("image");
    File::create(&image).unwrap().set_len(8 << 20).unwrap();
    let device = or_skip!(TEST, Loop::on(&image, &[]));
    let path = device.as_str();
    let line =
        ["run", path, "--destroy-data", "--bs=8k", "--io_size=8m", "--verify=crc32c", "--json"];
    let write = place.run(&[&line[..], &["--rw=write", "--iodepth=4", "--do_verify=0"]].concat());
    write.ends(0);
    Spoiler::of(&image).flip((5 << 20) + 8192 + 17, 3);
    let read = place.run(&[&line[..], &["--rw=read", "--iodepth=4"]].concat()).ends(WRONG);
    let verify = verify(&read);
    assert_eq!(found(&verify), [("corrupt".to_owned(), (5 << 20) + 8192)]);
    assert_eq!(verify["findings"][0]["path"], path);
    assert_eq!(verify["findings"][0]["reason"]["first_byte"], 17);
}
