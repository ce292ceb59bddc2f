//! What `run` and `find` have in common: target, engine, history, documents, the way out.

use crate::args::{LoadArgs, OutputArgs, TargetArgs, ViaArg};
use crate::detach;
use crate::exit::{Exit, Usage};
use crate::screen::{self, Screen};
use iogauge_lab::caveats::distinct;
use iogauge_lab::history::{Ending, History, NewRun, RunId, RunRef, UtcTime};
use iogauge_lab::measure::Watch;
use iogauge_lab::prepare::Prepared;
use iogauge_lab::{Ground, Interrupt, Rig, session, via};
use iogauge_model::Caveat;
use iogauge_model::load::Load;
use iogauge_model::result::Head;
use iogauge_model::units::{Bandwidth, Bytes};
use iogauge_report::terminal::Page;
use serde::Serialize;
use std::path::PathBuf;

/// A measurement about to begin.
#[derive(Debug)]
pub struct Invocation {
    kind: &'static str,
    target: TargetArgs,
    output: OutputArgs,
    /// The target behind its guards.
    pub rig: Rig,
    /// The loads, ready to run.
    pub loads: Vec<Load>,
    /// What each load is put on; all of the target for those behind the last.
    pub grounds: Vec<Ground>,
    /// Files to remove at the end where iogauge made them.
    pub unlink: Vec<PathBuf>,
    /// The load in words, where it is one that only fio knows.
    pub words: Option<String>,
    /// What was asked, as the history has it before there is a result.
    pub asked: serde_json::Value,
    /// The run to take up again, with what it kept.
    pub resumed: Option<Resumed>,
    /// Doubts gathered so far.
    pub caveats: Vec<Caveat>,
    history: Option<History>,
    started: UtcTime,
    id: RunId,
    /// Progress and steps.
    pub screen: Screen,
    /// Ends the measurement.
    pub interrupt: Interrupt,
}

/// A run that goes on.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// Its name.
    pub run: RunId,
    /// When it began.
    pub started: UtcTime,
    /// Steps that stay as they are.
    pub steps: u32,
}

/// What came of a measurement.
#[derive(Debug)]
pub struct Outcome<D> {
    /// Its document.
    pub document: D,
    /// What goes to stdout in place of the text.
    pub instead: Option<String>,
    /// How the command ends.
    pub exit: Exit,
}

/// A target behind its guards, with what is to be put on it.
#[derive(Debug)]
pub struct Opened {
    /// The target.
    pub rig: Rig,
    /// The loads, ready to run.
    pub loads: Vec<Load>,
    /// Engines that had to give way to others.
    pub caveats: Vec<Caveat>,
}

/// Reads what was typed and lets the guards judge the target, which fio is to reach where it does the
/// I/O. Changes nothing.
///
/// # Errors
/// Wrong usage, no such fio, a refused target.
pub fn open(
    target: &TargetArgs,
    typed: &[LoadArgs],
    via: Option<&ViaArg>,
) -> anyhow::Result<Opened> {
    // What the options say of themselves is checked before the target is looked at.
    for load in typed {
        load.load(load.ioengine.unwrap_or(Load::default().engine))
            .map_err(iogauge_lab::LabError::from)?;
    }
    if via.is_some() && typed.iter().any(|load| load.verify.is_some()) {
        let text = "--verify: fio reads back within the run, and its reads would be in the figures; \
                    right would be one without --via fio, or a job file with it";
        return Err(Usage(text.to_owned()).into());
    }
    let fio = via.map(ViaArg::find).transpose()?;
    let mut rig = Rig::open(&target.target, intent(target, typed))?;
    if let Some(fio) = fio {
        rig.go_via(fio)?;
    }
    let mut loads = Vec::new();
    let mut caveats = Vec::new();
    for load in typed {
        let (engine, caveat) = rig.engine(load.ioengine)?;
        caveats.extend(caveat);
        loads.push(load.load(engine).map_err(iogauge_lab::LabError::from)?);
    }
    Ok(Opened { rig, loads, caveats: distinct(caveats) })
}

impl Invocation {
    /// Checks that results of an open target can be kept. Measures and changes nothing.
    ///
    /// # Errors
    /// A history that cannot be written.
    pub fn on(
        kind: &'static str,
        target: &TargetArgs,
        output: &OutputArgs,
        explain: bool,
        interrupt: Interrupt,
        opened: Opened,
    ) -> anyhow::Result<Self> {
        let Opened { rig, loads, mut caveats } = opened;
        caveats.extend(rig.via().map(via::caveat));
        let history = History::open_at(&output.history)?;
        if let Some(history) = &history {
            history.check_writable()?;
        }
        let started = UtcTime::now();
        Ok(Self {
            kind,
            target: target.clone(),
            output: output.clone(),
            rig,
            loads,
            grounds: Vec::new(),
            unlink: Vec::new(),
            words: None,
            asked: serde_json::Value::Null,
            resumed: None,
            caveats,
            history,
            started,
            id: RunId::generate(started),
            screen: Screen::new(output.quiet, explain),
            interrupt,
        })
    }

    /// Prepares the target where it needs it and enters the run into the history.
    ///
    /// # Errors
    /// Where the target cannot be made ready or the run not be kept.
    pub fn begin(&mut self, summary: &str) -> anyhow::Result<()> {
        let mut watch = Watch { observer: &mut self.screen, interrupt: &self.interrupt };
        let ground = |index: usize| self.grounds.get(index).cloned().unwrap_or(Ground::All);
        let loads = self.loads.iter().cloned().enumerate();
        let jobs: Vec<_> = loads.map(|(index, load)| (load, ground(index))).collect();
        let (prepared, caveats) = session::ready_on(&mut self.rig, &jobs, &mut watch)?;
        if let Some(prepared) = prepared
            && !self.output.quiet
            && let Some(line) = prepared_line(self.rig.text(), &prepared)
        {
            self.screen.progress.print(&line);
        }
        self.caveats.extend(caveats);
        if let (Some(history), Some(Resumed { run, started, steps })) =
            (&self.history, &self.resumed)
        {
            let writer = history.resume(&RunRef::Name(run.to_string()))?;
            (self.id, self.started) = (run.clone(), *started);
            self.screen.keep_behind(*steps, writer);
        } else if let Some(history) = &self.history {
            let run = NewRun {
                kind: self.kind.to_owned(),
                started: self.started,
                command_line: command_line(),
                target: self.rig.text().to_owned(),
                load: summary.to_owned(),
                head: serde_json::to_value(self.head("", self.asked.clone()))?,
            };
            let writer = history.begin(&run)?;
            self.id = writer.id().clone();
            self.screen.keep_in(Some(writer));
        }
        detach::report(self.id.as_str());
        Ok(())
    }

    /// The beginning of the document.
    pub fn head(&self, format: &str, load: serde_json::Value) -> Head {
        Head {
            format: format.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: self.id.to_string(),
            started: self.started.to_string(),
            target: self.rig.describe(),
            load,
            via: self.rig.via().map(via::describe),
        }
    }

    /// Ends with what was measured, or as failed.
    ///
    /// # Errors
    /// As [`Self::finish`], and why nothing was measured.
    pub fn end<D: Serialize>(
        self,
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

    /// Prints document and text, closes the run in the history, and removes the test file where
    /// that was asked for. `instead` goes to stdout in place of the text, which then goes to stderr,
    /// as it does beside the document.
    ///
    /// # Errors
    /// Where the result cannot be printed.
    fn finish(
        mut self,
        document: &impl Serialize,
        instead: Option<String>,
        text: impl Fn(Page) -> String,
        verdict: &str,
        exit: Exit,
    ) -> anyhow::Result<Exit> {
        self.screen.progress.clear();
        if let Some(writer) = self.screen.take_writer() {
            let ending = if exit == Exit::Interrupted { Ending::Interrupted } else { Ending::Done };
            if let Err(error) = writer.finish(ending, exit as i32, document, verdict) {
                self.screen.lost.get_or_insert(error);
            }
        }
        let instead = match instead {
            None if self.output.json => Some(serde_json::to_string_pretty(document)?),
            other => other,
        };
        if let Some(instead) = instead {
            screen::print(&instead)?;
            if !self.output.quiet {
                screen::tell(&text(screen::page(true)));
            }
        } else {
            screen::print(&text(screen::page(false)))?;
        }
        if let Some(lost) = &self.screen.lost {
            screen::tell(&format!("iogauge: the result above is not in the history: {lost}"));
        } else if self.history.is_some() && !self.output.quiet {
            let kept = self.output.history_option();
            screen::tell(&format!("iogauge history show {}{kept} shows this again", self.id));
        }
        if self.target.rm {
            super::clean::remove(self.rig)?;
        } else if !self.unlink.is_empty() {
            super::clean::remove_some(self.rig, &self.unlink)?;
        }
        detach::done();
        Ok(exit)
    }

    /// Closes the run in the history as failed.
    fn fail(mut self, error: &anyhow::Error) {
        self.screen.progress.clear();
        if let Some(writer) = self.screen.take_writer() {
            let exit = crate::exit::of(error) as i32;
            let document = serde_json::Value::Null;
            // The error itself is what the user has to hear; a history that fails, too, is not.
            let _ = writer.finish(Ending::Failed, exit, &document, &crate::in_one_line(error));
        }
        if self.target.rm && !self.rig.is_simulated() {
            // What cannot be removed is told by the next clean.
            let _ = super::clean::remove(self.rig);
        }
    }
}

fn intent(target: &TargetArgs, typed: &[LoadArgs]) -> iogauge_io::target::Intent {
    let writes = |load: &LoadArgs| {
        let only_checks = load.verify_only.unwrap_or(false);
        (load.pattern().writes() && !only_checks) || load.dependent.unwrap_or(false)
    };
    iogauge_io::target::Intent {
        writes: typed.iter().any(writes),
        destroy_data: target.destroy_data,
        overwrite: target.overwrite,
        size_bytes: typed.iter().filter_map(LoadArgs::target_bytes).max(),
        direct: typed.iter().all(|load| load.direct.unwrap_or(true)),
        create: true,
    }
}

/// What was done to make the target ready, in one line; `None` where it was ready.
pub fn prepared_line(target: &str, prepared: &Prepared) -> Option<String> {
    (prepared.written_bytes > 0).then(|| {
        let rewrite = prepared.rewrite_bytes_per_sec.map_or_else(String::new, |speed| {
            format!(" at first write, {} at rewrite", Bandwidth(speed))
        });
        format!(
            "{target}: prefilled {} at {}{rewrite}",
            Bytes(prepared.written_bytes),
            Bandwidth(prepared.first_write_bytes_per_sec),
        )
    })
}

fn command_line() -> String {
    std::env::args().collect::<Vec<_>>().join(" ")
}
