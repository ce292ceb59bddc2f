//! Output of fio 3.33 in which a run is reported several times or in several formats, or with figures that only
//! some formats have.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use iogauge_fio::{Reading, read_results};
use iogauge_model::result::{FioResult, FioSamples};
use std::fs;
use std::path::Path;

/// Results, problems, and the number of interim reports.
fn read(text: &[u8]) -> (Vec<FioResult>, Vec<String>, u64) {
    let (mut results, mut problems, mut interim) = (Vec::new(), Vec::new(), 0);
    read_results("f", text, &mut |found| match found {
        Reading::Result(result) => results.push(*result),
        Reading::Problem(problem) => problems.push(problem.to_string()),
        Reading::Interim(reports) => interim = reports,
        Reading::System(system) => panic!("{system:?}"),
    })
    .unwrap();
    (results, problems, interim)
}

fn data(name: &str) -> Vec<u8> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fio/3.33");
    fs::read(data.join(name)).unwrap()
}

fn results(name: &str) -> Vec<FioResult> {
    let (results, problems, interim) = read(&data(name));
    assert_eq!((problems, interim), (Vec::new(), 0), "{name}");
    results
}

fn runtimes_ms(results: &[FioResult]) -> Vec<u64> {
    let runtime = |result: &FioResult| {
        let all = result.directions().map(|(_, direction)| direction.runtime_ns / 1_000_000);
        all.max().unwrap()
    };
    results.iter().map(runtime).collect()
}

#[test]
fn users_of_groups_and_clones_are_counted() {
    // fio does not write --group_reporting of the command line into its JSON.
    let line = results("groups/line.json");
    assert_eq!(line.iter().map(|result| result.users).collect::<Vec<_>>(), [Some(4)]);
    // Groups of 4, of 2, two clones with a result each, and a group of 2 and 3.
    let file = results("groups/file.json");
    let users: Vec<_> = file.iter().map(|result| (result.name.as_str(), result.users)).collect();
    let expected = [("a", 4), ("b", 2), ("c", 1), ("c", 1), ("d", 5)];
    assert_eq!(users, expected.map(|(name, users)| (name, Some(users))));
}

#[test]
fn clones_of_a_document_that_was_cut_off_are_not_taken_for_a_group() {
    let text = data("groups/file.json");
    let names = b"\"jobname\" : \"c\"";
    let mut begins = (0..text.len()).filter(|at| text[*at..].starts_with(names));
    let second = begins.nth(1).unwrap();
    let (results, problems, _) = read(&text[..second]);
    assert_eq!(problems.len(), 1);
    let users: Vec<_> = results.iter().map(|result| result.users).collect();
    assert_eq!(users, [Some(4), Some(2), None]);
}

#[test]
fn only_the_last_report_of_a_run_counts() {
    for (name, reports, runtimes) in [
        ("status/clones.json", 3, vec![3004, 3001]),
        ("status/clones.out", 3, vec![]),
        ("status/both.out", 3, vec![3001, 3001]),
        ("status/ramp.json", 5, vec![2001]),
        ("status/stonewall.json", 4, vec![2001, 2000, 2008]),
        ("status/stonewall.out", 4, vec![]),
    ] {
        let (results, problems, interim) = read(&data(name));
        assert_eq!((problems, interim), (Vec::new(), reports), "{name}");
        if !runtimes.is_empty() {
            assert_eq!(runtimes_ms(&results), runtimes, "{name}");
        }
        let jobs = if name.contains("clones") || name.contains("both") { 2 } else { results.len() };
        assert_eq!(results.len(), jobs, "{name}");
        assert!(results.iter().all(|result| runtimes_ms(std::slice::from_ref(result))[0] >= 1999));
    }
}

#[test]
fn interim_reports_in_two_formats_count_once() {
    let both = data("status/both.out");
    let plain = data("mix.out");
    let (results, _, interim) = read(&[&both[..], &plain].concat());
    assert_eq!((results.len(), interim), (5, 3));
}

#[test]
fn report_that_was_cut_off_does_not_replace_a_complete_one() {
    let text = data("status/clones.out");
    let lines = String::from_utf8(text).unwrap();
    let third = lines.match_indices("Run status group").nth(2).unwrap().0;
    let (results, _, interim) = read(&lines.as_bytes()[..third - 3000]);
    assert_eq!((results.len(), interim), (2, 2));
    assert!(runtimes_ms(&results).iter().all(|ms| (1500..2500).contains(ms)), "{results:?}");

    let text = data("status/clones.json");
    let documents: Vec<_> = (0..text.len()).filter(|at| text[*at..].starts_with(b"\n{")).collect();
    let second_job = text[documents[2]..].windows(11).rposition(|w| w == b"\"jobname\" :").unwrap();
    let (results, problems, interim) = read(&text[..documents[2] + second_job]);
    assert_eq!((results.len(), problems.len(), interim), (2, 1, 3), "{problems:?}");
    assert_eq!(runtimes_ms(&results), [2823, 2823]);
}

#[test]
fn runs_one_after_the_other_are_kept() {
    let (line, file) = (data("groups/line.json"), data("groups/file.json"));
    let again = String::from_utf8(line.clone()).unwrap().replace("1795", "1796");
    let all = [&line[..], again.as_bytes(), &file, &line].concat();
    let (results, _, interim) = read(&all);
    assert_eq!((results.len(), interim), (8, 0));
}

/// Two hosts run the same job at the same time: their reports overlap and are of different runs.
#[test]
fn simultaneous_runs_of_several_hosts_are_kept() {
    let steady = String::from_utf8(data("groups/steady.json")).unwrap();
    let stamp = steady.lines().find(|line| line.contains("timestamp_ms")).unwrap();
    let number: u64 =
        stamp.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap();
    let later = steady.replace(&number.to_string(), &(number + 40).to_string());
    let other = later.replace("\"total_ios\" : 726273", "\"total_ios\" : 726100");
    assert_ne!(later, other);
    let (results, _, interim) = read(format!("{steady}{other}").as_bytes());
    assert_eq!((results.len(), interim), (2, 0));
    let other = later.replace("\"name\" : \"vda\"", "\"name\" : \"sda\"");
    let (results, _, interim) = read(format!("{steady}{other}").as_bytes());
    assert_eq!((results.len(), interim), (2, 0));
}

#[test]
fn every_version_of_terse_output_is_read() {
    for version in [2, 3, 4, 5] {
        let found = results(&format!("terse/{version}.out"));
        assert_eq!(found.len(), 2, "{version}");
        let result = &found[0];
        let name = (result.name.as_str(), result.fio_version.as_str());
        assert_eq!(name, ("x", if version == 2 { "" } else { "3.33" }));
        assert_eq!((result.line, result.users, result.trim.is_none()), (1, None, true));
        let (read, write) = (result.read.as_ref().unwrap(), result.write.as_ref().unwrap());
        assert!(read.runtime_ns >= 1_000_000_000, "{read:?}");
        assert_eq!((read.bytes / 4096).abs_diff(read.ios) / 20, 0, "{read:?}");
        assert_eq!(read.clat.as_ref().unwrap().percentiles.len(), 17);
        assert!(write.lat.as_ref().unwrap().mean_ns > write.clat.as_ref().unwrap().mean_ns);
        assert_eq!(read.sampled_iops.is_some(), version == 5);
        assert_eq!(result.disks.len(), usize::from(version != 2));
        assert!(read.sampled_bytes_per_sec.unwrap().max > 1e7);
        let shares: f64 = result.shares.iter().map(|share| share.percent).sum();
        assert!((shares - 100.0).abs() < 0.2, "{shares}");
    }
    // Text without devices may end before terse output.
    let text = String::from_utf8(data("mix.out")).unwrap();
    let end = text.find("Disk stats").unwrap_or(text.len());
    let (both, _, _) = read(&[&text.as_bytes()[..end], &data("terse/3.out")].concat());
    assert_eq!(both.len(), 5);
    let described = results("terse/description.out");
    assert_eq!((described.len(), described[0].failed_ios), (1, 0));
    assert_eq!(described[0].disks[0].reads, 10_264);
}

#[test]
fn run_in_three_formats_has_one_result() {
    let found = results("terse/three-formats.out");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].read.as_ref().unwrap().ios, 16);
    let text = String::from_utf8(data("terse/three-formats.out")).unwrap();
    let (begin, end) = (text.find("\n{").unwrap(), text.find("\n}").unwrap());
    let (without_json, _, _) = read([&text[..begin], &text[end + 3..]].concat().as_bytes());
    assert_eq!(without_json.len(), 1);
    assert_eq!(without_json[0].users, Some(1), "the text has more than the terse output");
}

#[test]
fn sampled_rates_are_read() {
    let [result] = &results("groups/steady.json")[..] else { panic!() };
    let reads = result.read.as_ref().unwrap();
    let iops = FioSamples {
        min: 127_385.0,
        max: 171_799.0,
        mean: 146_403.666_667,
        stddev: 14_522.740_108,
        n: Some(9),
    };
    assert_eq!(reads.sampled_iops, Some(iops));
    assert_eq!(reads.sampled_bytes_per_sec.unwrap().min, 509_540.0 * 1024.0);
    let [result] = &results("groups/steady.out")[..] else { panic!() };
    let reads = result.read.as_ref().unwrap();
    assert_eq!(reads.sampled_iops.unwrap().mean, 249_857.6);
    let bandwidth = reads.sampled_bytes_per_sec.unwrap();
    assert_eq!((bandwidth.max, bandwidth.n), (1_052_064.0 * 1024.0, Some(10)));
    // Text of fio 2.0.7: bw (KB/s)  : min=    0, max=139008, …
    let old = data("../2.0.7/read_u01_kb0008.out");
    let (old, _, _) = read(&old);
    let samples = old[0].read.as_ref().unwrap().sampled_bytes_per_sec;
    assert!(samples.is_none_or(|samples| samples.n.is_none() && samples.max > 1e8), "{samples:?}");
}

#[test]
fn steady_state_and_devices_are_read() {
    let [json] = &results("groups/steady.json")[..] else { panic!() };
    let state = json.steady_state.as_ref().unwrap();
    assert_eq!((state.of.as_str(), state.bound.as_str()), ("iops", "20%"));
    assert_eq!((state.attained, state.at_end.as_str()), (true, "10.313499%"));
    assert_eq!(state.window_seconds, Some(3.0));
    let [vda] = &json.disks[..] else { panic!() };
    assert_eq!((vda.device.as_str(), vda.reads, vda.writes_merged), ("vda", 10_812, 6));
    assert_eq!((vda.queue_time_ns, vda.busy_percent), (2_276_000_000, 28.850_551));

    let [text] = &results("groups/steady.out")[..] else { panic!() };
    let state = text.steady_state.as_ref().unwrap();
    assert_eq!((state.of.as_str(), state.bound.as_str()), ("bw_slope", ""));
    assert_eq!((state.attained, state.at_end.as_str()), (true, "-0.744%"));
    assert_eq!(text.disks[0].reads, 10_185);
    // The devices are those of the whole run.
    let file = results("groups/file.json");
    let with_disks: Vec<_> = file.iter().map(|result| result.disks.len()).collect();
    assert_eq!(with_disks, [0, 0, 0, 0, 1]);
}

#[test]
fn result_without_its_workload_is_reported() {
    let text = String::from_utf8(data("mix.out")).unwrap();
    let headless: String =
        text.lines().filter(|line| !line.contains(": (g=")).collect::<Vec<_>>().join("\n");
    let (results, problems, _) = read(headless.as_bytes());
    assert_eq!(results.len(), 3);
    assert!(results.iter().all(|result| result.rw.is_empty()));
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("its workload is unknown"), "{problems:?}");
}

#[test]
fn figures_without_the_name_of_their_job_are_reported_and_left_out() {
    let text = String::from_utf8(data("mix.out")).unwrap();
    let first = text.lines().position(|line| line.contains("(groupid=0")).unwrap();
    let second = text.lines().position(|line| line.contains("(groupid=1")).unwrap();
    for (missing, left) in [(first, vec!["write", "randrw"]), (second, vec!["randread", "randrw"])]
    {
        let lines = text.lines().enumerate().filter(|(index, _)| *index != missing);
        let headless = lines.map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        let (results, problems, _) = read(headless.as_bytes());
        let rw: Vec<_> = results.iter().map(|result| result.rw.as_str()).collect();
        assert_eq!(rw, left);
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("figures without the line that names"), "{problems:?}");
        assert!(problems[0].starts_with(&format!("f:{}:", missing + 1)), "{problems:?}");
    }
}
