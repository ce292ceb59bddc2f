//! The text output of `iogauge crosscheck`.
#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use insta::assert_snapshot;
use iogauge_model::result::{
    Agreement, CROSSCHECK_FORMAT, Comparison, CrosscheckDocument, Estimate, Figure, Via,
};
use iogauge_report::terminal::{Page, crosscheck, crosscheck_brief};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

fn comparison(figure: Figure, fio: f64, ratio: f64, half: f64) -> Comparison {
    let ratio = Estimate { mean: ratio, ci95: [ratio - half, ratio + half], n: 5 };
    let verdict = match (ratio.ci95[0] >= 0.95 && ratio.ci95[1] <= 1.05, ratio.ci95[0] > 1.05) {
        (true, _) => Agreement::Agree,
        (_, true) => Agreement::Differ,
        _ => Agreement::CannotTell,
    };
    let rounds_wanted = (verdict == Agreement::CannotTell).then_some(17);
    Comparison { figure, iogauge: fio * ratio.mean, fio, ratio, verdict, rounds_wanted }
}

fn document(verdict: Agreement, figures: Vec<Comparison>) -> CrosscheckDocument {
    let mut head = head(CROSSCHECK_FORMAT, named("/data"));
    head.via = Some(Via { version: "fio-3.33".to_owned(), binary: "fio".to_owned() });
    CrosscheckDocument {
        head,
        verdict,
        tolerance: 0.05,
        rounds: 5,
        round_seconds: 5.0,
        figures,
        sides: Vec::new(),
        steps: Vec::new(),
        interrupted: false,
        caveats: Vec::new(),
        environment: environment(),
    }
}

#[test]
fn crosscheck_with_agreement_is_printed() {
    let figures = vec![
        comparison(Figure::Iops, 81_204.0, 1.004, 0.01),
        comparison(Figure::LatencyNsMean, 394_000.0, 0.996, 0.01),
    ];
    let document = document(Agreement::Agree, figures);
    assert_snapshot!("crosscheck_agree", crosscheck(&document, Page::plain(100)));
    assert_snapshot!(crosscheck_brief(&document), @"iogauge and fio-3.33 agree within 5 %");
}

#[test]
fn crosscheck_with_difference_and_undecided_figure() {
    let figures = vec![
        comparison(Figure::Iops, 2000.0, 4.0, 0.1),
        comparison(Figure::LatencyNsP99, 5_000_000.0, 1.02, 0.3),
    ];
    let document = document(Agreement::Differ, figures);
    assert_snapshot!("crosscheck_differ", crosscheck(&document, Page::plain(80)));
    assert_snapshot!(crosscheck_brief(&document), @"iogauge and fio-3.33 differ: IOPS ×4.000");
}

#[test]
fn crosscheck_without_measurements_is_printed() {
    let document = document(Agreement::CannotTell, Vec::new());
    assert_snapshot!(crosscheck_brief(&document), @"nothing to compare was measured");
}

proptest! {
    #[test]
    fn crosscheck_report_fits_page_width(width in 60u16..200, target in "\\PC{0,200}", fio in 1f64..1e15,
                       ratio in 0.001f64..1000.0, half in 0f64..1.0) {
        let figures = Figure::ALL.map(|figure| comparison(figure, fio, ratio, half)).to_vec();
        let mut document = document(Agreement::CannotTell, figures);
        document.head.target = named(&target);
        for line in crosscheck(&document, Page::plain(width)).lines() {
            prop_assert!(line.width() <= usize::from(width), "{line}");
        }
    }
}
