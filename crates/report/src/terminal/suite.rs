//! Suites as text: the list of suites, the plan of one, and the document of a finished one.

use super::Page;
use super::compare;
use super::grid::{Grid, Kind};
use super::hosts;
use super::names::{count, plural};
use super::parts;
use super::sheet::{Paint, Sheet, cut};
use crate::classic::{self, Extra};
use crate::rows;
use crate::settings::{self, Refusal};
use iogauge_model::result::{
    Cell, CompareFindings, PlannedStep, StepResult, SuiteAsked, SuiteDocument, SuitePlanDocument,
    SuiteStepResult, SuiteTable, Table,
};
use iogauge_model::units::{Bandwidth, Bytes, Latency, shell_word};
use std::collections::HashMap;

/// Lists the suites and what they measure.
#[must_use]
pub fn suite_list(suites: &[(&str, &str)], page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let mut grid = Grid::new(&[("suite", Kind::Word), ("measures", Kind::Text)]);
    for (name, about) in suites {
        grid.row(Paint::Plain, [(*name).to_owned(), (*about).to_owned()]);
    }
    grid.write(&mut sheet);
    sheet.gap();
    sheet.text(
        Paint::Plain,
        "iogauge suite NAME --help tells the options of one, iogauge suite NAME TARGET --dry-run what \
         it would do.",
    );
    sheet.into_text()
}

/// Formats what a suite would do: its steps, their time and their writes.
#[must_use]
pub fn suite_plan(plan: &SuitePlanDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let steps = plural(plan.steps.len() as u64, "step");
    let title = format!("{} on {}: at most {steps}", asked(&plan.suite), plan.target.name());
    sheet.text(Paint::Strong, &title);
    sheet.gap();
    let mut grid = Grid::new(&[
        ("step", Kind::Text),
        ("round", Kind::Number),
        ("load", Kind::Text),
        ("time", Kind::Number),
        ("writes", Kind::Number),
    ]);
    for (step, rounds) in rounds_as_one(&plan.steps) {
        let written = match step.written_bytes {
            Some(0) => String::new(),
            Some(bytes) => Bytes(bytes).to_string(),
            None => "all its time".to_owned(),
        };
        grid.row(
            Paint::Plain,
            [
                step.place.key.clone(),
                rounds,
                step.label.clone(),
                step.seconds.map_or_else(|| "until done".to_owned(), duration),
                written,
            ],
        );
    }
    grid.write(&mut sheet);
    sheet.gap();
    sheet.text(Paint::Plain, &sums(plan));
    sheet.into_text()
}

/// Returns the steps with their rounds: `3`, or `1–25` if all these rounds have the same step, which then
/// appears once.
fn rounds_as_one(steps: &[PlannedStep]) -> Vec<(&PlannedStep, String)> {
    let what = |step: &PlannedStep| {
        let seconds = step.seconds.map(f64::to_bits);
        (step.place.phase.clone(), step.label.clone(), seconds, step.written_bytes)
    };
    let mut shown: Vec<(&PlannedStep, u32, u32)> = Vec::new();
    let mut known: HashMap<_, usize> = HashMap::new();
    for step in steps {
        let round = step.place.round.unwrap_or(0);
        match known.get(&what(step)).map(|index| &mut shown[*index]) {
            Some((_, _, last)) if round > 0 && *last + 1 == round => *last = round,
            _ => {
                known.insert(what(step), shown.len());
                shown.push((step, round, round));
            }
        }
    }
    let word = |(step, first, last)| match (first, last) {
        (0, _) => (step, String::new()),
        (first, last) if first == last => (step, first.to_string()),
        (first, last) => (step, format!("{first}–{last}")),
    };
    shown.into_iter().map(word).collect()
}

/// Sums up a plan's time and writes in a sentence.
fn sums(plan: &SuitePlanDocument) -> String {
    let counted = plan.steps.iter().filter(|step| step.seconds.is_none()).count();
    let fixed = (plan.seconds > 0.0 || counted == 0).then(|| duration(plan.seconds));
    let open = match (counted, plan.written_bytes) {
        (0, _) => None,
        (_, 0) => Some("as long as reading the bytes of some steps".to_owned()),
        (_, bytes) => Some(format!("as long as writing {}", Bytes(bytes))),
    };
    let times: Vec<String> = fixed.into_iter().chain(open).collect();
    let mut text = format!("Measuring takes {}", times.join(", and "));
    text.push_str("; a test file that is missing is written first. ");
    match (plan.written_bytes, plan.writing_seconds > 0.0) {
        (0, false) => text.push_str("The steps write nothing."),
        (0, true) => text.push_str(&format!(
            "The steps write what the target takes in {}.",
            duration(plan.writing_seconds)
        )),
        (bytes, false) => text.push_str(&format!("The steps write {}.", Bytes(bytes))),
        (bytes, true) => text.push_str(&format!(
            "The steps write {}, and what the target takes in {}.",
            Bytes(bytes),
            duration(plan.writing_seconds)
        )),
    }
    text
}

/// Formats `90 s`, `12 min`, `26.5 h`.
#[must_use]
pub fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 120.0 => format!("{} s", (s * 10.0).round() / 10.0),
        s if s < 7200.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Formats the document: the verdict, the tables, then the caveats.
#[must_use]
pub fn suite(document: &SuiteDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let compared = CompareFindings::of(&document.conclusion.findings);
    let first = compare::paint(compared.as_ref());
    for (index, sentence) in document.conclusion.verdict.iter().enumerate() {
        sheet.text(if index == 0 { first } else { Paint::Plain }, sentence);
    }
    if document.interrupted && compared.is_some() {
        sheet.text(Paint::Bad, "Interrupted: these are the turns up to then.");
    } else if document.interrupted {
        let left = match document.steps_left {
            0 => String::new(),
            left => {
                format!("up to {} of the suite did not run; ", plural(u64::from(left), "step"))
            }
        };
        let place = shell_word(document.head.target.name());
        let command = match document.suite.name.as_str() {
            SuiteAsked::HOSTS_CURVE | SuiteAsked::CHECK => {
                "the same command with --resume".to_owned()
            }
            name => format!("\"iogauge suite {} {place} --resume\"", shell_word(name)),
        };
        sheet.text(Paint::Bad, &format!("Interrupted: {left}{command} goes on."));
    }
    if let Some(doubt) = parts::in_doubt(&document.caveats) {
        sheet.text(Paint::Doubt, &doubt);
    }
    sheet.gap();
    parts::head(&mut sheet, &document.head);
    let steps = plural(document.steps.len() as u64, "step");
    let summary = match &compared {
        Some(found) => compare::summary(document, found),
        None => format!("suite {}; {steps}", asked(&document.suite)),
    };
    sheet.text(Paint::Plain, &summary);
    hosts::write_parts(&mut sheet, &document.head.host_parts);
    for table in &document.conclusion.tables {
        sheet.gap();
        match table {
            SuiteTable::Classic => write_classic(&mut sheet, document),
            SuiteTable::Own(table) => write_table(&mut sheet, table),
        }
    }
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    let setting = settings::of_suite(document);
    if let Some(Err(refusal)) = &setting {
        sheet.gap();
        let Refusal { setting, reason, .. } = refusal;
        sheet.text(Paint::Doubt, &format!("No setting for {}: {reason}.", setting.name));
        sheet.text(Paint::Plain, &format!("hint: {}", refusal.hint()));
    }
    let mut text = sheet.into_text();
    if let Some(Ok(setting)) = setting {
        text.push('\n');
        text.push_str(&setting);
    }
    text
}

/// Formats the verdict in one line, for a list that shows the target next to it.
#[must_use]
pub fn suite_brief(document: &SuiteDocument) -> String {
    match document.conclusion.verdict.first() {
        Some(first) => first.trim_end_matches('.').to_owned(),
        None => "nothing measured".to_owned(),
    }
}

/// Formats a finished step in one line: `8k depth 32: 45,000 IOPS, 369 MB/s, mean 710 µs`.
#[must_use]
pub fn suite_step_line(step: &SuiteStepResult) -> String {
    let figures = match (step.step(), step.search()) {
        (Some(result), _) => step_figures(result),
        (_, Some(search)) => {
            let answer = &search.answer;
            let met = if answer.met { "" } else { "limit not met: " };
            format!("{met}{} IOPS at queue depth {}", count(answer.iops.mean), answer.queue_depth)
        }
        _ => String::new(),
    };
    let cut = if step.interrupted { " (interrupted)" } else { "" };
    format!("{}: {figures}{cut}", step.place.key)
}

fn step_figures(step: &StepResult) -> String {
    let directions = [("read", &step.read), ("write", &step.write)];
    let moved: Vec<String> = directions
        .iter()
        .filter_map(|(word, direction)| Some((word, direction.as_ref()?)))
        .map(|(word, d)| {
            format!(
                "{word} {} IOPS, {}, mean {}",
                count(d.iops.mean),
                Bandwidth(d.bytes_per_sec),
                Latency(d.service_ns.mean)
            )
        })
        .collect();
    if moved.is_empty() { "nothing moved".to_owned() } else { moved.join("; ") }
}

/// Formats `oltp (seconds=10, users=8)`.
fn asked(asked: &SuiteAsked) -> String {
    let option = |(name, value): (&String, &String)| {
        if value.is_empty() { name.clone() } else { format!("{name}={value}") }
    };
    // The option that identifies a file's content means nothing to a reader.
    let typed = asked.options.iter().filter(|(name, _)| *name != SuiteAsked::CONTENT);
    let options: Vec<String> = typed.map(option).collect();
    if options.is_empty() {
        asked.name.clone()
    } else {
        format!("{} ({})", asked.name, options.join(", "))
    }
}

/// Writes the classic table, with the shares of latencies if the page is wide enough. What still does not
/// fit is cut.
fn write_classic(sheet: &mut Sheet, document: &SuiteDocument) {
    let rows = rows::rows_of_suite(document, "");
    let fits = |text: &String| text.lines().all(|line| line.trim_end().len() <= sheet.columns());
    let narrow = Extra { units: true, ..Extra::default() };
    let wide = classic::plain(&rows, Extra { buckets: true, ..narrow });
    let text = Some(wide).filter(fits).unwrap_or_else(|| classic::plain(&rows, narrow));
    let is_whole = fits(&text);
    for (number, line) in text.lines().enumerate() {
        let paint = if number == 0 { Paint::Strong } else { Paint::Plain };
        sheet.line(paint, &cut(line.trim_end(), sheet.columns(), false));
    }
    if !is_whole {
        let id = &document.head.run_id;
        let whole = format!("\"iogauge history show {id} --format classic\" prints it whole.");
        sheet.text(Paint::Plain, &whole);
    }
}

pub(super) fn write_table(sheet: &mut Sheet, table: &Table) {
    if !table.title.is_empty() {
        sheet.text(Paint::Strong, &table.title);
    }
    let columns = table.columns.iter().enumerate().map(|(index, column)| {
        let kind = match (index, column.words) {
            (0, true) => Kind::Word,
            (_, true) => Kind::Text,
            (_, false) => Kind::Number,
        };
        (column.title.clone(), kind)
    });
    let mut grid = Grid::titled(columns);
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(cell_text).collect();
        grid.row_of(Paint::Plain, &cells);
    }
    grid.write(sheet);
    for note in &table.notes {
        sheet.text(Paint::Plain, note);
    }
}

/// Formats a cell of a table.
pub(crate) fn cell_text(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Count(n) => count(*n as f64),
        Cell::Iops(iops) => count(*iops),
        Cell::BytesPerSec(bytes) => Bandwidth(*bytes).to_string(),
        Cell::SizeBytes(bytes) => Bytes(*bytes).to_string(),
        Cell::LatencyNs(ns) => Latency(*ns).to_string(),
        // Rounded to 0, it has no sign.
        Cell::Percent(percent) if percent.abs() < 0.05 => "0.0 %".to_owned(),
        Cell::Percent(percent) => format!("{percent:.1} %").replace('-', "−"),
        Cell::Ratio(ratio) => format!("{ratio:.2}×"),
    }
}
