//! What a measurement shows and keeps while it runs, and where its text goes.

mod progress;

pub use progress::Progress;

use crate::exit::Usage;
use crate::launcher;
use crate::step_keeper::Keeper;
use anyhow::Context;
use iogauge_lab::history::{HistoryError, RunWriter};
use iogauge_lab::observe::Decision;
use iogauge_lab::session::hosts::led;
use iogauge_lab::{Observer, Status};
use iogauge_model::plain_text::{Secrets, json_shown, shown, shown_in_line, with_short_names};
use iogauge_model::result::{CurvePoint, StepPlace, StepResult, SuiteStepResult, SystemPoint};
use iogauge_report::terminal::{self, Page};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::{BufRead, IsTerminal, Write};
use std::sync::LazyLock;
use std::time::Duration;

/// Width of text without a terminal.
const PLAIN_WIDTH: u16 = 100;

/// Shows progress, prints decisions, and keeps each point in the history.
#[derive(Debug)]
pub struct Screen {
    /// The status line.
    pub progress: Progress,
    explain: bool,
    keeper: Option<Keeper>,
    /// How the run is announced, until that is done.
    announcement: Option<Announcement>,
    /// The first error of a step that could not be kept.
    pub lost: Option<HistoryError>,
}

/// The announcement of a run by its ID.
#[derive(Debug)]
struct Announcement {
    announce: fn(&str),
    id: String,
}

impl Screen {
    /// Makes a screen. With `explain`, it prints the decisions of a search.
    pub fn new(quiet: bool, explain: bool) -> Self {
        Self {
            progress: Progress::new(quiet),
            explain,
            keeper: None,
            announcement: None,
            lost: None,
        }
    }

    /// Lets `announce` announce the run once something is measured.
    pub fn announce_later(&mut self, announce: fn(&str), id: &str) {
        self.announcement = Some(Announcement { announce, id: id.to_owned() });
    }

    /// Announces the run, unless that is done.
    pub fn announce(&mut self) {
        if let Some(Announcement { announce, id }) = self.announcement.take() {
            announce(&id);
        }
    }

    /// Keeps steps from now on, after the `steps` that the run already has.
    pub fn keep_in(&mut self, writer: RunWriter, steps: u32) {
        self.keeper = Some(Keeper::new(writer, steps));
    }

    /// Returns the run's history entry, to be closed.
    pub fn take_writer(&mut self) -> Option<RunWriter> {
        self.keeper.take().and_then(Keeper::into_writer)
    }

    /// Keeps a step.
    pub fn keep(&mut self, label: &str, result: &impl serde::Serialize) {
        self.announce();
        let kept = self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.keep(label, result));
        if let Err(error) = kept {
            self.lost.get_or_insert(error);
        }
    }
}

impl Observer for Screen {
    fn status(&mut self, status: &Status<'_>) {
        self.announce();
        self.progress.show(status);
    }

    fn decision(&mut self, decision: &Decision) {
        if self.explain {
            self.progress.explain(decision);
        }
    }

    fn point(&mut self, point: &CurvePoint) {
        self.keep(&format!("depth {}", point.queue_depth), point);
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
        self.announce();
        self.progress.show_system(point, left);
    }

    fn suite_step_begins(&mut self, index: usize, of: usize, place: &StepPlace, after_ns: u64) {
        self.progress.set_step(index + 1, of, &place.key, after_ns);
    }

    fn suite_step(&mut self, step: &SuiteStepResult) {
        self.keep(&step.place.key, step);
        self.progress.step_over(&terminal::suite_step_line(step));
    }
}

/// Returns true if a person sees a stream of this host alone.
pub fn is_shown(stream: &impl IsTerminal) -> bool {
    led().is_none() && !launcher::gives_terminals() && stream.is_terminal()
}

/// Returns the page layout for people: that of stdout, or of stderr next to JSON.
pub fn page(stderr: bool) -> Page {
    let (terminal, size) = if stderr {
        (is_shown(&std::io::stderr()), rustix::termios::tcgetwinsize(std::io::stderr()))
    } else {
        (is_shown(&std::io::stdout()), rustix::termios::tcgetwinsize(std::io::stdout()))
    };
    let size = size.ok().map(|size| size.ws_col).filter(|columns| *columns > 0);
    let width = size.or_else(columns).unwrap_or(PLAIN_WIDTH);
    let color = terminal && std::env::var_os("NO_COLOR").is_none();
    Page { width, color }
}

/// Returns the width that the environment variable COLUMNS gives.
pub fn columns() -> Option<u16> {
    std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok())
}

/// Asks a yes/no question. `instead` is what to type if nobody can answer.
///
/// # Errors
/// There is no terminal to answer on.
pub fn confirmed(question: &str, instead: &str) -> anyhow::Result<bool> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        let text = format!("{question} There is no terminal to answer on; hint: use {instead}");
        return Err(Usage(text).into());
    }
    write!(std::io::stderr(), "{} [y/N] ", line(question)).context("cannot ask on stderr")?;
    std::io::stderr().flush().context("cannot ask on stderr")?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer).context("cannot read the answer")?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Prints text for people on stdout. Escapes unprintable characters and hides passwords. A reader
/// that has closed the pipe (`| head`) is not an error.
///
/// # Errors
/// stdout cannot be written for another reason.
pub fn print(text: &str) -> anyhow::Result<()> {
    data(&shown_page(text, page(false).color))
}

/// Prints one line for people on stdout, as [`print()`] does. Escapes line ends from outside.
///
/// # Errors
/// As [`print()`].
pub fn say(text: &str) -> anyhow::Result<()> {
    data(&line(text))
}

/// Formats a value as indented JSON for programs, without terminal control sequences.
///
/// # Errors
/// The value cannot be serialized.
pub fn json(value: &impl serde::Serialize) -> serde_json::Result<String> {
    serde_json::to_string_pretty(value).map(|text| json_shown(&text).into_owned())
}

/// Prints data for programs on stdout: JSON, CSV, job files. Changes nothing in it unless stdout is
/// a terminal. A reader that has closed the pipe is not an error.
///
/// # Errors
/// stdout cannot be written for another reason.
pub fn data(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    let text =
        if is_shown(&stdout) { shown_page(text, page(false).color) } else { text.to_owned() };
    let written = writeln!(stdout, "{}", text.trim_end()).and_then(|()| stdout.flush());
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("cannot write to stdout"),
    }
}

/// Prints text for people on stderr, as [`print()`] does. Ignores errors.
pub fn tell(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", shown_page(text, page(true).color).trim_end());
}

/// Prints an error on stderr in the layout of [`message()`].
pub fn error(text: &str) {
    tell(&message("error", text));
}

/// Prints a warning on stderr in the layout of [`message()`].
pub fn warning(text: &str) {
    tell(&message("warning", text));
}

/// Separates the fact from the hint in the text of an error or a warning: `FACT; hint: HINT`.
pub const HINT: &str = "; hint: ";

/// Formats a message for people: the fact in one line and the hint, if there is one, in the next.
pub fn message(kind: &str, text: &str) -> String {
    let text = line(text);
    let mut parts = text.split(HINT);
    let fact = format!("{kind}: {}", with_short_names(parts.next().unwrap_or_default()));
    let hints: Vec<&str> = parts.collect();
    match hints.as_slice() {
        [] => fact,
        hints => format!("{fact}\nhint: {}", with_short_names(&hints.join(", or "))),
    }
}

/// Formats text as one line for people: hides passwords and escapes unprintable characters.
pub fn line(text: &str) -> String {
    shown_in_line(&without_secrets(text)).into_owned()
}

/// Hides the passwords of the command line and of the environment, and whatever looks like one.
pub fn without_secrets(text: &str) -> String {
    static SECRETS: LazyLock<Secrets> = LazyLock::new(|| {
        let arguments: Vec<String> =
            std::env::args_os().skip(1).map(|text| text.to_string_lossy().into_owned()).collect();
        let known = std::env::var_os("PGPASSWORD").map(|text| text.to_string_lossy().into_owned());
        Secrets::of(arguments.iter().map(String::as_str), known)
    });
    SECRETS.hide(text)
}

/// Control sequences allowed in a page: those of [`terminal`], which escapes all text from outside.
const COLORS: [&str; 5] = ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[1;32m", "\u{1b}[33m", "\u{1b}[1;31m"];

/// Formats text of several lines for people.
fn shown_page(text: &str, is_colored: bool) -> String {
    let text = without_secrets(text);
    if !is_colored {
        return shown(&text).into_owned();
    }
    let mut page = String::with_capacity(text.len());
    let mut pieces = text.split('\u{1b}');
    page.push_str(&shown(pieces.next().unwrap_or_default()));
    for piece in pieces {
        let own = COLORS.iter().find(|color| piece.starts_with(&color[1..]));
        match own {
            Some(color) => {
                page.push_str(color);
                page.push_str(&shown(&piece[color.len() - 1..]));
            }
            None => page.push_str(&shown(&format!("\u{1b}{piece}"))),
        }
    }
    page
}

/// Prints a line on stderr unless nobody reads there: a full pipe must not delay the end.
pub fn tell_in_time(text: &str) {
    let stderr = std::io::stderr();
    let mut watched = [PollFd::new(&stderr, PollFlags::OUT)];
    let patience = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    if poll(&mut watched, Some(&patience)).is_ok_and(|ready| ready > 0) {
        tell(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_printed_on_a_separate_line() {
        assert_eq!(
            message("error", "0 is too small; hint: use 1 or more"),
            "error: 0 is too \
        small\nhint: use 1 or more"
        );
        assert_eq!(message("warning", "a\nb"), "warning: a\\nb");
    }

    #[test]
    fn only_color_escapes_remain_unescaped_on_a_page() {
        let text = "\u{1b}[1;31mbad\u{1b}[0m \u{1b}[2J\u{1b}]0;x\u{7}\tok\n";
        let shown = "\u{1b}[1;31mbad\u{1b}[0m \\u{1b}[2J\\u{1b}]0;x\\u{7}\tok\n";
        assert_eq!(shown_page(text, true), shown);
        assert_eq!(shown_page("a\u{1b}[0mb\u{202e}", false), "a\\u{1b}[0mb\\u{202e}");
    }
}
