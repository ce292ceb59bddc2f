//! `ladder` on a device whose true figures are known: N users do min(N, 8) I/Os per 100 µs.

use crate::common::{EIGHT, Place, near};
use serde_json::Value;

fn document(target: &str, options: &[&str]) -> Value {
    ended(target, options, 0)
}

/// Returns the document of a ladder that ends with this exit code.
fn ended(target: &str, options: &[&str], code: i32) -> Value {
    let fixed =
        ["suite", "ladder", target, "--seconds=500ms", "--json", "--quiet", "--history=none"];
    Place::new().run(&[&fixed, options].concat()).ends(code).json()
}

fn rows(document: &Value) -> &Vec<Value> {
    document["tables"][0]["own"]["rows"].as_array().unwrap()
}

#[test]
fn ladder_ends_one_step_after_channels_are_saturated() {
    let constant = format!("{EIGHT},dist=const");
    let document = document(&constant, &[]);
    let rows = rows(&document);
    assert_eq!(rows.len(), 5, "1, 2, 4, 8, 16: {rows:?}");
    for row in rows {
        let users = row[0]["count"].as_f64().unwrap();
        let iops = users.min(8.0) * 10_000.0;
        near(&row[1]["iops"], iops, 0.001);
        near(&row[4]["latency_ns"], users / iops * 1e9, 0.001);
        near(&row[9]["percent"], 100.0 * users.min(8.0) / users, 0.001);
    }
    for row in &rows[1..4] {
        near(&row[8]["percent"], 100.0, 0.001);
    }
    assert!(rows[4][8]["percent"].as_f64().unwrap().abs() < 0.1, "{}", rows[4]);
    let findings = &document["findings"];
    assert_eq!(
        (&findings["ended_by"], &findings["ended_at_users"]),
        (&"growth".into(), &16.into())
    );
    assert_eq!((&findings["users"], &findings["linear_to_users"]), (&8.into(), &8.into()));
    assert_eq!(document["steps_left"], 4);
}

#[test]
fn ladder_suite_ends_when_the_limit_is_exceeded() {
    let constant = format!("{EIGHT},dist=const");
    // 64 users wait 800 µs, 128 users twice as long.
    let document = document(&constant, &["--growth=0", "--limit=mean<=1ms"]);
    assert_eq!(rows(&document).len(), 8);
    let findings = &document["findings"];
    assert_eq!(
        (&findings["ended_by"], &findings["ended_at_users"]),
        (&"limit".into(), &128.into())
    );
    assert_eq!((&findings["users"], &findings["linear_to_users"]), (&8.into(), &8.into()));
    let verdict = document["verdict"][0].as_str().unwrap();
    assert_eq!(
        verdict,
        "Count on 80,000 IOPS with 8 users at a mean latency of 100 µs: with 128 users mean is 1.60 ms, \
         which breaks the limit mean <= 1 ms."
    );
}

#[test]
fn higher_queue_depth_per_user_saturates_the_ladder_earlier() {
    let document = document(EIGHT, &["--iodepth=4", "--users=1,2,4,8", "--rw=randrw"]);
    assert_eq!(rows(&document).len(), 3);
    near(&rows(&document)[0][1]["iops"], 40_000.0, 0.05);
    assert_eq!(document["findings"]["users"], 2);
}

#[test]
fn ladder_reports_a_limit_exceeded_by_one_user() {
    let document = ended(EIGHT, &["--limit=mean<=50us"], 5);
    assert_eq!(document["steps"].as_array().unwrap().len(), 1);
    let verdict = document["verdict"][0].as_str().unwrap();
    assert!(verdict.starts_with("Even 1 user breaks the limit mean <= 50 µs"), "{verdict}");
    assert_eq!(document["findings"]["users"], Value::Null);
}

#[test]
fn ladder_measures_a_directory() {
    let document = document(".", &["--size=16m", "--users=1,2", "--limit=mean<=10s", "--bs=16k"]);
    let rows = rows(&document);
    assert_eq!(rows.len(), 2, "{rows:?}");
    let bytes = rows[0][3]["bytes_per_sec"].as_f64().unwrap();
    near(&rows[0][1]["iops"], bytes / 16_384.0, 1e-6);
    assert_eq!(document["steps"][1]["result"]["step"]["workers"].as_array().unwrap().len(), 2);
}
