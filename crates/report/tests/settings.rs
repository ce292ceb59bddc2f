//! Each setting of the table: a result that fits, and results that are refused.
#![allow(clippy::unwrap_used)]

mod common;

use common::loads::{measured, suite, suite_step};
use common::*;
use insta::assert_snapshot;
use iogauge_model::load::{
    ArrivalProcess, Arrivals, BlockSizes, Distribution, Pattern, SyncMode, Thinktime,
};
use iogauge_model::result::{
    DeviceFacts, Estimate, FindDocument, HostPart, HostResult, MeasuredRate, PartFacts,
    RatesFindings, RealTarget, RunDocument, SimulatedTarget, StoppedBy, SuiteAsked, SuiteDocument,
    TargetFacts, Workload,
};
use iogauge_model::units::parse_size_bytes;
use iogauge_model::{Impact, Load};
use iogauge_report::settings::{MeasuredBy, Reason, Refusal, SETTINGS, Setting, find, of_suite};
use iogauge_report::terminal::{Page, suite as suite_text};
use serde::Deserialize;
use serde_json::{Value, json};

const SIM: &str = "sim:nvme";

fn setting(name: &str) -> &'static Setting {
    find(name).unwrap()
}

fn searched() -> impl Iterator<Item = &'static Setting> {
    SETTINGS.iter().filter(|setting| matches!(setting.measured_by, MeasuredBy::Search { .. }))
}

fn by_suite() -> impl Iterator<Item = (&'static Setting, &'static str)> {
    SETTINGS.iter().filter_map(|setting| match setting.measured_by {
        MeasuredBy::Suite(suite) => Some((setting, suite)),
        MeasuredBy::Search { .. } => None,
    })
}

/// A disk with a file system, mounted at `/data`.
fn disk() -> RealTarget {
    let part = PartFacts {
        path: "/data/iogauge.dat".to_owned(),
        mount_point: Some("/data".to_owned()),
        ..PartFacts::default()
    };
    RealTarget {
        name: "/data".to_owned(),
        parts: vec![part],
        devices: vec![devices().remove(2)],
        ..RealTarget::default()
    }
}

fn simulated() -> TargetFacts {
    TargetFacts::Simulated(SimulatedTarget { name: SIM.to_owned(), ..SimulatedTarget::default() })
}

fn load(rw: Pattern, block: &str) -> Load {
    let block = BlockSizes::fixed(parse_size_bytes(block).unwrap());
    Load { rw, block, iodepth: 1, ..Load::default() }
}

/// A search on a disk, with the load that a setting means.
fn fitting(setting: &'static Setting) -> FindDocument {
    let mut document = find_document(StoppedBy::Saturated);
    document.head.target = TargetFacts::Real(disk());
    let known = setting.loads().first();
    let load = known.map_or_else(Load::default, |known| Load {
        rw: known.rw,
        block: BlockSizes::fixed(known.block_bytes),
        ..Load::default()
    });
    document.head.load = load.into();
    document
}

/// A complete run of the suite of a setting, on a disk.
fn complete(setting: &'static Setting, name: &str) -> SuiteDocument {
    let rate = |(index, name): (usize, &&str)| {
        let iops = estimate(1000.0 * (index + 1) as f64 + 0.9, 10.0);
        MeasuredRate {
            name: (*name).to_owned(),
            load: format!("load {}", index + 1),
            iops,
            bytes_per_sec: iops.times(4096.0),
        }
    };
    let findings = RatesFindings { rates: setting.sets.iter().enumerate().map(rate).collect() };
    let step = |name: &&str| {
        let load = Load::default();
        suite_step((*name).to_owned(), None, load.clone(), measured(&load))
    };
    let mut document = suite(setting.sets.iter().map(step).collect(), json!(findings));
    document.suite = SuiteAsked { name: name.to_owned(), options: [].into() };
    document.head.target = TargetFacts::Real(disk());
    document
}

/// Returns the lines of a text that are not comments.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with('#')).collect()
}

#[test]
fn every_setting_prints_its_variables_beside_definition_and_source() {
    let of_searches = searched().map(|setting| (setting, setting.of_find(&fitting(setting))));
    let of_suites = by_suite().map(|(s, name)| (s, s.of_suite(&complete(s, name))));
    let mut texts = Vec::new();
    for (setting, text) in of_searches.chain(of_suites) {
        let text = text.unwrap();
        let unwrapped = text.replace("\n#  ", " ");
        assert!(unwrapped.contains(&format!("# Definition: {}", setting.definition)), "{text}");
        assert!(unwrapped.contains(&format!("# Source: {}\n", setting.source)), "{text}");
        assert!(setting.source.starts_with("https://"));
        assert!(text.contains("95 % CI"), "{text}");
        let to_paste = lines(&text).join("\n");
        assert!(setting.sets.iter().any(|name| to_paste.contains(name)), "{text}");
        assert_eq!(find(setting.name).unwrap().name, setting.name);
        assert!(setting.alias.is_none_or(|alias| find(alias).unwrap().name == setting.name));
        texts.push(format!("--for {}\n{text}", setting.name));
    }
    assert_eq!(texts.len(), SETTINGS.len());
    assert_snapshot!(texts.join("\n"));
}

#[test]
fn unknown_setting_is_answered_with_all_names() {
    let error = find("postgres").unwrap_err().to_string();
    assert!(SETTINGS.iter().all(|setting| error.contains(setting.name)), "{error}");
}

fn assert_refused(setting: &'static Setting, result: Result<String, Refusal>, reason: &str) {
    let text = match result {
        Ok(text) => panic!("{} is not refused for \"{reason}\": {text}", setting.name),
        Err(refusal) => refusal.to_string(),
    };
    assert!(text.starts_with(&format!("--for {}: ", setting.name)), "{text}");
    assert!(text.contains(reason), "not for \"{reason}\": {text}");
    let hint = text.split_once("; hint: use ").unwrap().1;
    let command = match setting.measured_by {
        MeasuredBy::Search { .. } => "iogauge find ",
        MeasuredBy::Suite(_) => "iogauge suite ",
    };
    assert!(hint.starts_with(command), "{text}");
}

type Change = fn(&mut FindDocument);

fn with_load(document: &mut FindDocument, change: fn(&mut Load)) {
    let mut load = document.head.load.load().unwrap().clone();
    change(&mut load);
    document.head.load = load.into();
}

fn stopped(document: &mut FindDocument, stopped_by: StoppedBy) {
    document.search.answer.stopped_by = stopped_by;
}

/// What no setting takes.
const UNFIT: &[(Change, &str)] = &[
    (|d| stopped(d, StoppedBy::Interrupted), "is not complete"),
    (|d| stopped(d, StoppedBy::Ended), "is not complete"),
    (|d| stopped(d, StoppedBy::Undecided), "no capacity that is certain"),
    (|d| stopped(d, StoppedBy::Starved), "no capacity that is certain"),
    (|d| stopped(d, StoppedBy::Budget), "may be larger"),
    (|d| stopped(d, StoppedBy::Client), "may be larger"),
    (|d| stopped(d, StoppedBy::MaxDepth), "may be larger"),
    (|d| d.search.answer.met = false, "does not keep its limit"),
    (|d| d.search.answer.latency_ns = nothing(), "no capacity that is certain"),
    (|d| d.search.curve[1].errors = 3, "3 I/Os failed"),
    (|d| d.search.curve[1].hosts = vec![HostResult::default()], "several hosts"),
    (|d| d.head.host_parts = host_parts(), "several hosts"),
    (|d| d.head.load = Workload::label("job: read"), "only a description of its load"),
    (|d| with_load(d, |load| load.direct = false), "page cache"),
    (|d| with_load(d, |load| load.sync = SyncMode::Dsync), "wait for the medium"),
    (|d| with_load(d, |load| load.fsync_every = 1), "flushes"),
    (|d| with_load(d, |load| load.dependent = true), "depend on each other"),
    (|d| with_load(d, |load| load.distribution = Distribution::Zipf(1.1)), "uneven distribution"),
    (|d| with_load(d, |load| load.content.compress_percent = 50), "compresses"),
    (
        |d| with_load(d, |load| load.thinktime = Some(Thinktime { pause_ns: 1, blocks: 1 })),
        "think time",
    ),
    (|d| with_load(d, |load| load.blockalign_bytes = Some(1 << 20)), "has --blockalign=1m"),
    (|d| with_load(d, |load| load.rw = Pattern::RandRw), ""),
    (|d| with_load(d, |load| load.block = BlockSizes::fixed(65_536)), ""),
    (|d| with_load(d, |load| load.block = BlockSizes::parse_bssplit("4k/50:16k/50").unwrap()), ""),
];

fn host_parts() -> Vec<HostPart> {
    HostPart::of([("host-1".to_owned(), 1.0), ("host-2".to_owned(), 2.0)])
}

#[test]
fn results_that_are_no_measurement_of_a_setting_are_refused() {
    for setting in searched() {
        for (change, reason) in UNFIT {
            let mut document = fitting(setting);
            change(&mut document);
            assert_refused(setting, setting.of_find(&document), reason);
        }
        let run: RunDocument = run_document(Vec::new());
        let run = serde_json::to_value(run).unwrap();
        assert_refused(setting, setting.of_document(&run), "fixed load");
        let other = json!({ "format": "iogauge.doctor/1" });
        assert_refused(setting, setting.of_document(&other), "\"iogauge.doctor/1\"");
        let damaged = json!({ "format": "iogauge.find/1" });
        assert_refused(setting, setting.of_document(&damaged), "damaged");
        let suite = suite(Vec::new(), Value::Null);
        assert_refused(setting, setting.of_suite(&suite), "suite snia-iops");
    }
}

#[test]
fn maxima_without_a_latency_limit_need_a_search_that_none_ended() {
    for setting in searched() {
        let mut document = fitting(setting);
        document.search.limits = vec![p99_limit()];
        document.search.answer.stopped_by = StoppedBy::Limit;
        document.search.answer.stopped_by_limit = Some(p99_limit());
        let limited = setting.of_find(&document);
        stopped(&mut document, StoppedBy::QueueFull);
        assert!(setting.of_find(&document).is_ok());
        document.search.answer.rate_iops = Some(80_000.0);
        with_load(&mut document, |load| {
            let process = ArrivalProcess::Poisson;
            load.arrivals = Some(Arrivals { rate_iops: 80_000.0, process, only: None });
        });
        let open = setting.of_find(&document);
        if setting.is_maximum() {
            assert_refused(setting, limited, "the limit p99 <= 50 ms ended the search");
            assert_refused(setting, open, "open loop");
        } else {
            // The limit of the search is beside the figure.
            assert!(limited.unwrap().contains(" under p99 <= 50 ms"));
            assert!(open.unwrap().contains("in an open loop"));
        }
    }
}

#[test]
fn other_directions_and_block_sizes_are_refused() {
    let of = |name: &str, load: Load| {
        let mut document = fitting(setting(name));
        document.head.load = load.into();
        setting(name).of_find(&document)
    };
    let refused = |name, load, reason: &str| assert_refused(setting(name), of(name, load), reason);
    refused("ceph", load(Pattern::RandRead, "4k"), "random writes of 4 KiB or sequential writes");
    refused("ceph", load(Pattern::RandWrite, "16k"), "not 16 KiB random writes");
    refused("ceph", load(Pattern::Write, "4k"), "not 4 KiB sequential writes");
    refused("mysql", load(Pattern::RandWrite, "4k"), "means random writes of 16 KiB");
    refused("mysql", load(Pattern::RandRead, "16k"), "not 16 KiB random reads");
    for name in ["io.max", "systemd"] {
        refused(name, load(Pattern::RandRw, "4k"), "reads and writes");
        refused(name, load(Pattern::Read, "64k"), "blocks of 64 KiB sequential reads");
    }
}

#[test]
fn figures_and_variables_follow_direction_and_block_size() {
    let of = |name: &str, load: Load| {
        let mut document = fitting(setting(name));
        document.search.answer.iops = estimate(1000.7, 2.0);
        document.head.load = load.into();
        lines(&setting(name).of_find(&document).unwrap()).join(" ")
    };
    let max = |load| of("io.max", load);
    assert_eq!(max(load(Pattern::RandRead, "4k")), "8:16 riops=1000");
    assert_eq!(max(load(Pattern::Write, "16k")), "8:16 wiops=1000");
    assert_eq!(max(load(Pattern::Read, "128k")), "8:16 rbps=131163750");
    assert_eq!(max(load(Pattern::RandWrite, "1m")), "8:16 wbps=1049310003");
    let unit = |load| of("systemd", load);
    assert_eq!(unit(load(Pattern::RandRead, "4k")), "[Service] IOReadIOPSMax=/dev/sdb 1000");
    assert_eq!(unit(load(Pattern::RandWrite, "4k")), "[Service] IOWriteIOPSMax=/dev/sdb 1000");
    let bandwidth = unit(load(Pattern::Write, "1m"));
    assert_eq!(bandwidth, "[Service] IOWriteBandwidthMax=/dev/sdb 1049310003");
    let bandwidth = unit(load(Pattern::Read, "1m"));
    assert_eq!(bandwidth, "[Service] IOReadBandwidthMax=/dev/sdb 1049310003");
    let set = "ceph config set osd.N osd_mclock_max_sequential_bandwidth_ssd";
    assert_eq!(of("ceph", load(Pattern::Write, "4m")), format!("{set} 4197240012"));
    let both = "[mysqld] innodb_io_capacity = 1000 innodb_io_capacity_max = 1000";
    assert_eq!(of("mysql", load(Pattern::RandWrite, "16k")), both);
}

#[test]
fn remarks_are_made_only_where_they_apply() {
    let of = |iops| {
        let mut document = fitting(setting("mysql"));
        document.search.answer.iops = estimate(iops, 2.0);
        setting("mysql").of_find(&document).unwrap().replace("\n#  ", " ")
    };
    let much = "recommends no value above 20,000";
    assert!(of(20_001.5).contains(much) && !of(20_000.9).contains(much));
    let scheduler = |name: &str| {
        let scheduler = Some(name.to_owned());
        let device = DeviceFacts { scheduler, ..devices().remove(2) };
        on("io.cost.model", with_devices(vec![device])).unwrap().contains("The scheduler of")
    };
    assert!(scheduler("mq-deadline") && !scheduler("none"));
    let mut document = fitting(setting("ceph"));
    document.caveats = caveats();
    document.caveats[0].impact = Impact::Note;
    let text = setting("ceph").of_find(&document).unwrap();
    assert_eq!(text.matches("# In doubt: ").count(), caveats().len() - 1, "{text}");
}

fn on(name: &str, target: TargetFacts) -> Result<String, Refusal> {
    let setting = setting(name);
    match setting.measured_by {
        MeasuredBy::Search { .. } => {
            let mut document = fitting(setting);
            document.head.target = target;
            setting.of_find(&document)
        }
        MeasuredBy::Suite(suite) => {
            let mut document = complete(setting, suite);
            document.head.target = target;
            setting.of_suite(&document)
        }
    }
}

fn with_devices(devices: Vec<DeviceFacts>) -> TargetFacts {
    TargetFacts::Real(RealTarget { devices, ..disk() })
}

#[test]
fn settings_of_a_device_name_its_disk() {
    let of_devices = ["io.max", "systemd", "io.cost.model"];
    for name in of_devices.into_iter().chain(["ceph"]) {
        assert_refused(setting(name), on(name, with_devices(Vec::new())), "no block device");
        let two = with_devices(vec![devices().remove(0), devices().remove(2)]);
        assert_refused(setting(name), on(name, two), "devices loop0, sdb together");
        let twice = with_devices(vec![devices().remove(2), devices().remove(2)]);
        assert!(on(name, twice).is_ok());
        assert_refused(setting(name), on(name, database("postgres://db/x")), "no block device");
    }
    let partition = devices().remove(1);
    for name in of_devices {
        let of_older = with_devices(vec![partition.clone()]);
        assert_refused(setting(name), on(name, of_older), "the number of disk sdb");
        let number = Some("8:16".to_owned());
        let known = DeviceFacts {
            disk_number: number,
            number: Some("8:17".to_owned()),
            ..partition.clone()
        };
        let text = on(name, with_devices(vec![known])).unwrap();
        let names_disk =
            lines(&text).iter().any(|l| l.contains("8:16 ") || l.contains("/dev/sdb "));
        assert!(names_disk && !text.contains("8:17"), "{text}");
        assert!(on(name, simulated()).unwrap().contains("# The device was simulated"));
    }
    let array = DeviceFacts { name: "cciss!c0d0".to_owned(), ..devices().remove(2) };
    assert!(on("systemd", with_devices(vec![array])).unwrap().contains("=/dev/cciss/c0d0 81204"));
}

#[test]
fn ceph_sets_the_class_of_the_device_or_both() {
    let set =
        |class: &str| format!("ceph config set osd.N osd_mclock_max_capacity_iops_{class} 81204");
    let of = |device: DeviceFacts| on("ceph", with_devices(vec![device])).unwrap();
    let device = devices().remove(2);
    assert_eq!(lines(&of(device.clone())), [set("ssd")]);
    assert_eq!(lines(&of(DeviceFacts { rotational: Some(true), ..device.clone() })), [set("hdd")]);
    let both = [set("hdd"), set("ssd")];
    let driver = Some("virtio_blk".to_owned());
    assert_eq!(lines(&of(DeviceFacts { driver, ..device.clone() })), both);
    assert_eq!(lines(&of(DeviceFacts { rotational: None, ..device })), both);
    assert_eq!(lines(&on("ceph", simulated()).unwrap()), both);
}

#[test]
fn seastar_names_the_mount_point() {
    let yaml = |target| on("seastar", target).map(|text| lines(&text).join("\n"));
    let place = |place: Option<&str>| {
        let mut target = disk();
        target.parts[0].mount_point = place.map(str::to_owned);
        TargetFacts::Real(target)
    };
    let expected = "disks:\n  - mountpoint: \"/data\"\n    read_iops: 1000\n    read_bandwidth: 8195686\n    \
                    write_iops: 3000\n    write_bandwidth: 16387686";
    assert_eq!(yaml(place(Some("/data"))).unwrap(), expected);
    let hostile = yaml(place(Some("/a\"\nread_iops: 1\u{2028}"))).unwrap();
    assert!(hostile.contains(r#"mountpoint: "/a\"\nread_iops: 1\u2028""#), "{hostile}");
    for target in [place(None), simulated()] {
        assert!(yaml(target).unwrap().contains("\"/MOUNTPOINT\""));
    }
    let mut two = disk();
    two.parts.push(two.parts[0].clone());
    assert_refused(setting("seastar"), yaml(TargetFacts::Real(two)), "several directories");
}

#[test]
fn suites_that_are_not_complete_are_refused() {
    for (setting, name) in by_suite() {
        let refused = |change: &dyn Fn(&mut SuiteDocument), reason: &str| {
            let mut document = complete(setting, name);
            change(&mut document);
            assert_refused(setting, setting.of_suite(&document), reason);
            let of_suite = of_suite(&document).map(|setting| setting.is_err());
            assert_eq!(of_suite, (document.suite.name == name).then_some(true));
            let text = suite_text(&document, Page::plain(100));
            assert_eq!(text.contains("\nNo setting for "), of_suite.is_some(), "{text}");
        };
        refused(&|d| d.interrupted = true, "is not complete");
        refused(&|d| d.steps_left = 1, "is not complete");
        refused(&|d| d.steps[1].interrupted = true, "is not complete");
        refused(&|d| d.head.host_parts = host_parts(), "several hosts");
        refused(&|d| d.suite.name = "ladder".to_owned(), "suite ladder does not measure it");
        refused(&|d| d.conclusion.findings = json!({ "rates": [] }), "is not complete");
        refused(&|d| d.conclusion.findings = Value::Null, "damaged");
        let failed = |d: &mut SuiteDocument| {
            let mut step = d.steps[0].step().unwrap().clone();
            step.read.as_mut().unwrap().errors = 2;
            d.steps[0].result = iogauge_model::result::SuiteOutcome::Step(Box::new(step));
        };
        refused(&failed, "2 I/Os failed");
        let option = if name == "iocost" { "bs" } else { "iodepth" };
        refused(
            &|d| drop(d.suite.options.insert(option.to_owned(), "1m".to_owned())),
            "=1m is not the load of the definition",
        );
        let search = fitting(&SETTINGS[0]);
        assert_refused(setting, setting.of_find(&search), "figures of several");
        assert_refused(
            setting,
            setting.check_load(&Load::default(), "/data").map(|()| String::new()),
            "several",
        );
        let text = suite_text(&complete(setting, name), Page::plain(100));
        assert!(text.ends_with(&setting.of_suite(&complete(setting, name)).unwrap()), "{text}");
    }
}

#[test]
fn figures_that_are_not_certain_are_in_doubt() {
    let of = |half_width: f64, n: u64| {
        let rate = Estimate { n, ..estimate(1000.0, half_width) };
        let searched = searched().map(move |setting| {
            let mut document = fitting(setting);
            document.search.answer.iops = rate;
            setting.of_find(&document)
        });
        let measured = by_suite().map(move |(setting, name)| {
            let mut document = complete(setting, name);
            let mut found = RatesFindings::deserialize(&document.conclusion.findings).unwrap();
            (found.rates[1].iops, found.rates[1].bytes_per_sec) = (rate, rate);
            document.conclusion.findings = json!(found);
            setting.of_suite(&document)
        });
        searched.chain(measured).map(Result::unwrap).collect::<Vec<_>>()
    };
    for (half_width, n, doubt) in [
        (99.0, 9, None),
        (101.0, 9, Some("# In doubt: the 95 % CI of ")),
        (0.0, 1, Some(" has no interval. Measure")),
    ] {
        for text in of(half_width, n) {
            assert_eq!(text.contains("In doubt: "), doubt.is_some(), "{text}");
            assert!(doubt.is_none_or(|doubt| text.contains(doubt)), "{text}");
        }
    }
}

#[test]
fn hints_keep_the_options_of_the_search() {
    let mut document = fitting(setting("ceph"));
    document.head.load = load(Pattern::Write, "4m").into();
    stopped(&mut document, StoppedBy::Budget);
    let refusal = setting("ceph").of_find(&document).unwrap_err();
    let command = "use iogauge find /data --for ceph";
    assert_eq!(refusal.hint(), format!("{command} --rw=write --bs=4m --budget=2m"));
    let typed = ["--rw=write", "--budget=50s", "--limit=p99<=5ms"].map(str::to_owned);
    let hint = |reason: Reason| {
        setting("ceph").refusal(reason, "/data").with_options(typed.to_vec()).hint()
    };
    let longer = format!("{command} --rw=write '--limit=p99<=5ms' --budget=200s");
    assert_eq!(hint(Reason::Undecided), longer);
    let unlimited = format!("{command} --rw=write --budget=50s without --limit");
    assert!(hint(Reason::HasLimit).starts_with(&unlimited), "{}", hint(Reason::HasLimit));
    let slow = hint(Reason::TooSmall { found: 1, least: 100 });
    assert!(slow.starts_with("use iogauge find TARGET --for ceph --rw=write"), "{slow}");
}

#[test]
fn figures_below_the_smallest_value_are_refused() {
    for (name, iops, least) in [("mysql", 99.9, "less than 100"), ("io.max", 1.9, "less than 2")] {
        let mut document = fitting(setting(name));
        document.search.answer.iops = estimate(iops, 0.0);
        assert_refused(setting(name), setting(name).of_find(&document), least);
        document.search.answer.iops = estimate(iops + 0.2, 0.0);
        assert!(setting(name).of_find(&document).is_ok());
    }
}

#[test]
fn nothing_in_a_comment_leaves_it() {
    let mut document = fitting(setting("ceph"));
    let TargetFacts::Real(target) = &mut document.head.target else { panic!() };
    target.name = "/a\nceph config set osd.0 x 1\r\u{85}y".to_owned();
    document.caveats = caveats();
    let text = setting("ceph").of_find(&document).unwrap();
    assert_eq!(lines(&text).len(), 1, "{text}");
    assert!(text.contains("# In doubt: "), "{text}");
    assert!(!text.contains('\r') && !text.contains('\u{85}'));
}
