//! `iogauge stop`: ends a run that is under way, and waits until it has ended.

use crate::args::StopArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::Interrupt;
use iogauge_lab::history::{History, RunId, RunState};
use std::time::Duration;

/// Interval between two looks at the state of the run.
const LOOK: Duration = Duration::from_millis(50);

/// Runs the command.
///
/// # Errors
/// No run matches, or more than one does.
pub fn run(args: &StopArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let Some(history) = History::open_kept(&args.history)? else {
        return Err(Usage("without a history no run can be found".to_owned()).into());
    };
    let stopped = history.stop(args.run.as_ref())?;
    let (run, pid) = (stopped.run, stopped.pid);
    screen::tell(&format!("run {run} was asked to end"));
    let Some(state) = end(&history, &run, interrupt)? else { return Ok(Exit::Interrupted) };
    screen::say(&format!(
        "run {run} (process {pid}) has ended: {state}; iogauge history show {run} shows what it measured"
    ))?;
    Ok(Exit::Done)
}

/// Waits until a run has ended. Returns its state; `None` if the user does not want to wait.
fn end(history: &History, run: &RunId, interrupt: &Interrupt) -> anyhow::Result<Option<RunState>> {
    let reference = run.to_string().parse()?;
    while !interrupt.is_set() {
        let state = history.resolve(&reference)?.state;
        if state != RunState::Running {
            return Ok(Some(state));
        }
        std::thread::sleep(LOOK);
    }
    Ok(None)
}
