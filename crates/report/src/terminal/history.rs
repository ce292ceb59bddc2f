//! The list of runs.

use super::Page;
use super::grid::{Grid, Kind};
use super::sheet::{Paint, Sheet};
use iogauge_model::result::HistoryRun;

/// Formats runs as a table, one line each. What is too long for the page is cut: workloads and targets before results.
#[must_use]
pub fn history_list(runs: &[HistoryRun], page: Page) -> String {
    let mut sheet = Sheet::new(page);
    if runs.is_empty() {
        sheet.text(Paint::Plain, "No runs.");
        return sheet.into_text();
    }
    let mut grid = Grid::new(&[
        ("run", Kind::Word),
        ("", Kind::Word),
        ("state", Kind::Word),
        ("steps", Kind::Number),
        ("label", Kind::Text),
        ("load", Kind::Text),
        ("target", Kind::Path),
        ("result", Kind::Sentence),
    ]);
    for run in runs {
        let paint = match run.state.as_str() {
            "running" => Paint::Strong,
            "interrupted" => Paint::Doubt,
            "failed" | "crashed" => Paint::Bad,
            _ => Paint::Plain,
        };
        let steps = run.steps.to_string();
        let label = run.label.clone().unwrap_or_default();
        let cells =
            [&run.id, &run.kind, &run.state, &steps, &label, &run.load, &run.target, &run.verdict];
        grid.row(paint, cells.map(Clone::clone));
    }
    grid.write(&mut sheet);
    sheet.into_text()
}
