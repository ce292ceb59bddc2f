//! Tests that read real output of fio from files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use iogauge_fio::{Reading, read_results};
use iogauge_model::result::FioResult;
use iogauge_model::result::StepResult;
use proptest::prelude::*;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio").join(folder)
}

fn read_in(text: &[u8], chunk: usize) -> (Vec<FioResult>, Vec<String>) {
    let (mut results, mut problems) = (Vec::new(), Vec::new());
    let mut sink = |found| match found {
        Reading::Result(result) => results.push(*result),
        Reading::Problem(problem) => problems.push(problem.to_string()),
        Reading::Interim(reports) => problems.push(format!("interim reports: {reports}")),
        Reading::System(system) => problems.push(format!("system: {system:?}")),
    };
    read_results("f", BufReader::with_capacity(chunk, text), &mut sink).unwrap();
    (results, problems)
}

/// A source whose reads have given lengths.
struct Torn<'a> {
    text: &'a [u8],
    /// Lengths of the reads, repeated cyclically.
    lengths: &'a [usize],
    reads: usize,
}

impl Read for Torn<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let taken = self.fill_buf()?.read(buffer)?;
        self.consume(taken);
        Ok(taken)
    }
}

impl BufRead for Torn<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let length = self.lengths[self.reads % self.lengths.len()];
        Ok(&self.text[..length.min(self.text.len())])
    }

    fn consume(&mut self, taken: usize) {
        self.reads += 1;
        self.text = &self.text[taken..];
    }
}

fn read_torn(text: &[u8], lengths: &[usize]) -> (Vec<FioResult>, Vec<String>) {
    let (mut results, mut problems) = (Vec::new(), Vec::new());
    let mut sink = |found| match found {
        Reading::Result(result) => results.push(*result),
        Reading::Problem(problem) => problems.push(problem.to_string()),
        Reading::Interim(reports) => problems.push(format!("interim reports: {reports}")),
        Reading::System(system) => problems.push(format!("system: {system:?}")),
    };
    read_results("f", Torn { text, lengths, reads: 0 }, &mut sink).unwrap();
    (results, problems)
}

fn read(text: &[u8]) -> Vec<FioResult> {
    let (results, problems) = read_in(text, 1 << 16);
    assert_eq!(problems, [""; 0]);
    results
}

fn file(folder: &str, name: &str) -> Vec<u8> {
    fs::read(data(folder).join(name)).unwrap()
}

fn outputs(folder: &str) -> Vec<(String, Vec<u8>)> {
    let mut names: Vec<_> = fs::read_dir(data(folder))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".out") || name.ends_with(".json"))
        .collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), file(folder, &name))).collect()
}

/// Returns the results without their line numbers.
fn figures(mut results: Vec<FioResult>) -> Vec<FioResult> {
    results.iter_mut().for_each(|result| result.line = 0);
    results
}

#[test]
fn fio_2_0_7_outputs_match_their_file_names() {
    let outputs = outputs("2.0.7");
    assert_eq!(outputs.len(), 22);
    for (name, text) in outputs {
        let [result] = &read(&text)[..] else { panic!("{name}") };
        let mut parts = name.trim_end_matches(".out").split('_');
        let test = match parts.next().unwrap() {
            "readrand" => "randread",
            other => other,
        };
        let number = |part: Option<&str>| {
            part.unwrap().trim_start_matches(char::is_alphabetic).parse::<u64>().unwrap()
        };
        let (users, kib) = (number(parts.next()), number(parts.next()));
        assert_eq!(result.rw, test, "{name}");
        assert_eq!(u64::from(result.users.unwrap()), users, "{name}");
        assert_eq!((result.fio_version.as_str(), result.engine.as_str()), ("2.0.7", "psync"));
        let (_, direction) = result.directions().next().unwrap();
        assert_eq!(direction.block.unwrap().min_bytes, kib * 1024, "{name}");
        assert_eq!(direction.bytes, direction.ios * kib * 1024, "{name}");
        let rate = direction.ios as f64 / (direction.runtime_ns as f64 / 1e9);
        assert_eq!(direction.iops, rate.floor(), "{name}");
        let clat = direction.clat.as_ref().unwrap();
        assert_eq!(clat.percentiles.len(), 17, "{name}");
        assert!(clat.mean_ns <= direction.lat.as_ref().unwrap().mean_ns, "{name}");
        let shares: f64 = result.shares.iter().map(|share| share.percent).sum();
        assert!((shares - 100.0).abs() < 0.2, "{name}: {shares}");
    }
}

#[test]
fn fio_3_33_text_groups_are_read() {
    let results = read(&file("3.33", "mix.out"));
    let [random, write, mixed] = &results[..] else { panic!("{results:?}") };
    assert_eq!((random.rw.as_str(), random.users, random.iodepth), ("randread", Some(2), Some(16)));
    assert_eq!((write.rw.as_str(), write.users, write.group), ("write", Some(4), 1));
    assert_eq!((mixed.rw.as_str(), mixed.users, mixed.iodepth), ("randrw", Some(1), Some(8)));
    assert_eq!(mixed.fio_version, "3.33");
    // 21 November 2026, 09:06:36.
    assert_eq!(mixed.reported_unix_seconds, Some(1_795_251_996));

    let read = random.read.as_ref().unwrap();
    assert!(random.write.is_none());
    // IOPS=65.7k and 1539MiB are less precise than 197018 reads of 8 KiB in 3001 ms.
    assert_eq!((read.ios, read.bytes), (197_018, 197_018 * 8192));
    assert_eq!(read.iops, 197_018.0 / 3.001);
    assert_eq!(read.bytes_per_sec, (197_018 * 8192) as f64 / 3.001);
    assert_eq!(read.clat.as_ref().unwrap().max_ns, 6_720_700);
    assert_eq!(read.lat.as_ref().unwrap().mean_ns, 486_930.0);
    assert_eq!(read.percentile_ns(99.99), Some(6_718_000));
    assert_eq!(random.shares[0].below_ns, Some(500));

    // IOPS=3326 is precise enough as printed.
    assert_eq!(write.write.as_ref().unwrap().iops, 3326.0);
    let (read, write) = (mixed.read.as_ref().unwrap(), mixed.write.as_ref().unwrap());
    assert_eq!((read.ios, write.ios), (74_103, 31_662));
    assert_eq!(write.lat.as_ref().unwrap().mean_ns, 247_900.0);
    assert_eq!((mixed.user_cpu_percent, mixed.system_cpu_percent), (2.63, 30.07));
}

#[test]
fn fio_3_33_json_plus_groups_are_read() {
    let results = read(&file("3.33", "mix.json"));
    let [random, write, mixed] = &results[..] else { panic!("{results:?}") };
    assert_eq!((random.rw.as_str(), random.users, random.iodepth), ("randread", Some(2), Some(16)));
    assert_eq!((write.rw.as_str(), write.users, write.iodepth), ("write", Some(4), Some(1)));
    assert_eq!((mixed.rw.as_str(), mixed.users, mixed.iodepth), ("randrw", Some(1), Some(8)));
    assert_eq!(mixed.reported_unix_seconds, Some(1_795_252_006));
    let read = random.read.as_ref().unwrap();
    assert_eq!((read.ios, read.bytes, read.iops), (197_682, 1_619_410_944, 65_872.042652));
    assert_eq!(read.bytes_per_sec, 539_623_773.0);
    let histogram = read.histogram().unwrap();
    assert_eq!((histogram.count(), histogram.min_ns()), (read.ios, 210));
    // fio's percentile is the upper end of a bucket, and iogauge's the middle of half a bucket.
    for (percent, value_ns) in &read.clat.as_ref().unwrap().percentiles {
        let ours = histogram.percentile_ns(*percent) as f64;
        assert!((ours / *value_ns as f64 - 1.0).abs() < 0.016, "p{percent}: {ours} {value_ns}");
    }
    let shares: f64 = random.shares.iter().map(|share| share.percent).sum();
    assert!((shares - 100.0).abs() < 0.1, "{shares}");
    assert!(mixed.write.as_ref().unwrap().histogram().is_some());
}

#[test]
fn mixed_formats_and_noise_in_one_file_are_read() {
    let json = file("3.33", "mix.json");
    let text = file("3.33", "mix.out");
    let noisy = [
        &b"fio: this platform {does not} support process shared mutexes\n<host> note: \"x\"\n"[..],
        &json[..],
        b"}\nfio: file hash not empty on exit\n",
        &text,
        b"Jobs: 1 (f=1): [r(1)][100.0%][eta 00m:00s]\r",
        &json,
    ]
    .concat();
    let one = figures(read(&json));
    // Text results come last: the reader holds them back in case a document has the same with more digits.
    let expected = [one.clone(), one, figures(read(&text))].concat();
    for chunk in [1, 7, 4096, 1 << 20] {
        let (results, problems) = read_in(&noisy, chunk);
        assert_eq!(problems, [""; 0], "{chunk}");
        assert_eq!(figures(results), expected, "{chunk}");
    }
}

#[test]
fn results_report_their_line_number() {
    let text = file("3.33", "mix.out");
    let lines = String::from_utf8(text.clone()).unwrap();
    let doubled = [&b"\n\n"[..], &text, &text].concat();
    for (index, result) in read(&doubled).iter().enumerate() {
        let line = result.line as usize - 3 - index / 3 * lines.lines().count();
        let begins = format!("{}: (groupid=", result.name);
        assert!(lines.lines().nth(line).unwrap().starts_with(&begins), "{}", result.line);
    }
    let json = file("3.33", "mix.json");
    let lines = String::from_utf8(json.clone()).unwrap();
    for result in read(&json) {
        let line = lines.lines().nth(result.line as usize).unwrap();
        assert_eq!(line.trim(), format!("\"jobname\" : \"{}\",", result.name));
    }
}

#[test]
fn truncated_document_keeps_complete_and_later_jobs() {
    let json = file("3.33", "mix.json");
    let third = json.windows(7).position(|w| w == b"\"mixed\"").unwrap();
    let in_the_middle = b"\"runtime\" : 30";
    let cut = json[third..].windows(in_the_middle.len()).position(|w| w == in_the_middle).unwrap();
    let two = &json[..third + cut + in_the_middle.len()];
    let (results, problems) = read_in(two, 4096);
    assert_eq!(results.len(), 2);
    assert!(problems[0].contains("ends in the middle of the document"), "{problems:?}");
    let (results, problems) = read_in(&[two, &b"\n"[..], &json].concat(), 4096);
    assert_eq!(results.len(), 5);
    assert_eq!(problems.len(), 1, "{problems:?}");
    let line = two.iter().filter(|b| **b == b'\n').count() + 2;
    assert_eq!(problems[0], format!("f:{line}: the document ends in the middle"));
}

#[test]
fn truncated_text_is_reported() {
    let text = String::from_utf8(file("3.33", "mix.out")).unwrap();
    let complete = read(text.as_bytes()).len();
    let summary = text.find("Run status group").unwrap();
    let first = text.find("(groupid=").unwrap();
    let ends: Vec<usize> = text
        .match_indices('\n')
        .map(|(at, _)| at + 1)
        .filter(|at| (first..=summary).contains(at))
        .collect();
    assert!(ends.len() > 20);
    for end in ends {
        let (results, problems) = read_in(&text.as_bytes()[..end], 4096);
        assert!((1..=complete).contains(&results.len()), "{end}");
        let told = problems.iter().filter(|p| p.contains("ends before the summary of this run"));
        assert_eq!(told.count(), 1, "{end}: {problems:?}");
    }
}

#[test]
fn crlf_and_indentation_are_accepted() {
    let text = String::from_utf8(file("3.33", "mix.out")).unwrap();
    let expected = figures(read(text.as_bytes()));
    let windows = text.replace('\n', "\r\n");
    assert_eq!(figures(read(windows.as_bytes())), expected);
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    assert_eq!(figures(read(indented.as_bytes())), expected);
    let json = file("3.33", "mix.json");
    let expected = figures(read(&json));
    let flat: Vec<u8> = json.iter().copied().filter(|b| !b"\n ".contains(b)).collect();
    // This removed the spaces within names too. Restore those of the names that the reader uses.
    let flat = String::from_utf8(flat).unwrap();
    let flat = flat.replace("joboptions", "job options").replace("globaloptions", "global options");
    let flat = flat.replace("fioversion", "fio version");
    assert_eq!(figures(read(flat.as_bytes())), expected);
}

/// Lines of noise that are longer than any of fio are read in pieces, with the same result whether they are in memory
/// or come in small reads.
#[test]
fn overlong_line_is_ignored_as_noise() {
    let text = file("3.33", "mix.out");
    let noise = [&b"x".repeat(5 << 19)[..], b"\xff\n"].concat();
    let noisy = [&noise[..], &text, &noise, &text].concat();
    let expected = figures([read(&text), read(&text)].concat());
    let whole = read_in(&noisy, 1 << 16);
    assert_eq!(read_torn(&noisy, &[noisy.len()]), whole);
    assert_eq!(whole.1, [""; 0]);
    assert_eq!(whole.0[0].line, 2 + read(&text)[0].line - 1);
    assert_eq!(figures(whole.0), expected);
}

#[test]
fn file_without_results_is_reported_as_problem() {
    for text in [&b""[..], b"hello\nworld", b"{}", b"{\"a\": 1}\n", b"\xff\xfe\0"] {
        let (results, problems) = read_in(text, 16);
        assert!(results.is_empty());
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with("f:1: "), "{problems:?}");
    }
}

/// Binary files contain braces by chance.
#[test]
fn binary_file_has_no_result_and_no_other_problem() {
    let binary = b"\x7fELF\x02\0\0\n{\"a\": \0\n{\n\x01 { \"b\n{\"jobs\" : [{\"read\" : 1}]}\n";
    let plain = ["f:1: no result of fio found; hint: use its text or JSON output"];
    for chunk in [1, 7, 4096] {
        assert_eq!(read_in(binary, chunk), (vec![], plain.map(str::to_owned).to_vec()), "{chunk}");
    }
    // A log that was emptied while fio wrote it begins with NUL bytes.
    let json = file("3.33", "mix.json");
    let holed = [&[0; 5000][..], b"\n{\"a\n", &json].concat();
    for chunk in [1, 7, 4096, 1 << 20] {
        let (results, problems) = read_in(&holed, chunk);
        assert_eq!(figures(results), figures(read(&json)), "{chunk}");
        assert_eq!(problems, ["f:2: the document ends in the middle"], "{chunk}");
    }
}

/// As fio 3.33 prints 20 writes of 1 MiB with a flush after each.
const SLOW: &str = "\
a: (g=0): rw=write, bs=(R) 1024KiB-1024KiB, (W) 1024KiB-1024KiB, (T) 1024KiB-1024KiB, ioengine=psync, iodepth=1
fio-3.33
a: (groupid=0, jobs=1): err= 0: pid=7: Sat Nov 21 09:06:36 2026
  write: IOPS=19, BW=20.0MiB/s (21.0MB/s)(20.0MiB/1001msec); 0 zone resets
    clat (usec): min=300, max=900, avg=500.00, stdev=10.00
     lat (usec): min=300, max=900, avg=500.00, stdev=10.00
  fsync/fdatasync/sync_file_range:
    sync (usec): min=100, max=400, avg=241.00, stdev=10.00
  cpu          : usr=1.00%, sys=1.00%, ctx=1, majf=0, minf=0
     issued rwts: total=0,20,0,20 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
  WRITE: bw=20.0MiB/s (21.0MB/s), 20.0MiB/s-20.0MiB/s (21.0MB/s-21.0MB/s), io=20.0MiB (21.0MB), run=1001-1001msec
";

#[test]
fn low_rate_is_recomputed_from_ios_and_run_time() {
    let result = &read(SLOW.as_bytes())[0];
    let write = result.write.as_ref().unwrap();
    assert_eq!((write.ios, write.iops), (20, 20.0 / 1.001));
    let old = SLOW.replace(
        "write: IOPS=19, BW=20.0MiB/s (21.0MB/s)(20.0MiB/1001msec); 0 zone resets",
        "write: io=20480KB, bw=20459KB/s, iops=19 , runt=  1001msec",
    );
    assert_eq!(read(old.as_bytes())[0].write.as_ref().unwrap().iops, 20.0 / 1.001);
    // A figure that does not fit is not replaced.
    let other = SLOW.replace("IOPS=19", "IOPS=29");
    assert_eq!(read(other.as_bytes())[0].write.as_ref().unwrap().iops, 29.0);
}

#[test]
fn flushes_have_a_rate_in_text_and_json() {
    let json = r#"{"fio version": "fio-3.33", "jobs": [{"jobname": "a",
        "write": {"io_bytes": 20971520, "total_ios": 20, "iops": 19.98, "runtime": 1001},
        "sync": {"total_ios": 20, "lat_ns": {"min": 100, "max": 400, "mean": 241.0, "stddev": 1.0}}}]}"#;
    for text in [SLOW, json] {
        let sync = read(text.as_bytes())[0].to_step().sync.unwrap();
        assert_eq!((sync.ios, sync.iops.mean), (20, 20.0 / 1.001), "{text}");
    }
}

/// Classic tables in each form.
const TABLES: [(&str, &str); 5] = [
    ("2.0.7", "expected-v.txt"),
    ("2.0.7", "expected-p.txt"),
    ("2.0.7", "expected-R.txt"),
    ("classic", "systems.csv"),
    ("classic", "printed-tables.txt"),
];

/// Generates an output of fio or a classic table with some bytes changed, cut or repeated.
fn spoiled() -> impl Strategy<Value = Vec<u8>> {
    let outputs: Vec<_> = ["2.0.7", "3.33"]
        .iter()
        .flat_map(|folder| outputs(folder))
        .map(|(_, text)| text)
        .chain(TABLES.map(|(folder, name)| file(folder, name)))
        .map(|text| text[..text.len().min(12_000)].to_vec())
        .collect();
    let change =
        (any::<prop::sample::Index>(), prop::sample::select(b"{}[]\":,=()-9k\n \xff\0".to_vec()));
    (
        prop::sample::select(outputs),
        prop::collection::vec(change, 0..8),
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut text, changes, cut)| {
            for (index, byte) in changes {
                let at = index.index(text.len());
                text[at] = byte;
            }
            let cut = cut.index(text.len());
            [&text[..], &text[..cut]].concat()
        })
}

/// Fails unless a result can be stored and read again.
fn kept(result: &FioResult) {
    let stored = serde_json::to_string(&result.to_step()).unwrap();
    let read: StepResult = serde_json::from_str(&stored).unwrap();
    assert_eq!(read.fio.unwrap().name, result.name);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn corrupted_output_reads_equally_at_any_chunk_size(text in spoiled(), chunk in 1usize..64) {
        let whole = read_in(&text, 1 << 20);
        prop_assert_eq!(&whole, &read_in(&text, chunk));
        prop_assert!(!whole.0.is_empty() || !whole.1.is_empty());
        whole.0.iter().for_each(kept);
    }

    #[test]
    fn results_do_not_depend_on_read_boundaries(
        text in spoiled(),
        windows in any::<bool>(),
        lengths in prop::collection::vec(1usize..200, 1..20),
    ) {
        let text = if windows {
            text.split_inclusive(|byte| *byte == b'\n')
                .flat_map(|line| match line.strip_suffix(b"\n") {
                    Some(line) => [line, &b"\r\n"[..]].concat(),
                    None => line.to_vec(),
                })
                .collect()
        } else {
            text
        };
        let whole = read_torn(&text, &[text.len()]);
        prop_assert_eq!(&whole, &read_torn(&text, &lengths));
        prop_assert_eq!(&whole, &read_in(&text, 4096));
    }

    #[test]
    fn arbitrary_bytes_are_accepted(text in prop::collection::vec(any::<u8>(), 0..300)) {
        read_in(&text, 64).0.iter().for_each(kept);
    }

    #[test]
    fn arbitrary_sequences_of_fio_lines_are_accepted(
        lines in prop::collection::vec(prop::sample::select(vec![
            "a: (groupid=0, jobs=1): err= 0: pid=1", "a: (g=0): rw=read, bs=4K-4K, ioengine=x",
            "read : io=1MB, bw=9999999999999999999TB/s, iops=1 , runt=99999999999999999999msec",
            "read: IOPS=1k, BW=1MiB/s (1MB/s)(1MiB/1msec)", "|  1.00th=[    1],", "lat (usec): 2=1%",
            "clat percentiles (usec):", "issued rwts: total=18446744073709551615,1,1,1 short=0",
            "Run status group 0 (all jobs):", "READ: io=1MB, aggrb=1KB/s", "{", "{\"jobs\":[", "{}", "]}",
            "\"read\":{\"total_ios\":1e300,\"runtime\":1e300,\"iops\":-1},", "{\"jobname\":\"a\",",
        ]), 0..20),
    ) {
        let text = lines.join("\n");
        read_in(text.as_bytes(), 16).0.iter().for_each(kept);
    }
}

/// Prints the throughput, which no test should depend on. Run it with `--ignored --nocapture`, preferably in a release
/// build.
#[test]
#[ignore = "it measures"]
fn print_reader_throughput() {
    for (folder, name) in
        [("2.0.7", "read_u08_kb1024.out"), ("3.33", "mix.out"), ("3.33", "mix.json")]
    {
        let one = file(folder, name);
        let many = one.repeat((64 << 20) / one.len());
        let begin = std::time::Instant::now();
        let mut results = 0u64;
        read_results("f", &many[..], &mut |found| {
            results += u64::from(matches!(found, Reading::Result(_)));
        })
        .unwrap();
        let speed = many.len() as f64 / 1e6 / begin.elapsed().as_secs_f64();
        eprintln!("{folder} {name}: {results} results at {speed:.0} MB/s");
        assert!(results > 0);
    }
}
