//! Panels: that what they draw can be read, stays within its bounds, and tells itself in words.
#![allow(clippy::unwrap_used)]

mod common;

use common::{find_document, loads, run_document, step};
use iogauge_model::load::{BlockSizes, Pattern};
use iogauge_model::plan::Step;
use iogauge_model::result::{IntervalPoint, RunDocument, StepResult, StoppedBy, SystemPoint};
use iogauge_model::{Histogram, Load};
use iogauge_report::chart::{DARK, LIGHT, Mark, Scene, png, svg, width_of};
use iogauge_report::exhibit::{Exhibit, Shown};
use iogauge_report::html;
use iogauge_report::panel::{Figure, NARROW, PANELS, WIDE};
use serde_json::{Value, json};

/// A step whose latencies lie around a mean, some of them far above.
fn spread(depth: u32) -> StepResult {
    let mut result = step(&format!("randread 4 KiB depth {depth}"), depth);
    for direction in [&mut result.read, &mut result.write].into_iter().flatten() {
        let mut histogram = Histogram::new();
        for number in 0..1000u64 {
            let slow = if number % 100 == 0 { 40 } else { 1 };
            histogram.record_n(u64::from(depth) * (60_000 + number * 90) * slow, 5);
        }
        direction.service_histogram = histogram;
    }
    result.series = (1..=20u32)
        .map(|second| IntervalPoint {
            at_seconds: f64::from(second),
            seconds: 1.0,
            reads: 5_000 + u64::from(second % 5) * 300,
            read_bytes: 20_480_000,
            read_latency_sum_ns: 900_000_000,
            latency_max_ns: 2_000_000 + u64::from(second) * 70_000,
            depth: f64::from(depth),
            ..IntervalPoint::default()
        })
        .collect();
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

/// A run of random reads of 8 KiB by 16 and 32 users, as a report card wants them.
fn graded() -> Exhibit {
    let users = [16, 32];
    let asked = users.map(|numjobs| {
        let block = BlockSizes::fixed(8192);
        let load = Load { rw: Pattern::RandRead, block, numjobs, ..Load::default() };
        Step::single(load, 0, 1_000_000_000)
    });
    let steps = users.map(|users| StepResult { write: None, ..spread(users) });
    let mut document = run_document(steps.into());
    document.head.load = json!({ "steps": asked });
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

/// What every panel is shown.
fn exhibits() -> Vec<Exhibit> {
    vec![found(), run_of([1, 4, 16, 64].map(spread).into()), graded()]
}

/// What panels are shown that draw of suites and of loads that differ in size and mix.
fn suites() -> Vec<Exhibit> {
    let runs = [loads::sizes(), loads::sizes_and_depths()];
    let runs = runs.map(|run| exhibit(Shown::Run(Box::new(run))));
    // One whose line of best fit falls so steeply that it would end below 0.
    let mut steep = loads::rounds();
    steep.conclusion.findings["tracked"][0]["line"] = json!([4e5, -1e5]);
    let rounds = [loads::rounds(), steep].map(|suite| exhibit(Shown::Suite(Box::new(suite))));
    runs.into_iter().chain(rounds).collect()
}

fn figures(exhibits: &[Exhibit], width: f64) -> Vec<(&'static str, Figure)> {
    let of_panel = |panel: &'static iogauge_report::panel::Panel| {
        (panel.draw)(exhibits, width).into_iter().map(|figure| (panel.name, figure))
    };
    PANELS.iter().flat_map(of_panel).collect()
}

/// Everything that is drawn, out of its series.
fn flat(marks: &[Mark]) -> Vec<&Mark> {
    let mut found = Vec::new();
    for mark in marks {
        match mark {
            Mark::Series { marks, .. } => found.extend(flat(marks)),
            other => found.push(other),
        }
    }
    found
}

/// Marks that leave their picture.
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
fn every_panel_draws_itself_within_its_bounds_and_in_words() {
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
fn panels_draw_nothing_of_nothing() {
    let empty = run_of(Vec::new());
    assert!(figures(std::slice::from_ref(&empty), WIDE).is_empty());
    assert!(figures(&[], WIDE).is_empty());
}

#[test]
fn pictures_are_as_they_were() {
    let of_suites =
        |(name, _): &(&str, Figure)| ["block-size-map", "mix-map", "rounds"].contains(name);
    let others = figures(&exhibits(), NARROW).into_iter().filter(|figure| !of_suites(figure));
    let all = others.chain(figures(&suites(), NARROW).into_iter().filter(of_suites));
    for (number, (name, figure)) in all.enumerate() {
        let name = format!("{number}-{name}");
        let drawn = svg::file(&figure.scene, LIGHT, &figure.title, &figure.description);
        insta::assert_snapshot!(
            name,
            drawn.replace("/><", "/>\n<").replace("</text><", "</text>\n<")
        );
    }
}

#[test]
fn pictures_as_png_are_not_blank() {
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
fn a_run_from_outside_is_no_markup() {
    let evil = "<script>alert(1)</script>\"'&";
    let mut document: RunDocument = run_document(vec![spread(1), spread(2)]);
    document.head.target = json!({ "path": evil, "kind": "directory" });
    document.head.run_id = evil.to_owned();
    document.environment.host = evil.to_owned();
    for step in &mut document.steps {
        step.label = evil.to_owned();
    }
    for caveat in &mut document.caveats {
        caveat.message = evil.to_owned();
        caveat.remedy = evil.to_owned();
    }
    let document: Value = serde_json::to_value(&document).unwrap();
    let exhibits = [Exhibit::of(document).unwrap()];
    let page = html::page(&exhibits, evil, "0.1.0").unwrap();
    assert_eq!(page.matches("<script").count(), 1, "the page's own");
    assert!(!page.contains("<script>alert"));
    assert!(page.contains("&#60;script") || page.contains("&lt;script"));
    for (name, figure) in figures(&exhibits, WIDE) {
        let drawn = svg::file(&figure.scene, LIGHT, &figure.title, &figure.description);
        assert!(!drawn.contains("<script"), "{name}");
    }
}

#[test]
fn a_page_needs_nothing_from_elsewhere() {
    let page = html::page(&exhibits(), "two runs", "0.1.0").unwrap();
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
fn fifty_runs_make_a_file_that_can_be_mailed() {
    let runs: Vec<Exhibit> = (1..=50).map(|depth| run_of(vec![spread(depth)])).collect();
    let page = html::page(&runs, "fifty", "0.1.0").unwrap();
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
}
