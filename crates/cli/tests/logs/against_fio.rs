//! The same job file through fio and through iogauge's workers.

use super::common::Place;
use super::common::fio::{fio, job_file};
use super::{Entry, histograms, log, logs};
use std::collections::BTreeSet;
use std::process::Command;

/// Runs a job file with both in turn, each in its own directory. Returns iogauge's and fio's.
fn both(text: &str) -> [Place; 2] {
    let [ours, theirs] = [Place::new(), Place::new()];
    job_file(&ours, text);
    job_file(&theirs, text);
    ours.run(&["run", "a.fio", "-q"]).ends(0);
    let done = Command::new("fio").arg("a.fio").current_dir(theirs.work()).output().unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    [ours, theirs]
}

/// What distinguishes lines other than their times and values.
fn kinds(entries: &[Entry]) -> BTreeSet<(u64, u64, bool)> {
    entries.iter().map(|e| (e.direction, e.bytes, e.offset_bytes.is_some())).collect()
}

const FILES: &str = "[global]\nsize=1m\nioengine=psync\nfilename=f\nwrite_lat_log=p\n\
                     write_bw_log=p\nwrite_iops_log=p\n";

#[test]
fn lines_of_single_ios_are_like_those_of_fio() {
    if !fio("lines_of_single_ios_are_like_those_of_fio") {
        return;
    }
    for more in ["", "log_offset=1\n", "per_job_logs=0\n"] {
        let jobs = "bs=4k\nnumber_ios=100\n[a]\nrw=randrw\nnumjobs=2\n[b]\nstonewall\nrw=write\n\
                    bs=16k\nnumber_ios=20\nfsync=5\n";
        let [ours, theirs] = both(&format!("{FILES}{more}{jobs}"));
        let without_slat = theirs.names().into_iter().filter(|name| !name.contains("_slat"));
        let without_slat: Vec<String> = without_slat.collect();
        assert_eq!(ours.names(), without_slat, "{more}");
        for name in logs(&ours) {
            let (mine, fios) = (log(&ours, &name), log(&theirs, &name));
            assert_eq!(mine.len(), fios.len(), "{name}");
            assert_eq!(kinds(&mine), kinds(&fios), "{name}");
            if name.contains("_iops") {
                assert!(mine.iter().chain(&fios).all(|entry| entry.value == 1));
            }
            // iogauge's own files begin with a header.
            let offsets = |entries: &[Entry]| {
                let all = entries.iter().filter_map(|entry| entry.offset_bytes);
                let first = all.clone().min().unwrap_or(0);
                all.map(|offset| offset - first).collect::<Vec<_>>()
            };
            if name.contains(".3.") {
                assert_eq!(offsets(&mine), offsets(&fios), "{name}");
            }
        }
        // The bandwidth of an I/O follows from its latency, in units of 1000 bytes.
        let names = logs(&ours);
        let pairs = names.iter().filter(|name| name.contains("_clat"));
        for (place, name) in pairs.flat_map(|name| [(&ours, name), (&theirs, name)]) {
            let rates = log(place, &name.replace("_clat", "_bw"));
            let mut rates: Vec<u64> = rates.iter().map(|entry| entry.value).collect();
            let rate = |e: &Entry| e.bytes * 1_000_000 / e.value.max(1);
            let mut expected: Vec<u64> = log(place, name).iter().map(rate).collect();
            // fio's processes append to a shared log of each kind in another order.
            if std::ptr::eq(place, &theirs) && name == "p_clat.log" {
                rates.sort_unstable();
                expected.sort_unstable();
            }
            assert_eq!(rates, expected, "{name}");
        }
    }
}

#[test]
fn windows_are_like_those_of_fio() {
    if !fio("windows_are_like_those_of_fio") {
        return;
    }
    let job = "log_avg_msec=500\nwrite_hist_log=p\nlog_hist_msec=500\nlog_hist_coarseness=3\nbs=4k\n\
               rw=randrw\nrate_iops=400,200\ntime_based\nruntime=2\nramp_time=1\n[a]\n";
    let [ours, theirs] = both(&format!("{FILES}{job}"));
    for (name, rates) in [
        ("p_iops.1.log", Some([400.0, 200.0])),
        ("p_bw.1.log", Some([1600.0, 800.0])),
        ("p_lat.1.log", None),
        ("p_clat.1.log", None),
    ] {
        // fio leaves out the last window if it is a little shorter than the others.
        for (place, least) in [(&ours, 4), (&theirs, 3)] {
            let entries = log(place, name);
            assert!(entries.iter().all(|entry| entry.bytes == 0));
            for direction in [0, 1] {
                let own = entries.iter().filter(|entry| entry.direction == direction);
                let windows: Vec<u64> =
                    own.clone().map(|entry| (entry.time_ms + 250) / 500).collect();
                assert!((least..=4).contains(&windows.len()), "{name}: {windows:?}");
                assert!(windows.is_sorted() && windows[0] == 1, "{name}: {windows:?}");
                if let Some(rates) = rates {
                    let mean = own.map(|e| e.value as f64).sum::<f64>() / windows.len() as f64;
                    let truth = rates[direction as usize];
                    assert!((mean / truth - 1.0).abs() < 0.3, "{name}: {mean} {truth}");
                }
            }
        }
    }
    let [mine, fios] = [&ours, &theirs].map(|place| histograms(place, "p_clat_hist.1.log"));
    assert!(mine.iter().chain(&fios).all(|bins| bins.counts.len() == 1856 >> 3));
    let ios: u64 = mine.iter().map(super::Bins::ios).sum();
    // A window of the other logs has half a second.
    let iops: u64 = log(&ours, "p_iops.1.log").iter().map(|entry| entry.value).sum();
    assert!((ios as f64 / (iops as f64 / 2.0) - 1.0).abs() < 0.05, "{ios} {iops}");
    // fio leaves out the last histogram of each direction.
    assert_eq!(mine.len(), 8);
    assert!((6..=8).contains(&fios.len()), "{}", fios.len());
}
