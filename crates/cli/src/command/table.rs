//! `iogauge table`: prints the classic table of fio's output files, and of tables made from them.

use crate::args::{ExtraArgs, TableArgs, TableFormat};
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::history::fio_files::{FioFile, Problem, system_name};
use iogauge_report::classic::{self, Extra};
use iogauge_report::rows::Row;
use std::path::Path;

/// Runs the command. Files that cannot be read or have no result are reported on stderr and lead to
/// [`Exit::Usage`]; the others are in the table.
///
/// # Errors
/// stdout cannot be written.
pub fn run(args: &TableArgs) -> anyhow::Result<Exit> {
    let mut rows = Vec::new();
    let mut exit = Exit::Done;
    for path in &args.files {
        let Some(file) = read(path) else {
            exit = Exit::Usage;
            continue;
        };
        let has_several = file.has_several_systems();
        for (own, result) in &file.results {
            let name = system_name(args.system.as_deref(), own.as_deref(), has_several);
            rows.extend(Row::of_fio(result, &name.unwrap_or_else(|| system(path))));
        }
    }
    // Nothing was read: no table without rows.
    if exit == Exit::Done || !rows.is_empty() {
        print(&rows, args.format, args.extra, args.system.as_deref())?;
    }
    Ok(exit)
}

/// Reads a file and reports what could not be read; `None` if nothing could.
fn read(path: &Path) -> Option<FioFile> {
    match FioFile::read(path) {
        Ok(file) => {
            tell(&file.problems, file.results.is_empty());
            if file.interim_reports > 0 {
                screen::warning(&format!(
                    "{}: interim reports of --status-interval left out: {}",
                    path.display(),
                    file.interim_reports
                ));
            }
            (!file.results.is_empty()).then_some(file)
        }
        Err(error) => {
            screen::error(&format!("cannot read {}: {error}", path.display()));
            None
        }
    }
}

/// Reports what could not be read: as errors if the file has no result, otherwise as warnings.
pub fn tell(problems: &[Problem], has_failed: bool) {
    for problem in problems {
        let text = problem.to_string();
        if has_failed { screen::error(&text) } else { screen::warning(&text) }
    }
}

/// Prints rows. R's `testtype` is `name`, or the system of the first row.
///
/// # Errors
/// stdout cannot be written.
pub fn print(
    rows: &[Row],
    format: TableFormat,
    extra: ExtraArgs,
    name: Option<&str>,
) -> anyhow::Result<()> {
    match format {
        TableFormat::Classic => {
            let extra =
                Extra { buckets: extra.buckets, percentiles: extra.percentiles, units: false };
            screen::print(&classic::plain(rows, extra))
        }
        TableFormat::R => {
            let first = || rows.first().map_or("", |row| &row.system);
            if rows.iter().any(|row| row.system != first()) {
                let name = name.unwrap_or_else(first);
                screen::warning(&format!(
                    "rows of several systems are in one data frame, whose testtype is {name}; hint: --format=csv has \
                     a column for the system"
                ));
            }
            screen::data(&classic::r_frame(rows, name.unwrap_or_else(first)))
        }
        TableFormat::Csv => {
            let mut table = Vec::new();
            classic::csv(rows, &mut table)?;
            screen::data(&String::from_utf8_lossy(&table))
        }
    }
}

/// Returns the name of the directory that holds a file; results of one system are often kept
/// together.
pub fn system(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let directory = absolute.parent().and_then(Path::file_name);
    directory.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}
