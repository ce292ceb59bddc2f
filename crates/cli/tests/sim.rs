//! Measurements of simulated devices, whose true figures are known, through the binary.
#![allow(clippy::unwrap_used)]

mod common;

use common::answer::{assert_none_is_more, assert_one_answer};
use common::{EIGHT, Place, near};
use iogauge_model::result::FindDocument;
use iogauge_test_support::mmc::Queue;
use serde_json::{Value, json};

/// Asserts that every leaf of `shape` is in `value` and has the type that its text names.
#[track_caller]
fn has_shape(value: &Value, shape: &Value, at: &str) {
    match shape {
        Value::Object(fields) => {
            assert!(value.is_object(), "{at} is {value}");
            for (name, shape) in fields {
                let at = format!("{at}.{name}");
                let field = value.get(name).unwrap_or_else(|| panic!("{at} is missing"));
                has_shape(field, shape, &at);
            }
        }
        Value::Array(shapes) => {
            let values = value.as_array().unwrap_or_else(|| panic!("{at} is {value}"));
            assert!(!values.is_empty(), "{at} is empty");
            for value in values {
                has_shape(value, &shapes[0], &format!("{at}[]"));
            }
        }
        Value::String(kind) => {
            let fits = match kind.as_str() {
                "count" => value.is_u64(),
                "number" => value.is_number(),
                "text" => value.is_string(),
                "flag" => value.is_boolean(),
                "object" => value.is_object(),
                "null" => value.is_null(),
                other => panic!("no kind {other}"),
            };
            assert!(fits, "{at} is {value}, no {kind}");
        }
        other => panic!("no shape {other}"),
    }
}

fn estimate() -> Value {
    json!({"mean": "number", "ci95": ["number"], "n": "count"})
}

fn latency() -> Value {
    json!({
        "mean": "number", "mean_ci95": ["number"], "min": "count", "p50": "count", "p95": "count",
        "p99": "count", "p999": "count", "p9999": "count", "max": "count",
    })
}

fn head() -> Value {
    json!({
        "format": "text", "version": "text", "run_id": "text", "started": "text",
        "target": "object", "load": "object", "environment": "object",
        "caveats": [{"code": "text", "message": "text", "remedy": "text"}],
    })
}

#[test]
fn find_matches_the_known_capacity_and_prints_only_json() {
    let place = Place::new();
    let done = place.run(&["find", EIGHT, "--limit", "mean<=10ms", "--json"]).ends(0);
    let document = done.json();
    assert!(done.stdout.trim_start().starts_with("{\n  \"format\": \"iogauge.find/1\""));
    assert!(done.stderr.contains("sustains 8"), "{}", done.stderr);

    has_shape(&document, &head(), "document");
    let shape = json!({
        "limits": [{"metric": "text", "bound_ns": "count"}],
        "answer": {
            "met": "flag", "iops": estimate(), "bytes_per_sec": "number", "depth": "count",
            "depth_achieved": "number", "latency_ns": latency(), "stopped_by": "text",
        },
        "knee": {"depth": "count", "iops": "number", "share": estimate()},
        "curve": [{
            "depth": "count", "iops": estimate(), "latency_ns": latency(),
            "cpu_percent": "number", "steady": "flag",
        }],
        "physical": "null",
        "measured_seconds": "number",
    });
    has_shape(&document, &shape, "document");
    assert_eq!(document["limits"], json!([{"metric": "mean", "bound_ns": 10_000_000}]));

    let answer = &document["answer"];
    near(&answer["depth"], 800.0, 0.03);
    near(&answer["iops"]["mean"], 80_000.0, 0.03);
    near(&answer["latency_ns"]["mean"], 10e6, 0.03);
    assert!(answer["latency_ns"]["mean"].as_f64().unwrap() <= 10e6);
    assert_eq!(answer["stopped_by"], "limit");
    assert_eq!(answer["met"], true);
    near(&document["knee"]["depth"], 8.0, 0.5);
    near(&document["knee"]["iops"], 80_000.0, 0.05);

    let queue_depths: Vec<u64> = document["curve"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["depth"].as_u64().unwrap())
        .collect();
    assert!(queue_depths.is_sorted(), "{queue_depths:?}");
    assert_eq!(document["caveats"][0]["code"], "simulated");
}

#[test]
fn open_loop_search_matches_the_erlang_formula() {
    let place = Place::new();
    let queue = Queue { servers: 8, service: 100e-6 };
    let mean = queue.highest_rate(|rate| queue.mean(rate) <= 300e-6);
    let p99 = queue.highest_rate(|rate| queue.longer_than(rate, 1e-3) <= 0.01);
    for (limit, truth) in [("mean<=300us", mean), ("p99<=1ms", p99)] {
        let device = format!("{EIGHT},dist=exp");
        let typed = ["find", &device, "--open-loop", "--limit", limit, "--json"];
        let done = place.run(&typed).ends(0);
        assert!(done.stderr.contains("I/Os per second offered (Poisson)"), "{}", done.stderr);
        let document = done.json();
        let answer = &document["answer"];
        near(&answer["rate_iops"], truth, 0.03);
        near(&answer["iops"]["mean"], truth, 0.03);
        // No I/O waits before the device: the device's own queue is part of the service time.
        near(&answer["service_ns"]["mean"], answer["latency_ns"]["mean"].as_f64().unwrap(), 0.01);
        assert_eq!((&answer["met"], &answer["stopped_by"]), (&json!(true), &json!("limit")));
        assert_eq!(document["load"]["arrivals"]["process"], "poisson");
        let shape = json!({
            "answer": {
                "iops": estimate(), "bytes_per_sec": "number", "depth": "count",
                "depth_achieved": "number", "latency_ns": latency(), "service_ns": latency(),
            },
            "curve": [{
                "depth": "count", "rate_iops": "number", "offered_iops": "number",
                "backlog_max": "count", "iops": estimate(), "latency_ns": latency(),
                "service_ns": latency(), "met": "flag", "steady": "flag",
            }],
            "measured_seconds": "number",
        });
        has_shape(&document, &head(), "document");
        has_shape(&document, &shape, "document");
        let seconds = document["measured_seconds"].as_f64().unwrap();
        assert!(seconds < 32.0, "{seconds} s");
    }
}

#[test]
fn quiet_silences_stderr() {
    let place = Place::new();
    for command in ["find", "run"] {
        let done = place.run(&[command, EIGHT, "--json", "--quiet"]).ends(0);
        assert_eq!(done.stderr, "");
        done.json();
        let done = place.run(&[command, EIGHT, "-q"]).ends(0);
        assert_eq!(done.stderr, "");
        assert!(done.stdout.contains("IOPS"));
    }
}

/// Returns the document without what differs between runs.
fn timeless(mut document: Value) -> Value {
    for field in ["run_id", "started"] {
        document[field] = Value::Null;
    }
    for step in document["steps"].as_array_mut().into_iter().flatten() {
        step["cpu"] = Value::Null;
    }
    for point in document["curve"].as_array_mut().into_iter().flatten() {
        point["cpu_percent"] = Value::Null;
    }
    document
}

#[test]
fn equal_seeds_give_identical_results() {
    let place = Place::new();
    let sim = "sim:channels=4,service=200us,dist=exp,seed=7";
    for command in ["find", "run"] {
        let line = [command, sim, "--rw=randrw", "--randseed=3", "--json", "-q"];
        let first = timeless(place.run(&line).ends(0).json());
        let second = timeless(place.run(&line).ends(0).json());
        assert_eq!(first.to_string(), second.to_string());
        let other = [command, "sim:channels=4,service=200us,dist=exp,seed=8", "--json", "-q"];
        assert_ne!(first.to_string(), timeless(place.run(&other).ends(0).json()).to_string());
    }
}

fn find(arguments: &[&str], code: i32) -> Value {
    let mut line = vec!["find"];
    line.extend(arguments);
    line.extend(["--json", "-q"]);
    Place::new().run(&line).ends(code).json()
}

#[test]
fn other_limits_and_stop_reasons() {
    // With a constant service time, the latency is QD / 8 channels × 100 µs, and all percentiles are equal.
    let constant = "sim:channels=8,service=100us,dist=const";
    let p99 = find(&[constant, "--limit", "p99<=5ms"], 0);
    near(&p99["answer"]["depth"], 400.0, 0.03);
    assert!(p99["answer"]["latency_ns"]["p99"].as_u64().unwrap() <= 5_000_000);
    assert_eq!(p99["limits"][0]["metric"], "p99");

    let max = find(&[constant, "--limit", "max<=2ms", "--limit", "mean<=10ms"], 0);
    near(&max["answer"]["depth"], 160.0, 0.05);
    assert!(max["answer"]["latency_ns"]["max"].as_u64().unwrap() <= 2_000_000);
    assert_eq!(max["limits"].as_array().unwrap().len(), 2);

    let never = find(&[constant, "--limit", "mean<=50us"], 5);
    assert_eq!(never["answer"]["stopped_by"], "unattainable");
    assert_eq!(never["answer"]["met"], false);

    let bounded = find(&[constant, "--max-depth=6"], 0);
    assert_eq!(bounded["answer"]["depth"], 6);
    assert_eq!(bounded["answer"]["stopped_by"], "max_depth");
}

/// Reads of 100 µs and writes of 400 µs, half each, share 8 channels. The channels are busy from QD 8 on. At any
/// larger QD N, 32,000 IOPS complete, and each I/O waits N / 32,000 s minus the mean service time of 250 µs.
const MIXED: [&str; 2] =
    ["sim:channels=8,service=100us,write_service=400us,dist=const", "--rw=randrw"];

#[test]
fn reads_and_writes_can_have_separate_limits() {
    let found = |limits: &[&str]| {
        let limits = limits.iter().flat_map(|limit| ["--limit", limit]);
        find(&MIXED.into_iter().chain(limits).collect::<Vec<_>>(), 0)
    };
    let both = found(&["read:mean<=1ms", "write:mean<=1ms"]);
    assert_eq!(
        both["limits"],
        json!([
            {"metric": "mean", "bound_ns": 1_000_000, "direction": "read"},
            {"metric": "mean", "bound_ns": 1_000_000, "direction": "write"},
        ])
    );
    let answer = &both["answer"];
    near(&answer["depth"], 27.2, 0.05);
    assert_eq!(answer["stopped_by_limit"], both["limits"][1], "reads have time left");
    let (read, write) = (&answer["limits"][0], &answer["limits"][1]);
    assert_eq!((&read["direction"], &write["direction"]), (&json!("read"), &json!("write")));
    near(&write["value_ns"], 1e6, 0.05);
    near(&read["value_ns"], 0.7e6, 0.08);
    near(&json!(read["n"].as_f64().unwrap() / write["n"].as_f64().unwrap()), 1.0, 0.05);

    // Reads alone may wait 900 µs, both together 750 µs on average.
    near(&found(&["read:mean<=1ms"])["answer"]["depth"], 36.8, 0.05);
    near(&found(&["mean<=1ms"])["answer"]["depth"], 32.0, 0.05);
}

#[test]
fn limiting_bound_is_reported() {
    let limits = ["--limit", "read:p99<=5ms", "--limit", "write:mean<=1ms", "-q"];
    let line = [&["find"], &MIXED[..], &limits[..]].concat();
    let place = Place::new();
    let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = in_one_line(&place.run(&line).ends(0).stdout);
    assert!(text.contains("p99 read latency stays ≤ 5 ms and mean write latency"), "{text}");
    assert!(text.contains("stopped by write:mean <= 1 ms: more load breaks it"), "{text}");
    let kept = in_one_line(&place.run(&["history", "show", "last"]).ends(0).stdout);
    assert!(kept.contains("stopped by write:mean <= 1 ms"), "{kept}");
}

#[test]
fn explain_reports_each_search_decision() {
    let limits = ["--limit", "read:p99<=5ms", "--limit", "write:mean<=1ms", "--explain", "-q"];
    let told = Place::new().run(&[&["find"], &MIXED[..], &limits[..]].concat()).ends(0).stderr;
    assert!(told.starts_with("doubling: queue depth 1 gives 4,"), "{told}");
    for words in [
        " I/Os, <= 5 ms kept, write:mean ",
        "next queue depth 2: doubled, because queue depth 1 is within the limit",
        "meets write:mean <= 1 ms at ",
        "I/Os, <= 1 ms broken (over the limit)",
        "confirming queue depth ",
    ] {
        assert!(told.contains(words), "\"{words}\" is not in: {told}");
    }
}

#[test]
fn guide_sets_limits_and_combines_with_others() {
    let constant = "sim:channels=8,service=100us,dist=const";
    let (mean, max) = (
        json!({"metric": "mean", "bound_ns": 2_000_000}),
        json!({"metric": "max", "bound_ns": 5_000_000}),
    );
    let flash = find(&[constant, "--guide", "flash"], 0);
    assert_eq!(flash["limits"], json!([mean, max]));
    near(&flash["answer"]["depth"], 160.0, 0.03);
    assert_eq!(flash["answer"]["stopped_by_limit"], mean);

    // Of two bounds on one statistic, the tighter one applies, wherever it comes from.
    let tighter = find(&[constant, "--guide", "flash", "--limit", "max<=1ms"], 0);
    let one = json!({"metric": "max", "bound_ns": 1_000_000});
    assert_eq!(tighter["limits"], json!([one, mean]));
    near(&tighter["answer"]["depth"], 80.0, 0.05);
    assert_eq!(tighter["answer"]["stopped_by_limit"], one);
    let wider = find(&[constant, "--guide", "FLASH", "--limit", "mean<=10ms"], 0);
    assert_eq!(wider["limits"], json!([mean, max]));

    let etcd = find(&[constant, "--guide", "etcd", "--rw=write", "--sync=dsync"], 0);
    assert_eq!(
        etcd["limits"],
        json!([{"metric": "p99", "bound_ns": 10_000_000, "direction": "write"}])
    );
    near(&etcd["answer"]["depth"], 800.0, 0.03);
}

/// Returns the only step of a run, checked against its shape and Little's law.
fn step(arguments: &[&str]) -> Value {
    let mut line = vec!["run"];
    line.extend(arguments);
    line.extend(["--json", "-q"]);
    let document = Place::new().run(&line).ends(0).json();
    assert_eq!(document["format"], "iogauge.run/1");
    has_shape(&document, &head(), "document");
    let step = document["steps"][0].clone();
    let shape = json!({
        "label": "text", "depth": "count", "depth_achieved": "number", "seconds": "number",
        "workers": [{"job": "count", "worker": "count", "ios": "count"}], "cpu": "object",
        "physical": "null",
    });
    has_shape(&step, &shape, "step");
    assert!(step["series"].is_array());
    let mut outstanding = 0.0;
    for name in ["read", "write"] {
        let direction = &step[name];
        assert!(step.as_object().unwrap().contains_key(name));
        if direction.is_null() {
            continue;
        }
        let shape = json!({
            "ios": "count", "bytes": "count", "errors": "count", "iops": estimate(),
            "bytes_per_sec": "number", "service_ns": latency(),
        });
        has_shape(direction, &shape, name);
        let number = |pointer| direction.pointer(pointer).and_then(Value::as_f64).unwrap();
        outstanding += number("/iops/mean") * number("/service_ns/mean") / 1e9;
        near(&direction["iops"]["mean"], number("/ios") / step["seconds"].as_f64().unwrap(), 0.01);
    }
    // Little's law, compared with the queue depth measured by integration.
    near(&step["depth_achieved"], outstanding, 0.01);
    step
}

#[test]
fn closed_loop_throughput_matches_the_simulation() {
    let reads = step(&[EIGHT, "--iodepth=4", "--runtime=2"]);
    assert!(reads["write"].is_null());
    near(&reads["read"]["iops"]["mean"], 40_000.0, 0.03);
    near(&reads["depth_achieved"], 4.0, 0.001);
    assert_eq!(reads["read"]["errors"], 0);

    let writes = step(&[EIGHT, "--rw=randwrite", "--numjobs=4", "--iodepth=8", "--runtime=2"]);
    assert!(writes["read"].is_null());
    near(&writes["write"]["iops"]["mean"], 80_000.0, 0.03);
    assert_eq!(writes["depth"], 32);
    assert_eq!(writes["workers"].as_array().unwrap().len(), 4);

    let mixed = step(&[EIGHT, "--rw=randrw", "--rwmixread=70", "--iodepth=8", "--runtime=2"]);
    let share = mixed["read"]["ios"].as_f64().unwrap() / mixed["write"]["ios"].as_f64().unwrap();
    near(&json!(share), 70.0 / 30.0, 0.02);

    let sequential = step(&[EIGHT, "--rw=write", "--bs=1m", "--runtime=500ms"]);
    let (ios, bytes) = (&sequential["write"]["ios"], &sequential["write"]["bytes"]);
    assert_eq!(bytes.as_u64().unwrap(), ios.as_u64().unwrap() << 20);

    let split = step(&[EIGHT, "--bssplit=4k/50:64k/50", "--iodepth=8", "--runtime=2"]);
    let mean = split["read"]["bytes"].as_f64().unwrap() / split["read"]["ios"].as_f64().unwrap();
    near(&json!(mean), 34.0 * 1024.0, 0.02);

    let range = step(&[EIGHT, "--bsrange=4k-64k", "--iodepth=8", "--runtime=2"]);
    let mean = range["read"]["bytes"].as_f64().unwrap() / range["read"]["ios"].as_f64().unwrap();
    near(&json!(mean), 34.0 * 1024.0, 0.02);

    // A device that needs no time for a block directly after the previous one makes bursts visible.
    let disk = "sim:channels=1,service=1ms,dist=const,seek=1us,bus=1GB/s";
    for (rw, iops) in [("randread", 1000.0), ("randread:8", 8000.0)] {
        let bursts = step(&[disk, &format!("--rw={rw}"), "--runtime=2"]);
        near(&bursts["read"]["iops"]["mean"], iops, 0.1);
    }

    let zipf = step(&[EIGHT, "--random_distribution=zipf:1.2", "--norandommap", "--runtime=1"]);
    near(&zipf["read"]["iops"]["mean"], 10_000.0, 0.05);
}

/// `run --limit` judges the result of a fixed load.
#[test]
fn run_tells_by_its_exit_code_whether_a_limit_holds() {
    let place = Place::new();
    let run = |limits: &[&str], code: i32| {
        let line = ["run", "sim:channels=8,service=100us", "--iodepth=8", "--runtime=1", "--json"];
        place.run(&[&line[..], limits].concat()).ends(code)
    };
    let done = run(&["--limit=p99<=1s", "--limit=read:mean<=1s"], 0);
    let limits = &done.json()["steps"][0]["limits"];
    assert_eq!(limits.as_array().unwrap().len(), 2);
    assert!(done.stderr.contains("p99") && done.stderr.contains("holds"), "{}", done.stderr);
    let done = run(&["--limit=mean<=50us", "--limit=p99<=1s"], 5);
    assert!(done.stderr.contains("broken"), "{}", done.stderr);
    assert!(done.json()["steps"][0]["limits"][0]["value_ns"].as_f64().unwrap() > 50_000.0);
    // A guide's limits on writes do not concern a load that reads.
    run(&["--guide=etcd"], 0);
    let done = run(&["--limit=write:p99<=1s"], 2);
    assert!(done.stderr.contains("write:p99"), "{}", done.stderr);
    std::fs::write(
        place.work().join("a.fio"),
        "[a]\nioengine=null\nsize=1g\nruntime=1\n[b]\n\
        ioengine=null\nstonewall\nrw=write\nsize=1g\nruntime=1\n",
    )
    .unwrap();
    place.run(&["run", "a.fio", "--limit=write:mean<=1s"]).ends(0);
    place.run(&["run", "a.fio", "--limit=read:mean<=1ns"]).ends(5);
}

#[test]
fn dependent_load_alternates_reads_and_writes() {
    let step = step(&[EIGHT, "--dependent", "--iodepth=2", "--runtime=2"]);
    let (reads, writes) =
        (step["read"]["ios"].as_u64().unwrap(), step["write"]["ios"].as_u64().unwrap());
    assert!(reads.abs_diff(writes) <= 4, "{reads} reads, {writes} writes");
    near(&step["depth_achieved"], 2.0, 0.01);
}

#[test]
fn several_jobs_run_concurrently() {
    let jobs = ["--job", "rw=randread iodepth=3", "--job", "rw=randwrite bs=8k numjobs=2"];
    let mut line = vec!["sim:channels=64,service=100us", "--runtime=2"];
    line.extend(jobs);
    let step = step(&line);
    assert_eq!(step["depth"], 5);
    near(&step["read"]["iops"]["mean"], 30_000.0, 0.03);
    near(&step["write"]["iops"]["mean"], 20_000.0, 0.03);
    let of_jobs: Vec<&Value> =
        step["workers"].as_array().unwrap().iter().map(|worker| &worker["job"]).collect();
    assert_eq!(of_jobs, [0, 1, 1]);
}

#[test]
fn open_loop_arrivals_follow_the_rate() {
    for process in ["linear", "poisson"] {
        let process = format!("--rate_process={process}");
        let line = ["run", EIGHT, "--rate_iops=40000", &process, "--runtime=2", "--iodepth=256"];
        let done = Place::new().run(&[&line[..], &["--json", "-q"]].concat()).ends(0);
        let step = &done.json()["steps"][0];
        near(&step["rate_iops"], 40_000.0, 1e-9);
        near(&step["read"]["iops"]["mean"], 40_000.0, 0.02);
        has_shape(&step["read"], &json!({"response_ns": latency()}), "read");
        for statistic in ["mean", "p50", "p99", "max"] {
            let of = |name: &str| step["read"][name][statistic].as_f64().unwrap();
            assert!(of("response_ns") >= of("service_ns"), "{process} {statistic}");
        }
    }
}

#[test]
fn rate_beyond_device_capacity_raises_a_caveat() {
    let line = ["run", EIGHT, "--rate_iops=200000", "--runtime=1", "--iodepth=16", "--json", "-q"];
    let document = Place::new().run(&line).ends(0).json();
    near(&document["steps"][0]["read"]["iops"]["mean"], 80_000.0, 0.05);
    let codes: Vec<&str> = document["caveats"]
        .as_array()
        .unwrap()
        .iter()
        .map(|caveat| caveat["code"].as_str().unwrap())
        .collect();
    assert!(codes.contains(&"rate-not-reached"), "{codes:?}");
}

#[test]
fn search_answer_is_consistent_across_all_outputs() {
    let place = Place::new();
    let devices = [
        "channels=8,service=1ms,noise=20%:1s",
        "channels=8,service=1ms,neighbour=50%:2s",
        "channels=8,service=1ms,late=1.5%:40ms:300ms",
        "channels=8,service=100us,starve=every:1s,for:200ms",
        "channels=8,service=100us,starve=every:50ms,for:100ms",
        "channels=8,service=100us,queue=64",
        "cloud-volume",
        "hdd",
    ];
    let searches: [&[&str]; 4] = [
        &["--limit=p99<=20ms"],
        &["--limit=mean<=1us"],
        &["--limit=read:p99.9<=80ms", "--limit=mean<=15ms", "--rw=randrw", "--rwmixread=70"],
        &["--limit=p99<=20ms", "--open-loop"],
    ];
    for device in devices {
        for (seed, search) in searches.iter().enumerate() {
            let target = format!("sim:{device},seed={seed}");
            let line = [&["find", &target, "--budget=6s", "--json", "-q"], *search].concat();
            let done = place.run(&line);
            assert!([Some(0), Some(5), Some(7)].contains(&done.code), "{line:?}: {}", done.stderr);
            let document = done.json();
            assert_one_answer(&place, &document);
            let found: FindDocument = serde_json::from_value(document).unwrap();
            assert_none_is_more(&found.search.answer, &found.search.curve);
        }
    }
}

#[test]
fn suggested_command_reproduces_the_found_load() {
    let place = Place::new();
    let limit = "--limit=mean<=10ms";
    let mix = ["--rw=randrw", "--rwmixread=80", "--bs=8k", "--numjobs=4"];
    let line = [&["find", EIGHT, limit, "-q"][..], &mix].concat();
    let text = place.run(&line).ends(0).stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let command = text.split("\"iogauge ").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let mut words: Vec<&str> = command.split(' ').collect();
    words.extend(["--json", "-q"]);
    let document = place.run(&words).ends(0).json();
    let load = &document["load"];
    assert_eq!((&load["rw"], &load["read_percent"]), (&json!("randrw"), &json!(80)));
    assert_eq!((&load["numjobs"], &load["block"]["read"][0][0]), (&json!(4), &json!(8192)));
    near(&document["steps"][0]["depth"], 800.0, 0.03);
}

#[test]
fn command_to_show_the_result_is_printed() {
    let place = Place::new();
    let line = ["run", "sim:nvme", "--runtime=10ms"];
    let told = place.run(&line).ends(0).stderr;
    let words: Vec<&str> = told.trim().split(' ').skip(1).take(3).collect();
    place.run(&words).ends(0);
    let own = place.run(&[&line[..], &["--history", "own.db"]].concat()).ends(0).stderr;
    let words: Vec<&str> = own.trim().split(' ').skip(1).take(5).collect();
    assert_eq!(words[3..], ["--history", "own.db"]);
    place.run(&words).ends(0);
    assert_eq!(place.run(&[&line[..], &["--history", "none"]].concat()).ends(0).stderr, "");
}

/// Returns the text without what differs between runs and machines.
fn redacted(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut environment = false;
    for line in text.lines() {
        environment = line.starts_with("On ") || (environment && line.starts_with("  "));
        if line.starts_with("On ") {
            lines.push("On [environment]".into());
        } else if line.starts_with("CPU ") {
            lines.push("CPU [use]".into());
        } else if !environment {
            let words = line.split(' ').map(|word| match redacted_word(word.trim_matches('"')) {
                Some(name) => word.replace(word.trim_matches('"'), name),
                None => word.to_owned(),
            });
            lines.push(words.collect::<Vec<_>>().join(" "));
        }
    }
    lines.join("\n")
}

fn redacted_word(word: &str) -> Option<&'static str> {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    match word.as_bytes().get(digits) {
        Some(b'-') if digits == 8 => Some("[run]"),
        Some(b'-') if digits == 4 && word.ends_with('Z') => Some("[time]"),
        _ => None,
    }
}

#[test]
fn text_output_matches_snapshots() {
    let place = Place::new();
    let mixed = ["run", "sim:nvme", "--rw=randrw", "--iodepth=32", "--runtime=2"];
    for columns in [80, 120] {
        let found = place.run_on(columns, &["find", "sim:channels=8,service=100us,dist=const"]);
        insta::assert_snapshot!(format!("find_{columns}"), redacted(&found.ends(0).stdout));
        let ran = place.run_on(columns, &mixed).ends(0).stdout;
        insta::assert_snapshot!(format!("run_{columns}"), redacted(&ran));
        let widest = ran.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= usize::from(columns), "{widest} columns");
    }
}

#[test]
fn rate_of_one_direction_leaves_the_rest_of_the_depth_to_the_other() {
    let place = Place::new();
    let line = [
        "run",
        "sim:channels=4,service=1ms,dist=const",
        "--rw=randrw",
        "--iodepth=4",
        "--runtime=4",
    ];
    let run = |rate| place.run(&[&line[..], &[rate, "--json"]].concat()).ends(0);
    let done = run("--rate_iops=,100");
    let step = &done.json()["steps"][0];
    near(&step["write"]["iops"]["mean"], 100.0, 0.02);
    near(&step["read"]["iops"]["mean"], 3900.0, 0.02);
    assert!(done.stderr.contains("depth 4, writes at 100 IOPS"), "{}", done.stderr);
    let too_fast = run("--rate_iops=9000,").json();
    let codes = too_fast["caveats"].as_array().unwrap().iter().map(|caveat| caveat["code"].clone());
    assert!(codes.into_iter().any(|code| code == "rate-not-reached"), "{too_fast}");
}
