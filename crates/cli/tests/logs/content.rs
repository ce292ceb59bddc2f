//! The lines of logs, checked by the figures of simulated devices.

use super::common::fio::number;
use super::common::{EIGHT, Place, near};
use super::{ALL, Entry, histograms, log, logs};
use serde_json::Value;

/// One I/O takes 100 µs.
const EVEN: &str = "sim:channels=8,service=100us,dist=const";

/// Runs on a simulated device and returns the only step of the result.
#[track_caller]
fn step(place: &Place, options: &[&[&str]]) -> Value {
    let line = [&[&["run"][..]], options, &[&["--json", "-q"]]].concat().concat();
    place.run(&line).ends(0).json()["steps"][0].clone()
}

fn sum(entries: &[Entry], of: fn(&Entry) -> u64) -> u64 {
    entries.iter().map(of).sum()
}

#[test]
fn every_counted_io_has_a_line() {
    let place = Place::new();
    let load = ["--rw=randrw", "--rwmixread=70", "--bs=4k,16k", "--iodepth=4", "--numjobs=2"];
    let time = ["--runtime=2", "--ramp-time=1", "--log_offset"];
    let result = step(&place, &[&["sim:channels=8,service=100us,size=1g"], &load, &time, &ALL]);
    let kinds = ["bw", "clat", "clat_hist", "iops", "lat"];
    let names: Vec<String> =
        kinds.iter().flat_map(|kind| [1, 2].map(|n| format!("p_{kind}.{n}.log"))).collect();
    assert_eq!(logs(&place), names);
    let of_worker = [1, 2].map(|n| log(&place, &format!("p_lat.{n}.log")));
    for (worker, entries) in of_worker.iter().enumerate() {
        assert_eq!(result["workers"][worker]["ios"], entries.len());
        assert!(entries.is_sorted_by_key(|entry| entry.time_ms));
        // The ramp is not in the log.
        assert!(entries[0].time_ms < 10 && entries.last().unwrap().time_ms >= 1990);
    }
    let all = of_worker.concat();
    for (number, (direction, bytes)) in [("read", 4096), ("write", 16384)].into_iter().enumerate() {
        let figures = &result[direction];
        let of_direction = |entry: &&Entry| entry.direction == number as u64;
        let own: Vec<Entry> = all.iter().filter(of_direction).copied().collect();
        assert_eq!(figures["ios"], own.len());
        assert_eq!(figures["bytes"], sum(&own, |entry| entry.bytes));
        let mean = sum(&own, |entry| entry.value) as f64 / own.len() as f64;
        near(&figures["service_ns"]["mean"], mean, 1e-9);
        assert_eq!(figures["service_ns"]["max"], own.iter().map(|e| e.value).max().unwrap());
        assert!(own.iter().all(|entry| entry.bytes == bytes));
        let offsets = own.iter().map(|entry| entry.offset_bytes.unwrap());
        assert!(offsets.clone().all(|offset| offset % 4096 == 0 && offset < 1 << 30));
        let bins = [1, 2].map(|n| histograms(&place, &format!("p_clat_hist.{n}.log")));
        let bins = bins.iter().flatten().filter(|bins| bins.direction == number as u64);
        assert_eq!(figures["ios"], bins.map(super::Bins::ios).sum::<u64>());
    }
    let text = |kind: &str| std::fs::read(place.work().join(format!("p_{kind}.1.log"))).unwrap();
    assert_eq!(text("lat"), text("clat"));
    let (latencies, rates) = (log(&place, "p_lat.1.log"), log(&place, "p_bw.1.log"));
    for (latency, rate) in latencies.iter().zip(&rates) {
        assert_eq!(rate.value, latency.bytes * 1_000_000 / latency.value);
    }
    assert!(log(&place, "p_iops.1.log").iter().all(|entry| entry.value == 1));
}

#[test]
fn windows_have_the_rates_and_latencies_of_the_device() {
    let place = Place::new();
    let time = ["--runtime=2", "--ramp-time=1", "--log_avg_msec=100"];
    step(&place, &[&[EVEN], &time, &ALL]);
    let entry =
        |time_ms, value| Entry { time_ms, value, direction: 0, bytes: 0, offset_bytes: None };
    let expected = |value| (1..=20).map(|n| entry(n * 100, value)).collect::<Vec<_>>();
    assert_eq!(log(&place, "p_lat.1.log"), expected(100_000));
    for (kind, truth) in [("iops", 10_000.0), ("bw", 40_000.0)] {
        let entries = log(&place, &format!("p_{kind}.1.log"));
        assert_eq!(entries.len(), 20);
        // The first window lacks the I/O that began before it.
        entries.iter().for_each(|entry| near(&entry.value.into(), truth, 0.002));
    }
    let bins = histograms(&place, "p_clat_hist.1.log");
    assert_eq!(bins.iter().map(|b| b.time_ms).collect::<Vec<_>>(), [500, 1000, 1500, 2000]);
    assert!(bins.iter().all(|bins| bins.counts.len() == 1856));
    let coarse = [&time[..2], &["--log_hist_coarseness=6"]].concat();
    step(&place, &[&[EVEN], &coarse, &ALL]);
    assert_eq!(histograms(&place, "p_clat_hist.1.log")[0].counts.len(), 29);
}

#[test]
fn maximum_replaces_the_mean_of_a_window() {
    let place = Place::new();
    let options = ["--iodepth=16", "--write_lat_log=p", "--log_avg_msec=1000", "--ramp-time=0"];
    let line = ["sim:channels=8,service=100us", "--number_ios=5000"];
    let result = step(&place, &[&line, &options]);
    let mean = log(&place, "p_lat.1.log");
    near(&result["read"]["service_ns"]["mean"], mean[0].value as f64, 1e-4);
    step(&place, &[&line, &options, &["--log_max_value=1"]]);
    let most = log(&place, "p_lat.1.log");
    assert_eq!((most.len(), mean.len()), (1, 1), "the run is shorter than a window");
    assert_eq!(result["read"]["service_ns"]["max"], most[0].value);
}

#[test]
fn times_count_from_the_start_of_each_job() {
    let place = Place::new();
    let line = ["--runtime=2", "--ramp-time=0", "--write_iops_log=p", "--log_avg_msec=1000"];
    let jobs = ["--job", "rw=randread startdelay=1s", "--job", "rw=randwrite numjobs=2"];
    step(&place, &[&[EIGHT], &line, &jobs]);
    for (name, direction) in [("p_iops.1.log", 0), ("p_iops.2.log", 1), ("p_iops.3.log", 1)] {
        let entries = log(&place, name);
        let figures: Vec<_> = entries.iter().map(|e| (e.time_ms, e.direction)).collect();
        assert_eq!(figures, [(1000, direction), (2000, direction)], "{name}");
    }
    let unix = [&line[..3], &["--log_unix_epoch=1", "--number_ios=10"]].concat();
    step(&place, &[&[EIGHT], &unix]);
    let now_ms = std::time::UNIX_EPOCH.elapsed().unwrap().as_millis() as u64;
    let begin_ms = log(&place, "p_iops.1.log")[0].time_ms;
    assert!((now_ms - 60_000..=now_ms).contains(&begin_ms), "{begin_ms} {now_ms}");
}

#[test]
fn syncs_and_reads_for_verification_are_in_no_log() {
    let place = Place::new();
    let load = ["--rw=write", "--fsync=2", "--number_ios=40", "--verify=crc32c", "--direct=0"];
    let logs = ["--write_lat_log=p", "--log_offset=1", "--ramp-time=0", "--size=1m"];
    let result = step(&place, &[&["."], &load, &logs]);
    assert_eq!(number(&result["sync"]["ios"]), 20.0);
    let entries = log(&place, "p_lat.1.log");
    assert!(entries.iter().all(|entry| entry.direction == 1));
    let offsets: Vec<u64> = entries.iter().map(|entry| entry.offset_bytes.unwrap()).collect();
    assert_eq!(offsets, (0..40).map(|n| offsets[0] + n * 4096).collect::<Vec<_>>());
}

#[test]
fn dependent_ios_have_a_line_each() {
    let place = Place::new();
    let load = ["--dependent", "--number_ios=20", "--ramp-time=0", "--write_lat_log=p"];
    let result = step(&place, &[&[EIGHT], &load]);
    let entries = log(&place, "p_lat.1.log");
    let writes = entries.iter().filter(|entry| entry.direction == 1).count();
    assert_eq!(result["write"]["ios"], writes);
    assert_eq!(result["read"]["ios"], entries.len() - writes);
}

/// Workers complete I/Os between the end of the last window and the request to stop.
#[test]
fn logs_have_the_ios_that_count_and_no_others() {
    let place = Place::new();
    let job = "[a]\nioengine=null\nsize=1g\nrw=randread\nrate_iops=200000\ntime_based\nruntime=500ms\nwrite_lat_log=p\n";
    std::fs::write(place.work().join("a.fio"), job).unwrap();
    for _ in 0..3 {
        let done = place.run(&["run", "a.fio", "-q", "--json"]).ends(0);
        let lines =
            std::fs::read_to_string(place.work().join("p_lat.1.log")).unwrap().lines().count();
        assert_eq!(done.json()["steps"][0]["read"]["ios"], lines);
    }
}
