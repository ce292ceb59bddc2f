//! `iogauge prepare`: makes and prefills the target of later runs.

use super::invocation::{prepared_line, refuse_history};
use crate::args::PrepareArgs;
use crate::exit::{Exit, Usage};
use crate::job_source;
use crate::screen::{self, Screen};
use iogauge_lab::history::HistoryPath;
use iogauge_lab::measure::Watch;
use iogauge_lab::session::hosts::led;
use iogauge_lab::session::prepare::prepare;
use iogauge_lab::target::Intent;
use iogauge_lab::{Interrupt, Rig};
use iogauge_model::units::Bytes;

/// Runs the command.
///
/// # Errors
/// A refused target, a full disk, or a failed write.
pub fn run(args: &PrepareArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    if args.size == Some(0) {
        return Err(Usage("--size must be above 0; hint: use --size=1g".to_owned()).into());
    }
    if args.target.permit.rm {
        let text = "--rm: prepare makes the file for later runs; hint: use --rm with the last of them, or iogauge \
                    clean";
        return Err(Usage(text.to_owned()).into());
    }
    let intent = Intent { writes: true, size_bytes: args.size, ..args.target.permit.permitted() };
    job_source::refuse(&args.target.target)?;
    let mut rig = Rig::open(&args.target.target, intent)?;
    refuse_history(&rig, &HistoryPath::None)?;
    if rig.is_simulated() {
        screen::say(&format!("{}: a simulated device needs no preparing", rig.text()))?;
        return Ok(Exit::Done);
    }
    let mut screen = Screen::new(args.quiet, false);
    let done = prepare(&mut rig, &mut Watch { observer: &mut screen, interrupt });
    screen.progress.clear();
    let line = prepared_line(rig.text(), &done?).unwrap_or_else(|| {
        format!("{}: ready, all {} are written", rig.text(), Bytes(rig.size_bytes()))
    });
    if args.quiet {
        return Ok(Exit::Done);
    }
    screen::say(&line)?;
    if let Some(device) = rig.devices().ok().filter(|tree| !tree.is_empty()) {
        screen::say(&format!("on {}", device.chain()))?;
    }
    if led().is_none() {
        screen::say(&format!("next: iogauge find {}", rig.text()))?;
    }
    Ok(Exit::Done)
}
