//! Checks each row of the table.

use super::*;
use crate::load::EngineKind;

/// A value of each option that differs from its default.
const VALUES: &[(&str, &str)] = &[
    ("rw", "randrw"),
    ("rw_sequencer", "identical"),
    ("rwmixread", "70"),
    ("rwmixwrite", "30"),
    ("bs", "8k,1m"),
    ("bssplit", "4k/60:64k/40"),
    ("bsrange", "4k-64k"),
    ("blockalign", "8k"),
    ("iodepth", "32"),
    ("numjobs", "4"),
    ("ioengine", "libaio"),
    ("size", "64m"),
    ("filesize", "64m"),
    ("offset", "1m"),
    ("offset_increment", "64m"),
    ("offset_align", "4k"),
    ("random_distribution", "zipf:1.2"),
    ("random_generator", "lfsr"),
    ("fadvise_hint", "random"),
    ("sync", "dsync"),
    ("fsync", "8"),
    ("fdatasync", "8"),
    ("thinktime", "300us"),
    ("thinktime_blocks", "4"),
    ("startdelay", "5"),
    ("rate_iops", "2000"),
    ("rate", "1m"),
    ("rate_process", "poisson"),
    ("iodepth_batch_submit", "8"),
    ("iodepth_batch_complete_min", "4"),
    ("iodepth_batch_complete_max", "8"),
    ("number_ios", "1000"),
    ("io_size", "1g"),
    ("loops", "2"),
    ("randseed", "18446744073709551615"),
    ("buffer_compress_percentage", "50"),
    ("buffer_compress_chunk", "4k"),
    ("dedupe_percentage", "20"),
    ("verify", "md5"),
    ("verify_interval", "512"),
    ("verify_backlog", "64"),
    ("verify_backlog_batch", "16"),
    ("verify_offset", "1k"),
    ("verify_pattern", "0xaa55"),
    ("verify_pattern_interval", "512"),
    ("buffer_pattern", "0xaa55"),
    ("cpus_allowed", "0,2-3"),
    ("cpus_allowed_policy", "split"),
    ("nice", "-5"),
    ("percentile_list", "50:99.9"),
    ("write_lat_log", "logs/a"),
    ("write_bw_log", "logs/b"),
    ("write_iops_log", "c"),
    ("write_hist_log", "d"),
    ("log_avg_msec", "500"),
    ("log_hist_msec", "1000"),
    ("log_hist_coarseness", "2"),
    ("steadystate", "bw_slope:0.3%"),
    ("steadystate_duration", "30"),
    ("steadystate_ramp_time", "5"),
    ("steadystate_check_interval", "2"),
    ("name", "mine"),
    ("latency_target", "5ms"),
    ("latency_percentile", "99"),
    ("runtime", "10"),
    ("ramp_time", "1"),
    ("filename", "a"),
    ("directory", "a"),
    ("nrfiles", "2"),
    ("filename_format", "a.$filenum"),
    ("wait_for", "a"),
    ("kb_base", "1000"),
];

/// Other options that must be set for an option to be shown.
const BESIDE: &[(&str, &[(&str, &str)])] = &[
    ("rw_sequencer", &[("rw", "randread:8")]),
    ("rwmixread", &[("rw", "randrw")]),
    ("bs_unaligned", &[("bsrange", "4k-64k"), ("direct", "0")]),
    ("rate_process", &[("rate_iops", "5")]),
    ("iodepth_batch_complete_min", &[("iodepth", "8")]),
    ("write_hist_log", &[("log_hist_msec", "1000")]),
    ("log_hist_coarseness", &[("log_hist_msec", "1000")]),
    ("log_max_value", &[("write_bw_log", "b")]),
    ("buffer_compress_chunk", &[("buffer_compress_percentage", "50")]),
    ("verify_backlog_batch", &[("verify", "md5")]),
    ("verify_pattern_interval", &[("verify", "md5")]),
];

fn value(row: &LoadOption) -> &'static str {
    let other = if row.default == "1" { "0" } else { "1" };
    VALUES.iter().find(|(name, _)| *name == row.name).map_or(other, |(_, value)| value)
}

#[test]
fn every_option_name_is_unique_and_documented() {
    let names = || ROWS.iter().flat_map(|row| row.aliases.iter().chain([&row.name]));
    let mut sorted: Vec<&str> = names().copied().collect();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(sorted.len(), names().count());
    for name in names() {
        assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{name}");
        assert!(find(&name.replace('_', "-")).is_some(), "{name}");
    }
    for row in ROWS {
        assert!(row.help.len() > 10, "{}", row.name);
        assert!(!row.help.contains('\n') && !row.help.ends_with('.'), "{}", row.help);
        let others = row.conflicts.iter().copied();
        for other in others.chain(row.requires.iter().filter_map(|needed| needed.split('=').next()))
        {
            assert!(find(other).is_some_and(|found| found.name == other), "{other}");
        }
        if let OnLine::Refused(why) | OnLine::OfCommand(why) = row.on_line {
            assert!(why.contains("; hint: "), "{why}");
        }
    }
    assert_eq!(super::row("bs").name, find("blocksize").unwrap().name);
    assert!(find("blocksiz").is_none());
}

#[test]
fn set_options_are_printed_and_parse_back() {
    for row in ROWS {
        let mut fio = Typed::fio();
        fio.set(row, Some(value(row)), None).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        assert!(fio.has(row.name) && !fio.is_empty());
        if matches!(row.on_line, OnLine::Refused(_) | OnLine::OfCommand(_)) {
            assert!(Typed::iogauge().set(row, Some(value(row)), None).is_err(), "{}", row.name);
            continue;
        }
        let needed = row.requires.first().and_then(|needed| needed.split_once('='));
        let beside =
            BESIDE.iter().filter(|(name, _)| *name == row.name).flat_map(|(_, words)| *words);
        let words = beside.copied().chain(needed).chain([(row.name, value(row))]);
        let words = words.map(|(name, text)| (find(name).unwrap(), Some(text)));
        let typed = Typed::iogauge().with(words.clone()).unwrap();
        let engine = typed.asked_engine().unwrap_or(EngineKind::IoUring);
        let load = typed.load(engine, &[]).unwrap_or_else(|e| panic!("{}: {e}", row.name));
        let Some(shown) = row.shown(&load) else {
            assert!((row.show)(&load).is_none(), "{}={} is not shown", row.name, value(row));
            continue;
        };
        assert_eq!(shown, value(row), "{}", row.name);
        // The shown options give the same workload when parsed.
        let shown: Vec<_> = ROWS.iter().filter_map(|row| Some((row, row.shown(&load)?))).collect();
        let again = shown.iter().map(|(row, text)| (*row, Some(text.as_str())));
        let again = Typed::iogauge().with(again).unwrap();
        assert_eq!(again.load(again.plain.engine, &[]).unwrap(), load, "{}", row.name);
    }
}

#[test]
fn option_defaults_match_load_defaults() {
    let typed = Typed::iogauge();
    let load = typed.load(typed.plain.engine, &[]).unwrap();
    assert_eq!(load, Load::default());
    for row in ROWS {
        assert_eq!(row.shown(&load), None, "{}", row.name);
        let mut typed = Typed::iogauge();
        if row.default.is_empty() || !row.requires.is_empty() {
            continue;
        }
        typed.set(row, Some(row.default), None).unwrap();
        assert_eq!(typed.load(typed.plain.engine, &[]).unwrap(), load, "{}", row.name);
    }
}

fn typed(words: &str) -> Result<Typed, LoadError> {
    typed_on(&Typed::iogauge(), words)
}

fn typed_on(base: &Typed, words: &str) -> Result<Typed, LoadError> {
    let words = words.split_whitespace().map(|word| {
        let (name, text) = word.split_once('=').unwrap_or((word, "1"));
        (find(name).unwrap(), Some(text))
    });
    base.with(words)
}

use crate::load::LoadError;

#[test]
fn conflicting_options_are_reported() {
    for (words, reason) in [
        ("rate=1m rate_iops=5", "rate: cannot be used with rate_iops"),
        ("bs=4k bssplit=4k/100", "bssplit: cannot be used with bs"),
        (
            "thinktime_blocks=4",
            "thinktime_blocks: has no effect without thinktime; hint: use --thinktime=1ms, too",
        ),
        ("bs=4k blocksize=8k", "bs: is given twice"),
        (
            "log_offset=1",
            "log_offset: has no effect without write_lat_log or write_bw_log or write_iops_log or \
             write_hist_log; hint: use --write_lat_log=PREFIX, too",
        ),
        ("write_hist_log=a", "write_hist_log: has no effect without log_hist_msec; hint: use "),
        ("write_hist_log=a log_hist_coarseness=7", "log_hist_coarseness: must be between 0 and 6"),
        ("filename=a", "filename: TARGET names the files; hint: "),
    ] {
        let typed = typed(words).and_then(|typed| typed.load(typed.plain.engine, &[]));
        let error = typed.unwrap_err().to_string();
        assert!(error.starts_with(reason), "{error}");
    }
    // A job's options replace the options they conflict with.
    let base = typed("bs=4k rate=1m rw=randwrite").unwrap();
    let job = typed_on(&base, "bssplit=8k/100 rate_iops=5").unwrap();
    let load = job.load(job.plain.engine, &[]).unwrap();
    assert_eq!((load.block.single(), load.arrivals.unwrap().rate_iops), (Some(8192), 5.0));
    assert!(job.writes() && !job.has("rate"));
}

#[test]
fn percentages_refer_to_the_size_of_each_file() {
    let typed = typed("size=50% offset=10% io_size=50% loops=2 bs=4k").unwrap();
    let load = typed.load(typed.plain.engine, &[1 << 20, 1 << 20]).unwrap();
    assert_eq!((load.size_bytes, load.offset_bytes), (Some(512 << 10), 106_496));
    assert_eq!(load.io_size_bytes, Some(512 << 10));
    let error = typed.load(typed.plain.engine, &[1 << 20, 1 << 21]).unwrap_err();
    assert!(error.reason.contains("files of one size"), "{error}");
    assert_eq!(typed.load(typed.plain.engine, &[]).unwrap().size_bytes, None);
    assert_eq!(typed.target_bytes(), None);
}

#[test]
fn rate_applies_to_both_directions_or_to_each() {
    let load = |words| {
        let typed = typed(words).unwrap();
        typed.load(typed.plain.engine, &[]).unwrap()
    };
    let figures = |load: Load| (load.arrivals.unwrap().rate_iops, load.read_percent);
    assert_eq!(figures(load("rw=randrw rwmixread=70 rate_iops=2k")), (2048.0, 70));
    assert_eq!(figures(load("rw=randrw rate_iops=3k,1k")), (4096.0, 75));
    assert_eq!(figures(load("rw=randrw bs=4k,8k rate=4m,8m")), (2048.0, 50));
    assert_eq!(figures(load("rw=write rate_iops=3,5")).0, 5.0);
    assert!(typed("rate_iops=0").unwrap().load(EngineKind::IoUring, &[]).is_err());
}

#[test]
fn misspelled_option_names_get_a_suggestion() {
    let names = || ROWS.iter().map(|row| row.name);
    assert_eq!(nearest("iodpeth", names()), Some("iodepth"));
    assert_eq!(nearest("zzzzzzzz", names()), None);
    assert_eq!(nearest(&"x".repeat(10_000), names()), None);
}

/// Every word is a value of its option, alone or with a number after it.
#[test]
fn words_of_options_are_accepted() {
    for row in ROWS {
        for word in (row.words)() {
            let accepts = |text: &str| Typed::iogauge().set(row, Some(text), None).is_ok();
            let with_numbers =
                [":1.2", ":0.2", ":20", ":60/10:40/90"].map(|n| format!("{word}{n}"));
            assert!(
                accepts(word) || with_numbers.iter().any(|text| accepts(text)),
                "{} {word}",
                row.name
            );
        }
    }
}
