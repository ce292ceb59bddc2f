//! What `run` and `find` have in common: target, engine, history, documents, the way out.

use super::record::{Outcome, Record, Resumed};
use crate::args::{LoadArgs, OutputArgs, TargetArgs, ViaArg};
use crate::detach;
use crate::exit::{Exit, Usage};
use iogauge_lab::caveats::distinct;
use iogauge_lab::history::{HistoryError, HistoryPath};
use iogauge_lab::measure::Watch;
use iogauge_lab::session::prepare::Prepared;
use iogauge_lab::session::trace::Tracing;
use iogauge_lab::session::{self, via};
use iogauge_lab::{Interrupt, Region, Rig};
use iogauge_model::Caveat;
use iogauge_model::caveat::Fact;
use iogauge_model::load::Load;
use iogauge_model::result::{Head, Workload};
use iogauge_model::units::{Bandwidth, Bytes};
use iogauge_report::terminal::Page;
use serde::Serialize;
use std::path::PathBuf;

/// A measurement about to begin.
#[derive(Debug)]
pub struct Invocation {
    target: TargetArgs,
    /// The target behind its guards.
    pub rig: Rig,
    /// The loads, ready to run.
    pub loads: Vec<Load>,
    /// What each load is put on; all of the target for those behind the last.
    pub regions: Vec<Region>,
    /// Files to remove at the end where iogauge made them.
    pub unlink: Vec<PathBuf>,
    /// The load in words, where it is one that only fio knows.
    pub words: Option<String>,
    /// What was asked, as the history has it before there is a result.
    pub asked: Workload,
    /// True where the block layer is to be traced.
    pub wants_trace: bool,
    /// What traces it, once the run has begun.
    pub tracing: Option<Tracing>,
    /// The run to take up again, with what it kept.
    pub resumed: Option<Resumed>,
    /// Caveats found so far.
    pub caveats: Vec<Caveat>,
    /// The run in the history and on the screen.
    pub record: Record,
    /// Ends the measurement.
    pub interrupt: Interrupt,
}

/// A target behind its guards, with what is to be put on it.
#[derive(Debug)]
pub struct Opened {
    /// The target.
    pub rig: Rig,
    /// The loads, ready to run.
    pub loads: Vec<Load>,
    /// Engines that cannot be had.
    pub facts: Vec<Fact>,
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
        load.load(load.engine, &[]).map_err(iogauge_lab::LabError::from)?;
    }
    if via.is_some() && typed.iter().any(|load| load.verify.is_some()) {
        let text = "--verify: fio reads back within the run, and its reads would be in the figures; \
                    hint: use one without --via fio, or a job file with it";
        return Err(Usage(text.to_owned()).into());
    }
    let fio = via.map(ViaArg::find).transpose()?;
    let mut rig = Rig::open(&target.target, intent(target, typed))?;
    if let Some(fio) = fio {
        rig.go_via(fio)?;
    }
    let mut loads = Vec::new();
    let mut facts = Vec::new();
    for load in typed {
        let (engine, fact) = rig.engine(load.asked_engine())?;
        facts.extend(fact);
        loads.push(load.load(engine, &part_sizes(&rig)).map_err(iogauge_lab::LabError::from)?);
    }
    Ok(Opened { rig, loads, facts })
}

/// Usable bytes of each part of a target.
pub fn part_sizes(rig: &Rig) -> Vec<u64> {
    rig.target().map_or_else(
        || vec![rig.size_bytes()],
        |target| target.parts.iter().map(|part| part.size_bytes).collect(),
    )
}

/// The target, whose files go at the end where a job asks for that.
pub fn removing(target: &TargetArgs, typed: &[LoadArgs]) -> TargetArgs {
    TargetArgs { rm: target.rm || typed.iter().any(|load| load.unlink), ..target.clone() }
}

/// Refuses a search where a load is measured as it stands.
///
/// # Errors
/// Jobs with `latency_target`.
pub fn refuse_search(typed: &[LoadArgs]) -> Result<(), Usage> {
    let Some(limit) = typed.iter().find_map(|load| load.latency_limit()) else { return Ok(()) };
    let limit = limit.to_string().replace(' ', "");
    Err(Usage(format!(
        "--latency_target searches for the depth; hint: use iogauge find TARGET --limit '{limit}'"
    )))
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
        let Opened { rig, loads, mut facts } = opened;
        facts.extend(rig.via().map(via::fact));
        let caveats = distinct(rig.caveats(facts));
        refuse_history(&rig, &output.history)?;
        let record = Record::new(kind, output, explain)?;
        Ok(Self {
            target: target.clone(),
            rig,
            loads,
            regions: Vec::new(),
            unlink: Vec::new(),
            words: None,
            asked: Workload::default(),
            wants_trace: false,
            tracing: None,
            resumed: None,
            caveats,
            record,
            interrupt,
        })
    }

    /// Prepares the target where it needs it and enters the run into the history.
    ///
    /// # Errors
    /// Where the target cannot be made ready or the run not be kept.
    pub fn begin(&mut self, summary: &str) -> anyhow::Result<()> {
        let mut watch = Watch { observer: &mut self.record.screen, interrupt: &self.interrupt };
        let region = |index: usize| self.regions.get(index).cloned().unwrap_or(Region::All);
        let loads = self.loads.iter().cloned().enumerate();
        let jobs: Vec<_> = loads.map(|(index, load)| (load, region(index))).collect();
        let (prepared, caveats) = session::ready_on(&mut self.rig, &jobs, &mut watch)?;
        if let Some(prepared) = prepared
            && !self.record.output.quiet
            && let Some(line) = prepared_line(self.rig.text(), &prepared)
        {
            self.record.screen.progress.print(&line);
        }
        self.caveats.extend(caveats);
        if self.wants_trace {
            // After the prefill, which would be traced for nothing.
            self.tracing = Some(Tracing::start(&self.rig, &self.interrupt)?);
        }
        if let Some(resumed) = &self.resumed {
            return self.record.resume(resumed);
        }
        let head = self.head("", self.asked.clone());
        self.record.begin(self.rig.text(), summary, &head)
    }

    /// The beginning of the document.
    pub fn head(&self, format: &str, load: Workload) -> Head {
        let head = self.record.head(format, self.rig.describe(), load);
        Head { via: self.rig.via().map(via::describe), ..head }
    }

    /// Ends with what was measured, or as failed, and removes the test file where that was asked for.
    ///
    /// # Errors
    /// As [`Record::end`].
    pub fn end<D: Serialize>(
        mut self,
        measured: anyhow::Result<Outcome<D>>,
        brief: fn(&D) -> String,
        text: fn(&D, Page) -> String,
    ) -> anyhow::Result<Exit> {
        self.tracing = None;
        let ended = self.record.end(measured, brief, text);
        if ended.is_err() {
            if self.target.rm && !self.rig.is_simulated() {
                // What cannot be removed is told by the next clean.
                let _ = super::clean::remove(&self.rig);
            }
            return ended;
        }
        if self.target.rm {
            super::clean::remove(&self.rig)?;
        } else if !self.unlink.is_empty() {
            super::clean::remove_some(&self.rig, &self.unlink)?;
        }
        detach::done();
        ended
    }
}

/// Refuses a target that is the history of this command, or the user's default one.
///
/// # Errors
/// [`HistoryError::IsTarget`].
pub fn refuse_history(rig: &Rig, history: &HistoryPath) -> Result<(), HistoryError> {
    let targets = rig.paths();
    history.refuse_as_target(&targets)?;
    match HistoryPath::Default.refuse_as_target(&targets) {
        // Where no home is known there is no default history.
        Err(HistoryError::NoHome) => Ok(()),
        other => other,
    }
}

fn intent(target: &TargetArgs, typed: &[LoadArgs]) -> iogauge_lab::target::Intent {
    iogauge_lab::target::Intent {
        writes: typed.iter().any(|load| load.writes()),
        destroy_data: target.destroy_data,
        overwrite: target.overwrite,
        size_bytes: typed.iter().filter_map(|load| load.target_bytes()).max(),
        direct: typed.iter().all(|load| load.direct),
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
