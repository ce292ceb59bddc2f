//! Tests that the pictures of panels are readable, stay within their bounds, and are described in words.
#![allow(clippy::unwrap_used)]

mod common;

use common::{
    database, find_document, flat, loads, named, run_document, series, step, struck, trace,
};
use iogauge_model::limit::Side as LimitSide;
use iogauge_model::load::{BlockSizes, Pattern};
use iogauge_model::plan::Step;
use iogauge_model::result::{
    Agreement, BESIDE_FORMAT, BesideDocument, BesideSide, CROSSCHECK_FORMAT, CrosscheckDocument,
    DatabaseLoad, IntervalPoint, LatencyBands, PerformanceShift, RunDocument, Side, StepResult,
    StoppedBy, SystemPoint, Workload,
};
use iogauge_model::{Caveat, CaveatCode, Histogram, Impact, Limit, Load};
use iogauge_report::chart::{DARK, Ink, LIGHT, Mark, Scene, png, svg, width_of};
use iogauge_report::exhibit::{Exhibit, GroupBy, Shown, grouped};
use iogauge_report::html;
use iogauge_report::panel::{Figure, NARROW, PANELS, Panel, WIDE};
use serde_json::{Value, json};
use std::path::Path;

/// Returns a step whose latencies are close to a mean, with some much larger ones.
fn spread(queue_depth: u32) -> StepResult {
    let mut result = step(&format!("randread 4 KiB depth {queue_depth}"), queue_depth);
    for direction in [&mut result.read, &mut result.write].into_iter().flatten() {
        let mut histogram = Histogram::new();
        for number in 0..1000u64 {
            let slow = if number % 100 == 0 { 40 } else { 1 };
            histogram.record_n(u64::from(queue_depth) * (60_000 + number * 90) * slow, 5);
        }
        direction.service_histogram = histogram;
    }
    result.series = intervals(20, queue_depth);
    result.system = (1..=20u32)
        .map(|second| SystemPoint {
            at_seconds: f64::from(second),
            read_bytes_per_sec: 20e6 + f64::from(second % 3) * 1e6,
            busy_percent: 80.0 + f64::from(second % 7),
            cpu_percent: 12.0,
            steal_percent: f64::from(second % 4),
            memory_available_bytes: 8 << 30,
            dirty_bytes: u64::from(second) << 20,
            ..SystemPoint::default()
        })
        .collect();
    result
}

/// Returns intervals of this many seconds whose latencies vary, each with a slow I/O.
fn intervals(seconds: u32, queue_depth: u32) -> Vec<IntervalPoint> {
    let interval = |second: u32| {
        let mut histogram = Histogram::new();
        for number in 0..200u64 {
            let slow = if number == 0 { 20 + u64::from(second % 7) * 5 } else { 1 };
            histogram.record_n((120_000 + number * u64::from(40 * (second % 11))) * slow, 25);
        }
        IntervalPoint {
            at_seconds: f64::from(second),
            seconds: 1.0,
            reads: histogram.count(),
            read_bytes: 20_480_000,
            read_latency_sum_ns: histogram.sum_ns() as u64,
            latency_max_ns: histogram.max_ns(),
            queue_depth: f64::from(queue_depth),
            read_bands: LatencyBands::of(&histogram),
            ..IntervalPoint::default()
        }
    };
    (1..=seconds).map(interval).collect()
}

/// Returns a run of random reads of 8 KiB by 16 and 32 users, as required by a report card.
fn graded() -> Exhibit {
    let users = [16, 32];
    let asked = users.map(|numjobs| {
        let block = BlockSizes::fixed(8192);
        let load = Load { rw: Pattern::RandRead, block, numjobs, ..Load::default() };
        Step::single(load, 0, 1_000_000_000)
    });
    let steps = users.map(|users| StepResult { write: None, ..spread(users) });
    let mut document = run_document(steps.into());
    document.head.load = Workload::Steps { label: "the load".to_owned(), steps: asked.to_vec() };
    document.head.run_id = "graded".to_owned();
    exhibit(Shown::Run(Box::new(document)))
}

fn exhibit(document: Shown) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document }
}

fn run_of(steps: Vec<StepResult>) -> Exhibit {
    exhibit(Shown::Run(Box::new(run_document(steps))))
}

fn found() -> Exhibit {
    exhibit(Shown::Find(Box::new(find_document(StoppedBy::Limit))))
}

/// Returns runs for every panel.
fn exhibits() -> Vec<Exhibit> {
    let mut steps = [1, 4, 16, 64].map(spread);
    steps[1].trace = Some(Box::new(trace()));
    vec![found(), run_of(steps.into()), graded()]
}

/// Returns runs for the panels that draw suites and series, and workloads with different sizes and mixes.
fn suites() -> Vec<Exhibit> {
    let runs = [loads::sizes(), loads::sizes_and_depths()];
    let runs = runs.map(|run| exhibit(Shown::Run(Box::new(run))));
    // A suite whose line of best fit falls so steeply that it would end below 0.
    let mut steep = loads::rounds();
    steep.conclusion.findings["tracked"][0]["line"] = json!([4e5, -1e5]);
    let suites = [loads::rounds(), steep, loads::hosts_curve(), loads::compared()];
    let rounds = suites.map(|suite| exhibit(Shown::Suite(Box::new(suite))));
    let trends = [series::trend(), series::long_trend()];
    let trends = trends.map(|trend| exhibit(Shown::Trend(Box::new(trend))));
    runs.into_iter().chain(rounds).chain(trends).collect()
}

fn figures(exhibits: &[Exhibit], width: f64) -> Vec<(&'static str, Figure)> {
    let of_panel = |panel: &'static iogauge_report::panel::Panel| {
        panel.draw(exhibits, width).into_iter().map(|figure| (panel.name, figure))
    };
    PANELS.iter().flat_map(of_panel).collect()
}

/// Returns a page with all panels of runs in one group.
fn page(exhibits: Vec<Exhibit>, title: &str) -> String {
    let panels: Vec<&Panel> = PANELS.iter().collect();
    html::page(&grouped(exhibits, GroupBy::System), &panels, title, "0.1.0").unwrap()
}

/// Returns the marks that leave their picture.
fn outside(scene: &Scene) -> Vec<String> {
    let within = |x: f64, y: f64| {
        (-1.0..=scene.width + 1.0).contains(&x) && (-1.0..=scene.height + 1.0).contains(&y)
    };
    let leaves = |mark: &&Mark| match mark {
        Mark::Rect { x, y, width, height, .. } => !within(*x, *y) || !within(x + width, y + height),
        Mark::Line { points, .. } => points.iter().flatten().any(|(x, y)| !within(*x, *y)),
        Mark::Area { points, .. } => points.iter().any(|(x, y)| !within(*x, *y)),
        Mark::Dot { x, y, .. } => !within(*x, *y),
        Mark::Text(text) => {
            let width = width_of(&text.text, text.size);
            let left = match text.anchor {
                iogauge_report::chart::Anchor::Start => text.x,
                iogauge_report::chart::Anchor::Middle => text.x - width / 2.0,
                iogauge_report::chart::Anchor::End => text.x - width,
            };
            !within(left, text.y) || !within(left + width, text.y)
        }
        Mark::Hover(hover) => {
            !within(hover.x, hover.y) || !within(hover.x + hover.width, hover.y + hover.height)
        }
        Mark::Series { .. } => false,
    };
    flat(&scene.marks).into_iter().filter(leaves).map(|mark| format!("{mark:?}")).collect()
}

#[test]
fn every_panel_stays_in_bounds_and_has_a_description() {
    for width in [NARROW, 600.0, WIDE] {
        let mut drawn = figures(&exhibits(), width);
        drawn.extend(figures(&suites(), width));
        for panel in PANELS {
            assert!(
                drawn.iter().any(|(name, _)| *name == panel.name),
                "{} draws nothing",
                panel.name
            );
            assert!(!panel.title.is_empty() && panel.about.ends_with('.'), "{}", panel.name);
        }
        for (name, figure) in drawn {
            assert_eq!(figure.scene.width, width, "{name}");
            let outside = outside(&figure.scene);
            assert!(outside.is_empty(), "{name} at {width}: {outside:#?}");
            assert!(figure.description.len() > 20 && figure.description.ends_with('.'), "{name}");
        }
    }
}

#[test]
fn every_panel_is_described_and_in_the_gallery() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let read = |name: &str| std::fs::read_to_string(docs.join(name)).unwrap();
    let (gallery, report) = (read("gallery.md"), read("report.md"));
    for Panel { name, .. } in PANELS {
        assert!(gallery.contains(&format!("\n## {name}\n")), "{name}");
        assert!(gallery.contains(&format!("](gallery/{name}.svg)")), "{name}");
        assert!(docs.join("gallery").join(format!("{name}.svg")).exists(), "{name}");
        assert!(report.contains(&format!("\n### {name}\n")), "{name}");
    }
}

#[test]
fn panels_draw_nothing_without_data() {
    let empty = run_of(Vec::new());
    assert!(figures(std::slice::from_ref(&empty), WIDE).is_empty());
    assert!(figures(&[], WIDE).is_empty());
}

#[test]
fn panel_figures_match_snapshots() {
    let of_suites = |(name, _): &(&str, Figure)| {
        ["block-size-map", "mix-map", "rounds", "hosts-curve", "trend"].contains(name)
    };
    let others = figures(&exhibits(), NARROW).into_iter().filter(|figure| !of_suites(figure));
    let all = others.chain(figures(&suites(), NARROW).into_iter().filter(of_suites));
    let mut numbers = std::collections::BTreeMap::new();
    for (panel, figure) in all {
        let number = numbers.entry(panel).and_modify(|number| *number += 1).or_insert(1);
        let name = format!("{panel}-{number}");
        let drawn = svg::file(&figure.scene, LIGHT, &figure.title, &figure.description);
        insta::assert_snapshot!(
            name,
            drawn.replace("/><", "/>\n<").replace("</text><", "</text>\n<")
        );
    }
}

#[test]
fn png_figures_are_not_blank() {
    for (name, figure) in figures(&exhibits(), WIDE).into_iter().chain(figures(&suites(), WIDE)) {
        for theme in [LIGHT, DARK] {
            let picture = png::render(&figure.scene, theme, &figure.title, 1.0).unwrap();
            let pixels = resvg::tiny_skia::Pixmap::decode_png(&picture).unwrap();
            let first = pixels.pixel(0, 0).unwrap();
            let marked = pixels.pixels().iter().filter(|pixel| **pixel != first).count();
            let share = marked as f64 / pixels.pixels().len() as f64;
            assert!(share > 0.01, "{name} in {}: {share}", theme.name);
        }
    }
}

#[test]
fn imported_run_text_is_escaped_in_html() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut document: RunDocument = run_document(vec![spread(1), spread(2)]);
    document.head.target = named(evil);
    document.head.run_id = evil.to_owned();
    document.environment.host = evil.to_owned();
    for step in &mut document.steps {
        step.label = evil.to_owned();
    }
    for caveat in &mut document.caveats {
        caveat.message = evil.to_owned();
        caveat.hint = evil.to_owned();
    }
    let document: Value = serde_json::to_value(&document).unwrap();
    let exhibits = [Exhibit::of(document).unwrap()];
    let page = page(exhibits.to_vec(), evil);
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&#60;script") || page.contains("&lt;script"));
    for (name, figure) in figures(&exhibits, WIDE) {
        let drawn = svg::file(&figure.scene, LIGHT, &figure.title, &figure.description);
        assert!(!drawn.contains("<script"), "{name}");
    }
}

#[test]
fn page_has_no_external_resources() {
    let page = page(exhibits(), "two runs");
    for word in ["http:", "https:", "src=", "@import", "url("] {
        let foreign = page.matches(word).count()
            - page.matches("http://www.w3.org/2000/svg").count() * usize::from(word == "http:");
        assert_eq!(foreign, 0, "{word}");
    }
    // Both widths of every picture.
    let drawn = figures(&exhibits(), WIDE).len();
    assert_eq!(page.matches("<svg").count(), 2 * drawn);
    assert_eq!(page.matches("role=\"img\" aria-label=\"").count(), 2 * drawn);
}

#[test]
fn page_of_fifty_runs_is_below_1_5_mb() {
    let run = |queue_depth| {
        let mut step = spread(queue_depth);
        step.series = intervals(600, queue_depth);
        run_of(vec![step])
    };
    let page = page((1..=50).map(run).collect(), "fifty");
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}

#[test]
fn same_load_of_two_runs_gets_distinct_labels() {
    let run = |id: &str| {
        let mut document = run_document(vec![spread(4), spread(8), spread(8)]);
        document.head.run_id = format!("20261121-101530-{id}");
        exhibit(Shown::Run(Box::new(document)))
    };
    let both = figures(&[run("x7k2"), run("9b3c")], NARROW);
    let (_, both) = both.iter().find(|(panel, _)| *panel == "distribution").unwrap();
    let all = texts(both);
    for name in [
        "run x7k2: randread 4 KiB depth 4",
        "run 9b3c: randread 4 KiB depth 4",
        "run 9b3c: randread 4 KiB depth 8",
        "run 9b3c, no. 2: randread 4 KiB depth 8",
    ] {
        assert!(all.contains(&name), "{name}: {all:?}");
    }
    assert!(
        texts(&drawn("distribution", &run_of(vec![spread(4)]), NARROW)[0])
            .contains(&"randread 4 KiB depth 4")
    );
}

/// Returns what a panel draws of a run.
fn drawn(panel: &str, exhibit: &Exhibit, width: f64) -> Vec<Figure> {
    let all = figures(std::slice::from_ref(exhibit), width).into_iter();
    all.filter(|(name, _)| *name == panel).map(|(_, figure)| figure).collect()
}

/// Returns all texts of a picture.
fn texts(figure: &Figure) -> Vec<&str> {
    let words = |mark: &&Mark| matches!(mark, Mark::Text(_));
    let marks = flat(&figure.scene.marks).into_iter().filter(words);
    marks.map(|mark| if let Mark::Text(text) = mark { text.text.as_str() } else { "" }).collect()
}

#[test]
fn latency_over_time_is_a_heat_map_if_recorded() {
    let mut step = spread(4);
    let with = drawn("over-time", &run_of(vec![step.clone()]), WIDE);
    let heat = |figure: &Figure| {
        let of_map = |mark: &&Mark| matches!(mark, Mark::Line { stroke, .. } if matches!(stroke.ink, Ink::Heat(_)));
        flat(&figure.scene.marks).into_iter().filter(of_map).count()
    };
    // One line per shade, no matter how many intervals there are.
    assert!((2..=6).contains(&heat(&with[0])), "{}", heat(&with[0]));
    assert!(texts(&with[0]).contains(&"latency of reads, logarithmic"));
    step.series.iter_mut().for_each(|point| point.read_bands = LatencyBands::default());
    let without = drawn("over-time", &run_of(vec![step]), WIDE);
    assert_eq!(heat(&without[0]), 0);
    assert!(texts(&without[0]).contains(&"latency, logarithmic"));
}

#[test]
fn names_of_a_single_load_are_not_struck_through() {
    for queue_depth in [1, 4, 16] {
        for width in [NARROW, 600.0, WIDE] {
            let figure =
                drawn("latency-by-load", &run_of(vec![spread(queue_depth)]), width).remove(0);
            let words = texts(&figure);
            assert!(words.contains(&"95 %") && words.contains(&"99 %"), "{words:?}");
            assert_eq!(struck(&figure.scene), Vec::<String>::new(), "at {width}");
        }
    }
}

#[test]
fn marks_of_a_report_card_are_not_struck_through() {
    for (width, mean_us) in
        [NARROW, 600.0, WIDE].map(|w| [400, 450, 500, 550].map(|m| (w, m))).concat()
    {
        let mut card = graded();
        let Shown::Run(run) = &mut card.document else { panic!("a run") };
        for read in run.steps.iter_mut().filter_map(|step| step.read.as_mut()) {
            read.service_ns.mean = f64::from(mean_us) * 1e3;
        }
        let figure = drawn("grades", &card, width).remove(0);
        assert!(texts(&figure).contains(&"A+"));
        assert_eq!(struck(&figure.scene), Vec::<String>::new(), "{mean_us} µs at {width}");
    }
}

#[test]
fn performance_shifts_are_marked_and_labelled() {
    let mut step = spread(4);
    let shift = |at_seconds, before_iops, after_iops| PerformanceShift {
        at_seconds,
        before_iops,
        after_iops,
    };
    step.shifts = vec![shift(4.0, 30_000.0, 3_000.0), shift(19.5, 3_000.0, 12_000.0)];
    for width in [NARROW, WIDE] {
        // The second step begins at 20 s.
        let figures = drawn("over-time", &run_of(vec![step.clone(), step.clone()]), width);
        let all = texts(&figures[0]);
        for words in ["at 4 s: 30k → 3000", "at 24 s: 30k → 3000", "at 39.5 s: 3000 → 12k"] {
            assert!(all.contains(&words), "{words} at {width}: {all:?}");
        }
        assert!(
            figures[0]
                .description
                .contains("At 4 s the rate shifted from 30k to 3000 I/Os per second.")
        );
        assert!(outside(&figures[0].scene).is_empty());
    }
}

#[test]
fn search_over_time_shows_requested_queue_depth() {
    let mut document = find_document(StoppedBy::Limit);
    assert!(drawn("over-time", &found(), WIDE).is_empty());
    document.search.series = intervals(30, 8);
    for (point, queue_depth) in document.search.series.iter_mut().zip(1..) {
        point.queue_depth_asked = Some(f64::from(queue_depth));
    }
    document.search.shifts =
        vec![PerformanceShift { at_seconds: 6.8, before_iops: 140_000.0, after_iops: 199_000.0 }];
    let figures = drawn("over-time", &exhibit(Shown::Find(Box::new(document))), WIDE);
    assert!(texts(&figures[0]).contains(&"queue depth requested"));
    // A search only knows when it noticed the shift.
    assert!(texts(&figures[0]).contains(&"seen at 6.8 s: 140k → 199k"));
    let sentence = "At 6.8 s the search noticed a shift from 140k to 199k I/Os per second.";
    assert!(figures[0].description.contains(sentence), "{}", figures[0].description);
    // What was requested is a dashed line, above that of the achieved queue depth.
    let series = |wanted: &str| {
        let is_it = |mark: &Mark| matches!(mark, Mark::Series { name, .. } if name == wanted);
        figures[0].scene.marks.iter().position(is_it).unwrap()
    };
    assert!(series("I/Os outstanding") < series("queue depth requested"));
    let Mark::Series { marks, .. } = &figures[0].scene.marks[series("queue depth requested")]
    else {
        panic!("no series")
    };
    assert!(matches!(&marks[0], Mark::Line { stroke, .. } if stroke.dashed), "{marks:?}");
}

#[test]
fn isolated_sample_is_drawn_as_a_dot() {
    let mut step = spread(4);
    // Only one second has writes, so their point has no neighbours.
    let write = step.series[7].read_bands.clone();
    step.series[7].write_bands = write;
    let figure = drawn("over-time", &run_of(vec![step]), WIDE).remove(0);
    let dots =
        flat(&figure.scene.marks).into_iter().filter(|mark| matches!(mark, Mark::Dot { .. }));
    // The slowest write, and the border around it in the background colour.
    assert_eq!(dots.count(), 2);
}

#[test]
fn capacity_curve_states_why_the_search_ended() {
    let all = |width| drawn("capacity-curve", &found(), width).remove(0);
    let (narrow, wide) = (all(NARROW), all(WIDE));
    let reason = "Stopped by mean <= 10 ms: more load breaks it.";
    assert!(texts(&wide).contains(&reason), "{:?}", texts(&wide));
    assert!(wide.description.contains(reason) && narrow.description.contains(reason));
    let saturated = exhibit(Shown::Find(Box::new(find_document(StoppedBy::Saturated))));
    let words = texts(&drawn("capacity-curve", &saturated, NARROW)[0]).join(" ");
    assert!(words.contains("adds no IOPS; the limit is kept."), "{words}");
}

#[test]
fn searches_of_one_group_share_a_figure() {
    let draw = |n: usize| {
        let several = vec![found(); n];
        PANELS[0..1].iter().flat_map(|panel| panel.draw(&several, NARROW)).collect::<Vec<_>>()
    };
    assert_eq!([1, 2, 8, 9].map(|n| draw(n).len()), [1, 3, 9, 9]);
    let both = draw(2).remove(0);
    assert_eq!(both.title, "2 searches together");
    assert!(
        outside(&both.scene).is_empty() && both.description.contains("which keeps mean <= 10 ms.")
    );
}

#[test]
fn database_figures_use_database_terms() {
    let mut document = find_document(StoppedBy::Saturated);
    document.head.target = database("sqlite:/db");
    document.head.load = Workload::Database(DatabaseLoad {
        label: "updates".to_owned(),
        mode: "write".to_owned(),
        ..DatabaseLoad::default()
    });
    document.search.limits.push(Limit { side: LimitSide::Sync, ..Limit::default() });
    document.search.series = intervals(30, 8);
    let figures = figures(&[exhibit(Shown::Find(Box::new(document)))], WIDE);
    assert_eq!(figures.len(), 3);
    assert!(figures[1].1.title.starts_with("write, sqlite:/db"), "{}", figures[1].1.title);
    let both = "mean <= 10 ms and commit:mean <= 10 ms";
    assert!(texts(&figures[0].1).contains(&both), "{:?}", texts(&figures[0].1));
    for (panel, figure) in &figures {
        let all = format!("{} {}", texts(figure).join(" "), figure.description);
        assert!(all.contains("updates per second") || all.contains("updates/s"), "{panel}: {all}");
        for word in ["I/Os per second", "IOPS", "depth", "QD"] {
            assert!(!all.contains(word), "{panel} says {word}: {all}");
        }
    }
}

#[test]
fn systems_are_shown_side_by_side() {
    let other = Exhibit { system: "db2".to_owned(), ..run_of(vec![spread(2)]) };
    let page = page(vec![run_of(vec![spread(1)]), found(), other], "two systems");
    assert!(page.contains("<body class=\"beside\">"));
    for system in ["db1", "db2"] {
        let heading = format!("<h3 class=\"name\">{system}</h3>");
        // Each panel has a column for each system, with or without a picture.
        // Results and runs are sections without columns.
        let panels = page.matches("<h2>").count() - 2;
        assert_eq!(page.matches(&heading).count(), panels, "{system}");
    }
    assert!(page.contains("Nothing for this picture."), "db2 has no capacity");
    let one = html::page(&grouped(vec![found()], GroupBy::System), &[&PANELS[0]], "one", "0.1.0");
    let one = one.unwrap();
    assert!(!one.contains("class=\"group\"") && !one.contains("id=\"over-time\""));
}

#[test]
fn runs_are_grouped_by_the_selected_property() {
    let names = |by| {
        let other = Exhibit { system: "db2".to_owned(), ..graded() };
        let groups = grouped(vec![found(), other, run_of(vec![spread(1)])], by);
        groups.into_iter().map(|group| (group.name, group.exhibits.len())).collect::<Vec<_>>()
    };
    assert_eq!(names(GroupBy::System), [("db1".to_owned(), 2), ("db2".to_owned(), 1)]);
    assert_eq!(names(GroupBy::Run).iter().map(|(_, n)| n).sum::<usize>(), 3);
    assert_eq!(names(GroupBy::Target).iter().map(|(_, n)| n).sum::<usize>(), 3);
    assert_eq!(names(GroupBy::Label), [("no label".to_owned(), 3)]);
    assert_eq!(names(GroupBy::Load).iter().map(|(_, n)| n).sum::<usize>(), 3);
}

#[test]
fn page_distinguishes_doubts_from_notes() {
    let doubt = Caveat::of(CaveatCode::IoErrors, "some failed");
    let note = Caveat { impact: Impact::Note, ..Caveat::of(CaveatCode::NotSteady, "all is well") };
    assert!(doubt.is_doubt() && !note.is_doubt());
    let page_with = |caveats: Vec<Caveat>| {
        let document = RunDocument { caveats, ..run_document(vec![spread(1)]) };
        page(vec![exhibit(Shown::Run(Box::new(document)))], "caveats")
    };
    let notes = page_with(vec![note.clone()]);
    assert!(notes.contains("<p>Notes:</p>") && !notes.contains("Reasons to doubt it"));
    let both = page_with(vec![note, doubt]);
    let (doubts, notes) = both.split_once("<p>Notes:</p>").unwrap();
    assert!(doubts.contains("<b>io-errors</b>") && notes.contains("all is well"));
}

#[test]
fn crosscheck_and_comparison_sides_are_drawn() {
    let run = run_document([1, 1, 2, 2].map(spread).into());
    let mut head = run.head.clone();
    head.format = CROSSCHECK_FORMAT.to_owned();
    let check = CrosscheckDocument {
        head,
        verdict: Agreement::CannotTell,
        tolerance: 0.05,
        rounds: 2,
        round_seconds: 1.0,
        figures: Vec::new(),
        sides: vec![Side::Iogauge, Side::Fio, Side::Fio, Side::Iogauge],
        steps: run.steps,
        interrupted: false,
        caveats: Vec::new(),
        environment: run.environment.clone(),
    };
    let check = Exhibit::of(serde_json::to_value(&check).unwrap()).unwrap();
    let both = drawn("distribution", &check, WIDE).remove(0);
    assert_eq!(both.title, "iogauge and fio");
    assert_eq!(drawn("over-time", &check, WIDE).len(), 1);

    let find = find_document(StoppedBy::Limit);
    let mut head = find.head.clone();
    head.format = BESIDE_FORMAT.to_owned();
    head.target = database("sqlite:/db");
    let side = |load: &str| BesideSide {
        load: load.to_owned(),
        answer: find.search.answer.clone(),
        curve: find.search.curve.clone(),
    };
    let told = BesideDocument {
        head,
        device: side("random reads"),
        database: Some(side("updates")),
        database_iops: Some(1.0),
        database_bytes_per_sec: Some(1.0),
        share_percent: Some(50.0),
        held_back_by: Vec::new(),
        caveats: Vec::new(),
        environment: find.environment.clone(),
    };
    let mut cut_short = serde_json::to_value(&told).unwrap();
    let beside = Exhibit::of(cut_short.clone()).unwrap();
    let above = BesideDocument { share_percent: Some(150.0), ..told };
    let above = Exhibit::of(serde_json::to_value(&above).unwrap()).unwrap();
    assert!(
        page(vec![above], "above").contains("more I/O than the device sustained in its search")
    );
    for member in ["database", "database_iops", "database_bytes_per_sec", "share_percent"] {
        cut_short.as_object_mut().unwrap().remove(member).unwrap();
    }
    let cut_short = Exhibit::of(cut_short).unwrap();
    assert_eq!(drawn("capacity-curve", &cut_short, WIDE).len(), 1);
    let alone = page(vec![cut_short], "cut short");
    assert!(alone.contains("What the devices did for the database is not known"));
    let curves = drawn("capacity-curve", &beside, WIDE);
    let [device, database] = curves.as_slice() else { panic!("{}", curves.len()) };
    assert!(device.title.starts_with("the device, ") && texts(device).contains(&"I/Os per second"));
    assert!(texts(database).contains(&"operations per second"), "{:?}", texts(database));
    let both = page(vec![check, beside], "both");
    assert!(both.contains("The database reaches 50 % of the device"));
}

#[test]
fn documents_without_a_figure_are_rejected_by_format() {
    let refused = Exhibit::of(json!({ "format": "iogauge.doctor/1" })).unwrap_err().to_string();
    assert_eq!(refused, "there is no picture of iogauge.doctor/1");
}

#[test]
fn capacity_by_number_of_hosts_shows_its_saturation() {
    let drawn = |suite| {
        let exhibits = [exhibit(Shown::Suite(Box::new(suite)))];
        let panel = PANELS.iter().find(|panel| panel.name == "hosts-curve").unwrap();
        panel.draw(&exhibits, WIDE)
    };
    let texts = |figure: &Figure| -> Vec<String> {
        let text = |mark: &Mark| match mark {
            Mark::Text(text) => Some(text.text.clone()),
            _ => None,
        };
        figure.scene.marks.iter().filter_map(text).collect()
    };
    let dots = |figure: &Figure| {
        figure.scene.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count()
    };
    let [figure] = &drawn(loads::hosts_curve())[..] else { panic!() };
    assert!(
        figure.description.starts_with("The capacity saturates at 4 hosts. 1 host: 1,010 IOPS.")
    );
    assert!(figure.description.contains("8 hosts: 2,496 IOPS, 31 % of ideal scaling."));
    assert!(texts(figure).contains(&"saturates at 4 hosts".to_owned()));
    assert_eq!(dots(figure), 4);
    // Without saturation there is no mark, and a search without a capacity has no dot.
    let mut scales = loads::hosts_curve();
    scales.conclusion.findings["outcome"] = json!({ "undecided_at": 2 });
    scales.conclusion.findings["hosts_curve"][1]["given"] = json!(false);
    let [figure] = &drawn(scales)[..] else { panic!() };
    assert!(figure.description.starts_with("Undecided: the search on 2 hosts"));
    assert!(!texts(figure).iter().any(|text| text.contains("saturat")));
    assert_eq!(dots(figure), 3);
    assert!(drawn(loads::rounds()).is_empty());
}

#[test]
fn comparison_has_a_picture_for_each_subject() {
    let panel = PANELS.iter().find(|panel| panel.name == "compare").unwrap();
    let drawn = panel.draw(&[exhibit(Shown::Suite(Box::new(loads::compared())))], WIDE);
    let [worse, equivalent] = &drawn[..] else { panic!("{}", drawn.len()) };
    assert_eq!(worse.title, "IOPS of B against A");
    assert!(worse.description.starts_with("B is worse than A. Difference in IOPS: -10.0 %"));
    assert!(equivalent.description.starts_with("C and A are equivalent."));
    let dots = worse.scene.marks.iter().filter(|mark| matches!(mark, Mark::Dot { .. })).count();
    assert_eq!(dots, 6, "a dot for each block, and one for the mean");
    assert!(!words(worse).iter().any(|text| text.contains("more is worse")), "{:?}", words(worse));
    // Blocks have whole numbers, and only these have ticks.
    assert!(["1", "2", "3"].iter().all(|block| words(worse).contains(&(*block).to_owned())));
    assert!(!words(worse).contains(&String::new()), "{:?}", words(worse));

    let mut latency = loads::compared();
    latency.conclusion.findings["metric"] = json!("latency_ns_p99");
    latency.conclusion.findings["compared"][1]["block_ratios"] = json!([]);
    let drawn = panel.draw(&[exhibit(Shown::Suite(Box::new(latency)))], WIDE);
    let [shown, without] = &drawn[..] else { panic!("{}", drawn.len()) };
    assert!(words(shown).contains(&"difference in p99 (more is worse)".to_owned()));
    assert!(
        words(without)[0].starts_with("No block has figures of both. C and A"),
        "{:?}",
        words(without)
    );
}

/// Names of the turns would only have numbers.
#[test]
fn turns_of_a_comparison_are_named_after_their_subject() {
    let exhibits = [exhibit(Shown::Suite(Box::new(loads::turns())))];
    assert_eq!(exhibits[0].target(), "/data and /other");
    let drawn = |name: &str| {
        let panel = PANELS.iter().find(|panel| panel.name == name).unwrap();
        panel.draw(&exhibits, WIDE).into_iter().map(|figure| figure.title).collect::<Vec<_>>()
    };
    let [latencies] = &drawn("distribution")[..] else { panic!() };
    let by_load = drawn("latency-by-load");
    for subject in ["A (/data)", "B (/other)"] {
        assert!(latencies.contains(&format!("{subject}: ")), "{latencies}");
        assert!(by_load.iter().any(|title| title.contains(subject)), "{by_load:?}");
    }
}

/// Returns the texts in a picture.
fn words(figure: &Figure) -> Vec<String> {
    let text = |mark: &Mark| match mark {
        Mark::Text(text) => Some(text.text.clone()),
        _ => None,
    };
    figure.scene.marks.iter().filter_map(text).collect()
}
