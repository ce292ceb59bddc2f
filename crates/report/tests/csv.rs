//! CSV for spreadsheets and scripts.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::result::StoppedBy;
use iogauge_report::csv;
use std::fs::OpenOptions;

#[test]
fn a_run_has_a_row_for_each_direction() {
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
fn a_search_has_a_row_for_each_point() {
    let mut text = Vec::new();
    csv::find(&find_document(StoppedBy::Limit), &mut text).unwrap();
    assert_snapshot!("csv_find", String::from_utf8(text).unwrap());
}

#[test]
fn a_full_disk_is_an_error() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert!(csv::run(&run_document(vec![step("randread", 1)]), &full).is_err());
    assert!(csv::find(&find_document(StoppedBy::Limit), &full).is_err());
}
