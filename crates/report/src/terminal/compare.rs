//! Comparisons as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::plural;
use super::parts;
use super::sheet::{Paint, Sheet};
use super::suite::write_table;
use iogauge_model::result::{
    CompareDocument, CompareFindings, CompareVerdict, SuiteDocument, SuiteTable,
};

/// Formats a comparison of saved runs: the verdict, in what they differ, and the figures.
#[must_use]
pub fn compare_runs(document: &CompareDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let findings = CompareFindings::of(&document.conclusion.findings);
    for (index, sentence) in document.conclusion.verdict.iter().enumerate() {
        let first = if index == 0 { paint(findings.as_ref()) } else { Paint::Plain };
        sheet.text(first, sentence);
    }
    if let Some(doubt) = parts::in_doubt(&document.caveats) {
        sheet.text(Paint::Doubt, &doubt);
    }
    sheet.gap();
    for subject in &document.subjects {
        let runs = plural(subject.runs.len() as u64, "run");
        let shown = match subject.runs.as_slice() {
            [only] => only.clone(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        };
        let line = format!("{} {}: {runs}, {shown}", subject.name, subject.about);
        sheet.text(Paint::Plain, &line);
    }
    if !document.differences.is_empty() {
        sheet.gap();
        write_differences(&mut sheet, document);
    }
    for table in &document.conclusion.tables {
        sheet.gap();
        if let SuiteTable::Own(table) = table {
            write_table(&mut sheet, table);
        }
    }
    parts::caveats(&mut sheet, "this result", &document.caveats);
    sheet.into_text()
}

fn write_differences(sheet: &mut Sheet, document: &CompareDocument) {
    let names = document.subjects.iter().map(|subject| (subject.name.clone(), Kind::Text));
    let columns = std::iter::once(("differs".to_owned(), Kind::Word)).chain(names);
    let mut grid = Grid::titled(columns);
    for difference in &document.differences {
        let cells: Vec<String> =
            std::iter::once(&difference.what).chain(&difference.values).cloned().collect();
        grid.row_of(Paint::Plain, &cells);
    }
    grid.write(sheet);
}

/// Returns the paint of the verdict.
pub(super) fn paint(findings: Option<&CompareFindings>) -> Paint {
    match findings.map(CompareFindings::verdict) {
        Some(CompareVerdict::Better | CompareVerdict::Equivalent) => Paint::Good,
        Some(CompareVerdict::Worse) => Paint::Bad,
        Some(CompareVerdict::Undecided) => Paint::Doubt,
        None => Paint::Strong,
    }
}

/// Returns what a comparison did, in a line.
pub(super) fn summary(document: &SuiteDocument, findings: &CompareFindings) -> String {
    let margin = findings.margin * 100.0;
    format!(
        "compare: {} of at most {}, {}; {} decides, with a margin of {margin} %",
        plural(findings.blocks, "block"),
        findings.blocks_most,
        plural(document.steps.len() as u64, "turn"),
        findings.metric.word()
    )
}
