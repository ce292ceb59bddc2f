//! Compares the JSON in fio's form with what fio 3.33 itself wrote for an equal job.
#![allow(clippy::unwrap_used)]

use iogauge_fio::json_out::{Detail, JsonOutError, fio_document};
use iogauge_model::load::{BlockSizes, Load, Pattern, Verify, VerifyAlgorithm};
use iogauge_model::plan::Job;
use iogauge_model::result::{
    CpuUse, DeviceCounters, DirectionResult, Environment, Estimate, Head, IntervalPoint, JobResult,
    LatencySummary, PartFacts, Physical, RUN_FORMAT, RealTarget, RunDocument, StepResult,
    TargetFacts, VerifyEnd, VerifyJobResult, VerifyResult, WorkerResult, Workload,
};
use iogauge_model::{Caveat, CaveatCode, Histogram};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Output of `fio --output-format=json+` for `fio-3.33-randrw.fio`, with all but a few bins removed.
const FIO: &str = include_str!("data/fio-3.33-randrw.json");

fn direction(ios: u64, latency_ns: u64) -> DirectionResult {
    let mut histogram = Histogram::new();
    histogram.record_n(latency_ns, ios / 2);
    histogram.record_n(latency_ns * 3, ios - ios / 2);
    DirectionResult {
        ios,
        bytes: ios * 4096,
        errors: 0,
        short: 0,
        iops: Estimate::exact(ios as f64 / 2.0),
        bytes_per_sec: ios as f64 * 2048.0,
        service_ns: LatencySummary::of(&histogram, [0.0; 2]),
        response_ns: None,
        service_histogram: histogram,
        response_histogram: None,
    }
}

fn worker(job: u32, worker: u32) -> WorkerResult {
    WorkerResult {
        job,
        worker,
        ios: 1000,
        bytes: 4_096_000,
        errors: 0,
        queue_depth_achieved: 3.9,
        iops: 500.0,
    }
}

/// Returns a step of two seconds of reads and writes by two workers.
fn step() -> StepResult {
    let point = IntervalPoint {
        seconds: 0.5,
        reads: 250,
        writes: 250,
        read_bytes: 1_024_000,
        write_bytes: 1_024_000,
        ..IntervalPoint::default()
    };
    let device = DeviceCounters {
        device: "nvme0n1".to_owned(),
        reads: 1000,
        writes: 1000,
        busy_ns: 1_000_000_000,
        reads_merged: 7,
        read_time_ns: 3_000_000,
        queue_time_ns: 9_000_000,
        ..DeviceCounters::default()
    };
    StepResult {
        label: "randrw".to_owned(),
        queue_depth: 8,
        queue_depth_achieved: 7.8,
        rate_iops: None,
        seconds: 2.0,
        began: None,
        read: Some(direction(1000, 100_000)),
        write: Some(direction(1000, 200_000)),
        sync: Some(direction(60, 900_000)),
        jobs: Vec::new(),
        hosts: Vec::new(),
        workers: vec![worker(0, 0), worker(0, 1)],
        physical: Some(Physical { devices: vec![device], ..Physical::default() }),
        cpu: CpuUse { user_percent: 10.0, system_percent: 30.0, ..CpuUse::default() },
        series: vec![point; 4],
        limits: Vec::new(),
        shifts: Vec::new(),
        system: Vec::new(),
        verify: None,
        database: None,
        fio: None,
        steady_state: None,
        trace: None,
    }
}

fn load() -> Load {
    Load {
        rw: Pattern::RandRw,
        read_percent: 70,
        iodepth: 4,
        numjobs: 2,
        fsync_every: 16,
        lat_percentiles: true,
        ..Load::default()
    }
}

/// Returns a workload as in documents.
fn workload(json: Value) -> Workload {
    serde_json::from_value(json).unwrap()
}

fn run(load: Workload, steps: Vec<StepResult>) -> RunDocument {
    RunDocument {
        head: Head {
            format: RUN_FORMAT.to_owned(),
            version: "0.1.0".to_owned(),
            run_id: "20261121-101530-k87w".to_owned(),
            started: "2026-11-21T10:15:30Z".to_owned(),
            target: TargetFacts::Real(RealTarget {
                name: "/data".to_owned(),
                parts: vec![PartFacts {
                    path: "/data/iogauge.dat".to_owned(),
                    ..PartFacts::default()
                }],
                ..RealTarget::default()
            }),
            load,
            via: None,
            host_parts: Vec::new(),
            label: None,
        },
        steps,
        interrupted: false,
        caveats: vec![Caveat::of(CaveatCode::Simulated, "none of it is true")],
        environment: Environment::default(),
    }
}

fn written(run: &RunDocument, detail: Detail) -> Value {
    // Goes through text, as for a reader of the output.
    let text = serde_json::to_string_pretty(&fio_document(run, detail).unwrap()).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Collects every key with its type. In maps whose keys are data, all keys count as one.
fn shape(value: &Value, path: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let before = found.insert(path.to_owned(), kind);
    assert!(before.is_none_or(|before| before == kind), "{path} is {before:?} and {kind}");
    match value {
        Value::Array(values) => values.iter().for_each(|v| shape(v, &format!("{path}[]"), found)),
        Value::Object(fields) => {
            for (key, value) in fields {
                let data =
                    ["bins", "job options", "global options"].iter().any(|m| path.ends_with(m));
                let key = if data { "*" } else { key };
                shape(value, &format!("{path}/{key}"), found);
            }
        }
        _ => {}
    }
}

fn shape_of(value: &Value) -> BTreeMap<String, &'static str> {
    let mut found = BTreeMap::new();
    shape(value, "", &mut found);
    found
}

/// Members that fio has since 3.42; the sample is of 3.33.
const NEWER: [&str; 5] =
    ["job_start", "latency_target_ns", "latency_window_us", "read_sectors", "write_sectors"];

#[test]
fn json_keys_and_types_match_fio() {
    let fio: Value = serde_json::from_str(FIO).unwrap();
    let mut ours = written(&run(load().into(), vec![step()]), Detail::Bins);
    let origin = ours.as_object_mut().unwrap().remove("iogauge").unwrap();
    assert_eq!(origin["run_id"], "20261121-101530-k87w");
    assert_eq!(origin["caveats"][0]["code"], "simulated");
    let mut shape = shape_of(&ours);
    shape.retain(|path, _| !NEWER.iter().any(|name| path.ends_with(&format!("/{name}"))));
    assert_eq!(shape, shape_of(&fio));
    for path in ["/jobs[]/latency_target_ns", "/disk_util[]/read_sectors"] {
        assert_eq!(shape_of(&ours).get(path), Some(&"integer"), "{path}");
    }
}

#[test]
fn json_key_order_matches_fio() {
    let run = run(load().into(), vec![step()]);
    let ours = serde_json::to_string_pretty(&fio_document(&run, Detail::Bins).unwrap()).unwrap();
    let keys = |text: &str| {
        let names = text.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once('"'));
        let names = names.filter(|(_, rest)| rest.trim_start().starts_with(':'));
        // Ignores the options of a job and the values that occur, which differ.
        let known = |name: &str| {
            !name.starts_with(|c: char| c.is_ascii_digit()) && name != ">=64" && name != ">=2000"
        };
        let mut inside_options = false;
        let mut keys = Vec::new();
        for (name, _) in names {
            match name {
                "global options" | "job options" => inside_options = true,
                "jobs" | "read" => inside_options = false,
                "iogauge" => break,
                _ if inside_options => continue,
                _ => {}
            }
            if known(name) {
                keys.push(name.to_owned());
            }
        }
        keys
    };
    let mut ours = keys(&ours);
    ours.retain(|key| !NEWER.contains(&key.as_str()));
    assert_eq!(ours, keys(FIO));
}

#[test]
fn failed_verification_has_the_error_of_fio() {
    let verify = VerifyResult {
        algorithm: "crc32c".to_owned(),
        units: 1000,
        bytes: 4_096_000,
        unjudged: 0,
        unwritten: 0,
        jobs: Vec::new(),
        corrupted: 3,
        seconds: 0.5,
        read: None,
        end: VerifyEnd::Complete,
        findings: Vec::new(),
    };
    let entry = |load: Load| {
        let step = StepResult { verify: Some(verify.clone()), ..step() };
        written(&run(load.into(), vec![step]), Detail::Bins)["jobs"][0].clone()
    };
    // EILSEQ, as fio 3.33 reports it.
    let checked = entry(Load { verify: Some(Verify::with(VerifyAlgorithm::Crc32c)), ..load() });
    assert_eq!((&checked["error"], &checked["total_err"]), (&json!(84), &json!(3)));
    assert_eq!(entry(load())["error"], 0);
}

/// As in fio 3.33: `rw=write verify=crc32c` reports as many reads as writes.
#[test]
fn reads_of_verification_are_counted_as_reads() {
    let read_back = direction(500, 100_000);
    let verify = VerifyResult {
        algorithm: "crc32c".to_owned(),
        units: 1000,
        bytes: 4_096_000,
        unjudged: 0,
        unwritten: 0,
        jobs: Vec::new(),
        corrupted: 0,
        seconds: 0.5,
        read: Some(Box::new(read_back)),
        end: VerifyEnd::Complete,
        findings: Vec::new(),
    };
    let load = Load { verify: Some(Verify::with(VerifyAlgorithm::Crc32c)), ..load() };
    let entry = |step: StepResult| {
        written(&run(load.clone().into(), vec![step]), Detail::Bins)["jobs"][0].clone()
    };
    let only_writes = StepResult { read: None, verify: Some(verify.clone()), ..step() };
    let read = &entry(only_writes)["read"];
    assert_eq!((&read["total_ios"], &read["io_bytes"]), (&json!(500), &json!(2_048_000)));
    assert_eq!((&read["runtime"], &read["lat_ns"]["N"]), (&json!(500), &json!(500)));
    let mixed = entry(StepResult { verify: Some(verify), ..step() });
    let before = &entry(step())["read"];
    let sum = before["total_ios"].as_u64().unwrap() + 500;
    assert_eq!(mixed["read"]["total_ios"], sum);
    assert_eq!(mixed["read"]["runtime"], 2500);
    assert_eq!(mixed["read"]["iops"], sum as f64 / 2.5);
}

/// As in fio 3.33: each job has its own error and its own reads of the verification.
#[test]
fn verification_of_several_jobs_is_counted_for_each() {
    let own = |corrupted, ios| VerifyJobResult {
        corrupted,
        read: Some(Box::new(direction(ios, 100_000))),
    };
    let verify = VerifyResult {
        algorithm: "crc32c".to_owned(),
        units: 900,
        bytes: 3_686_400,
        unjudged: 0,
        unwritten: 0,
        corrupted: 3,
        seconds: 0.5,
        read: Some(Box::new(direction(900, 100_000))),
        end: VerifyEnd::Complete,
        findings: Vec::new(),
        jobs: vec![own(3, 300), own(0, 600)],
    };
    let load = Load { verify: Some(Verify::with(VerifyAlgorithm::Crc32c)), ..load() };
    let job = |name: &str| JobResult {
        name: name.to_owned(),
        seconds: Some(2.0),
        queue_depth: 1,
        queue_depth_achieved: 1.0,
        read: None,
        write: Some(direction(300, 100_000)),
        sync: None,
        series: Vec::new(),
    };
    let result = StepResult { jobs: vec![job("a"), job("b")], verify: Some(verify), ..step() };
    let jobs = ["a", "b"].map(|name| Job { name: name.to_owned(), load: load.clone() });
    let document = run(Workload::Jobs { jobs: jobs.to_vec() }, vec![result]);
    let entries = &written(&document, Detail::Percentiles)["jobs"];
    for (entry, error, total_err, ios) in
        [(&entries[0], 84, json!(3), 300), (&entries[1], 0, json!(null), 600)]
    {
        assert_eq!((&entry["error"], &entry["total_err"]), (&json!(error), &total_err));
        assert_eq!(entry["read"]["total_ios"], ios);
    }
}

#[test]
fn json_values_are_in_the_same_fields_as_fio() {
    let document = written(&run(load().into(), vec![step()]), Detail::Bins);
    assert_eq!(document["fio version"], "fio-3.33-iogauge-0.1.0");
    assert_eq!(document["timestamp"], 1_795_256_130);
    assert_eq!(document["timestamp_ms"], 1_795_256_130_000_u64);
    assert_eq!(document["time"], "Sat Nov 21 10:15:30 2026");
    let job = &document["jobs"][0];
    assert_eq!(job["jobname"], "randrw");
    assert_eq!(job["job options"]["filename"], "/data/iogauge.dat");
    assert_eq!(job["job options"]["runtime"], "2");
    let read = &job["read"];
    for (key, value) in [
        ("io_bytes", json!(4_096_000)),
        ("io_kbytes", json!(4000)),
        ("bw_bytes", json!(2_048_000)),
        ("bw", json!(2000)),
        ("iops", json!(500.0)),
        ("runtime", json!(2000)),
        ("total_ios", json!(1000)),
        ("bw_min", json!(2000)),
        ("bw_agg", json!(100.0)),
        ("iops_mean", json!(500.0)),
        ("iops_samples", json!(4)),
    ] {
        assert_eq!(read[key], value, "{key}");
    }
    assert_eq!(read["slat_ns"]["N"], 0);
    assert_eq!(read["clat_ns"], read["lat_ns"]);
    // 100 µs and 300 µs, each as the middle of its bucket.
    assert_eq!(read["lat_ns"]["bins"], json!({"99840": 500, "301056": 500}));
    assert_eq!(read["lat_ns"]["mean"], 200_000.0);
    assert_eq!(job["sync"]["total_ios"], 60);
    assert_eq!(job["trim"]["total_ios"], 0);
    assert_eq!(job["latency_us"]["250"], 50.0);
    assert_eq!(job["latency_us"]["500"], 25.0);
    assert_eq!(job["latency_us"]["750"], 25.0);
    assert_eq!(job["iodepth_level"]["4"], 100.0);
    assert_eq!((&job["usr_cpu"], &job["sys_cpu"]), (&json!(5.0), &json!(15.0)));
    assert_eq!(job["job_runtime"], 4000);
    let disk = &document["disk_util"][0];
    assert_eq!((&disk["util"], &disk["read_merges"]), (&json!(50.0), &json!(7)));
    assert_eq!((&disk["read_ticks"], &disk["in_queue"]), (&json!(3), &json!(9)));
}

#[test]
fn errors_and_response_times_are_written_to_json() {
    let mut failed = step();
    let response = direction(1000, 5_000_000);
    if let Some(read) = &mut failed.read {
        read.errors = 3;
        read.response_histogram = Some(response.service_histogram);
    }
    let run = run(load().into(), vec![failed]);
    let job = &written(&run, Detail::Percentiles)["jobs"][0];
    assert_eq!((&job["error"], &job["total_err"]), (&json!(5), &json!(3)));
    assert_eq!(job["read"]["response_ns"]["min"], 5_000_000);
    assert_eq!(job["read"]["lat_ns"]["min"], 100_000);
    assert!(job["write"].get("response_ns").is_none());
}

fn of_jobs(loads: &[Load]) -> (Vec<Job>, StepResult) {
    let jobs: Vec<Job> =
        loads.iter().map(|load| Job { name: load.label(), load: load.clone() }).collect();
    let result = |number: usize| JobResult {
        name: jobs[number].name.clone(),
        seconds: None,
        queue_depth: 1,
        queue_depth_achieved: 1.0,
        read: (number == 0).then(|| direction(600, 50_000)),
        write: (number > 0).then(|| direction(400, 50_000)),
        sync: None,
        series: step().series,
    };
    let mut results: Vec<JobResult> = (0..jobs.len()).map(result).collect();
    // The first job had its own runtime, the others that of the step.
    results[0].seconds = Some(2.5);
    let workers = (0..jobs.len() as u32).map(|job| worker(job, job)).collect();
    (jobs, StepResult { jobs: results, workers, ..step() })
}

#[test]
fn each_job_has_an_entry_and_each_step_a_group() {
    let (read, write) = (
        Load::default(),
        Load { rw: Pattern::Write, block: BlockSizes::fixed(1 << 20), ..Load::default() },
    );
    let (jobs, two) = of_jobs(&[read.clone(), write.clone()]);
    let label = "both".to_owned();
    let one = Job { name: "one".to_owned(), load: load() };
    let plan = json!({"label": label, "steps": [
        {"label": label, "jobs": jobs, "ramp_ns": 0, "runtime_ns": 2_000_000_000_u64},
        {"label": label, "jobs": [one], "ramp_ns": 0, "runtime_ns": 2_000_000_000_u64},
    ]});
    let document = written(&run(workload(plan), vec![two.clone(), step()]), Detail::Percentiles);
    let entries = document["jobs"].as_array().unwrap();
    let groups: Vec<_> = entries.iter().map(|e| e["groupid"].as_u64().unwrap()).collect();
    assert_eq!(groups, [0, 0, 1]);
    assert_eq!(entries[0]["read"]["total_ios"], 600);
    let runtimes = [&entries[0]["read"], &entries[1]["write"]].map(|d| d["runtime"].as_u64());
    assert_eq!(runtimes, [Some(2500), Some(2000)]);
    assert_eq!(entries[1]["write"]["total_ios"], 400);
    assert_eq!(entries[1]["job options"]["bs"], "1m");
    assert_eq!(entries[2]["jobname"], "one");
    assert_eq!(entries[2]["elapsed"], 4);
    // Both steps used the device for half of the time.
    assert_eq!(document["disk_util"].as_array().unwrap().len(), 1);
    assert_eq!(document["disk_util"][0]["read_ios"], 2000);
    assert_eq!(document["disk_util"][0]["util"], 50.0);
}

#[test]
fn percentiles_and_bins_are_in_the_latencies_that_have_them() {
    let entry =
        |load: Load| written(&run(load.into(), vec![step()]), Detail::Bins)["jobs"][0].clone();
    for (clat_percentiles, lat_percentiles) in [(true, false), (false, true), (false, false)] {
        let job = entry(Load { clat_percentiles, lat_percentiles, ..load() });
        let read = &job["read"];
        for (latency, has_them) in [("clat_ns", clat_percentiles), ("lat_ns", lat_percentiles)] {
            assert_eq!(read[latency]["percentile"].is_object(), has_them, "{latency}");
            assert_eq!(read[latency]["bins"].is_object(), has_them, "{latency}");
            assert_eq!(read[latency]["N"], 1000);
        }
        assert!(job["sync"]["lat_ns"]["percentile"].is_object());
    }
    let options = |load| entry(load)["job options"].clone();
    assert_eq!(options(load())["lat_percentiles"], "1");
    assert_eq!(options(Load { clat_percentiles: false, ..load() })["clat_percentiles"], "0");
}

#[test]
fn runs_without_loads_or_start_time_are_rejected() {
    let (jobs, two) = of_jobs(&[load(), load()]);
    for (load, steps) in [
        (json!({}), vec![step()]),
        (json!({"jobs": [jobs[0]]}), vec![two.clone()]),
        (json!({"jobs": jobs}), vec![two.clone(), step()]),
        (json!({"steps": 1}), vec![step()]),
    ] {
        assert_eq!(
            fio_document(&run(workload(load), steps), Detail::Bins).unwrap_err(),
            JsonOutError::NoLoads
        );
    }
    let mut run = run(load().into(), vec![step()]);
    run.head.started = "yesterday".to_owned();
    let error = fio_document(&run, Detail::Bins).unwrap_err();
    assert!(error.to_string().contains("yesterday"), "{error}");
}
