//! The document of `iogauge crosscheck` as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::{count, load, plural};
use super::parts;
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{Agreement, Comparison, CrosscheckDocument, Figure};
use iogauge_model::units::Latency;

/// Formats the document: the verdict first, then each figure measured by both programs.
#[must_use]
pub fn crosscheck(document: &CrosscheckDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    sheet.text(paint(document.verdict), &verdict(document));
    if let Some(doubt) = parts::in_doubt(&document.caveats) {
        sheet.text(Paint::Doubt, &doubt);
    }
    sheet.gap();
    parts::head(&mut sheet, &document.head);
    if document.interrupted {
        sheet.text(Paint::Bad, "Interrupted: these are the rounds up to then.");
    }
    sheet.text(
        Paint::Plain,
        &format!(
            "{}, in turns of {} s; medians, and ratios round by round",
            plural(document.rounds, "round"),
            document.round_seconds
        ),
    );
    if !document.figures.is_empty() {
        sheet.gap();
        write_figures(&mut sheet, document);
    }
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    sheet.into_text()
}

/// Formats the verdict in one line, for a list that shows target and workload next to it.
#[must_use]
pub fn crosscheck_brief(document: &CrosscheckDocument) -> String {
    let within = format!("within {:.3} %", document.tolerance * 100.0);
    let within = within.replace(".000 %", " %");
    let told: Vec<String> = document
        .figures
        .iter()
        .filter(|figure| figure.verdict == document.verdict)
        .map(|figure| format!("{} ×{:.3}", figure.figure.word(), figure.ratio.mean))
        .collect();
    match document.verdict {
        Agreement::Agree => format!("iogauge and {} agree {within}", fio(document)),
        Agreement::Differ => {
            format!("iogauge and {} differ: {}", fio(document), told.join(", "))
        }
        Agreement::CannotTell if told.is_empty() => "nothing to compare was measured".to_owned(),
        Agreement::CannotTell => format!("cannot tell {within}: {}", told.join(", ")),
    }
}

fn verdict(document: &CrosscheckDocument) -> String {
    let more = document.figures.iter().filter_map(|figure| figure.rounds_wanted).max();
    let more = more.filter(|_| document.verdict == Agreement::CannotTell);
    let more = more.map_or_else(String::new, |rounds| format!("; try --rounds {rounds}"));
    let load = load(&document.head.load);
    format!("{}{more}. The load: {load}.", crosscheck_brief(document))
}

fn fio(document: &CrosscheckDocument) -> &str {
    document.head.via.as_ref().map_or("fio", |via| via.version.as_str())
}

fn paint(verdict: Agreement) -> Paint {
    match verdict {
        Agreement::Agree => Paint::Good,
        Agreement::Differ => Paint::Bad,
        Agreement::CannotTell => Paint::Doubt,
    }
}

fn write_figures(sheet: &mut Sheet, document: &CrosscheckDocument) {
    let mut grid = Grid::new(&[
        ("", Kind::Word),
        ("iogauge", Kind::Number),
        ("fio", Kind::Number),
        ("ratio", Kind::Number),
        ("95 %", Kind::Number),
        ("", Kind::Word),
    ]);
    for comparison in &document.figures {
        let shown = |value: f64| match comparison.figure {
            Figure::Iops => count(value),
            _ => Latency(value).to_string(),
        };
        let [low, high] = comparison.ratio.ci95;
        let interval = match comparison.ratio.n {
            0 | 1 => String::new(),
            _ => format!("{low:.3}–{high:.3}"),
        };
        let row = [
            comparison.figure.word().to_owned(),
            shown(comparison.iogauge),
            shown(comparison.fio),
            format!("{:.3}", comparison.ratio.mean),
            interval,
            said(comparison, document.rounds),
        ];
        let paint = match comparison.verdict {
            Agreement::Agree => Paint::Plain,
            other => paint(other),
        };
        grid.row(paint, row);
    }
    grid.write(sheet);
}

fn said(comparison: &Comparison, rounds: u64) -> String {
    match (comparison.verdict, comparison.rounds_wanted) {
        (Agreement::Agree, _) => "agree".to_owned(),
        (Agreement::Differ, _) => "differ".to_owned(),
        (Agreement::CannotTell, Some(wanted)) => {
            let more = wanted.saturating_sub(rounds);
            let word = if more == 1 { "round" } else { "rounds" };
            format!("cannot tell: {} more {word}", count(more as f64))
        }
        (Agreement::CannotTell, None) => "cannot tell".to_owned(),
    }
}
