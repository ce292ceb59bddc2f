//! `iogauge import`: files that fio wrote into the history.

use super::table::read;
use crate::args::ImportArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::{History, Imported};
use iogauge_report::terminal;

/// Runs the command. Files that cannot be read, and those without a result, are told of on stderr
/// and end with [`Exit::Usage`]; the others are kept.
///
/// # Errors
/// Where the history cannot be written.
pub fn run(args: &ImportArgs) -> anyhow::Result<Exit> {
    let Some(history) = History::open_at(&args.history)? else {
        return Err(Usage("--history none keeps no runs; name a file".to_owned()).into());
    };
    let mut importer = history.importer()?;
    let mut exit = Exit::Done;
    for path in &args.files {
        let Some(file) = read(path) else {
            exit = Exit::Usage;
            continue;
        };
        let line = format!("iogauge import {}", file.path);
        let verdict = terminal::steps_brief(file.steps());
        let kept = importer.keep(file.run(&line, verdict), || file.steps())?;
        if args.quiet {
            continue;
        }
        let (path, results) = (&file.path, file.results.len());
        screen::print(&match kept {
            Imported::New(id) => format!("{id} {path}: {results} results"),
            Imported::Known(id) => format!("{id} {path}: in the history already"),
        })?;
    }
    importer.finish()?;
    Ok(exit)
}
