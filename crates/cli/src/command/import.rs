//! `iogauge import`: imports fio's output files and classic tables into the history.

use super::history;
use super::table;
use crate::args::ImportArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::history::Imported;
use iogauge_lab::history::fio_files::{
    ImportError, ImportedFile, ImportedRun, Words, import, system_name,
};
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
        let system = |own: Option<&str>, has_several: bool| {
            let name = system_name(args.system.as_deref(), own, has_several);
            screen::without_secrets(&name.unwrap_or_else(|| table::system(path)))
        };
        let words = Words {
            system: &system,
            label: args.label.clone(),
            command_line: screen::without_secrets(&format!("iogauge import {shown}")),
            verdict: &|first, steps| terminal::steps_brief(first, steps.into()),
        };
        let mut problems = Vec::new();
        let imported = import(&mut importer, path, &words, &mut |problem| problems.push(problem));
        table::tell(&problems, matches!(imported, Ok(None)));
        let imported = match imported {
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
        if !args.quiet {
            say(&shown.to_string(), &imported)?;
        }
        let is_known = imported.runs.iter().any(|run| matches!(run.run, Imported::Known(_)));
        if is_known && (args.system.is_some() || args.label.is_some()) {
            screen::warning(&format!(
                "{shown}: what is in the history already keeps its system and label; hint: run iogauge history rm, and \
                 import it again"
            ));
        }
    }
    importer.finish()?;
    Ok(exit)
}

/// Prints a line for each run of a file.
fn say(file: &str, imported: &ImportedFile) -> anyhow::Result<()> {
    let ImportedFile { runs, interim_reports } = imported;
    for ImportedRun { run, system, results } in runs {
        let of_system = system.as_ref().map(|name| format!(" ({name})")).unwrap_or_default();
        let count = match results {
            1 => "1 result".to_owned(),
            results => format!("{results} results"),
        };
        let left_out = match interim_reports {
            0 => String::new(),
            reports => format!("; interim reports left out: {reports}"),
        };
        screen::say(&match run {
            Imported::New(id) => format!("{id} {file}{of_system}: {count}{left_out}"),
            Imported::Known(id) => format!("{id} {file}{of_system}: in the history already"),
        })?;
    }
    Ok(())
}
