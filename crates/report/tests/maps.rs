//! Tests of maps and rounds, with results from every kind of document.
#![allow(clippy::unwrap_used)]

mod common;

use common::loads::{load, measured, rounds, run_of_loads, served, sizes, sizes_and_depths, suite};
use common::{find_document, run_document, step};
use iogauge_model::Load;
use iogauge_model::load::Pattern;
use iogauge_model::result::{BlockRange, FioDirection, FioLatency, FioResult};
use iogauge_model::result::{
    DatabaseResult, RunDocument, StepResult, StoppedBy, SuiteDocument, Workload,
};
use iogauge_report::chart::{Ink, Mark, Scene};
use iogauge_report::exhibit::{Access, Exhibit, Shown};
use iogauge_report::panel::{Figure, NARROW, PANELS, WIDE};
use serde_json::json;

fn exhibit(document: Shown) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document }
}

fn run(document: RunDocument) -> Exhibit {
    exhibit(Shown::Run(Box::new(document)))
}

fn of_suite(document: SuiteDocument) -> Exhibit {
    exhibit(Shown::Suite(Box::new(document)))
}

fn drawn(panel: &str, exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    PANELS.iter().find(|known| known.name == panel).unwrap().draw(exhibits, width)
}

/// Returns the texts of a picture.
fn texts<'a>(scene: &'a Scene) -> Vec<&'a str> {
    let text = |mark: &'a Mark| match mark {
        Mark::Text(text) => Some(text.text.as_str()),
        _ => None,
    };
    scene.marks.iter().filter_map(text).collect()
}

#[test]
fn block_sizes_are_lines_or_a_map_by_queue_depth_count() {
    let [figure] = &drawn("block-size-map", &[run(sizes())], WIDE)[..] else { panic!() };
    let lines =
        |scene: &Scene| scene.marks.iter().filter(|m| matches!(m, Mark::Series { .. })).count();
    // Two queue depths in three plots.
    assert_eq!(lines(&figure.scene), 6);
    // At QD 32, 1 GB/s is reached from 16 KiB on, and 4 MiB take 134 ms.
    let words = &figure.description;
    assert!(
        words.contains("At queue depth 32 sizes of 16K and more reach at least 90 %"),
        "{words}"
    );
    assert!(words.contains("Within mean <= 10 ms, "), "{words}");
    let [figure] = &drawn("block-size-map", &[run(sizes_and_depths())], WIDE)[..] else { panic!() };
    assert_eq!(lines(&figure.scene), 0);
    // Each cell of the three maps has a value.
    let (iops, mean_ns) = served(&load(0, 65_536, 64));
    let words = texts(&figure.scene);
    for value in [format!("{:.1}k", iops / 1e3), format!("{:.2}", mean_ns / 1e6)] {
        assert!(words.contains(&value.as_str()), "{value}: {words:?}");
    }
}

#[test]
fn best_block_size_is_within_the_limit() {
    let exhibit = run(sizes_and_depths());
    let totals = exhibit.totals();
    assert_eq!(totals.len(), 25);
    let deep =
        totals.iter().find(|t| t.access.block_bytes == 1 << 20 && t.access.queue_depth == 256);
    assert!(!deep.unwrap().within, "256 MiB in a second are more than 10 ms");
    // Several reach 1 GB/s: the smallest would be 64 KiB at QD 8, and QD 16 is the smallest that was
    // measured.
    let as_fast = totals.iter().filter(|total| total.within && total.bytes_per_sec > 0.99e9);
    let best = as_fast.min_by(|a, b| a.mean_ns.total_cmp(&b.mean_ns)).unwrap();
    assert_eq!((best.access.block_bytes, best.access.queue_depth), (65_536, 16));
    let [figure] = &drawn("block-size-map", &[exhibit], WIDE)[..] else { panic!() };
    let said = "64K at queue depth 16 moves the most bytes";
    assert!(figure.description.contains(said), "{}", figure.description);
}

/// Returns a search under `mean <= 1 ms` and a run without a limit, with workloads of several sizes.
fn of_two_limits() -> [Exhibit; 2] {
    let mut document = find_document(StoppedBy::Limit);
    document.head.load = load(0, 8192, 1).into();
    document.search.limits[0].bound_ns = 1_000_000;
    [exhibit(Shown::Find(Box::new(document))), run(sizes_and_depths())]
}

#[test]
fn each_workload_is_judged_by_its_own_limit() {
    for width in [NARROW, WIDE] {
        let mut figures = drawn("block-size-map", &of_two_limits(), width);
        figures.retain(|figure| figure.title.starts_with("random writes"));
        let [figure] = &figures[..] else { panic!("{}", figures.len()) };
        let words = &figure.description;
        assert!(words.starts_with("Workloads have different limits: "), "{words}");
        assert!(!words.contains("moves the most bytes"), "{words}");
        let words = texts(&figure.scene);
        assert!(words.contains(&"breaks its own limit"), "{words:?}");
        assert!(!words.iter().any(|word| word.contains("ms and mean") || word.contains("most")));
        let green =
            |mark: &Mark| matches!(mark, Mark::Line { stroke, .. } if stroke.ink == Ink::Good);
        assert!(!figure.scene.marks.iter().any(green));
        // Each cell names its own limit.
        let cells = figure.scene.marks.iter().filter_map(|mark| match mark {
            Mark::Hover(hover) => Some(&hover.points),
            _ => None,
        });
        let judged: Vec<&str> =
            cells.flatten().filter_map(|p| Some(p.lines.last()?.as_str())).collect();
        assert!(
            judged.contains(&"breaks mean <= 1 ms") && judged.contains(&"breaks mean <= 10 ms")
        );
    }
}

#[test]
fn mix_map_requires_a_row_with_two_mixes() {
    let maps = |loads: &[(u32, u64)]| {
        let loads: Vec<_> = loads.iter().map(|(mix, bytes)| load(*mix, *bytes, 16)).collect();
        let sequential = loads.into_iter().map(|load| Load { rw: sequential(&load), ..load });
        drawn("mix-map", &[run(run_of_loads(&sequential.collect::<Vec<_>>()))], WIDE).len()
    };
    // Like the sequential workloads of the suite `oltp`: large reads and small writes.
    let apart = [(100, 1 << 20), (0, 1024), (0, 8192), (0, 131_072)];
    assert_eq!(maps(&apart), 0);
    let one_row = [&apart[..], &[(100, 8192)]].concat();
    assert_eq!(maps(&one_row), 1);
}

/// Returns the pattern of a workload as a sequential one.
fn sequential(load: &Load) -> Pattern {
    match load.read_percent {
        100 => Pattern::Read,
        0 => Pattern::Write,
        _ => Pattern::ReadWrite,
    }
}

#[test]
fn map_cells_are_readable_at_phone_width() {
    let exhibits = [of_suite(rounds()), run(sizes_and_depths())];
    let mixes = drawn("mix-map", &exhibits, NARROW);
    let [figure] = &mixes[..] else { panic!("{}", mixes.len()) };
    let sizes = drawn("block-size-map", &exhibits, NARROW);
    for figure in sizes.iter().chain([figure]) {
        let small = |mark: &&Mark| matches!(mark, Mark::Text(text) if text.size < 9.0);
        assert!(!figure.scene.marks.iter().any(|mark| small(&mark)), "{}", figure.title);
    }
    // Three maps of seven mixes and three sizes: each cell has a value.
    let cells = figure.scene.marks.iter().filter(
        |mark| matches!(mark, Mark::Rect { height, .. } if *height > 20.0 && *height < 24.0),
    );
    let values = figure.scene.marks.iter().filter(|mark| matches!(mark, Mark::Text(text) if text.text.starts_with(|c: char| c.is_ascii_digit())));
    let (words_of_columns, words_of_rows) = (3 * 7, 3 * 3);
    assert_eq!(cells.count(), 63);
    assert_eq!(values.count(), 63 + words_of_columns + words_of_rows);
}

#[test]
fn maps_show_only_rounds_of_the_measurement_window() {
    let exhibit = of_suite(rounds());
    let totals = exhibit.totals();
    assert_eq!(totals.len(), 21);
    let (iops, mean_ns) = served(&load(65, 65_536, 8));
    let access = Access { order: "random", read_percent: 65, block_bytes: 65_536, queue_depth: 8 };
    let total = totals.iter().find(|total| total.access == access).unwrap();
    assert!((total.iops / iops - 1.0).abs() < 1e-9, "{} {iops}", total.iops);
    assert!((total.mean_ns / mean_ns - 1.0).abs() < 1e-9);
}

#[test]
fn rounds_panel_states_the_steady_window() {
    let [figure] = &drawn("rounds", &[of_suite(rounds())], WIDE)[..] else { panic!() };
    assert!(figure.description.starts_with("Steady in rounds 3 to 7 of 7. 0 % reads, 4K: "));
    assert_eq!(texts(&figure.scene).iter().filter(|text| **text == "steady").count(), 3);
    // Without a rule there are still rounds, with one series per workload.
    let mut document = rounds();
    document.conclusion.findings = json!({ "rounds": [{ "iops": 1.0 }] });
    let exhibit = of_suite(document);
    assert_eq!(exhibit.rounds().unwrap().tracked.len(), 21);
    let [figure] = &drawn("rounds", &[exhibit], WIDE)[..] else { panic!() };
    assert!(figure.description.starts_with("7 rounds; no rule judges them."));
    // A suite that is not steady says so.
    let mut document = rounds();
    document.conclusion.findings["steady"] = json!(false);
    document.conclusion.findings["tracked"][1]["steady"] = json!(false);
    let [figure] = &drawn("rounds", &[of_suite(document)], WIDE)[..] else { panic!() };
    assert!(
        figure
            .description
            .starts_with("Not steady within 7 rounds; rounds 3 to 7 are shown instead.")
    );
    assert!(texts(&figure.scene).contains(&"not steady"));
    assert!(drawn("rounds", &[of_suite(suite(Vec::new(), json!({})))], WIDE).is_empty());
}

/// Returns what fio would have reported for a workload.
fn by_fio(read_percent: u32, bytes: u64, iodepth: u32) -> StepResult {
    let load = load(read_percent, bytes, iodepth);
    let (iops, mean_ns) = served(&load);
    let direction = |share: f64| {
        let latency = FioLatency { mean_ns, ..FioLatency::default() };
        (share > 0.0).then(|| FioDirection {
            ios: (iops * share * 10.0) as u64,
            bytes: (iops * share * 10.0) as u64 * bytes,
            bytes_per_sec: iops * share * bytes as f64,
            iops: iops * share,
            runtime_ns: 10_000_000_000,
            block: Some(BlockRange { min_bytes: bytes, max_bytes: bytes }),
            lat: Some(latency),
            ..FioDirection::default()
        })
    };
    // The share drawn at random differs from the requested one.
    let reads = (f64::from(read_percent) - 0.4).max(0.0) / 100.0;
    let reads = if read_percent == 100 { 1.0 } else { reads };
    let result = FioResult {
        name: "job1".to_owned(),
        rw: load.rw.to_string(),
        iodepth: Some(iodepth),
        users: Some(1),
        read: direction(reads),
        write: direction(1.0 - reads),
        ..FioResult::default()
    };
    Box::new(result).into_step()
}

#[test]
fn fio_results_are_drawn_like_native_results() {
    let (mixes, sizes) = ([0, 30, 70, 100], [4096, 65_536]);
    let each = || mixes.into_iter().flat_map(|mix| sizes.map(|bytes| (mix, bytes)));
    let fio = run(run_document(each().map(|(mix, bytes)| by_fio(mix, bytes, 16)).collect()));
    let native =
        run(run_of_loads(&each().map(|(mix, bytes)| load(mix, bytes, 16)).collect::<Vec<_>>()));
    let (fio_totals, totals) = (fio.totals(), native.totals());
    assert_eq!(totals.len(), 8);
    for (a, b) in fio_totals.iter().zip(&totals) {
        assert_eq!(a.access, b.access);
        assert!((a.iops / b.iops - 1.0).abs() < 1e-3 && (a.mean_ns / b.mean_ns - 1.0).abs() < 1e-3);
    }
    for panel in ["block-size-map", "mix-map"] {
        let [fio, native] =
            [&fio, &native].map(|one| drawn(panel, std::slice::from_ref(one), WIDE));
        let titles =
            |figures: &[Figure]| figures.iter().map(|f| f.title.clone()).collect::<Vec<_>>();
        assert!(!fio.is_empty() && titles(&fio) == titles(&native), "{panel}");
    }
}

#[test]
fn database_maps_use_mix_and_process_count() {
    let one = |mode: &str, asked: Option<f64>, processes: u32| {
        let share = asked.map_or(if mode == "read" { 100 } else { 0 }, |asked| asked as u32);
        let database = DatabaseResult {
            mode: mode.to_owned(),
            read_percent_asked: asked,
            ..DatabaseResult::default()
        };
        StepResult { database: Some(Box::new(database)), ..measured(&load(share, 8192, processes)) }
    };
    let kinds = [("write", None), ("io", Some(50.0)), ("read", None)];
    let steps = kinds.into_iter().flat_map(|(mode, asked)| [1, 8].map(|n| one(mode, asked, n)));
    let [figure] = &drawn("mix-map", &[run(run_document(steps.collect()))], WIDE)[..] else {
        panic!()
    };
    assert!(figure.title.starts_with("database, blocks of 8K"), "{}", figure.title);
    assert!(texts(&figure.scene).contains(&"50"));
}

#[test]
fn searches_of_several_block_sizes_share_one_map() {
    let search = |bytes: u64| {
        let mut document = find_document(StoppedBy::Limit);
        document.head.load = load(100, bytes, 1).into();
        exhibit(Shown::Find(Box::new(document)))
    };
    let exhibits = [4096, 16_384, 65_536].map(search);
    let [figure] = &drawn("block-size-map", &exhibits, WIDE)[..] else { panic!() };
    assert!(figure.description.contains("64K at queue depth 256 moves the most bytes"));
}

#[test]
fn maps_exclude_steps_without_a_single_workload() {
    // Unknown workload, two block sizes, a rate, no I/O.
    let mut untold = run_document(vec![step("made up", 4)]);
    untold.head.load = Workload::label("made up");
    assert!(run(untold).totals().is_empty());
    let mut two = load(50, 4096, 1);
    two.block.write = iogauge_model::load::BlockSplit::fixed(8192);
    assert!(run(run_of_loads(&[two])).totals().is_empty());
    let mut rated = run_of_loads(&[load(100, 4096, 1)]);
    rated.steps[0].rate_iops = Some(100.0);
    assert!(run(rated).totals().is_empty());
    let mut idle = run_of_loads(&[load(100, 4096, 1)]);
    idle.steps[0].read = None;
    assert!(run(idle).totals().is_empty());
    let mut interrupted = rounds();
    interrupted.steps.iter_mut().for_each(|step| step.interrupted = true);
    assert!(of_suite(interrupted).totals().is_empty());
}
