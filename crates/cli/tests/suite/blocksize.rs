//! `blocksize` on a device whose true figures are known: channels in front of a bus.

use crate::common::{Place, near};
use serde_json::Value;

/// 80,000 IOPS, up to the bus limit of 1 GB/s, which blocks of 12,500 bytes reach.
const TARGET: &str = "sim:channels=8,service=100us,dist=const,bus=1GB/s";

fn document(options: &[&str]) -> Value {
    let fixed =
        ["suite", "blocksize", TARGET, "--seconds=1", "--json", "--quiet", "--history=none"];
    Place::new().run(&[&fixed, options].concat()).ends(0).json()
}

#[test]
fn blocksize_suite_detects_the_bandwidth_limit() {
    let document = document(&["--bs=512,4k,8k,16k,64k,1m"]);
    let findings = &document["findings"];
    near(&findings["iops_max"], 80_000.0, 0.001);
    near(&findings["bytes_per_sec_max"], 1e9, 0.01);
    assert_eq!(findings["iops_bound_to_bytes"], 8192);
    assert_eq!(findings["bandwidth_bound_from_bytes"], 16_384);
    let rows = document["tables"][0]["own"]["rows"].as_array().unwrap();
    let bound: Vec<&str> = rows.iter().map(|row| row[5]["text"].as_str().unwrap()).collect();
    assert_eq!(bound, ["I/Os", "I/Os", "I/Os", "bandwidth", "bandwidth", "bandwidth"]);
    // At QD 1: the service time and then the transfer.
    near(&rows[0][4]["latency_ns"], 100_512.0, 0.0001);
    near(&rows[5][4]["latency_ns"], 1_148_576.0, 0.0001);
    // At QD 32: four rounds of the eight channels, or 32 transfers.
    near(&rows[0][3]["latency_ns"], 400_000.0, 0.01);
    near(&rows[5][3]["latency_ns"], 32.0 * 1_048_576.0, 0.01);
}

#[test]
fn blocksize_suite_measures_queue_depth_1_only_once() {
    let document = document(&["--bs=4k,64k", "--iodepth=1"]);
    assert_eq!(document["steps"].as_array().unwrap().len(), 2);
}
