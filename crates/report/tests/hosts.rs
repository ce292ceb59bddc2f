//! The table of several hosts.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::result::{FindDocument, HostPart, HostResult, LimitValue, StoppedBy};
use iogauge_report::terminal::{Page, find, run};

fn host(name: &str, iops: f64, mean_ms: f64, all_iops: f64) -> HostResult {
    HostResult {
        name: name.to_owned(),
        ios: (iops * 10.0) as u64,
        iops,
        bytes_per_sec: iops * 4096.0,
        queue_depth: iops * mean_ms / 1e3,
        latency_ns_mean: mean_ms * 1e6,
        latency_ns_p50: (mean_ms * 0.9e6) as u64,
        latency_ns_p99: (mean_ms * 3.1e6) as u64,
        latency_ns_max: (mean_ms * 12e6) as u64,
        errors: 0,
        share: iops / all_iops,
        cpu_percent: iops / 10.0,
        processors: 2,
        clock_error_ns: 40_000,
        same_kernel: false,
    }
}

fn three() -> Vec<HostResult> {
    let mut hosts = vec![
        host("storage-client-01.rack-7.example.org", 1000.0, 6.0, 2000.0),
        host("host-2", 700.0, 8.6, 2000.0),
        host("host-3", 300.0, 20.0, 2000.0),
    ];
    hosts[2].errors = 7;
    hosts
}

fn idle(name: &str) -> HostResult {
    HostResult { name: name.to_owned(), ..HostResult::default() }
}

/// A hundred hosts, the later ones slower, and four idle ones.
fn many() -> Vec<HostResult> {
    let busy = (1..=96).map(|number| {
        let mean_ms = 4.0 + f64::from(number) / 100.0;
        host(&format!("host-{number}"), 833.0 - f64::from(number), mean_ms, 75_000.0)
    });
    busy.chain((97..=100).map(|number| idle(&format!("host-{number}")))).collect()
}

fn found(hosts: Vec<HostResult>) -> FindDocument {
    let mut document = find_document(StoppedBy::Limit);
    let limit = "each:p99<=5ms".parse().unwrap();
    let value =
        LimitValue { limit, value_ns: Some(4.9e6), ci95_ns: Some([4.7e6, 5.1e6]), n: 61_000 };
    document.search.limits = vec![limit];
    document.search.answer.limits = vec![value];
    document.search.answer.stopped_by_limit = Some(limit);
    let queue_depth = document.search.answer.queue_depth;
    for point in &mut document.search.curve {
        point.limits = vec![value];
        if point.queue_depth == queue_depth {
            point.hosts = hosts.clone();
        }
    }
    document
}

#[test]
fn report_of_a_run_on_several_hosts() {
    let mut on_three = step("randread 4 KiB depth 32", 32);
    on_three.hosts = three();
    let document = run_document(vec![on_three]);
    assert_snapshot!("run_hosts_80", run(&document, Page::plain(80)));
    assert_snapshot!("run_hosts_60", run(&document, Page::plain(60)));
}

#[test]
fn report_of_a_search_with_many_hosts() {
    assert_snapshot!("find_hosts_80", find(&found(many()), Page::plain(80)));
    assert_snapshot!("find_hosts_60", find(&found(many()), Page::plain(60)));
}

#[test]
fn slowest_and_fastest_hosts_are_shown_and_the_others_counted() {
    let text = find(&found(many()), Page::plain(120));
    let shown: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|w| w.starts_with("host-"))
        .collect();
    assert_eq!(shown.len(), 12);
    assert_eq!((shown[0], shown[11]), ("host-96", "host-1"));
    let text = text.replace("\n  ", " ");
    assert!(text.contains("84 between them are not shown; 4 are idle."), "{text}");
    // Two busy hosts and many idle ones.
    let few =
        [many()[..2].to_vec(), (3..=20).map(|number| idle(&format!("host-{number}"))).collect()];
    let text = find(&found(few.concat()), Page::plain(100));
    assert!(text.contains("host-2 ") && text.contains("18 are idle"), "{text}");
}

#[test]
fn equal_and_unequal_shares_are_told_apart() {
    let text = |hosts| find(&found(hosts), Page::plain(100)).replace("\n  ", " ");
    let unequal = text(three());
    let wanted = "is 0.844: as uneven as if 2.5 of 3 hosts had equal shares and the others none.";
    assert!(unequal.contains(wanted), "{unequal}");
    let equal = text(vec![host("a", 500.0, 4.0, 1000.0), host("b", 500.0, 4.0, 1000.0)]);
    assert!(equal.contains("is 1.000: the hosts have about equal shares."), "{equal}");
    assert!(!text(vec![host("a", 500.0, 4.0, 500.0)]).contains("Jain"));
}

#[test]
fn parts_of_unlike_hosts_are_listed() {
    let alone = [("host-1", 1000.0), ("host-2", 700.0), ("host-3", 300.0)];
    let alone = alone.map(|(name, iops)| (name.to_owned(), iops));
    let mut document = found(three());
    assert!(!find(&document, Page::plain(80)).contains("alone"));
    document.head.host_parts = HostPart::of(alone);
    let text = find(&document, Page::plain(80));
    let begin = text.find("host    IOPS alone").unwrap_or_else(|| panic!("{text}"));
    let lines = text[begin..].lines().filter(|line| !line.starts_with('─'));
    let table: Vec<&str> = lines.take(4).map(str::trim_end).collect();
    assert_eq!(
        table,
        [
            "host    IOPS alone  part of the load",
            "host-1       1,000            50.0 %",
            "host-2         700            35.0 %",
            "host-3         300            15.0 %",
        ]
    );
    // Of many hosts, those with the largest and the smallest parts are shown.
    let alone = (1..=100).map(|number| (format!("host-{number}"), f64::from(number)));
    document.head.host_parts = HostPart::of(alone);
    let text = find(&document, Page::plain(100));
    let text = &text[text.find("IOPS alone").unwrap()..];
    assert!(text.contains("88 of 100 hosts, with parts between these, are not shown."), "{text}");
    for (name, is_shown) in [("host-100 ", true), ("host-1 ", true), ("host-50 ", false)] {
        assert_eq!(text.contains(name), is_shown, "{name}: {text}");
    }
}
