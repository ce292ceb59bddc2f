//! Tests that no line is wider than the page, whatever was measured.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use iogauge_model::result::{HistoryRun, StoppedBy};
use iogauge_model::{Caveat, CaveatCode};
use iogauge_report::terminal::{Page, find, history_list, run};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

fn fits(text: &str, width: u16) -> Result<(), TestCaseError> {
    for line in text.lines() {
        prop_assert!(line.width() <= usize::from(width), "{} > {}: {}", line.width(), width, line);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn run_report_fits_page_width(width in 60u16..200, target in "\\PC{0,200}", label in "\\PC{0,90}",
                iops in 0f64..1e12, mean_ns in 0f64..1e12, message in "\\PC{0,300}",
                parts in 0u8..8) {
        let mut one = step(&label, 65_536);
        one.read = (parts & 1 > 0).then(|| {
            let mut read = direction(iops, mean_ns);
            read.response_ns = Some(latency(mean_ns * 3.0));
            read.errors = u64::MAX;
            read
        });
        one.write = (parts & 2 > 0).then(|| direction(iops / 3.0, mean_ns));
        one.sync = (parts & 4 > 0).then(|| direction(1.0, mean_ns));
        one.rate_iops = Some(iops);
        let mut document = run_document(vec![one.clone(), one]);
        document.head.target = named(&target);
        document.caveats.push(Caveat::new(CaveatCode::NotSteady, message.clone(), message));
        fits(&run(&document, Page::plain(width)), width)?;
    }

    #[test]
    fn search_report_fits_page_width(width in 60u16..200, target in "\\PC{0,200}", queue_depth in 1u32..65_536,
                    iops in 1f64..1e12, stop in 0usize..7, met: bool) {
        let stops = [StoppedBy::Limit, StoppedBy::Saturated, StoppedBy::Client,
                     StoppedBy::MaxDepth, StoppedBy::Budget, StoppedBy::Unattainable,
                     StoppedBy::Interrupted];
        let mut document = find_document(stops[stop]);
        document.search.answer.met = met;
        document.head.target = named(&target);
        document.search.curve.push(point(queue_depth, iops, met));
        fits(&find(&document, Page::plain(width)), width)?;
    }

    #[test]
    fn history_list_fits_page_width(width in 60u16..200, target in "\\PC{0,200}", verdict in "\\PC{0,300}",
                 steps: u32) {
        let line = HistoryRun {
            id: "20261121-101530-x7k2".to_owned(), kind: "import".to_owned(),
            state: "interrupted".to_owned(), target, steps, verdict, ..HistoryRun::default()
        };
        fits(&history_list(&[line], Page::plain(width)), width)?;
    }
}
