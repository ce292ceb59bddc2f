//! What a measurement shows and keeps while it goes on, and where its text goes.

use crate::exit::Usage;
use crate::keeper::Keeper;
use crate::progress::Progress;
use anyhow::Context;
use iogauge_lab::history::{HistoryError, RunWriter};
use iogauge_lab::search::Decision;
use iogauge_lab::suite::SuiteStep;
use iogauge_lab::{Observer, Status};
use iogauge_model::result::{CurvePoint, StepResult, SuiteStepResult, SystemPoint};
use iogauge_report::terminal::{self, Page};
use std::io::{BufRead, IsTerminal, Write};
use std::time::Duration;

/// Width of text where there is no terminal to ask.
const PLAIN_WIDTH: u16 = 100;

/// Shows progress, tells decisions, and keeps each point in the history.
#[derive(Debug)]
pub struct Screen {
    /// The status line.
    pub progress: Progress,
    explain: bool,
    keeper: Option<Keeper>,
    /// The first step that could not be kept.
    pub lost: Option<HistoryError>,
}

impl Screen {
    /// A screen that tells decisions where `explain` asks for it.
    pub fn new(quiet: bool, explain: bool) -> Self {
        Self { progress: Progress::new(quiet), explain, keeper: None, lost: None }
    }

    /// From now on steps are kept, behind so many that the run has.
    pub fn keep_in(&mut self, writer: RunWriter, steps: u32) {
        self.keeper = Some(Keeper::new(writer, steps));
    }

    /// The run in the history, to be closed.
    pub fn take_writer(&mut self) -> Option<RunWriter> {
        self.keeper.take().and_then(Keeper::into_writer)
    }

    /// Keeps a step.
    pub fn keep(&mut self, label: &str, result: &impl serde::Serialize) {
        let kept = self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.keep(label, result));
        if let Err(error) = kept {
            self.lost.get_or_insert(error);
        }
    }
}

impl Observer for Screen {
    fn status(&mut self, status: &Status<'_>) {
        self.progress.show(status);
    }

    fn decision(&mut self, decision: &Decision) {
        if self.explain {
            self.progress.say(&decision.to_string());
        }
    }

    fn point(&mut self, point: &CurvePoint) {
        self.keep(&format!("depth {}", point.depth), point);
    }

    fn step(&mut self, step: &StepResult) {
        self.keep(&step.label, step);
    }

    fn so_far(&mut self, make: &mut dyn FnMut() -> StepResult) {
        if let Some(keeper) = &mut self.keeper {
            keeper.keep_so_far(make);
        }
    }

    fn system(&mut self, point: &SystemPoint, left: Option<Duration>) {
        self.progress.show_system(point, left);
    }

    fn suite_step_begins(&mut self, index: usize, of: usize, step: &SuiteStep) {
        self.progress.set_step(index + 1, of, &step.place.key);
    }

    fn suite_step(&mut self, step: &SuiteStepResult) {
        self.keep(&step.place.key, step);
        self.progress.step_over(&terminal::suite_step_line(step));
    }
}

/// The page text for people is laid out on: that of stdout, or of stderr beside JSON.
pub fn page(stderr: bool) -> Page {
    let (terminal, size) = if stderr {
        (std::io::stderr().is_terminal(), rustix::termios::tcgetwinsize(std::io::stderr()))
    } else {
        (std::io::stdout().is_terminal(), rustix::termios::tcgetwinsize(std::io::stdout()))
    };
    let columns = std::env::var("COLUMNS").ok().and_then(|c| c.parse().ok());
    let width = size.ok().map(|s| s.ws_col).filter(|c| *c > 0).or(columns).unwrap_or(PLAIN_WIDTH);
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    Page { width, color }
}

/// Asks a question that is answered with yes or no; `instead` is what has to be typed where nobody can
/// answer.
///
/// # Errors
/// Where nobody can answer.
pub fn confirmed(question: &str, instead: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let text = format!("{question} Nobody is there to answer; right would be {instead}");
        return Err(Usage(text).into());
    }
    write!(std::io::stderr(), "{question} [y/N] ")?;
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Prints data on stdout. A reader that has gone away (`| head`) is no fault.
///
/// # Errors
/// Where stdout cannot be written for another reason.
pub fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let written = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to stdout"),
    }
}

/// Tells people a line on stderr; where nobody listens any more, nobody misses it.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", text.trim_end());
}
