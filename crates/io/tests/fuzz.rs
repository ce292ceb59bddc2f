//! Runs the fuzz targets on generated input: words that each parser knows, numbers, and arbitrary text.
//!
//! By default each target gets a few hundred cases. With `IOGAUGE_FUZZ_SECONDS=60` each runs for 60 seconds;
//! `scripts/fuzz.sh` uses this if libFuzzer is not available.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use iogauge_fio::job::options;
use iogauge_fio::{Reading, read_results};
use iogauge_test_support::fuzz::{self as targets, fuzz};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use std::path::{Path, PathBuf};

/// Generates a word that the parser knows, a number, or arbitrary text.
fn piece(words: Vec<String>) -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<u64>(),
        0u64..100,
        (0u32..64).prop_map(|power| 1 << power),
        (0u32..64).prop_map(|power| (1 << power) - 1),
    ];
    prop_oneof![
        6 => select(words),
        2 => number.prop_map(|number| number.to_string()),
        1 => "[ -~\n]{0,4}",
        1 => "\\PC{0,2}",
    ]
}

fn words<'a>(words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// Generates up to 15 concatenated pieces.
fn text<'a>(known: impl IntoIterator<Item = &'a str>) -> impl Strategy<Value = String> {
    prop::collection::vec(piece(words(known)), 0..16).prop_map(|pieces| pieces.concat())
}

/// An edit of a text: its place, how many bytes to remove there, and the piece to insert.
type Edit = (Index, usize, String);

/// Generates one of the seeds with up to 7 edits.
fn changed(seeds: Vec<Vec<u8>>, known: Vec<String>) -> impl Strategy<Value = Vec<u8>> {
    let taken = prop_oneof![4 => Just(0usize), 4 => 1usize..8, 1 => 8usize..400];
    let edit = (any::<Index>(), taken, piece(known));
    (select(seeds), prop::collection::vec(edit, 0..8)).prop_map(
        |(mut bytes, edits): (_, Vec<Edit>)| {
            for (place, taken, piece) in edits {
                let begin = place.index(bytes.len() + 1);
                let end = (begin + taken).min(bytes.len());
                bytes.splice(begin..end, piece.into_bytes());
            }
            bytes
        },
    )
}

/// Returns the paths of the fio outputs that the tests of the `iogauge-fio` crate use.
fn outputs() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio");
    let mut files = files_below(&data);
    files.sort();
    files
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
}

const UNITS: [&str; 16] =
    ["k", "m", "g", "ki", "KiB", "MB/s", "ns", "us", "ms", "s", "%", "-", ".", "e9", "x", "_"];

#[test]
fn block_sizes() {
    let known = ["4k", "64k", "/", ":", ",", "-", "50", "100", "0", "1m", " "];
    fuzz(&text(known), |input| targets::block_sizes(&input));
}

#[test]
fn bpftrace() {
    let known = [
        r#"{"type": "map", "data": {"@times": {"#,
        r#"{"type": "map", "data": {"@sizes": {"#,
        r#"{"type": "map", "data": {"@time_sum": {"#,
        r#"{"type": "map", "data": {"@time_min": {"#,
        r#"{"type": "map", "data": {"@first_sector": {"7340032": "#,
        r#"{"type": "map", "data": {"@end_sector": {"7340032": "#,
        r#"{"type": "map", "data": {"@followed": {"7340032": "#,
        r#"{"type": "map", "data": {"@sequential": {"7340032": "#,
        r#""0,"#,
        r#""1": "#,
        r#"": "#,
        ", ",
        "}}}\n",
    ];
    fuzz(&text(known), |input| targets::bpftrace(&input));
}

#[test]
fn diskstats() {
    let known = [" 8 0 sda 1 2 3 4", " 259 1 nvme0n1 ", " 5 6 7 8 9 10 11", "\n", " ", "-1"];
    fuzz(&text(known), |input| targets::diskstats(&input));
}

#[test]
fn distribution() {
    let known =
        ["random", "zipf", "pareto", "normal", "zoned", ":", "/", "1.2", "50", ".", "e", "nan"];
    fuzz(&text(known), |input| targets::distribution(&input));
}

#[test]
fn fio_job() {
    // A line is an option with a value, a section header, or arbitrary values.
    let names = options().flat_map(|row| [row.name].into_iter().chain(row.aliases.to_vec()));
    let line = prop_oneof![
        8 => (select(words(names)), text(VALUES)).prop_map(|(name, value)| format!("{name}={value}")),
        2 => select(words(["[a]", "[b]", "[global]", "[a", "[]"])),
        1 => text(VALUES),
    ];
    let lines = prop::collection::vec(line, 0..12).prop_map(|lines| lines.join("\n"));
    fuzz(&lines, |input| targets::fio_job(&format!("[a]\nsize=1m\n{input}")));
}

const VALUES: [&str; 42] = [
    "1",
    "0",
    "4k",
    "1m",
    "50%",
    "read",
    "randrw",
    "write",
    ":",
    ",",
    "/",
    "-",
    "zipf:1.1",
    "a:b",
    "$ncpus",
    "${b}",
    "$pagesize",
    "(",
    ")",
    "*",
    "+",
    "^",
    "10s",
    "2d",
    "include b",
    "\0",
    "psync",
    "io_uring",
    "null",
    "mmap",
    "sync",
    "none",
    "linear",
    "poisson",
    "8",
    "zoned:50/5:50/95",
    ";",
    "#",
    "\n",
    "0x1f",
    "99.9",
    "2-4",
];

#[test]
fn fio_results() {
    let seeds = outputs().iter().map(|path| std::fs::read(path).unwrap()).collect();
    let known = [
        "{",
        "}",
        "[",
        "]",
        "\"",
        ":",
        ",",
        "\n",
        "read",
        "write: ",
        "iops=",
        "BW=",
        "lat (usec)",
        "clat percentiles",
        "bins",
        "nan",
        "-",
        "io=",
        "(g=0): rw=",
        "groupid",
        "fio-2.0.7",
        "fio version",
        "job options",
        "err= 0",
        "Run status group 0",
        "client_stats",
        "test  users size",
        " r ",
        " w ",
        "_w",
        "threads",
        "m <- matrix(c(",
        "testtype <- ",
        "),nrow=31)",
        "system",
        "NA",
    ];
    let known = words(known.into_iter().chain(UNITS));
    fuzz(&changed(seeds, known), |input| targets::fio_results(&input));
}

#[test]
fn limit() {
    let known = ["p99", "p99.9", "max", "mean", "<=", "<", "read", "write", ":", "1", "ms"];
    fuzz(&text(known.into_iter().chain(UNITS)), |input| targets::limit(&input));
}

#[test]
fn mountinfo() {
    let seed = b"36 35 98:0 /mnt1 /mnt\\0402 rw,noatime master:1 - ext3 /dev/root rw\n".to_vec();
    let known = words([" ", "-", ":", "\n", "\\040", "/", "\\", "rw", "98:0"]);
    fuzz(&changed(vec![seed], known), |input| targets::mountinfo(&input));
}

#[test]
fn sim_spec() {
    let known = [
        "channels=",
        "service=",
        "dist=",
        "const",
        "size=",
        "seed=",
        "fresh=",
        "wander=",
        "noise=",
        "neighbour=",
        "+",
        "nvme",
        "hdd",
        "ssd",
        ",",
        "1",
        "100us",
        "exp",
        "lognormal",
        "=",
        ":",
    ];
    fuzz(&text(known.into_iter().chain(UNITS)), |input| targets::sim_spec(&input));
}

#[test]
fn step_result() {
    let mut seeds = Vec::new();
    for path in outputs() {
        let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
        let mut keep = |found| {
            if let Reading::Result(result) = found {
                seeds.push(serde_json::to_vec(&result.to_step()).unwrap());
            }
        };
        read_results("f", file, &mut keep).unwrap();
    }
    let known = words(["{", "}", "[", "]", "null", "-1", "1e400", "0.5", ",", ":", "\"", "1e19"]);
    fuzz(&changed(seeds, known), |input| {
        targets::step_result(&String::from_utf8_lossy(&input));
    });
}

#[test]
fn suite_file() {
    let seed = b"seconds = 5\nlimit = \"p99<=5ms\"\n[defaults]\nbs = [\"4k\", 8192]\n[[step]]\nname = \"a\"\n\
                 users = [1, 2]\njobs = [{ rw = \"read\" }, { direct = true }]\n[[step]]\nname = \"b\"\n\
                 find = [\"max<=1ms\"]\n";
    let known = words([
        "[[step]]",
        "[defaults]",
        "name = ",
        "seconds",
        "limit",
        "find = ",
        "jobs",
        "= [",
        "]",
        "{",
        "}",
        ",",
        "\n",
        "\"",
        "\"\"\"",
        "'",
        "0x",
        "1979-05-27",
        "inf",
        ".",
        "#",
        "\r",
        "\\u0007",
    ]);
    fuzz(&changed(vec![seed.to_vec()], known), |input| {
        targets::suite_file(&String::from_utf8_lossy(&input));
    });
}

#[test]
fn verify_state() {
    let seed = b"iogauge.verify-state/1\n{\"territories\":[{\"part\":0,\"base_bytes\":1048576,\"units\":8,\"unit_bytes\":\
                 4096,\"algorithm\":\"crc32c\",\"run\":\"1f\",\"pieces\":[]}]}\n....";
    let known = words(["[0]", "[0,1]", "{", "}", "\"", ",", "\n", "null", "-1", "1e400"]);
    fuzz(&changed(vec![seed.to_vec()], known), |input| targets::verify_state(&input));
}

#[test]
fn target_spec() {
    let known = ["/", "a", "b", ":", ",", "\\", "sim:", "nvme", "..", " ", "\n", "/dev/x"];
    fuzz(&text(known), |input| targets::target_spec(&input));
}

#[test]
fn units() {
    fuzz(&text(UNITS.into_iter().chain(["1", "1.5", "/s", "iops"])), |input| {
        targets::units(&input)
    });
}
