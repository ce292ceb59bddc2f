//! `iogauge compare`: subjects measured in turns, or runs of the history.

mod given;
mod kept;
mod measured;
mod plan_file;
mod subjects;
pub(in crate::command) mod turns;

use crate::args::CompareArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use given::Given;
use iogauge_lab::Interrupt;
use iogauge_lab::history::HistoryPath;
use iogauge_lab::output::{OutputFile, Replace};
use iogauge_report::terminal;
use std::ffi::OsString;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// Wrong usage, a refused target, or a fault while measuring.
pub fn run(
    args: &CompareArgs,
    arguments: &[OsString],
    interrupt: Interrupt,
) -> anyhow::Result<Exit> {
    let given = Given::of(arguments);
    match (&args.plan, &args.resume) {
        (_, Some(path)) => {
            given.refuse_for_resume()?;
            resume(args, path, interrupt)
        }
        _ if kept::names_runs(args)? => {
            given.refuse_for_runs()?;
            kept::run(args)
        }
        (plan, None) => {
            given.refuse_for_targets(subjects::are_fixed(args)?)?;
            match plan {
                Some(path) => self::plan(args, path, arguments),
                None => measured::run(args, None, interrupt),
            }
        }
    }
}

/// Checks a comparison, and writes its plan. Measures nothing.
fn plan(args: &CompareArgs, path: &Path, arguments: &[OsString]) -> anyhow::Result<Exit> {
    if matches!(args.output.history, HistoryPath::None) {
        let text = "--plan keeps the turns in the history; hint: leave out --history none";
        return Err(Usage(text.to_owned()).into());
    }
    plan_file::refuse_started(path, args.force)?;
    let output = OutputFile::check(path, Replace::from(args.force))?;
    let order = measured::planned(args)?;
    let path = path.display();
    let text = format!(
        "{path}: at most {} blocks\nfirst: {}, by iogauge compare --resume {path}",
        order.blocks.len(),
        order.first
    );
    let file = plan_file::write(args, output, arguments, order)?;
    match args.output.json {
        true if args.output.quiet => screen::data(&file)?,
        true => {
            screen::data(&file)?;
            screen::tell(&text);
        }
        false => screen::print(&text)?,
    }
    Ok(Exit::Done)
}

/// Runs the next turns of one subject, or prints the result if there are none.
fn resume(args: &CompareArgs, path: &Path, interrupt: Interrupt) -> anyhow::Result<Exit> {
    let (args, planned) = plan_file::read(args, path)?;
    let Some(document) = planned.finished(&args.output.history)? else {
        return measured::run(&args, Some(planned), interrupt);
    };
    if args.output.json {
        screen::data(&screen::json(&document)?)?;
    } else {
        screen::print(&terminal::suite(&document, screen::page(false)))?;
    }
    Ok(turns::exit(&document))
}
