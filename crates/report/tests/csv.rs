//! CSV for spreadsheets and scripts.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::result::{LimitValue, StoppedBy};
use iogauge_report::csv;
use std::fs::OpenOptions;

#[test]
fn run_csv_has_one_row_per_direction() {
    let mut mixed = step("randrw, \"70/30\"", 16);
    let mut write = direction(1_500.0, 2_100_000.0);
    write.response_ns = Some(latency(2_500_000.0));
    mixed.write = Some(write);
    mixed.rate_iops = Some(5000.0);
    let mut failed = step("randread", 1);
    let mut read = direction(0.0, 0.0);
    read.errors = 3;
    read.service_ns = nothing();
    read.iops.n = 0;
    failed.read = Some(read);
    failed.physical = None;
    let mut text = Vec::new();
    csv::run(&run_document(vec![mixed, failed]), &mut text).unwrap();
    assert_snapshot!("csv_run", String::from_utf8(text).unwrap());
}

#[test]
fn search_csv_has_one_row_per_point() {
    let mut text = Vec::new();
    csv::find(&find_document(StoppedBy::Limit), &mut text).unwrap();
    assert_snapshot!("csv_find", String::from_utf8(text).unwrap());
}

#[test]
fn open_loop_csv_row_contains_limit_and_service_time() {
    let mut document = find_document(StoppedBy::Limit);
    document.search.curve.truncate(1);
    let value = |limit: &str, value_ns, ci95_ns| LimitValue {
        limit: limit.parse().unwrap(),
        value_ns: Some(value_ns),
        ci95_ns,
        n: 900,
    };
    document.search.curve[0].limits =
        vec![value("mean<=10ms", 2e6, None), value("p99<=5ms", 4e6, Some([3.5e6, 4.5e6]))];
    document.search.curve[0].offered_iops = Some(9801.5);
    document.search.curve[0].backlog_max = Some(7);
    document.search.curve[0].service_ns = Some(latency(100_000.0));
    let mut text = Vec::new();
    csv::find(&document, &mut text).unwrap();
    let mut rows = ::csv::Reader::from_reader(text.as_slice());
    let names = rows.headers().unwrap().clone();
    let row = rows.records().next().unwrap().unwrap();
    let at = |name: &str| &row[names.iter().position(|column| column == name).unwrap()];
    assert_eq!((at("limit"), at("limit_ns"), at("limit_n")), ("p99 <= 5 ms", "4000000", "900"));
    assert_eq!((at("limit_ns_ci95_low"), at("limit_ns_ci95_high")), ("3500000", "4500000"));
    assert_eq!((at("offered_iops"), at("backlog_max")), ("9801.5", "7"));
    assert_eq!(at("service_ns_mean"), "100000");
}

#[test]
fn csv_export_to_a_full_disk_returns_an_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(csv::run(&run_document(vec![step("randread", 1)]), &full).is_err());
    assert!(csv::find(&find_document(StoppedBy::Limit), &full).is_err());
}
