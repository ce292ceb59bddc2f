use super::conclude;
use crate::suite::made_up::{build, side, sides, site};
use crate::suite::{Site, SiteKind, SuiteStep};
use iogauge_model::load::Pattern;
use iogauge_model::result::{RatesFindings, SuiteStepResult};
use serde::Deserialize;

const GIB: u64 = 1 << 30;

fn plan(name: &str, typed: &[(&str, &str)], site: &Site) -> Vec<SuiteStep> {
    build(name, typed).unwrap().plan(site).unwrap()
}

/// Pattern, block size, workers, queue depth of each and seconds of the steps by their keys.
fn loads(steps: &[SuiteStep]) -> Vec<(&str, &str, u64, u32, u32, f64)> {
    let one = |step: &'static SuiteStep| {
        let (asked, load) = (step.asked(), step.asked().jobs.remove(0).load);
        let seconds = asked.runtime_ns as f64 / 1e9;
        let key = step.place.key.as_str();
        (key, load.rw.as_str(), load.block.largest(), load.numjobs, load.iodepth, seconds)
    };
    Vec::leak(steps.to_vec()).iter().map(one).collect()
}

#[test]
fn seastar_has_the_loads_times_and_depths_of_iotune() {
    let disk = Site { processors: 4, disks: 2, requests: 2 * 256, ..site(SiteKind::Files, &[GIB]) };
    let mib = 1 << 20;
    let expected = [
        ("write_bandwidth", "write", mib, 1, 8, 84.0),
        ("read_bandwidth", "read", mib, 1, 8, 12.0),
        ("write_iops", "randwrite", 4096, 4, 128, 12.0),
        ("read_iops", "randread", 4096, 4, 128, 12.0),
    ];
    assert_eq!(loads(&plan("seastar", &[], &disk)), expected);
    let depths = |site: &Site, typed: &[(&str, &str)]| {
        let load = plan("seastar", typed, site)[3].asked().jobs.remove(0).load;
        (load.numjobs, load.iodepth)
    };
    // At most 128 on each processor, and 128 if sysfs shows nothing.
    assert_eq!(depths(&Site { requests: 4096, ..disk.clone() }, &[]), (4, 128));
    assert_eq!(depths(&Site { requests: 64, ..disk.clone() }, &[]), (4, 16));
    assert_eq!(depths(&Site { requests: 2, ..disk.clone() }, &[]), (2, 1));
    assert_eq!(depths(&Site { requests: 0, ..disk.clone() }, &[]), (4, 32));
    assert_eq!(depths(&disk, &[("iodepth", "8")]), (4, 2));
    assert_eq!(depths(&site(SiteKind::Simulated, &[GIB]), &[]), (1, 128));
    // The time is that of all measurements.
    let short = plan("seastar", &[("duration", "10")], &disk);
    assert_eq!(short.iter().map(|step| step.asked().runtime_ns).sum::<u64>(), 10_000_000_000);
    assert!(build("seastar", &[("duration", "500ms")]).is_err());
}

#[test]
fn iocost_has_the_loads_times_and_depths_of_the_kernels_script() {
    let device = site(SiteKind::Devices, &[GIB]);
    let large = 128 << 20;
    let expected = [
        ("rbps", "read", large, 1, 1, 120.0),
        ("rseqiops", "read", 4096, 1, 64, 120.0),
        ("rrandiops", "randread", 4096, 1, 64, 120.0),
        ("wbps", "write", large, 1, 1, 120.0),
        ("wseqiops", "write", 4096, 1, 64, 120.0),
        ("wrandiops", "randwrite", 4096, 1, 64, 120.0),
    ];
    assert_eq!(loads(&plan("iocost", &[], &device)), expected);
    let four = plan("iocost", &[("numjobs", "4"), ("bs", "1m")], &device);
    assert!(loads(&four).iter().all(|load| load.3 == 4));
    let small = site(SiteKind::Devices, &[64 << 20]);
    let error = build("iocost", &[]).unwrap().plan(&small).unwrap_err().to_string();
    assert!(error.starts_with("--bs: a block of 128 MiB is larger than the target"), "{error}");
    let large_blocks = Site { block_bytes: 16_384, ..device };
    let error = build("iocost", &[]).unwrap().plan(&large_blocks).unwrap_err().to_string();
    assert!(error.starts_with("suite iocost: the model has I/O of 4 KiB"), "{error}");
}

/// A step with this many I/Os per second of the plan's load.
fn measured(step: &SuiteStep, iops: u64) -> SuiteStepResult {
    let load = step.asked().jobs.remove(0).load;
    let side = side(iops, load.block.largest(), 1.0, 100_000);
    let is_read = matches!(load.rw, Pattern::Read | Pattern::RandRead);
    sides(step.place.clone(), if is_read { (Some(side), None) } else { (None, Some(side)) })
}

#[test]
fn findings_have_only_complete_figures_in_their_units() {
    let site = site(SiteKind::Simulated, &[GIB]);
    let suite = build("seastar", &[]).unwrap();
    let plan = suite.plan(&site).unwrap();
    let rates = [100, 200, 30_000, 40_000];
    let mut steps: Vec<SuiteStepResult> =
        plan.iter().zip(rates).map(|(step, iops)| measured(step, iops)).collect();
    let found = |steps: &[SuiteStepResult]| {
        let (conclusion, _) = suite.conclude(&site, steps);
        (RatesFindings::deserialize(&conclusion.findings).unwrap(), conclusion.verdict.join(" "))
    };
    let (all, verdict) = found(&steps);
    assert_eq!(all.rate("write_bandwidth").unwrap().bytes_per_sec.mean, 100.0 * 1_048_576.0);
    assert_eq!(all.rate("read_bandwidth").unwrap().bytes_per_sec.mean, 200.0 * 1_048_576.0);
    assert_eq!(all.rate("write_iops").unwrap().iops.mean, 30_000.0);
    assert_eq!(all.rate("read_iops").unwrap().iops.mean, 40_000.0);
    assert!(verdict.contains("read_iops 40,000 IOPS") && verdict.contains("MB/s"), "{verdict}");
    steps[3].interrupted = true;
    let (some, verdict) = found(&steps);
    assert!(some.rate("read_iops").is_none() && some.rates.len() == 3);
    assert_eq!(verdict, "3 of the 4 figures of io_properties.yaml were measured.");
    assert!(conclude("nothing", &[], &[]).verdict[0].starts_with("For nothing"));
}
