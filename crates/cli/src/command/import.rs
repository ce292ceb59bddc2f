//! `iogauge import`: imports fio's output files into the history.

use super::history;
use super::table;
use crate::args::ImportArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::history::Imported;
use iogauge_lab::history::fio_files::{ImportError, ImportedFile, Words, import};
use iogauge_report::terminal;

/// Runs the command. Files that cannot be read or have no result are reported on stderr and lead to
/// [`Exit::Usage`]; the others are imported.
///
/// # Errors
/// The history cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let history = history::open(&args.history)?;
    let mut importer = history.importer()?;
    let mut exit = Exit::Done;
    for path in &args.files {
        let shown = path.display();
        let words = Words {
            system: screen::without_secrets(
                &args.system.clone().unwrap_or_else(|| table::system(path)),
            ),
            label: args.label.clone(),
            command_line: screen::without_secrets(&format!("iogauge import {shown}")),
            verdict: &|first, steps| terminal::steps_brief(first, steps.into()),
        };
        let mut problems = Vec::new();
        let imported = import(&mut importer, path, &words, &mut |problem| problems.push(problem));
        table::tell(&problems, matches!(imported, Ok(None)));
        let ImportedFile { run, results, interim_reports } = match imported {
            Ok(Some(imported)) => imported,
            Ok(None) => {
                exit = Exit::Usage;
                continue;
            }
            Err(ImportError::Read(error)) => {
                screen::error(&format!("cannot read {shown}: {error}"));
                exit = Exit::Usage;
                continue;
            }
            Err(ImportError::History(error)) => return Err(error.into()),
        };
        if args.quiet {
            continue;
        }
        let count = match results {
            1 => "1 result".to_owned(),
            results => format!("{results} results"),
        };
        screen::say(&match run {
            Imported::New(id) => match interim_reports {
                0 => format!("{id} {shown}: {count}"),
                left_out => format!("{id} {shown}: {count}; interim reports left out: {left_out}"),
            },
            Imported::Known(id) => format!("{id} {shown}: in the history already"),
        })?;
    }
    importer.finish()?;
    Ok(exit)
}
