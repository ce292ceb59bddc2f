//! Formats the options of a workload.

use crate::load::{
    BlockSizes, CpuPolicy, Distribution, EngineKind, Load, Logs, Modifier, RatedDirection,
    SteadyState, SyncMode, Verify, VerifyState,
};
use crate::units::{size_word, time_word};

/// For an option that is never shown.
pub(super) fn nothing(_: &Load) -> Option<String> {
    None
}

/// Formats a switch as `0` or `1`.
pub(super) fn switch(on: bool) -> Option<String> {
    Some(u8::from(on).to_string())
}

/// Formats a number or a word.
pub(super) fn word(word: impl ToString) -> Option<String> {
    Some(word.to_string())
}

/// Formats a size, if there is one.
pub(super) fn size(bytes: Option<u64>) -> Option<String> {
    bytes.map(size_word)
}

pub(super) fn rw(load: &Load) -> Option<String> {
    // A dependent workload reads and writes whatever its pattern is.
    let is_told = load.modifier != Modifier::None || !load.dependent;
    is_told.then(|| load.rw_word())
}

pub(super) fn rw_sequencer(load: &Load) -> Option<String> {
    matches!(load.modifier, Modifier::Identical(_)).then(|| "identical".to_owned())
}

pub(super) fn rwmixread(load: &Load) -> Option<String> {
    (load.rw.is_mixed() && !load.dependent).then(|| load.read_percent.to_string())
}

/// Returns the sizes if `option` is the one of `bs`, `bssplit` and `bsrange` that can express them.
pub(super) fn block(sizes: &BlockSizes, option: &str) -> Option<String> {
    let (name, value) = sizes.as_option();
    (name == option).then_some(value)
}

pub(super) fn ioengine(load: &Load) -> Option<String> {
    (load.engine != EngineKind::Sim).then(|| load.engine.as_str().to_owned())
}

pub(super) fn random_distribution(load: &Load) -> Option<String> {
    let is_told = load.rw.is_random() && load.distribution != Distribution::Uniform;
    is_told.then(|| load.distribution.to_string())
}

pub(super) fn norandommap(load: &Load) -> Option<String> {
    load.rw.is_random().then(|| u8::from(!load.coverage).to_string())
}

pub(super) fn sync(load: &Load) -> Option<String> {
    (load.sync != SyncMode::None).then(|| load.sync.as_str().to_owned())
}

pub(super) fn startdelay(load: &Load) -> Option<String> {
    word(time_word(load.startdelay_ns))
}

pub(super) fn thinktime(load: &Load) -> Option<String> {
    load.thinktime.map(|thinktime| format!("{}us", thinktime.pause_ns.div_ceil(1000)))
}

pub(super) fn thinktime_blocks(load: &Load) -> Option<String> {
    load.thinktime.map(|thinktime| thinktime.blocks.to_string())
}

pub(super) fn rate_iops(load: &Load) -> Option<String> {
    load.arrivals.map(|arrivals| match arrivals.only {
        None => format!("{:.0}", arrivals.rate_iops),
        Some(RatedDirection::Read) => format!("{:.0},", arrivals.rate_iops),
        Some(RatedDirection::Write) => format!(",{:.0}", arrivals.rate_iops),
    })
}

pub(super) fn rate_process(load: &Load) -> Option<String> {
    load.arrivals.map(|arrivals| arrivals.process.as_str().to_owned())
}

pub(super) fn buffer_compress_chunk(load: &Load) -> Option<String> {
    let chunk = u64::from(load.content.compress_chunk_bytes);
    (load.content.compress_percent > 0).then(|| size_word(chunk))
}

/// Formats a verification option, if the workload verifies.
pub(super) fn verify(load: &Load, of: fn(&Verify) -> Option<String>) -> Option<String> {
    load.verify.as_ref().and_then(of)
}

/// Formats a switch of the verify state, if there is one.
pub(super) fn verify_state(load: &Load, of: fn(&VerifyState) -> bool) -> Option<String> {
    load.verify
        .as_ref()
        .and_then(|verify| verify.state.as_ref())
        .and_then(|state| switch(of(state)))
}

/// Formats an option of logs, if the workload writes any.
pub(super) fn log(load: &Load, of: fn(&Logs) -> Option<String>) -> Option<String> {
    load.logs.as_ref().and_then(of)
}

/// Formats an option of the steady state, if the workload is to attain one.
pub(super) fn steady_state(load: &Load, of: fn(&SteadyState) -> String) -> Option<String> {
    load.steady_state.as_ref().map(of)
}

pub(super) fn cpus_allowed(load: &Load) -> Option<String> {
    load.cpus.as_ref().map(ToString::to_string)
}

pub(super) fn cpus_allowed_policy(load: &Load) -> Option<String> {
    let is_split = load.cpus.is_some() && load.cpu_policy == CpuPolicy::Split;
    is_split.then(|| "split".to_owned())
}

pub(super) fn percentile_list(load: &Load) -> Option<String> {
    let percents: Vec<String> = load.percentiles.iter().map(f64::to_string).collect();
    (!percents.is_empty()).then(|| percents.join(":"))
}
