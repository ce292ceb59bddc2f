//! Suites as text, at common widths.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::load::Load;
use iogauge_model::plan::Step;
use iogauge_model::result::{
    Cell, Conclusion, PlannedStep, SUITE_FORMAT, StepPlace, SuiteAsked, SuiteDocument,
    SuiteOutcome, SuitePlanDocument, SuiteStepResult, SuiteTable, Table,
};
use iogauge_report::terminal::{Page, suite, suite_brief, suite_list, suite_plan, suite_step_line};
use proptest::prelude::*;
use serde_json::json;
use unicode_width::UnicodeWidthStr;

fn place(key: &str, round: Option<u32>) -> StepPlace {
    StepPlace { key: key.to_owned(), phase: "rounds".to_owned(), round }
}

fn asked(options: &[(&str, &str)]) -> SuiteAsked {
    let options = options.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
    SuiteAsked { name: "blocksize".to_owned(), options }
}

fn one(key: &str) -> SuiteStepResult {
    SuiteStepResult {
        place: place(key, None),
        started: "2026-11-21T10:15:30Z".to_owned(),
        part: 0,
        asked: Step::single(Load { numjobs: 8, ..Load::default() }, 0, 10_000_000_000),
        result: SuiteOutcome::Step(Box::new(step(key, 8))),
        check: None,
        caveats: Vec::new(),
        interrupted: false,
    }
}

fn table() -> Table {
    let mut table =
        Table::new("Reads by size", &["block", "IOPS", "bandwidth", "mean", "share", "#bound by"]);
    table.row([
        Cell::SizeBytes(4096),
        Cell::Iops(81_204.2),
        Cell::BytesPerSec(332.6e6),
        Cell::LatencyNs(98_400.0),
        Cell::Percent(99.5),
        Cell::Text("I/Os".to_owned()),
    ]);
    table.row([
        Cell::SizeBytes(1 << 20),
        Cell::Iops(954.0),
        Cell::Empty,
        Cell::LatencyNs(33.5e6),
        Cell::Ratio(1.25),
        Cell::Count(7),
    ]);
    table.notes.push("32 I/Os outstanding.".to_owned());
    table
}

fn document(tables: Vec<SuiteTable>) -> SuiteDocument {
    SuiteDocument {
        head: head(SUITE_FORMAT, named("/data")),
        suite: asked(&[("seconds", "1"), ("buffered", "")]),
        subjects: Vec::new(),
        setups: Vec::new(),
        steps: vec![one("4k"), one("1m")],
        conclusion: Conclusion {
            verdict: vec!["The target is bound by I/Os.".to_owned(), "So it is.".to_owned()],
            tables,
            findings: json!({}),
        },
        steps_left: 0,
        resumed: 0,
        interrupted: false,
        caveats: caveats(),
        environment: environment(),
    }
}

#[test]
fn suite_report_contains_its_tables() {
    let document = document(vec![SuiteTable::Own(table()), SuiteTable::Classic]);
    assert_snapshot!("suite_80", suite(&document, Page::plain(80)));
    assert_snapshot!("suite_140", suite(&document, Page::plain(140)));
    assert_eq!(suite_brief(&document), "The target is bound by I/Os");
}

#[test]
fn interrupted_suite_prints_the_resume_command() {
    let mut cut = document(Vec::new());
    (cut.interrupted, cut.steps_left) = (true, 12);
    cut.head.target = named("/a b");
    let text = suite(&cut, Page::plain(100));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("\"iogauge suite blocksize '/a b' --resume\" goes on"), "{text}");
    assert!(text.contains("up to 12 steps"), "{text}");
}

#[test]
fn suite_plan_prints_time_and_bytes_written() {
    let step = |key: &str, round, seconds, written_bytes| PlannedStep {
        place: place(key, round),
        label: "randwrite 4 KiB depth 32".to_owned(),
        seconds,
        written_bytes,
    };
    let steps = vec![
        step("fill", None, None, Some(64 << 30)),
        step("4k round 1", Some(1), Some(60.0), None),
        step("read", None, Some(3600.0), Some(0)),
    ];
    let plan = SuitePlanDocument::new(asked(&[]), named("/data"), steps);
    assert_eq!((plan.seconds, plan.written_bytes, plan.writing_seconds), (3660.0, 64 << 30, 60.0));
    assert_snapshot!("suite_plan", suite_plan(&plan, Page::plain(80)));
    let list = suite_list(&[("oltp", "a database's matrix"), ("verify", "data")], Page::plain(80));
    assert!(list.contains("oltp    a database's matrix"), "{list}");
}

#[test]
fn suite_step_is_printed_in_one_line() {
    assert_snapshot!(suite_step_line(&one("4k depth 8")), @"4k depth 8: read 81,204 IOPS, 333 MB/s, mean 390 µs");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn suite_report_fits_page_width(width in 60u16..200, text in "\\PC{0,200}", figure in 0f64..1e15) {
        let mut own = table();
        own.title.clone_from(&text);
        own.columns[5].title.clone_from(&text);
        own.rows[0][5] = Cell::Text(text.clone());
        own.rows[0][1] = Cell::Iops(figure);
        own.notes.push(text.clone());
        let mut document = document(vec![SuiteTable::Classic, SuiteTable::Own(own)]);
        document.conclusion.verdict.push(text.clone());
        document.suite.options.insert("size".to_owned(), text.clone());
        document.interrupted = true;
        let planned = PlannedStep {
            place: place(&text, Some(1)),
            label: text.clone(),
            seconds: Some(figure),
            written_bytes: None,
        };
        let plan = SuitePlanDocument::new(asked(&[]), named(&text), vec![planned]);
        let page = Page::plain(width);
        for shown in [suite(&document, page), suite_plan(&plan, page), suite_list(&[("a", &text)], page)] {
            for line in shown.lines() {
                prop_assert!(line.width() <= usize::from(width), "{} > {width}: {line}", line.width());
            }
        }
    }
}
