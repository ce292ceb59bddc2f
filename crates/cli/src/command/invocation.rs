//! The common parts of `run` and `find`: target, engine, history, documents, ending.

use super::record::{Outcome, Record, Resumed};
use crate::args::{LoadArgs, OutputArgs, Share, TargetArgs, TraceMode, ViaArg};
use crate::detach;
use crate::exit::{Exit, Usage};
use iogauge_lab::caveats::distinct;
use iogauge_lab::history::{HistoryError, HistoryPath};
use iogauge_lab::measure::Watch;
use iogauge_lab::session::prepare::Prepared;
use iogauge_lab::session::trace::Tracing;
use iogauge_lab::session::{self, via};
use iogauge_lab::{Interrupt, LabError, Region, Rig};
use iogauge_model::Caveat;
use iogauge_model::caveat::Fact;
use iogauge_model::load::{EngineKind, Load};
use iogauge_model::result::{Head, Workload};
use iogauge_model::units::{Bandwidth, Bytes, size_word};
use iogauge_report::settings::Setting;
use iogauge_report::terminal::Page;
use serde::Serialize;
use std::path::PathBuf;

/// A measurement about to begin.
#[derive(Debug)]
pub struct Invocation {
    target: TargetArgs,
    /// The target behind its guards.
    pub rig: Rig,
    /// The workloads, ready to run.
    pub loads: Vec<Load>,
    /// The region of each workload. Workloads after the last entry use the whole target.
    pub regions: Vec<Region>,
    /// Files to remove at the end if iogauge made them.
    pub unlink: Vec<PathBuf>,
    /// A description of the workload, if only fio can interpret it.
    pub words: Option<String>,
    /// The request, as the history records it before there is a result.
    pub asked: Workload,
    /// Whether the block layer is to be traced.
    pub trace: Option<TraceMode>,
    /// The tracer, once the run has begun.
    pub tracing: Option<Tracing>,
    /// How several hosts share the load.
    pub share: Share,
    /// The setting of other software that the answer is for.
    pub setting: Option<&'static Setting>,
    /// The run to resume.
    pub resumed: Option<Resumed>,
    /// Caveats found so far.
    pub caveats: Vec<Caveat>,
    /// The run in the history and on the screen.
    pub record: Record,
    /// Ends the measurement.
    pub interrupt: Interrupt,
}

/// A target behind its guards, with its workloads.
#[derive(Debug)]
pub struct Opened {
    pub rig: Rig,
    /// The workloads, ready to run.
    pub loads: Vec<Load>,
    /// Facts about engines that are not available.
    pub facts: Vec<Fact>,
}

/// Parses the options and lets the guards judge the target. With `via`, also finds fio, which must
/// be able to reach the target. Changes nothing.
///
/// # Errors
/// Wrong usage, no such fio, or a refused target.
pub fn open(
    target: &TargetArgs,
    typed: &[LoadArgs],
    via: Option<&ViaArg>,
) -> anyhow::Result<Opened> {
    // Options that are wrong by themselves are reported before the target is inspected.
    for load in typed {
        load.load(load.plain.engine, &[]).map_err(LabError::from)?;
    }
    if via.is_some() && typed.iter().any(|load| load.verify.is_some()) {
        let text = "--verify: fio reads back within the run, and its reads would be in the figures; \
                    hint: leave out --verify";
        return Err(Usage(text.to_owned()).into());
    }
    if let Some(option) = typed.iter().find_map(|load| load.of_run()).filter(|_| via.is_some()) {
        let text = format!(
            "--via fio: fio gets --{option} from a job file only; hint: save the output of --print-fio \
             as FILE.fio, and use iogauge run FILE.fio --via fio"
        );
        return Err(Usage(text).into());
    }
    let fio = via.map(ViaArg::find).transpose()?;
    let mut rig = Rig::open(&target.target, intent(target, typed))?;
    if rig.is_simulated() {
        let asked = typed.iter().filter_map(|load| load.target_bytes()).max();
        if let Some(asked) = asked.filter(|asked| *asked > rig.size_bytes()) {
            let has = rig.size_bytes();
            return Err(Usage(format!(
                "--size: the simulated device has {}, not {}; hint: use --size={} or less",
                Bytes(has),
                Bytes(asked),
                size_word(has)
            ))
            .into());
        }
    }
    if let Some(fio) = fio {
        rig.go_via(fio)?;
    }
    let mut loads = Vec::new();
    let mut facts = Vec::new();
    for load in typed {
        let (engine, fact) = rig.engine(load.asked_engine())?;
        facts.extend(fact);
        loads.push(load.load(engine, &part_sizes(&rig)).map_err(LabError::from)?);
    }
    Ok(Opened { rig, loads, facts })
}

/// Returns the usable bytes of each part of a target.
pub fn part_sizes(rig: &Rig) -> Vec<u64> {
    rig.target().map_or_else(
        || vec![rig.size_bytes()],
        |target| target.parts.iter().map(|part| part.size_bytes).collect(),
    )
}

/// Returns the target arguments, with `rm` set if a job asks to unlink its files.
pub fn removing(target: &TargetArgs, typed: &[LoadArgs]) -> TargetArgs {
    let mut target = target.clone();
    target.permit.rm |= typed.iter().any(|load| load.unlink);
    target
}

/// Refuses an option that implies a search, for commands that run the workload as given.
///
/// # Errors
/// A workload with `latency_target`.
pub fn refuse_search(typed: &[LoadArgs]) -> Result<(), Usage> {
    let Some(limit) = typed.iter().find_map(|load| load.latency_limit()) else { return Ok(()) };
    let limit = limit.to_string().replace(' ', "");
    Err(Usage(format!(
        "--latency_target searches for the depth; hint: use iogauge find TARGET --limit '{limit}'"
    )))
}

/// Refuses options that only `iogauge run` can carry out.
///
/// # Errors
/// A workload with such an option.
pub fn refuse_of_run(typed: &[LoadArgs]) -> Result<(), Usage> {
    let Some(option) = typed.iter().find_map(|load| load.of_run()) else { return Ok(()) };
    Err(Usage(format!("--{option}: only iogauge run can do this; hint: use iogauge run TARGET")))
}

impl Invocation {
    /// Checks that the results for an open target can be kept. Measures and changes nothing.
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
            trace: None,
            tracing: None,
            share: Share::Equal,
            setting: None,
            resumed: None,
            caveats,
            record,
            interrupt,
        })
    }

    /// Prepares the target if necessary and enters the run into the history.
    ///
    /// # Errors
    /// The target cannot be prepared, or the run cannot be kept.
    pub fn begin(&mut self, summary: &str) -> anyhow::Result<()> {
        if self.trace == Some(TraceMode::Must) {
            // Tries it before a fill, which may take hours.
            drop(Tracing::start(&self.rig, &self.interrupt)?);
        }
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
        // Starts after the fill, which is no part of the trace.
        self.tracing = match self.trace {
            None => None,
            Some(TraceMode::Must) => Some(Tracing::start(&self.rig, &self.interrupt)?),
            Some(TraceMode::Try) => Some(Tracing::if_possible(&self.rig, &self.interrupt)?),
        };
        if let Some(resumed) = &self.resumed {
            return self.record.resume(resumed);
        }
        let head = self.head("", self.asked.clone());
        self.record.begin(self.rig.text(), summary, &head)
    }

    /// Says whether the run goes on later; its entry in the history then stays open for that.
    pub fn keep_going(&mut self, goes_on: bool) {
        self.record.goes_on = goes_on;
    }

    /// Checks that there are several hosts if they are to share the load in a way of their own.
    ///
    /// # Errors
    /// There is one host.
    pub fn check_share(&self) -> Result<(), LabError> {
        match self.share {
            Share::Equal => Ok(()),
            Share::Solo => self.rig.check_several_hosts("--share=solo"),
        }
    }

    /// Decides how several hosts share the load; `jobs` are the first ones, each with its region. Measures them on each
    /// host alone if requested.
    ///
    /// # Errors
    /// A fault while measuring.
    pub fn share_out(&mut self, jobs: &[(Load, Region)]) -> Result<(), LabError> {
        if self.share == Share::Equal {
            return Ok(());
        }
        let mut watch = Watch { observer: &mut self.record.screen, interrupt: &self.interrupt };
        session::solo::measure(&mut self.rig, jobs, &mut watch)
    }

    /// Returns the beginning of the document.
    pub fn head(&self, format: &str, load: Workload) -> Head {
        let head = self.record.head(format, self.rig.describe(), load);
        let host_parts = self.rig.host_parts().to_vec();
        Head { via: self.rig.via().map(via::describe), host_parts, ..head }
    }

    /// Ends the run with its result or as failed, and removes the test files if requested.
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
        // A run that goes on later needs them.
        let removes = self.target.permit.rm && !self.record.goes_on;
        if ended.is_err() {
            if removes && !self.rig.is_simulated() {
                // `iogauge clean` reports files that cannot be removed.
                let _ = super::clean::remove(&self.rig);
            }
            return ended;
        }
        if removes {
            super::clean::remove(&self.rig)?;
        } else if !self.unlink.is_empty() {
            super::clean::remove_some(&self.rig, &self.unlink)?;
        }
        detach::done();
        ended
    }
}

/// Refuses a target that is the history of this command or the user's default history, on any of the hosts: they may share
/// the file system.
///
/// # Errors
/// [`HistoryError::IsTarget`].
pub fn refuse_history(rig: &Rig, history: &HistoryPath) -> Result<(), HistoryError> {
    let targets = rig.paths_on_hosts();
    history.refuse_as_target(&targets)?;
    match HistoryPath::Default.refuse_as_target(&targets) {
        // Without a home directory there is no default history.
        Err(HistoryError::NoHome) => Ok(()),
        other => other,
    }
}

fn intent(target: &TargetArgs, typed: &[LoadArgs]) -> iogauge_lab::target::Intent {
    iogauge_lab::target::Intent {
        writes: typed.iter().any(|load| load.writes()),
        size_bytes: typed.iter().filter_map(|load| load.target_bytes()).max(),
        offset_bytes: typed.iter().map(|load| load.offset_bytes(0, 0)).min().unwrap_or(0),
        direct: typed.iter().all(|load| load.plain.direct),
        issues_io: typed.iter().any(|load| load.plain.engine != EngineKind::Null),
        ..target.permit.permitted()
    }
}

/// Describes the preparation in one line; `None` if the target was ready.
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
