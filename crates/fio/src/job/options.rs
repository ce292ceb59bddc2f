//! The options of one section, typed.

use super::error::{JobFileError, SourceLine};
use super::value::{KbBase, Span};
use iogauge_model::load::{
    ArrivalProcess, BlockSplit, Content, CpuPolicy, Cpus, Distribution, EngineKind, Pattern, Rw,
    Sequencer, SyncMode, VerifyAlgorithm, VerifyPattern,
};
use std::collections::BTreeMap;

/// What a section says, its own options on top of those of `[global]`, with fio's defaults for the
/// rest.
#[derive(Debug, Clone)]
pub(super) struct JobOptions {
    pub kb_base: KbBase,
    pub name: Option<String>,
    pub rw: Pattern,
    /// The pattern with the number behind it.
    pub rw_number: Option<Rw>,
    pub rw_sequencer: Sequencer,
    pub read_percent: u32,
    /// Block sizes of reads and writes.
    pub block_bytes: [u64; 2],
    /// Block sizes by weight or range, which take precedence.
    pub split: [Option<BlockSplit>; 2],
    pub bs_unaligned: bool,
    pub blockalign: Option<u64>,
    pub distribution: Distribution,
    pub norandommap: bool,
    pub direct: bool,
    pub invalidate: bool,
    pub sync: SyncMode,
    pub fsync_every: u32,
    pub fdatasync_every: u32,
    pub end_fsync: bool,
    pub startdelay_ns: u64,
    pub thinktime_ns: u64,
    pub thinktime_blocks: u32,
    pub content: Content,
    pub verify: Option<VerifyAlgorithm>,
    pub do_verify: bool,
    pub verify_interval: Option<u64>,
    pub verify_pattern: Option<VerifyPattern>,
    pub verify_fatal: bool,
    pub verify_only: bool,
    pub cpus: Option<Cpus>,
    pub cpu_policy: CpuPolicy,
    pub nice: i32,
    pub engine: EngineKind,
    pub iodepth: u32,
    pub batch_submit: Option<u32>,
    pub batch_complete_min: Option<u32>,
    pub batch_complete_max: Option<u32>,
    pub numjobs: u32,
    pub loops: u64,
    /// Bytes per second of reads and writes.
    pub rate: [Option<u64>; 2],
    /// I/Os per second of reads and writes.
    pub rate_iops: [Option<u64>; 2],
    pub rate_process: ArrivalProcess,
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
    pub randseed: Option<u64>,
    pub stonewall: bool,
    pub wait_for: Option<String>,
    pub group_reporting: bool,
    /// 0 for none.
    pub latency_target_ns: u64,
    pub latency_percentile: f64,
    /// Ascending; none for fio's own.
    pub percentiles: Vec<f64>,
    pub unlink: bool,
    pub allow_file_create: bool,
    /// Where each option was set last.
    places: BTreeMap<&'static str, SourceLine>,
}

impl Default for JobOptions {
    fn default() -> Self {
        Self {
            kb_base: KbBase::Old,
            name: None,
            rw: Pattern::Read,
            rw_number: None,
            rw_sequencer: Sequencer::default(),
            read_percent: 50,
            block_bytes: [4096; 2],
            split: [None, None],
            bs_unaligned: false,
            blockalign: None,
            distribution: Distribution::Uniform,
            norandommap: false,
            direct: false,
            invalidate: true,
            sync: SyncMode::None,
            fsync_every: 0,
            fdatasync_every: 0,
            end_fsync: false,
            startdelay_ns: 0,
            thinktime_ns: 0,
            thinktime_blocks: 1,
            content: Content::default(),
            verify: None,
            do_verify: true,
            verify_interval: None,
            verify_pattern: None,
            verify_fatal: false,
            verify_only: false,
            cpus: None,
            cpu_policy: CpuPolicy::default(),
            nice: 0,
            engine: EngineKind::Psync,
            iodepth: 1,
            batch_submit: None,
            batch_complete_min: None,
            batch_complete_max: None,
            numjobs: 1,
            loops: 1,
            rate: [None; 2],
            rate_iops: [None; 2],
            rate_process: ArrivalProcess::Linear,
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
            randseed: None,
            stonewall: false,
            wait_for: None,
            group_reporting: false,
            latency_target_ns: 0,
            latency_percentile: 100.0,
            percentiles: Vec::new(),
            unlink: false,
            allow_file_create: true,
            places: BTreeMap::new(),
        }
    }
}

impl JobOptions {
    /// Notes where an option was set.
    pub fn note(&mut self, option: &'static str, place: &SourceLine) {
        self.places.insert(option, place.clone());
    }

    /// An error of an option where it was set, or of the section where it was not.
    pub fn error(
        &self,
        section: &SourceLine,
        option: &'static str,
        reason: impl Into<String>,
    ) -> JobFileError {
        JobFileError::value(self.places.get(option).unwrap_or(section), option, reason)
    }
}
