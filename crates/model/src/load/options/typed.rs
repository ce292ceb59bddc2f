//! Typed options: of the command line, a suite file, or a section of a job file.

use super::value::{Dialect, KbBase, Span, Value, Wrong};
use super::{LoadOption, OnLine};
use crate::limit::{Limit, Metric, Side};
use crate::load::{
    ArrivalProcess, BlockSplit, DataPattern, EngineKind, Load, LoadError, Logs, Pattern, Rw,
    Sequencer, SteadyMetric, SteadyState, VerifyAlgorithm,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

/// A line of a job file or of an included file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// The file, as named by the user.
    pub file: Arc<Path>,
    /// The line, from 1; 0 for the whole file.
    pub line: u32,
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.line > 0 { write!(f, ":{}", self.line) } else { Ok(()) }
    }
}

/// Rates in I/Os or bytes per second.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Rates {
    /// Rates of reads and of writes. In fio, 0 is no limit.
    pub each: [Option<u64>; 2],
    /// Rate of reads and writes together, if the command line has one number.
    pub both: Option<u64>,
}

/// An option as typed.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    text: Option<String>,
    place: Option<SourceLine>,
}

/// The values of all workload options: typed values, and defaults for the rest. The fields have the names of
/// the options; [`super::ROWS`] has their meaning.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs)]
pub struct Typed {
    /// The syntax of the values.
    pub dialect: Dialect,
    pub name: Option<String>,
    /// Options whose value a workload has as typed. [`Typed::load`] sets the other fields.
    pub plain: Load,
    /// The pattern with the number after it.
    pub rw_number: Option<Rw>,
    pub rw_sequencer: Sequencer,
    /// Block sizes of reads and writes.
    pub block_bytes: [u64; 2],
    /// Block sizes as a split or range. These take precedence.
    pub split: [Option<BlockSplit>; 2],
    pub bs_unaligned: bool,
    pub is_lfsr: bool,
    pub thinktime_ns: u64,
    pub thinktime_blocks: u32,
    pub verify: Option<VerifyAlgorithm>,
    pub do_verify: bool,
    pub verify_interval: Option<u64>,
    pub verify_backlog: u32,
    pub verify_backlog_batch: Option<u32>,
    pub verify_offset: u64,
    pub verify_pattern: Option<DataPattern>,
    pub verify_pattern_interval: u64,
    pub verify_fatal: bool,
    pub verify_only: bool,
    pub verify_state_save: bool,
    pub verify_state_load: bool,
    pub batch_submit: Option<u32>,
    pub batch_complete_min: Option<u32>,
    pub batch_complete_max: Option<u32>,
    pub loops: u64,
    pub rate: Rates,
    pub rate_iops: Rates,
    pub rate_process: ArrivalProcess,
    /// An empty prefix stands for the name of the job.
    pub logs: Logs,
    /// Without a window, there is none.
    pub steady_state: SteadyState,
    pub filename: Vec<String>,
    pub directory: Vec<String>,
    pub filename_format: String,
    pub nrfiles: u32,
    pub size: Option<Span>,
    pub io_size: Option<Span>,
    pub file_size: Option<u64>,
    pub offset: Span,
    pub offset_increment: Span,
    pub offset_align: u64,
    pub number_ios: Option<u64>,
    pub runtime_ns: u64,
    pub time_based: bool,
    pub ramp_ns: u64,
    pub randrepeat: bool,
    pub allrandrepeat: bool,
    pub randseed: Option<u64>,
    pub stonewall: bool,
    pub wait_for: Option<String>,
    pub group_reporting: bool,
    pub new_group: bool,
    /// 0 for none.
    pub latency_target_ns: u64,
    pub latency_percentile: f64,
    pub unlink: bool,
    pub allow_file_create: bool,
    /// The options typed, each with its last value.
    given: BTreeMap<&'static str, Given>,
}

impl Typed {
    /// Creates the options with fio's defaults.
    #[must_use]
    pub fn fio() -> Self {
        Self {
            dialect: Dialect::Fio(KbBase::Old),
            plain: Load {
                rw: Pattern::Read,
                coverage: true,
                direct: false,
                invalidate: true,
                engine: EngineKind::Psync,
                ..Load::default()
            },
            ..Self::iogauge()
        }
    }

    /// Creates the options with iogauge's defaults, those of [`Load`](crate::Load).
    #[must_use]
    pub fn iogauge() -> Self {
        Self {
            dialect: Dialect::Iogauge,
            name: None,
            plain: Load::default(),
            rw_number: None,
            rw_sequencer: Sequencer::default(),
            block_bytes: [4096; 2],
            split: [None, None],
            bs_unaligned: false,
            is_lfsr: false,
            thinktime_ns: 0,
            thinktime_blocks: 1,
            verify: None,
            do_verify: true,
            verify_interval: None,
            verify_backlog: 0,
            verify_backlog_batch: None,
            verify_offset: 0,
            verify_pattern: None,
            verify_pattern_interval: 0,
            verify_fatal: false,
            verify_only: false,
            verify_state_save: false,
            verify_state_load: false,
            batch_submit: None,
            batch_complete_min: None,
            batch_complete_max: None,
            loops: 1,
            rate: Rates::default(),
            rate_iops: Rates::default(),
            rate_process: ArrivalProcess::Linear,
            logs: Logs::default(),
            // fio's defaults.
            steady_state: SteadyState {
                metric: SteadyMetric::Iops,
                is_slope: true,
                bound: 0.01,
                is_percent: true,
                window_ns: 0,
                ramp_ns: 0,
                interval_ns: 1_000_000_000,
            },
            filename: Vec::new(),
            directory: Vec::new(),
            filename_format: "$jobname.$jobnum.$filenum".to_owned(),
            nrfiles: 1,
            size: None,
            io_size: None,
            file_size: None,
            offset: Span::Bytes(0),
            offset_increment: Span::Bytes(0),
            offset_align: 0,
            number_ios: None,
            runtime_ns: 0,
            time_based: false,
            ramp_ns: 0,
            randrepeat: true,
            allrandrepeat: false,
            randseed: None,
            stonewall: false,
            wait_for: None,
            group_reporting: false,
            new_group: false,
            latency_target_ns: 0,
            latency_percentile: 100.0,
            unlink: false,
            allow_file_create: true,
            given: BTreeMap::new(),
        }
    }

    /// Sets an option from its text.
    ///
    /// # Errors
    /// If the value is invalid, or if the option is not allowed here.
    pub fn set(
        &mut self,
        row: &'static LoadOption,
        text: Option<&str>,
        place: Option<&SourceLine>,
    ) -> Result<(), Wrong> {
        if let (OnLine::Refused(why) | OnLine::OfCommand(why), Dialect::Iogauge) =
            (row.on_line, self.dialect)
        {
            return Err(Wrong::unsupported(why));
        }
        let dialect = self.dialect;
        (row.set)(self, &Value { text, dialect })?;
        let given = Given { text: text.map(str::to_owned), place: place.cloned() };
        self.given.insert(row.name, given);
        Ok(())
    }

    /// Returns a copy in which `others` replace the options that they repeat or conflict with.
    ///
    /// # Errors
    /// If a value is invalid, or if options of `others` are repeated or conflict.
    pub fn with<'a>(
        &self,
        others: impl Iterator<Item = (&'static LoadOption, Option<&'a str>)> + Clone,
    ) -> Result<Self, LoadError> {
        let wrong = |row: &LoadOption, wrong: Wrong| LoadError::new(row.name, wrong.to_string());
        let mut typed = Self::iogauge();
        let stays = |name: &str| {
            !others.clone().any(|(row, _)| row.name == name || row.conflicts_with(name))
        };
        for (row, given) in self.rows().filter(|(row, _)| stays(row.name)) {
            typed.set(row, given.text.as_deref(), None).map_err(|error| wrong(row, error))?;
        }
        let kept = typed.given.len();
        let mut count = 0;
        for (row, text) in others {
            typed.set(row, text, None).map_err(|error| wrong(row, error))?;
            count += 1;
            if typed.given.len() < kept + count {
                return Err(LoadError::new(row.name, "is given twice; hint: use one of them"));
            }
        }
        typed.check_conflicts()?;
        Ok(typed)
    }

    fn rows(&self) -> impl Iterator<Item = (&'static LoadOption, &Given)> {
        self.given.iter().filter_map(|(name, given)| Some((super::find(name)?, given)))
    }

    fn check_conflicts(&self) -> Result<(), LoadError> {
        for (row, _) in self.rows() {
            if let Some(other) = row.conflicts.iter().find(|other| self.has(other)) {
                let reason = format!("cannot be used with {other}; hint: use one of them");
                return Err(LoadError::new(row.name, reason));
            }
        }
        Ok(())
    }

    /// Checks that each option has the option that it needs.
    pub(super) fn check_companions(&self) -> Result<(), LoadError> {
        for (row, _) in self.rows() {
            let Some(needed) = row.requires.first() else { continue };
            let name = |needed: &&'static str| needed.split('=').next().unwrap_or_default();
            if !row.requires.iter().any(|needed| self.has(name(needed))) {
                let names: Vec<&str> = row.requires.iter().map(name).collect();
                let names = names.join(" or ");
                let reason = format!("has no effect without {names}; hint: use --{needed}, too");
                return Err(LoadError::new(row.name, reason));
            }
        }
        Ok(())
    }

    /// True if the option was typed.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.given.contains_key(name)
    }

    /// True if no option was typed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the first option typed that only `iogauge run` can carry out.
    #[must_use]
    pub fn of_run(&self) -> Option<&'static str> {
        self.rows().find(|(row, _)| row.on_line == OnLine::OfRun).map(|(row, _)| row.name)
    }

    /// Returns where an option was typed last, under any of its names.
    #[must_use]
    pub fn place(&self, name: &str) -> Option<&SourceLine> {
        let row = super::find(name)?;
        self.given.get(row.name)?.place.as_ref()
    }

    /// Returns the engine typed; `None` to choose one that suits the target.
    #[must_use]
    pub fn asked_engine(&self) -> Option<EngineKind> {
        self.has("ioengine").then_some(self.plain.engine)
    }

    /// True if the workload changes the target.
    #[must_use]
    pub fn writes(&self) -> bool {
        (self.plain.rw.writes() && !self.verify_only) || self.plain.dependent
    }

    /// Returns the limit that `latency_target` sets for a search; `None` without this option.
    #[must_use]
    pub fn latency_limit(&self) -> Option<Limit> {
        let metric = if self.latency_percentile < 100.0 {
            Metric::Percentile(self.latency_percentile)
        } else {
            Metric::Max
        };
        (self.latency_target_ns > 0).then_some(Limit {
            each: false,
            side: Side::Any,
            metric,
            bound_ns: self.latency_target_ns,
        })
    }
}
