//! `iogauge db export`: writes runs on databases as the CSV files that existing spreadsheets
//! expect.

use crate::args::ExportArgs;
use crate::command::history;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::{Filter, RunRef, UtcTime};
use iogauge_lab::output::{OutputDirectory, OutputFile, Replace};
use iogauge_model::result::RunDocument;
use iogauge_report::csv;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// There is nothing to export, or a file cannot be written.
pub fn run(args: &ExportArgs) -> anyhow::Result<Exit> {
    let history = history::open(&args.history)?;
    let runs = if args.runs.is_empty() {
        let filter = Filter { kind: Some("db-run".to_owned()), ..Filter::default() };
        let mut rows = history.list(&filter)?;
        // Oldest run first.
        rows.reverse();
        rows.iter().map(|row| RunRef::Name(row.id.to_string())).collect()
    } else {
        history.select_all(&args.runs)?
    };
    let mut rows: BTreeMap<&'static str, Vec<csv::DatabaseRow>> = BTreeMap::new();
    let mut documents = Vec::new();
    for run in &runs {
        let stored = history.show(run)?;
        let Some(document) = stored.document else { continue };
        let Ok(document) = RunDocument::deserialize(&document) else { continue };
        for (mode, row) in csv::database_rows(&document) {
            rows.entry(mode).or_default().push(row);
        }
        documents.push(document);
    }
    if rows.is_empty() {
        let text = match args.runs.is_empty() {
            true => "no run on a database is in the history; hint: run iogauge db run first",
            false => {
                "none of these runs has a result on a database; hint: name runs of iogauge db run that ended"
            }
        };
        return Err(Usage(text.to_owned()).into());
    }
    let directory = OutputDirectory::make(&args.directory)?;
    let date = unused_date(&args.directory)?;
    let check = |table: &str| directory.check(&format!("{table}_{date}.csv"), Replace::Nothing);
    let mut tables = Vec::new();
    for (mode, rows) in rows {
        let mut table = Vec::new();
        csv::database(&rows, &mut table)?;
        tables.push((check(mode)?, table));
    }
    let mut table = Vec::new();
    csv::database_workers(&documents, &mut table)?;
    tables.push((check("workers")?, table));
    // Every path has been checked before the first file is written.
    tables.into_iter().try_for_each(|(file, table)| write(file, &table))?;
    Ok(Exit::Done)
}

/// Returns the time for the names of the files, with a number behind it if a file of this second is there: no export
/// replaces a file.
fn unused_date(directory: &Path) -> std::io::Result<String> {
    let now = UtcTime::now().compact();
    let mut names = Vec::new();
    for entry in directory.read_dir()? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    let is_used = |date: &String| names.iter().any(|name| name.ends_with(&format!("_{date}.csv")));
    let mut date = now.clone();
    let mut number = 1;
    while is_used(&date) {
        number += 1;
        date = format!("{now}-{number}");
    }
    Ok(date)
}

/// Writes a table and prints its number of rows, header excluded.
fn write(file: OutputFile, table: &[u8]) -> anyhow::Result<()> {
    let path = file.path().display().to_string();
    file.put(table)?;
    let count = table.iter().filter(|byte| **byte == b'\n').count() - 1;
    let noun = if count == 1 { "row" } else { "rows" };
    screen::say(&format!("{path}: {count} {noun}"))
}
