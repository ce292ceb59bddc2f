//! The text output on a terminal.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::limit::Metric;
use iogauge_model::result::{
    BlockTrace, HistoryRun, Knee, LimitValue, StepResult, StoppedBy, Wander,
};
use iogauge_model::{Impact, Limit};
use iogauge_report::terminal::{
    Page, find, find_brief, find_verdict, history_list, run, run_brief, trend,
};
use unicode_width::UnicodeWidthStr;

const STOPS: [StoppedBy; 8] = [
    StoppedBy::Limit,
    StoppedBy::Saturated,
    StoppedBy::Client,
    StoppedBy::MaxDepth,
    StoppedBy::Budget,
    StoppedBy::Unattainable,
    StoppedBy::Undecided,
    StoppedBy::Interrupted,
];

#[test]
fn report_of_a_single_step_run() {
    let mut document = run_document(vec![step("randread 4 KiB depth 32", 32)]);
    document.caveats = caveats();
    assert_snapshot!("run_120", run(&document, Page::plain(120)));
    assert_snapshot!("run_80", run(&document, Page::plain(80)));
    assert_snapshot!("run_60", run(&document, Page::plain(60)));
}

#[test]
fn report_of_a_run_with_block_trace() {
    let traced = |step: StepResult| StepResult { trace: Some(Box::new(trace())), ..step };
    let nothing = BlockTrace { seconds: 10.0, ..BlockTrace::default() };
    let idle = StepResult { trace: Some(Box::new(nothing)), ..step("randread 4 KiB depth 1", 1) };
    let document = run_document(vec![traced(step("randread 4 KiB depth 32", 32)), idle]);
    assert_snapshot!("run_traced_100", run(&document, Page::plain(100)));
    assert_snapshot!("run_traced_60", run(&document, Page::plain(60)));
    let mut found = find_document(StoppedBy::Limit);
    found.search.trace = Some(Box::new(trace()));
    assert!(find(&found, Page::plain(100)).contains("of each read's 390 µs the device took"));
}

#[test]
fn report_of_a_mixed_run_with_arrivals_errors_and_syncs() {
    let mut mixed = step("randrw 70/30 8 KiB at 5000 IOPS", 16);
    mixed.rate_iops = Some(5000.0);
    mixed.physical = None;
    let mut read = direction(3_500.0, 900_000.0);
    read.response_ns = Some(latency(1_400_000.0));
    read.errors = 12;
    mixed.read = Some(read);
    let mut write = direction(1_500.0, 2_100_000.0);
    write.short = 1;
    mixed.write = Some(write);
    let mut sync = direction(15.0, 4_000_000.0);
    sync.bytes_per_sec = 0.0;
    mixed.sync = Some(sync);
    let document = run_document(vec![step("randread 4 KiB depth 1", 1), mixed]);
    assert_snapshot!("run_mixed_100", run(&document, Page::plain(100)));
}

#[test]
fn report_of_a_run_without_measurements() {
    let mut document = run_document(Vec::new());
    document.interrupted = true;
    document.environment = Default::default();
    assert_snapshot!("run_nothing", run(&document, Page::plain(80)));
    let mut idle = step("randread 4 KiB depth 1", 1);
    idle.read = None;
    idle.physical = None;
    idle.cpu = Default::default();
    assert_snapshot!("run_idle", run(&run_document(vec![idle]), Page::plain(80)));
}

#[test]
fn report_of_a_run_with_errors_only() {
    let mut failed = step("randread 4 KiB depth 1", 1);
    let mut read = direction(0.0, 0.0);
    (read.ios, read.bytes, read.errors) = (0, 0, 4711);
    read.service_ns = nothing();
    failed.read = Some(read);
    failed.physical = None;
    assert_snapshot!("run_errors_only", run(&run_document(vec![failed]), Page::plain(80)));
}

#[test]
fn report_handles_huge_numbers_and_a_long_target() {
    let mut huge = step("read 1 GiB depth 65536", 65_536);
    let mut read = direction(f64::MAX, 1e18);
    read.ios = u64::MAX;
    read.bytes = u64::MAX;
    huge.read = Some(read);
    let mut document = run_document(vec![huge]);
    document.head.target = named(&format!("/mnt/{}/data", "very-long-name/".repeat(12)));
    assert_snapshot!("run_huge", run(&document, Page::plain(80)));
}

#[test]
fn report_of_a_search_stopped_by_its_limit() {
    let mut document = find_document(StoppedBy::Limit);
    document.search.limits.push(p99_limit());
    document.caveats = caveats();
    assert_snapshot!("find_120", find(&document, Page::plain(120)));
    assert_snapshot!("find_80", find(&document, Page::plain(80)));
}

/// Returns the titles of the first table in a text.
fn titles(text: &str) -> Vec<&str> {
    let header = text.lines().find(|line| line.contains("mean  ") && line.contains("IOPS"));
    header.unwrap().split_whitespace().collect()
}

#[test]
fn least_important_columns_are_dropped_first() {
    let ran = run_document(vec![step("randread 4 KiB depth 32", 32)]);
    let run_on = |width| run(&ran, Page::plain(width));
    assert!(titles(&run_on(100)).contains(&"min") && titles(&run_on(100)).contains(&"p99.99"));
    assert!(!titles(&run_on(90)).contains(&"min") && titles(&run_on(90)).contains(&"p99.99"));
    assert!(!run_on(80).contains("p99.99") && titles(&run_on(80)).contains(&"max"));

    let mut found = find_document(StoppedBy::Limit);
    let on_80 = find(&found, Page::plain(80));
    assert!(!titles(&on_80).contains(&"p95") && titles(&on_80).contains(&"max"));
    found.search.limits = vec!["p95<=5ms".parse().unwrap()];
    assert!(titles(&find(&found, Page::plain(80))).contains(&"p95"), "it is what was asked for");
}

/// Readers can check whether limits hold, however narrow the page is.
#[test]
fn every_judged_statistic_has_a_column() {
    let mut document = find_document(StoppedBy::Limit);
    let limits = ["p99<=20ms", "write:p99<=5ms", "p50<=9ms", "sync:mean<=2ms"];
    document.search.limits = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    for (index, point) in document.search.curve.iter_mut().enumerate() {
        let value_ns = |limit: &Limit| match limit.metric {
            Metric::Percentile(99.0) => Some(1e6 * (index + 1) as f64),
            // Its direction had no I/O.
            _ if index == 0 => None,
            _ => Some(2e5 * (index + 1) as f64),
        };
        let value = |limit| LimitValue { limit, value_ns: value_ns(&limit), ci95_ns: None, n: 9 };
        point.limits = document.search.limits.iter().copied().map(value).collect();
    }
    document.search.curve[4].queue_depth_achieved = 679.0;
    assert_snapshot!("find_judged_80", curve_of(&find(&document, Page::plain(80))));
    assert_snapshot!("find_judged_200", curve_of(&find(&document, Page::plain(200))));
}

/// Returns the table of a search.
fn curve_of(text: &str) -> String {
    let lines = text.lines().skip_while(|line| !line.starts_with("depth  "));
    lines.take_while(|line| !line.starts_with("I/O  ")).collect::<Vec<_>>().join("\n")
}

#[test]
fn per_direction_limits_are_printed_with_their_direction() {
    let mut document = find_document(StoppedBy::Limit);
    document.search.limits =
        vec!["read:p99<=5ms".parse().unwrap(), "write:mean<=2ms".parse().unwrap()];
    let value =
        |limit, value_ns| LimitValue { limit, value_ns: Some(value_ns), ci95_ns: None, n: 9 };
    let answer = &mut document.search.answer;
    answer.limits =
        vec![value(document.search.limits[0], 4.2e6), value(document.search.limits[1], 1.98e6)];
    answer.stopped_by_limit = Some(document.search.limits[1]);
    let mut text = format!("{}\n{}\n\n", find_brief(&document), find_verdict(&document));
    document.search.answer.met = false;
    document.search.answer.stopped_by = StoppedBy::Unattainable;
    document.search.answer.limits[0].value_ns = Some(6e6);
    let whole = find(&document, Page::plain(200));
    let next = whole.lines().rev().find(|line| line.starts_with("Next: ")).unwrap();
    text.push_str(&format!("{}\n{}\n{next}", find_brief(&document), find_verdict(&document)));
    assert_snapshot!("find_directions", text);
}

#[test]
fn verdict_of_older_result_omits_missing_details() {
    let mut document = find_document(StoppedBy::Limit);
    document.search.answer.stopped_by_limit = None;
    // The knee is at another queue depth.
    document.search.knee = Some(Knee { queue_depth: 32, iops: 76_100.0, share: None });
    let verdict = find_verdict(&document);
    assert!(verdict.ends_with("(mean 10.0 ms); stopped by the limit: more load breaks it."));
}

#[test]
fn open_loop_search_is_reported_by_rate() {
    let mut document = find_document(StoppedBy::Limit);
    for point in &mut document.search.curve {
        point.rate_iops = Some(point.iops.mean.round());
        point.errors = 3;
    }
    document.search.answer.rate_iops = Some(81_204.0);
    document.search.knee = None;
    document.physical = None;
    assert_snapshot!("find_open_loop", find(&document, Page::plain(110)));
}

#[test]
fn each_stop_reason_has_its_own_text() {
    let mut text = String::new();
    for met in [true, false] {
        for stopped_by in STOPS {
            let mut document = find_document(stopped_by);
            document.search.answer.met = met && stopped_by != StoppedBy::Unattainable;
            if matches!(stopped_by, StoppedBy::Unattainable | StoppedBy::Undecided) {
                document.search.answer.queue_depth = 1;
                document.search.answer.latency_ns = latency(12_300_000.0);
            }
            let whole = find(&document, Page::plain(200));
            let next = whole.lines().position(|line| line.starts_with("Next: ")).unwrap();
            let next: Vec<_> = whole.lines().skip(next).collect();
            text.push_str(&format!(
                "{}\n{}\n{}\n\n",
                find_brief(&document),
                find_verdict(&document),
                next.join("\n")
            ));
        }
    }
    let mut wandering = find_document(StoppedBy::Limit);
    wandering.search.answer.pi95 = Some([20_000.0, 150_000.0]);
    let wander = Wander { deviation: 0.081, over_seconds: 9.6, kept_iops: 42_017.0, windows: 24 };
    wandering.search.answer.wander = Some(wander);
    text.push_str(&format!("{}\n\n", find_verdict(&wandering)));
    // Too few I/Os, in both loops, and a maximum that larger loads violated.
    let mut undecided = find_document(StoppedBy::Undecided);
    text.push_str(&format!("{}\n", find_verdict(&undecided)));
    undecided.search.answer.rate_iops = Some(81_204.0);
    text.push_str(&format!("{}\n", find_verdict(&undecided)));
    undecided.search.answer.rate_iops = None;
    let limit = "max<=10ms".parse().unwrap();
    let broken = LimitValue { limit, value_ns: Some(5e7), ci95_ns: Some([5e7; 2]), n: 1000 };
    undecided.search.curve.iter_mut().for_each(|point| point.limits = vec![broken]);
    undecided.search.answer.queue_depth = 1;
    text.push_str(&format!("{}\n\n", find_verdict(&undecided)));
    let mut nothing_found = find_document(StoppedBy::Interrupted);
    nothing_found.search.answer.met = false;
    nothing_found.search.answer.latency_ns = nothing();
    text.push_str(&find_verdict(&nothing_found));
    assert_snapshot!("find_verdicts", text);
}

#[test]
fn report_of_a_search_without_measurements() {
    let mut document = find_document(StoppedBy::Interrupted);
    document.search.answer.met = false;
    document.search.answer.latency_ns = nothing();
    document.search.curve.clear();
    document.search.knee = None;
    document.physical = None;
    assert_snapshot!("find_nothing", find(&document, Page::plain(80)));
}

#[test]
fn colored_report_has_the_same_text_as_plain() {
    let mut document = find_document(StoppedBy::Limit);
    document.caveats = caveats();
    let colored = find(&document, Page { width: 80, color: true });
    assert!(colored.contains("\x1b[33m/data sustains"), "a doubt: {colored}");
    let mut plain = String::new();
    for (index, part) in colored.split('\x1b').enumerate() {
        plain.push_str(if index == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, find(&document, Page::plain(80)));
}

#[test]
fn verdict_color_changes_for_doubts_but_not_for_notes() {
    let shown = |impact| {
        let mut document = find_document(StoppedBy::Limit);
        document.caveats = caveats().into_iter().map(|c| c.with_impact(impact)).collect();
        find(&document, Page { width: 100, color: true })
    };
    let (doubt, note) = (shown(Impact::Doubt), shown(Impact::Note));
    assert!(doubt.starts_with("\x1b[33m/data sustains"), "{doubt}");
    assert!(doubt.contains("In doubt: volatile-write-cache, steal-time;"), "{doubt}");
    assert!(doubt.contains("Reasons to doubt this result") && !doubt.contains("Notes on"));
    assert!(note.starts_with("\x1b[1;32m/data sustains"), "{note}");
    assert!(note.contains("Notes on this result") && !note.contains("doubt"), "{note}");
}

#[test]
fn control_characters_in_target_names_are_escaped() {
    let mut document = find_document(StoppedBy::Limit);
    document.head.target = named("/data\x1b[2J\r\nx");
    let text = find(&document, Page::plain(80));
    assert!(!text.contains('\x1b') && !text.contains('\r'), "{text:?}");
}

fn lines() -> Vec<HistoryRun> {
    let line = |id: &str, state: &str, target: &str, verdict: &str| HistoryRun {
        id: id.to_owned(),
        kind: "find".to_owned(),
        state: state.to_owned(),
        target: target.to_owned(),
        load: "randread 4 KiB".to_owned(),
        steps: 12,
        verdict: verdict.to_owned(),
        ..HistoryRun::default()
    };
    vec![
        line("20261121-101530-x7k2", "running", "/data", ""),
        line(
            "20261121-081200-a01z",
            "interrupted",
            "sim:nvme",
            &find_brief(&find_document(StoppedBy::Limit)),
        ),
        line("20261120-230000-9qqq", "crashed", "/mnt/a-rather-long-mount/point/file.dat", ""),
    ]
}

#[test]
fn run_summary_fits_in_one_line() {
    let of = |steps| run_brief(&run_document(steps));
    assert_eq!(of(vec![]), "nothing measured");
    assert_eq!(of(vec![step("a", 1)]), "read 81,204 IOPS (± 325), mean 390 µs");
    assert_eq!(of(vec![step("a", 1), step("b", 2)]), "2 steps");
    let mut failed = step("a", 1);
    let mut read = direction(0.0, 0.0);
    (read.errors, read.service_ns, read.iops.n) = (3, nothing(), 0);
    failed.read = Some(read);
    assert_eq!(of(vec![failed]), "read 0 IOPS; 3 errors");
}

#[test]
fn limit_bound_is_printed_at_full_precision() {
    let mut document = find_document(StoppedBy::Limit);
    document.search.limits =
        vec!["p99.95<=2.555ms".parse().unwrap(), "max<=800ns".parse().unwrap()];
    let brief = find_brief(&document);
    assert!(brief.ends_with("p99.95 ≤ 2.555 ms, max ≤ 800 ns"), "{brief}");
}

#[test]
fn history_list_matches_snapshots() {
    assert_snapshot!("history_80", history_list(&lines(), Page::plain(80)));
    assert_snapshot!("history_100", history_list(&lines(), Page::plain(100)));
    assert_snapshot!("history_60", history_list(&lines(), Page::plain(60)));
    assert_snapshot!("history_140", history_list(&lines(), Page::plain(140)));
    assert_snapshot!("history_empty", history_list(&[], Page::plain(80)));
}

#[test]
fn history_list_gives_results_the_space_that_is_there() {
    for width in 60..160 {
        let text = history_list(&lines(), Page::plain(width));
        let (_, result) = text.split_once("81,204 IOPS").unwrap_or_else(|| panic!("{text}"));
        let result = result.lines().next().unwrap_or_default();
        // A block of its own has space for more than the rate.
        let is_apart = text.matches("20261121-081200-a01z").count() > 1;
        assert!(!is_apart || result.contains("(± 0.7 %)"), "{width}: {text}");
    }
}

#[test]
fn trend_matches_snapshots_and_fits_the_page() {
    assert_snapshot!("trend_100", trend(&series::trend(), Page::plain(100)));
    assert_snapshot!("trend_60", trend(&series::long_trend(), Page::plain(60)));
    assert_snapshot!("trend_steady", trend(&series::steady(), Page::plain(80)));
    assert_snapshot!("trend_short", trend(&series::short(), Page::plain(80)));
    for document in [series::trend(), series::long_trend(), series::steady(), series::short()] {
        for width in 60..160 {
            let text = trend(&document, Page::plain(width));
            let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= usize::from(width), "{width}: {text}");
        }
    }
}
