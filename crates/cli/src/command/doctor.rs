//! `iogauge doctor`: reports what would spoil a measurement.

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::job_source;
use crate::screen;
use iogauge_lab::session::doctor::examine;
use iogauge_report::terminal;

/// Runs the command. A target that a run would refuse is reported like any other, and the exit code
/// is [`Exit::Refused`].
///
/// # Errors
/// A target that is malformed or does not exist, or a job file.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    job_source::refuse(&args.target)?;
    let document = examine(&args.target)?;
    if args.json {
        screen::data(&screen::json(&document)?)?;
    } else {
        screen::print(&terminal::doctor(&document, screen::page(false)))?;
    }
    let Some(why) = document.refusal() else { return Ok(Exit::Done) };
    screen::error(why);
    Ok(Exit::Refused)
}
