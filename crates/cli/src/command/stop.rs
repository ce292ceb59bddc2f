//! `iogauge stop`: ends a run that is under way.

use crate::args::StopArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::History;

/// Runs the command.
///
/// # Errors
/// No run matches, or more than one does.
pub fn run(args: &StopArgs) -> anyhow::Result<Exit> {
    let Some(history) = History::open_kept(&args.history)? else {
        return Err(Usage("without a history no run can be found".to_owned()).into());
    };
    let stopped = history.stop(args.run.as_ref())?;
    screen::say(&format!(
        "run {} (process {}) was asked to end; iogauge history show {} shows what it measured",
        stopped.run, stopped.pid, stopped.run
    ))?;
    Ok(Exit::Done)
}
