//! The record of a run, in the history and on the screen: begin, keep steps, end.

use crate::args::OutputArgs;
use crate::detach;
use crate::exit::Exit;
use crate::screen::{self, Screen};
use iogauge_lab::history::{Ending, History, Label, NewRun, RunId, RunRef, UtcTime};
use iogauge_lab::session::hosts;
use iogauge_model::result::{Head, TargetFacts, Workload};
use iogauge_model::{Caveat, CaveatCode};
use iogauge_report::terminal::Page;
use serde::Serialize;
use serde_json::Value;

/// A run that is being measured or about to be.
#[derive(Debug)]
pub struct Record {
    kind: &'static str,
    /// Where the result goes.
    pub output: OutputArgs,
    history: Option<History>,
    started: UtcTime,
    id: RunId,
    /// The user's name for it.
    label: Option<Label>,
    /// Shows progress and keeps steps.
    pub screen: Screen,
    /// True if a later command goes on with the run.
    pub goes_on: bool,
    /// Text to print after the result.
    pub after: Option<String>,
}

/// A run to resume.
#[derive(Debug, Clone)]
pub struct Resumed {
    pub run: RunId,
    /// When it began.
    pub started: UtcTime,
    /// Number of steps that are kept as they are.
    pub steps: u32,
}

/// The result of a measurement.
#[derive(Debug)]
pub struct Outcome<D> {
    pub document: D,
    /// What goes to stdout instead of the text.
    pub instead: Option<String>,
    /// The exit code.
    pub exit: Exit,
}

impl Record {
    /// Checks that results can be kept.
    ///
    /// # Errors
    /// A history that cannot be written.
    pub fn new(kind: &'static str, output: &OutputArgs, explain: bool) -> anyhow::Result<Self> {
        let history = History::open_at(&output.history)?;
        if let Some(history) = &history {
            history.check_writable()?;
        }
        let started = UtcTime::now();
        Ok(Self {
            kind,
            output: output.clone(),
            history,
            started,
            id: RunId::generate(started),
            label: output.label.clone(),
            screen: Screen::new(output.quiet, explain),
            goes_on: false,
            after: None,
        })
    }

    /// Enters the run into the history: target and workload in one line each, and the head of its
    /// document.
    ///
    /// # Errors
    /// The run cannot be kept.
    pub fn begin(&mut self, target: &str, load: &str, head: &Head) -> anyhow::Result<()> {
        if let Some(history) = &self.history {
            let run = NewRun {
                kind: self.kind.to_owned(),
                started: self.started,
                command_line: command_line(),
                target: target.to_owned(),
                load: load.to_owned(),
                label: self.label.clone(),
                head: serde_json::to_value(head)?,
            };
            let writer = history.begin(&run)?;
            self.id = writer.id().clone();
            self.screen.keep_in(writer, 0);
        }
        self.screen.announce_later(detach::report, self.id.as_str());
        Ok(())
    }

    /// Returns the ID of the run.
    pub fn id(&self) -> &str {
        self.id.as_str()
    }

    /// Resumes a run, which keeps its label if no other one is given. Does nothing to a history if there is none.
    ///
    /// # Errors
    /// The run cannot be resumed.
    pub fn resume(&mut self, resumed: &Resumed) -> anyhow::Result<()> {
        let Resumed { run, started, steps } = resumed;
        if let Some(history) = &mut self.history {
            let reference = RunRef::Name(run.to_string());
            let writer = history.resume(&reference)?;
            match &self.label {
                Some(label) => drop(history.set_label(&[reference], Some(label))?),
                None => self.label = history.resolve(&reference)?.label,
            }
            (self.id, self.started) = (run.clone(), *started);
            self.screen.keep_in(writer, *steps);
        }
        self.screen.announce_later(detach::report, self.id.as_str());
        Ok(())
    }

    /// Returns the beginning of the run's document.
    pub fn head(&self, format: &str, target: TargetFacts, load: Workload) -> Head {
        Head {
            format: format.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.id.to_string(),
            started: self.started.to_string(),
            label: self.label.as_ref().map(Label::to_string),
            target,
            load,
            via: None,
            host_parts: Vec::new(),
        }
    }

    /// If nothing was completed, prints why in one line; the exit code does not say it.
    pub fn tell_nothing(&mut self, caveats: &[Caveat]) {
        let nothing = caveats.iter().find(|c| c.code == CaveatCode::NothingCompleted);
        if let Some(caveat) = nothing {
            self.screen.progress.clear();
            let Caveat { message, hint, .. } = caveat;
            screen::error(&format!("{message}; hint: {hint}"));
        }
    }

    /// Ends the run with its result or as failed.
    ///
    /// # Errors
    /// The result cannot be printed, or the error of the failed measurement.
    pub fn end<D: Serialize>(
        &mut self,
        measured: anyhow::Result<Outcome<D>>,
        brief: fn(&D) -> String,
        text: fn(&D, Page) -> String,
    ) -> anyhow::Result<Exit> {
        match measured {
            Ok(Outcome { document, instead, exit }) => {
                let verdict = brief(&document);
                self.finish(&document, instead, |page| text(&document, page), &verdict, exit)
            }
            Err(error) => {
                self.fail(&error);
                Err(error)
            }
        }
    }

    /// Prints document and text, and closes the run in the history. `instead` goes to stdout
    /// instead of the text; the text then goes to stderr, as it does with `--json`. A result that
    /// could not be kept is a fault, unless the exit code already reports a failure.
    fn finish(
        &mut self,
        document: &impl Serialize,
        instead: Option<String>,
        text: impl Fn(Page) -> String,
        verdict: &str,
        exit: Exit,
    ) -> anyhow::Result<Exit> {
        self.screen.progress.clear();
        self.screen.announce();
        let mut what = "a step of the result above";
        if let Some(writer) = self.screen.take_writer() {
            let has_lost = hosts::led().is_some_and(|hosts| hosts.lost().is_some());
            // What leads the hosts reports it, and ends with this code.
            let exit = if has_lost { Exit::HostLost } else { self.exit(exit) };
            let ending = match exit {
                Exit::Interrupted => Ending::Interrupted,
                _ if self.goes_on => Ending::Interrupted,
                Exit::HostLost => Ending::Failed,
                _ => Ending::Done,
            };
            if let Err(error) = writer.finish(ending, exit as i32, document, verdict) {
                what = "the result above";
                self.screen.lost.get_or_insert(error);
            }
        }
        let instead = match instead {
            None if self.output.json => Some(screen::json(document)?),
            other => other,
        };
        if let Some(instead) = instead {
            screen::data(&instead)?;
            if !self.output.quiet {
                screen::tell(&text(screen::page(true)));
                self.after.iter().for_each(|after| screen::tell(&format!("\n{after}")));
            }
        } else {
            screen::print(&text(screen::page(false)))?;
            self.after.iter().try_for_each(|after| screen::print(&format!("\n{after}")))?;
        }
        if let Some(lost) = &self.screen.lost {
            screen::error(&format!("{what} is not in the history: {lost}"));
        } else if self.history.is_some() && !self.output.quiet {
            let kept = self.output.history_option();
            screen::tell(&format!("iogauge history show {}{kept} shows this again", self.id));
        }
        Ok(self.exit(exit))
    }

    /// Returns the exit code of the command, given that of the measurement.
    fn exit(&self, measured: Exit) -> Exit {
        match (&self.screen.lost, measured) {
            (Some(_), Exit::Done) => Exit::Fault,
            _ => measured,
        }
    }

    /// Closes the run in the history as failed.
    fn fail(&mut self, error: &anyhow::Error) {
        self.screen.progress.clear();
        if let Some(writer) = self.screen.take_writer() {
            let exit = crate::exit::of(error) as i32;
            // The user needs the original error, not a second one from the history.
            let _ = writer.finish(
                Ending::Failed,
                exit,
                &Value::Null,
                &crate::mistake::in_one_line(error),
            );
        }
    }
}

fn command_line() -> String {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    // Each word is filtered by itself, because a password in one word may contain spaces.
    words.map(|word| screen::without_secrets(&word)).collect::<Vec<_>>().join(" ")
}
