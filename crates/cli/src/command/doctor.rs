//! `iogauge doctor`: what would spoil a measurement.

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::session::doctor::examine;
use iogauge_report::terminal;

/// Runs the command. A target that a run could not read is told of as any other, and ends with
/// [`Exit::Refused`].
///
/// # Errors
/// A target that cannot be read as one or is not there.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
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
