//! A workload as fio options.

use iogauge_model::load::options::{LoadOption, ROWS};
use iogauge_model::load::{EngineKind, Load, Pattern, RatedDirection};

/// An option as written in a job file: name and value.
pub(super) type FioOption = (&'static str, String);

/// Options that have other defaults in fio, or that readers of fio's results look for.
const ALWAYS: &[&str] = &[
    "rw",
    "rwmixread",
    "bs",
    "iodepth",
    "numjobs",
    "ioengine",
    "direct",
    "norandommap",
    "thinktime_blocks",
    "rate_process",
    "buffer_compress_chunk",
    "randseed",
];
/// The range of a job in its files, which depends on the files.
const OF_FILES: &[&str] = &["size", "offset", "offset_increment"];

/// Returns the options for direction, sizes, concurrency, engine and all else that fio has options for,
/// with the values for one of `clones` workers. fio applies the rate and the number of I/Os to each clone
/// of a job, whereas a [`Load`] has them for all workers together. Options with fio's default are left out,
/// except those that readers of fio's results look for.
pub(super) fn of_load(load: &Load, iodepth: u32, clones: u32) -> Vec<FioOption> {
    // A blocking engine has more clones than jobs; they share the amount of a job.
    let of_clone =
        |each: u64| each.saturating_mul(u64::from(load.numjobs)).div_ceil(u64::from(clones.max(1)));
    let load = &without_dependence(load);
    let load = Load {
        iodepth,
        numjobs: clones,
        direct: load.direct && load.engine != EngineKind::Mmap,
        number_ios: load.number_ios.map(of_clone),
        io_size_bytes: load.io_size_bytes.map(of_clone),
        ..load.clone()
    };
    let value = |row: &LoadOption| match row.name {
        "rate_iops" => rate_iops(&load, clones),
        // Direct I/O bypasses the page cache.
        "invalidate" if load.direct => None,
        "invalidate" => (!load.invalidate).then(|| "0".to_owned()),
        name if ALWAYS.contains(&name) => (row.show)(&load),
        name if OF_FILES.contains(&name) => None,
        _ => row.shown(&load),
    };
    ROWS.iter().filter_map(|row| Some((row.name, value(row)?))).collect()
}

fn rate_iops(load: &Load, clones: u32) -> Option<String> {
    load.arrivals?;
    let [reads, writes] = clone_rates(load, clones).map(whole_rate);
    Some(if load.rw.is_mixed() {
        format!("{reads},{writes}")
    } else {
        reads.max(writes).to_string()
    })
}

/// Returns the workload with independent reads and writes, which is the closest that fio can get to
/// reading, changing and writing back a block.
pub(super) fn without_dependence(load: &Load) -> Load {
    let load = load.clone();
    if load.dependent {
        Load { rw: Pattern::RandRw, read_percent: 50, dependent: false, ..load }
    } else {
        load
    }
}

/// Returns the reads and writes per second that each of `clones` should start, 0 for a direction that the
/// workload does not have.
pub(super) fn clone_rates(load: &Load, clones: u32) -> [f64; 2] {
    let rate = load.arrivals.map_or(0.0, |arrivals| arrivals.rate_iops) / f64::from(clones.max(1));
    let only = load.arrivals.and_then(|arrivals| arrivals.only);
    if only.is_some_and(|only| only == RatedDirection::Write) {
        [0.0, rate]
    } else if load.rw.is_mixed() && only.is_none() {
        let reads = rate * f64::from(load.read_percent) / 100.0;
        [reads, rate - reads]
    } else if load.rw.reads() {
        [rate, 0.0]
    } else {
        [0.0, rate]
    }
}

/// Rounds a rate for fio, which takes whole I/Os per second, and 0 for no bound: a positive rate stays at
/// least 1.
pub(super) fn whole_rate(rate: f64) -> u64 {
    if rate > 0.0 { (rate.round() as u64).max(1) } else { 0 }
}

/// Formats paths for fio's `filename`: separated by colons, with the colons inside paths escaped.
pub(super) fn file_list<'a>(paths: impl Iterator<Item = &'a str>) -> String {
    paths.map(|path| path.replace(':', "\\:")).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::load::{ArrivalProcess, Arrivals, BlockSizes, Distribution, Rw};
    use iogauge_model::units::{parse_size_bytes, size_word, time_word};
    use proptest::prelude::*;

    fn value(load: &Load, clones: u32, name: &str) -> Option<String> {
        let options = of_load(load, load.iodepth, clones);
        options.into_iter().find(|(n, _)| *n == name).map(|(_, value)| value)
    }

    #[test]
    fn block_sizes_are_written_in_every_form() {
        let of = |block: BlockSizes| block.as_option();
        assert_eq!(of(BlockSizes::fixed(4096)), ("bs", "4k".to_owned()));
        assert_eq!(of(BlockSizes::parse_bs("4k,1m").unwrap()), ("bs", "4k,1m".to_owned()));
        let split = BlockSizes::parse_bssplit("4k/60:512/40").unwrap();
        assert_eq!(of(split), ("bssplit", "4k/60:512/40".to_owned()));
        let split = BlockSizes::parse_bssplit("4k/60:64k/40,8k/100").unwrap();
        assert_eq!(of(split), ("bssplit", "4k/60:64k/40,8k/100".to_owned()));
        let range = BlockSizes::parse_bsrange("4k-64k,8k-1m").unwrap();
        assert_eq!(of(range), ("bsrange", "4k-64k,8k-1m".to_owned()));
    }

    #[test]
    fn rates_and_io_counts_are_written_per_clone() {
        let arrivals =
            Some(Arrivals { rate_iops: 1000.0, process: ArrivalProcess::Poisson, only: None });
        let load = Load { rw: Pattern::RandRw, read_percent: 70, arrivals, ..Load::default() };
        assert_eq!(value(&load, 2, "rate_iops").unwrap(), "350,150");
        assert_eq!(value(&load, 1, "rate_process").unwrap(), "poisson");
        let load = Load { rw: Pattern::Write, number_ios: Some(10), ..load };
        assert_eq!(value(&load, 4, "rate_iops").unwrap(), "250");
        assert_eq!(value(&load, 1, "number_ios").unwrap(), "10");
        assert_eq!(value(&load, 4, "number_ios").unwrap(), "3");
        assert_eq!(whole_rate(0.2), 1);
    }

    #[test]
    fn defaults_are_omitted_except_key_options() {
        let load = Load::default();
        for name in ["rw", "bs", "iodepth", "numjobs", "ioengine", "direct"] {
            assert!(value(&load, 1, name).is_some(), "{name}");
        }
        let left_out =
            ["rwmixread", "sync", "fsync", "rate_iops", "number_ios", "random_distribution"];
        for name in left_out {
            assert_eq!(value(&load, 1, name), None, "{name}");
        }
        let dependent = Load { dependent: true, ..load.clone() };
        assert_eq!(value(&dependent, 1, "rw").unwrap(), "randrw");
        let load = Load { distribution: Distribution::Zipf(1.2), ..load };
        assert_eq!(value(&load, 1, "random_distribution").unwrap(), "zipf:1.2");
        let mapped = Load { engine: EngineKind::Mmap, ..load };
        assert_eq!(value(&mapped, 1, "direct").unwrap(), "0");
    }

    #[test]
    fn pattern_modifier_is_appended_to_rw() {
        let of = |rw: &str, sequencer: &str| {
            let typed: Rw = rw.parse().unwrap();
            let modifier = typed.modifier(sequencer.parse().unwrap());
            let load = Load { rw: typed.pattern, modifier, ..Load::default() };
            (value(&load, 1, "rw").unwrap(), value(&load, 1, "rw_sequencer"))
        };
        assert_eq!(of("randread:8", "sequential"), ("randread:8".to_owned(), None));
        let identical = Some("identical".to_owned());
        assert_eq!(of("randread:8", "identical"), ("randread:8".to_owned(), identical));
        assert_eq!(of("read:-8k", "sequential"), ("read:-8k".to_owned(), None));
    }

    #[test]
    fn colons_in_paths_are_escaped() {
        assert_eq!(file_list(["/a:b", "/c"].into_iter()), "/a\\:b:/c");
    }

    #[test]
    fn durations_are_written_in_largest_exact_unit() {
        assert_eq!(time_word(10_000_000_000), "10");
        assert_eq!(time_word(1_500_000_000), "1500ms");
        assert_eq!(time_word(1_500), "2us");
    }

    proptest! {
        #[test]
        fn written_sizes_parse_back_unchanged(bytes in 0u64..1 << 50, shift in 0u32..12) {
            let bytes = bytes << shift;
            prop_assert_eq!(parse_size_bytes(&size_word(bytes)), Ok(bytes));
        }
    }
}
