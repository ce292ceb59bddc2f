//! Loads that settings mean.

use super::Reason;
use crate::terminal::{listed, load_words};
use iogauge_model::load::options::ROWS;
use iogauge_model::load::{BlockSizes, Load, Pattern, SyncMode};
use iogauge_model::units::{Bytes, size_word};

/// A load that a setting means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SettingLoad {
    /// Direction and order.
    pub rw: Pattern,
    /// Bytes of each I/O.
    pub block_bytes: u64,
}

impl SettingLoad {
    /// Returns the options that the load sets, with their values.
    #[must_use]
    pub fn options(&self) -> [(&'static str, String); 2] {
        [("rw", self.rw.to_string()), ("bs", size_word(self.block_bytes))]
    }

    fn words(&self) -> String {
        let order = if self.rw.is_random() { "random" } else { "sequential" };
        let direction = if self.rw.reads() { "reads" } else { "writes" };
        format!("{order} {direction} of {}", Bytes(self.block_bytes))
    }

    fn is(&self, load: &Load) -> bool {
        load.rw == self.rw && block_bytes(load) == Some(self.block_bytes)
    }
}

/// Returns the only block size of a load in one direction.
pub(super) fn block_bytes(load: &Load) -> Option<u64> {
    let split = if load.rw.reads() { &load.block.read } else { &load.block.write };
    match split.entries() {
        [(bytes, _)] => Some(*bytes),
        _ => None,
    }
}

/// Options for the direction and the order.
pub(super) const DIRECTION: &[&str] = &["rw", "rwmixread", "rwmixwrite"];
/// Options for the block sizes.
pub(super) const BLOCK: &[&str] = &["bs", "bssplit", "bsrange", "bs_unaligned"];

/// Checks that a load is one of several.
pub(super) fn one_of(loads: &[SettingLoad], load: &Load) -> Result<(), Reason> {
    if !loads.iter().any(|known| known.is(load)) {
        let wanted: Vec<String> = loads.iter().map(SettingLoad::words).collect();
        let has_direction = loads.iter().any(|known| known.rw == load.rw);
        let wrong = if has_direction { BLOCK.to_vec() } else { [DIRECTION, BLOCK].concat() };
        return Err(Reason::OtherLoad { wanted: wanted.join(" or "), found: words(load), wrong });
    }
    plain(load)
}

/// Returns the options for direction, order and block size that differ from those that a search for the setting has by
/// itself: `rw=write`.
pub(super) fn options(loads: &[SettingLoad], load: &Load) -> Vec<String> {
    let usual = loads.first().map_or_else(Load::default, |known| Load {
        rw: known.rw,
        block: BlockSizes::fixed(known.block_bytes),
        ..Load::default()
    });
    let rows = ROWS.iter().filter(|row| [DIRECTION, BLOCK].concat().contains(&row.name));
    let shown = rows.filter_map(|row| Some((row.name, (row.show)(load)?, (row.show)(&usual))));
    let differing = shown.filter(|(_, own, usual)| Some(own) != usual.as_ref());
    differing.map(|(name, own, _)| format!("--{name}={own}")).collect()
}

/// Describes a load.
pub(super) fn words(load: &Load) -> String {
    load_words(&load.clone().into())
}

/// Checks that a load bypasses the page cache and has no option that changes what is measured. Its queue depth, which
/// the search chooses, and the region that it uses do not.
pub(super) fn plain(load: &Load) -> Result<(), Reason> {
    if !load.direct {
        return Err(Reason::Buffered);
    }
    let usual = without_own_options(load);
    if usual == *load {
        return Ok(());
    }
    let differing = ROWS.iter().filter(|row| row.shown(load) != row.shown(&usual));
    let differing: Vec<_> =
        differing.map(|row| (row.name, row.shown(load).unwrap_or_default())).collect();
    let typed: Vec<String> =
        differing.iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let option = match words_of_option(load) {
        Some(words) => words.to_owned(),
        None if typed.is_empty() => "options of its own".to_owned(),
        None => listed(&typed),
    };
    Err(Reason::OtherOption {
        option,
        wrong: differing.into_iter().map(|(name, _)| name).collect(),
    })
}

/// Describes the first option that changes what is measured and is known by a word.
fn words_of_option(load: &Load) -> Option<&'static str> {
    let usual = Load::default();
    let differs = |option, differs: bool| differs.then_some(option);
    let found = [
        differs("think time", load.thinktime.is_some()),
        differs("I/Os that depend on each other", load.dependent),
        differs("flushes", load.fsync_every > 0 || load.fdatasync_every > 0),
        differs("writes that wait for the medium", load.sync != SyncMode::None),
        differs("an uneven distribution of offsets", load.distribution != usual.distribution),
        differs("data that compresses or repeats", load.content != usual.content),
        differs("data of a pattern", load.buffer_pattern.is_some()),
        differs("verification", load.verify.is_some()),
    ];
    found.into_iter().flatten().next()
}

/// Returns a load without the options that change what is measured.
fn without_own_options(load: &Load) -> Load {
    Load {
        rw: load.rw,
        block: BlockSizes { read: load.block.read.clone(), write: load.block.write.clone() },
        read_percent: load.read_percent,
        coverage: load.coverage,
        invalidate: load.invalidate,
        iodepth: load.iodepth,
        numjobs: load.numjobs,
        arrivals: load.arrivals,
        offset_bytes: load.offset_bytes,
        size_bytes: load.size_bytes,
        engine: load.engine,
        cpus: load.cpus.clone(),
        cpu_policy: load.cpu_policy,
        nice: load.nice,
        percentiles: load.percentiles.clone(),
        logs: load.logs.clone(),
        clat_percentiles: load.clat_percentiles,
        lat_percentiles: load.lat_percentiles,
        end_fsync: load.end_fsync,
        startdelay_ns: load.startdelay_ns,
        seed: load.seed,
        ..Load::default()
    }
}
