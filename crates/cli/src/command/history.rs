//! `iogauge history`: lists, shows, labels, exports and removes kept runs, and analyses series of them.

use super::{table, trend};
use crate::args::{HistoryAction, HistoryArgs, ShowFormat};
use crate::exit::{Exit, Usage};
use crate::screen;
use anyhow::Context;
use iogauge_fio::json_out::{self, Detail};
use iogauge_lab::history::{
    ExportFormat, Filter, History, HistoryError, HistoryPath, Label, RunRef, RunRow, Running,
    StoredRun, StoredStep,
};
use iogauge_model::result::{
    BesideDocument, CrosscheckDocument, FindDocument, HISTORY_FORMAT, HistoryDocument, HistoryRun,
    ProfileDocument, RunDocument, SuiteAsked, SuiteDocument, TargetFacts, UNFINISHED_FORMAT,
    UnfinishedDocument, UnfinishedStep,
};
use iogauge_report::csv;
use iogauge_report::exhibit::{Exhibit, ExhibitError};
use iogauge_report::rows::{self, Row};
use iogauge_report::settings::Setting;
use iogauge_report::terminal::{self, Page};
use serde::de::DeserializeOwned;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;

/// Kind of the runs that only recorded the system.
const PROFILE: &str = "profile";
/// Kind of the runs of suites.
const SUITE: &str = "suite";

/// Runs the command.
///
/// # Errors
/// The history cannot be read or written, or has no such run.
pub fn run(args: &HistoryArgs) -> anyhow::Result<Exit> {
    let mut history = match args.action {
        HistoryAction::Trend(_) => open_existing(&args.history)?,
        _ => open(&args.history)?,
    };
    match &args.action {
        HistoryAction::List { limit, state, target, label, json } => {
            let limit = *limit as usize;
            let filter = Filter {
                // One more shows whether there are others.
                limit: Some(limit + 1),
                state: *state,
                target_contains: target.clone(),
                label: label.clone(),
                ..Filter::default()
            };
            let (mut rows, left_out) = history.list_undamaged(&filter)?;
            let has_more = rows.len() > limit;
            rows.truncate(limit);
            let runs: Vec<HistoryRun> = rows.iter().map(listed).collect();
            if *json {
                let document = HistoryDocument { format: HISTORY_FORMAT.to_owned(), runs };
                screen::data(&screen::json(&document)?)?;
            } else {
                let page = screen::page(false);
                // Without a terminal or a given width, lines are not cut.
                let has_width = std::io::stdout().is_terminal() || screen::columns().is_some();
                let width = if has_width { page.width } else { u16::MAX };
                screen::print(&terminal::history_list(&runs, Page { width, ..page }))?;
                if has_more {
                    screen::tell("older runs are not listed; --limit sets how many are");
                }
            }
            return Ok(tell_left_out(&history, "list", &left_out));
        }
        HistoryAction::Show { runs, format, extra } => {
            let runs = history.select_all(runs)?;
            match format.table() {
                Some(table) => table::print(&classic_rows(&history, &runs)?, table, *extra, None)?,
                None => runs.iter().try_for_each(|run| show(&history, run, *format))?,
            }
        }
        HistoryAction::Label { runs, label } => {
            let runs = history.select_all(runs)?;
            let done = match &label.0 {
                Some(label) => format!("has the label {label}"),
                None => "has no label".to_owned(),
            };
            for id in history.set_label(&runs, label.0.as_ref())? {
                screen::say(&format!("{id} {done}"))?;
            }
        }
        HistoryAction::Trend(args) => {
            let (exit, damaged) = trend::run(args, &history)?;
            let told = tell_left_out(&history, "trend", &damaged);
            return Ok(if exit == Exit::Done { told } else { exit });
        }
        HistoryAction::Rm { runs, force } => {
            let runs = history.select_all(runs)?;
            for id in history.rm(&runs, running(*force))? {
                screen::say(&format!("removed {id}"))?;
            }
        }
        HistoryAction::Reset { yes, force } => {
            if !yes && !confirmed(&history)? {
                screen::tell("nothing removed");
                return Ok(Exit::Done);
            }
            let count = history.reset(running(*force))?;
            screen::say(&format!("removed {count} runs"))?;
        }
        HistoryAction::Export { setting: Some(setting), run, .. } => {
            let run = run.clone().unwrap_or(RunRef::Back(0));
            export_setting(&history, setting, &run)?;
        }
        HistoryAction::Export { format, .. } => return export(&history, *format),
    }
    Ok(Exit::Done)
}

/// Opens the history for a command that works on kept runs. A missing file is an empty history and
/// is not created.
///
/// # Errors
/// `--history none`, or a file that cannot be opened.
pub(super) fn open(path: &HistoryPath) -> anyhow::Result<History> {
    let none = || Usage("--history none keeps no runs; hint: use --history FILE".to_owned());
    Ok(History::open_kept(path)?.ok_or_else(none)?)
}

/// As [`open`], for a command that needs runs.
///
/// # Errors
/// As [`open`], or a missing file.
pub(super) fn open_existing(path: &HistoryPath) -> anyhow::Result<History> {
    if let Some(file) = path.resolve()?.filter(|file| !file.exists()) {
        let file = file.display();
        let text = format!(
            "no run is kept: {file} is not there; hint: run a measurement first, or use another --history"
        );
        return Err(Usage(text).into());
    }
    open(path)
}

/// Returns the document of a run. `purpose` completes the error message.
///
/// # Errors
/// The run was not closed.
pub(super) fn result(stored: &StoredRun, purpose: &str) -> anyhow::Result<serde_json::Value> {
    let StoredRun { row, document, .. } = stored;
    let none = || Usage(format!("run {} is {} and has no result {purpose}", row.id, row.state));
    let closed = document.clone().filter(|document| !document.is_null());
    Ok(closed.ok_or_else(none)?)
}

fn running(force: bool) -> Running {
    if force { Running::Remove } else { Running::Refuse }
}

fn listed(row: &RunRow) -> HistoryRun {
    HistoryRun {
        id: row.id.to_string(),
        kind: row.kind.clone(),
        started: row.started.to_string(),
        ended: row.finished.map(|ended| ended.to_string()),
        state: row.state.to_string(),
        exit_code: row.exit_code,
        target: row.target.clone(),
        load: row.load.clone(),
        verdict: row.verdict.clone(),
        steps: row.steps,
        label: row.label.as_ref().map(Label::to_string),
    }
}

fn confirmed(history: &History) -> anyhow::Result<bool> {
    let count = history.list(&Filter::default())?.len();
    let question = format!("remove all {count} runs from {}?", history.path().display());
    screen::confirmed(&question, "--yes")
}

/// Prints the result of a run as a setting of other software.
fn export_setting(
    history: &History,
    setting: &'static Setting,
    run: &RunRef,
) -> anyhow::Result<()> {
    let stored = history.show(run)?;
    let hint = format!("for a setting; hint: use {}", setting.command(&stored.row.target));
    let document = result(&stored, &hint)?;
    let text = setting.of_document(&document).map_err(|refusal| Usage(refusal.to_string()))?;
    screen::data(&text)
}

fn export(history: &History, format: ExportFormat) -> anyhow::Result<Exit> {
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    let written = history.export(format, &mut stdout).and_then(|left_out| {
        stdout.flush().map_err(HistoryError::Export)?;
        Ok(left_out)
    });
    let left_out = match written {
        Err(HistoryError::Export(error)) if error.kind() == ErrorKind::BrokenPipe => {
            return Ok(Exit::Done);
        }
        other => other?,
    };
    drop(stdout);
    Ok(tell_left_out(history, "export", &left_out))
}

/// Reports the damaged rows that an output omits, and returns the exit code.
pub(super) fn tell_left_out(history: &History, output: &str, left_out: &[String]) -> Exit {
    for row in left_out {
        screen::error(&format!("left out of the {output}, since it is damaged: {row}"));
    }
    if left_out.is_empty() {
        return Exit::Done;
    }
    let (count, path) = (left_out.len(), history.path().display());
    screen::error(&format!(
        "{count} damaged rows of {path} are not in the {output}; the others are"
    ));
    Exit::IoErrors
}

fn show(history: &History, run: &RunRef, format: ShowFormat) -> anyhow::Result<()> {
    let stored = history.show(run)?;
    let document = stored.document.as_ref().filter(|document| !document.is_null());
    let Some(document) = document else { return show_unfinished(&stored, format) };
    match format {
        ShowFormat::Json => screen::data(&screen::json(document)?),
        ShowFormat::Text => screen::print(&text(&stored, document, screen::page(false))?),
        ShowFormat::ProfileCsv => screen::data(&system_csv(&stored.row, document)?),
        ShowFormat::IogaugeCsv if stored.row.kind == PROFILE => {
            screen::data(&system_csv(&stored.row, document)?)
        }
        ShowFormat::IogaugeCsv if is_hosts_curve(&stored.row) => {
            let suite: SuiteDocument = read(&stored.row, document)?;
            let found = read(&stored.row, &suite.conclusion.findings)?;
            let mut table = Vec::new();
            csv::hosts_curve(&suite.head, &found, &mut table)?;
            screen::data(&String::from_utf8_lossy(&table))
        }
        // Classic tables cover all runs at once and were printed earlier.
        ShowFormat::IogaugeCsv | ShowFormat::Classic | ShowFormat::R | ShowFormat::Csv => {
            let mut table = Vec::new();
            match () {
                () if is_search(&stored.row) => {
                    csv::find(&read(&stored.row, document)?, &mut table)?;
                }
                () if stored.row.kind == SUITE => {
                    csv::suite(&read(&stored.row, document)?, &mut table)?;
                }
                () => csv::run(&steps_of(&stored, document)?.0, &mut table)?,
            }
            screen::data(&String::from_utf8_lossy(&table))
        }
        ShowFormat::FioJson => screen::data(&fio_json(&stored, document, Detail::Percentiles)?),
        ShowFormat::FioJsonPlus => screen::data(&fio_json(&stored, document, Detail::Bins)?),
    }
}

/// Deserializes the document of a run.
fn read<T: DeserializeOwned>(row: &RunRow, document: &serde_json::Value) -> anyhow::Result<T> {
    T::deserialize(document)
        .with_context(|| format!("run {}: what is kept of it is damaged", row.id))
}

/// Returns the system's time series of a run as CSV.
fn system_csv(row: &RunRow, document: &serde_json::Value) -> anyhow::Result<String> {
    let none = |error: ExhibitError| match error {
        ExhibitError::Format(format) => {
            Usage(format!("run {}: {format} keeps no system over time", row.id)).into()
        }
        error => anyhow::Error::from(error),
    };
    let exhibit = Exhibit::of(document.clone()).map_err(none)?;
    let mut table = Vec::new();
    csv::system(&exhibit, &mut table)?;
    Ok(String::from_utf8_lossy(&table).into_owned())
}

/// Returns a run as fio's JSON.
fn fio_json(
    stored: &StoredRun,
    document: &serde_json::Value,
    detail: Detail,
) -> anyhow::Result<String> {
    let row = &stored.row;
    let searched = || {
        Usage(format!(
            "{} is a search, for which fio's JSON has no place; hint: use --format json or \
             csv, or a run",
            row.id
        ))
    };
    if is_search(row) {
        return Err(searched().into());
    }
    let (document, targets) = steps_of(stored, document)?;
    if document.steps.is_empty() && row.steps > 0 {
        return Err(searched().into());
    }
    let fio = json_out::fio_document_on(&document, &targets, detail)
        .map_err(|error| Usage(format!("{}: {error}; --format json shows it", row.id)))?;
    Ok(screen::json(&fio)?)
}

/// True if a run has a curve instead of steps.
fn is_search(row: &RunRow) -> bool {
    ["find", "db-find"].contains(&row.kind.as_str())
}

/// True if a run has the capacities of several numbers of hosts.
fn is_hosts_curve(row: &RunRow) -> bool {
    row.kind == SUITE && row.load == SuiteAsked::HOSTS_CURVE
}

/// Returns the steps of a run that is not a search; those of a suite in the same form, with the target of each.
fn steps_of(
    stored: &StoredRun,
    document: &serde_json::Value,
) -> anyhow::Result<(RunDocument, Vec<TargetFacts>)> {
    if stored.row.kind == SUITE {
        let document: SuiteDocument = read(&stored.row, document)?;
        let targets = document.measured().map(|(step, _)| document.target_of(step).clone());
        return Ok((document.as_run(), targets.collect()));
    }
    if stored.row.kind == "db-beside" {
        return Err(Usage(format!(
            "{} has the curves of a device and of a database, for which no table has a place; hint: use \
             --format text or json",
            stored.row.id
        ))
        .into());
    }
    if stored.row.kind == PROFILE {
        return Err(Usage(format!(
            "{} is a record of the system without a load; hint: use --format text, json or \
             profile-csv",
            stored.row.id
        ))
        .into());
    }
    Ok((read(&stored.row, document)?, Vec::new()))
}

/// Returns the rows of the classic table for all runs.
fn classic_rows(history: &History, runs: &[RunRef]) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::new();
    for run in runs {
        let stored = history.show(run)?;
        let document = result(&stored, "for a table")?;
        // Results of another program have the system that the import named; those of older versions named none.
        let named = ["/environment/host", "/target/system"]
            .into_iter()
            .filter_map(|place| document.pointer(place)?.as_str().filter(|name| !name.is_empty()));
        let system = named.map(str::to_owned).next();
        let system = system.unwrap_or_else(|| table::system(Path::new(&stored.row.target)));
        rows.extend(match () {
            () if is_search(&stored.row) => {
                rows::rows_of_find(&read(&stored.row, &document)?, &system)
            }
            () if stored.row.kind == SUITE => {
                rows::rows_of_suite(&read(&stored.row, &document)?, &system)
            }
            () => rows::rows_of_run(&steps_of(&stored, &document)?.0, &system),
        });
    }
    Ok(rows)
}

fn text(stored: &StoredRun, document: &serde_json::Value, page: Page) -> anyhow::Result<String> {
    if is_search(&stored.row) {
        let document: FindDocument = read(&stored.row, document)?;
        return Ok(terminal::find(&document, page));
    }
    if stored.row.kind == "crosscheck" {
        let document: CrosscheckDocument = read(&stored.row, document)?;
        return Ok(terminal::crosscheck(&document, page));
    }
    if stored.row.kind == SUITE {
        let document: SuiteDocument = read(&stored.row, document)?;
        return Ok(terminal::suite(&document, page));
    }
    if stored.row.kind == "db-beside" {
        let document: BesideDocument = read(&stored.row, document)?;
        return Ok(terminal::beside(&document, page));
    }
    if stored.row.kind == PROFILE {
        let document: ProfileDocument = read(&stored.row, document)?;
        return Ok(terminal::profile(&document, page));
    }
    let document: RunDocument = read(&stored.row, document)?;
    Ok(terminal::run(&document, page))
}

/// Prints what is kept of a run that failed or was never closed.
fn show_unfinished(stored: &StoredRun, format: ShowFormat) -> anyhow::Result<()> {
    if format == ShowFormat::Json {
        let step = |step: &StoredStep| UnfinishedStep {
            index: step.index,
            label: step.label.clone(),
            recorded: step.recorded.to_string(),
            result: step.result.clone(),
        };
        let document = UnfinishedDocument {
            format: UNFINISHED_FORMAT.to_owned(),
            run: listed(&stored.row),
            head: stored.head.clone(),
            steps: stored.steps.iter().map(step).collect(),
        };
        return screen::data(&screen::json(&document)?);
    }
    let row = &stored.row;
    if matches!(format, ShowFormat::FioJson | ShowFormat::FioJsonPlus) {
        return Err(Usage(format!(
            "run {} is {} and has no result yet; --format json shows what is kept of it",
            row.id, row.state
        ))
        .into());
    }
    screen::say(&format!(
        "run {} is {}: {} {} {}",
        row.id, row.state, row.kind, row.target, row.load
    ))?;
    if !row.verdict.is_empty() {
        screen::say(&row.verdict)?;
    }
    screen::print(&match stored.steps.len() {
        1 => "1 step is kept:".to_owned(),
        steps => format!("{steps} steps are kept:"),
    })?;
    for step in &stored.steps {
        screen::say(&format!("  {} {}", step.index, step_line(&step.label, &step.result)))?;
    }
    screen::say(&format!("iogauge history show {} --format json shows all of it", row.id))
}

/// Formats a kept step of any kind as one line.
fn step_line(label: &str, result: &serde_json::Value) -> String {
    let iops = result
        .pointer("/iops/mean")
        .or_else(|| result.pointer("/read/iops/mean"))
        .or_else(|| result.pointer("/write/iops/mean"))
        .or_else(|| result.pointer("/result/step/read/iops/mean"))
        .or_else(|| result.pointer("/result/step/write/iops/mean"))
        .or_else(|| result.pointer("/result/search/answer/iops/mean"))
        .and_then(serde_json::Value::as_f64);
    let Some(iops) = iops else { return label.to_owned() };
    let seconds = result.pointer("/seconds").and_then(serde_json::Value::as_f64);
    let over = seconds.map(|seconds| format!(" over {seconds:.1} s")).unwrap_or_default();
    format!("{label}: {} IOPS{over}", iogauge_model::units::Count(iops.round()))
}
