//! Tests of pictures with several runs: what differs has lines of its own with names, and scales are shared.
#![allow(clippy::unwrap_used)]

mod common;

use common::loads::{load, run_of_loads};
use common::{box_of, devices, find_document, flat};
use iogauge_fio::{Reading, read_results};
use iogauge_model::Load;
use iogauge_model::load::{ArrivalProcess, Arrivals, EngineKind};
use iogauge_model::result::{
    DatabaseLoad, DatabaseTarget, FindDocument, IntervalPoint, RealTarget, RunDocument, StepResult,
    StoppedBy, SuiteOutcome, TargetFacts, Workload,
};
use iogauge_report::chart::{LIGHT, Mark, Scene, svg};
use iogauge_report::exhibit::{Exhibit, GroupBy, Shown, grouped};
use iogauge_report::html;
use iogauge_report::panel::{Figure, NARROW, PANELS, Panel, WIDE};
use std::path::Path;

fn panel(name: &str) -> &'static Panel {
    PANELS.iter().find(|panel| panel.name == name).unwrap()
}

fn run(document: RunDocument) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document: Shown::Run(Box::new(document)) }
}

fn find(document: FindDocument) -> Exhibit {
    Exhibit { system: "db1".to_owned(), document: Shown::Find(Box::new(document)) }
}

/// Returns a search with this I/O scheduler.
fn scheduled(scheduler: &str, id: &str) -> FindDocument {
    let mut document = find_document(StoppedBy::Limit);
    let mut disk = devices().remove(2);
    disk.scheduler = Some(scheduler.to_owned());
    let target =
        RealTarget { name: "/data".to_owned(), devices: vec![disk], ..RealTarget::default() };
    document.head.target = TargetFacts::Real(target);
    document.head.run_id = format!("20261121-101530-{id}");
    document
}

/// Returns all texts of a picture.
fn texts(scene: &Scene) -> Vec<&str> {
    let word = |mark: &&'_ Mark| matches!(mark, Mark::Text(_));
    let marks = flat(&scene.marks).into_iter().filter(word);
    marks.map(|mark| if let Mark::Text(text) = mark { text.text.as_str() } else { "" }).collect()
}

fn has(figure: &Figure, words: &str) -> bool {
    texts(&figure.scene).iter().any(|text| text.contains(words))
}

#[test]
fn overlay_names_the_settings_that_differ() {
    let both = [find(scheduled("mq-deadline", "x7k2")), find(scheduled("none", "9b3c"))];
    for width in [NARROW, WIDE] {
        let figures = panel("capacity-curve").draw(&both, width);
        let words = texts(&figures[0].scene);
        assert!(words.contains(&"mq-deadline") && words.contains(&"none"), "{words:?}");
        assert!(!words.iter().any(|text| text.contains("x7k2")), "{words:?}");
        assert_eq!(figures[1].title, "/data, db1, mq-deadline");
    }
    // Runs that differ in nothing have their ids.
    let same = [find(scheduled("none", "x7k2")), find(scheduled("none", "9b3c"))];
    let figure = panel("capacity-curve").draw(&same, WIDE).remove(0);
    assert!(has(&figure, "run x7k2") && has(&figure, "run 9b3c"), "{:?}", texts(&figure.scene));
}

#[test]
fn database_settings_distinguish_searches() {
    let with = |synchronous: &str| {
        let settings = [("journal_mode", "wal"), ("synchronous", synchronous)];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut document = find_document(StoppedBy::Limit);
        let target = DatabaseTarget { settings: settings.into(), ..DatabaseTarget::default() };
        document.head.target = TargetFacts::Database(Box::new(target));
        find(document)
    };
    let figure = panel("capacity-curve").draw(&[with("full"), with("off")], WIDE).remove(0);
    let words = texts(&figure.scene);
    assert!(words.contains(&"synchronous=full") && words.contains(&"synchronous=off"), "{words:?}");
}

/// Returns the names of searches of a workload in an overlay, one open-loop if it has a rate.
fn names_of_searches(arrivals: [Option<Arrivals>; 2]) -> Vec<String> {
    let searches = arrivals.map(|arrivals| {
        let mut document = find_document(StoppedBy::Limit);
        document.head.load = Load { arrivals, ..Load::default() }.into();
        document.head.run_id = format!("run-{arrivals:?}").replace('.', "x");
        find(document)
    });
    let figure = panel("capacity-curve").draw(&searches, WIDE).remove(0);
    let series = figure.scene.marks.iter().filter_map(|mark| match mark {
        Mark::Series { name, .. } => Some(name.clone()),
        _ => None,
    });
    series.collect()
}

#[test]
fn rate_that_a_search_found_is_no_setting_of_it() {
    let at = |rate_iops, process| Some(Arrivals { rate_iops, process, only: None });
    let (linear, poisson) = (ArrivalProcess::Linear, ArrivalProcess::Poisson);
    let names = names_of_searches([at(43_759.0, linear), at(34_908.0, poisson)]);
    assert_eq!(names, ["rate_process=linear", "rate_process=poisson"]);
    let names = names_of_searches([None, at(34_908.0, poisson)]);
    assert_eq!(names, ["closed loop", "open loop"]);
    let names = names_of_searches([at(43_759.0, linear), at(34_908.0, linear)]);
    assert!(names.iter().all(|name| name.starts_with("run ")), "{names:?}");
    // A run is given its rate.
    let rates = [5000.0, 6000.0].map(|rate| {
        let step = StepResult { rate_iops: Some(rate), ..common::step("reads", 8) };
        let step = StepResult { series: vec![interval(1.0), interval(2.0)], ..step };
        let mut document = common::run_document(vec![step]);
        document.head.load = Load { arrivals: at(rate, linear), ..Load::default() }.into();
        run(document)
    });
    let figures = panel("over-time").draw(&rates, WIDE);
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(titles, ["/data, db1, rate_iops=5000", "/data, db1, rate_iops=6000"]);
}

#[test]
fn database_runs_are_titled_with_each_setting_once() {
    let with = |mode: &str, processes: u32| {
        let label = format!("{mode}, 50 per transaction, {processes} processes");
        let asked =
            DatabaseLoad { label, mode: mode.to_owned(), processes, ..DatabaseLoad::default() };
        let step = StepResult {
            series: vec![interval(1.0), interval(2.0)],
            ..common::step("database", processes)
        };
        let mut document = common::run_document(vec![step]);
        document.head.target = common::database("sqlite:d");
        document.head.load = Workload::Database(asked);
        run(document)
    };
    let titles = |runs: &[Exhibit]| {
        let figures = panel("over-time").draw(runs, WIDE).into_iter();
        figures.map(|figure| figure.title).collect::<Vec<_>>()
    };
    assert_eq!(
        titles(&[with("write", 4), with("read", 1)]),
        ["sqlite:d, db1, mode write, 4 processes", "sqlite:d, db1, mode read, 1 process"]
    );
    assert_eq!(
        titles(&[with("write", 4), with("read", 4)]),
        ["sqlite:d, db1, mode write", "sqlite:d, db1, mode read"]
    );
}

#[test]
fn steps_of_suites_are_labelled_over_time() {
    let words = |steps: usize| {
        let mut suite = common::loads::rounds();
        suite.steps.truncate(steps);
        for step in &mut suite.steps {
            if let SuiteOutcome::Step(result) = &mut step.result {
                result.series = vec![interval(1.0), interval(2.0)];
            }
        }
        let exhibit = Exhibit { system: "db1".to_owned(), document: Shown::Suite(Box::new(suite)) };
        let figure = panel("over-time").draw(&[exhibit], WIDE).remove(0);
        texts(&figure.scene).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let few = words(2);
    assert!(
        few.iter().any(|text| text.starts_with("100 ") && text.ends_with("round 1")),
        "{few:?}"
    );
    // Without space for every step, the rounds are named.
    let many = words(usize::MAX);
    assert!(["round 1", "round 7"].iter().all(|round| many.contains(&(*round).to_owned())));
}

fn interval(at_seconds: f64) -> IntervalPoint {
    IntervalPoint { at_seconds, seconds: 1.0, reads: 100, ..IntervalPoint::default() }
}

#[test]
fn overlay_has_limits_queue_depths_and_knees() {
    let both = [find(scheduled("mq-deadline", "x7k2")), find(scheduled("none", "9b3c"))];
    let figure = panel("capacity-curve").draw(&both, WIDE).remove(0);
    for words in ["mean <= 10 ms", "QD1", "knee at queue depth 256", "81.2k"] {
        assert!(has(&figure, words), "{words}: {:?}", texts(&figure.scene));
    }
}

#[test]
fn runs_with_different_engines_are_not_one_series() {
    let of_engine = |engine: EngineKind, depths: [u32; 2]| {
        run(run_of_loads(&depths.map(|depth| Load { engine, ..load(100, 4096, depth) })))
    };
    let runs = [of_engine(EngineKind::IoUring, [1, 8]), of_engine(EngineKind::Libaio, [4, 16])];
    for name in ["latency-by-load", "capacity-curve"] {
        assert!(panel(name).draw(&runs[..1], WIDE).len() <= 1);
    }
    let figures = panel("latency-by-load").draw(&runs, WIDE);
    let titles: Vec<&str> = figures.iter().map(|figure| figure.title.as_str()).collect();
    assert_eq!(titles.len(), 2, "{titles:?}");
    assert!(titles[0].ends_with(", io_uring") && titles[1].ends_with(", libaio"), "{titles:?}");
    // Two runs of one configuration form one series.
    let alike = [of_engine(EngineKind::Libaio, [1, 8]), of_engine(EngineKind::Libaio, [4, 16])];
    assert_eq!(panel("latency-by-load").draw(&alike, WIDE).len(), 1);
    // Maps do not mix configurations either.
    let sizes = |engine: EngineKind, sizes: [u64; 2]| {
        run(run_of_loads(&sizes.map(|size| Load { engine, ..load(100, size, 8) })))
    };
    let runs =
        [sizes(EngineKind::IoUring, [4096, 8192]), sizes(EngineKind::Libaio, [16384, 32768])];
    let figures = panel("block-size-map").draw(&runs, WIDE);
    assert_eq!(figures.len(), 2);
    assert!(figures[0].title.ends_with(", io_uring"), "{}", figures[0].title);
}

/// Returns the boxes of texts of a picture above a height.
fn boxes(scene: &Scene, above: f64) -> Vec<([f64; 4], &str)> {
    let mut boxes = Vec::new();
    for mark in flat(&scene.marks) {
        match mark {
            Mark::Text(text) if text.y < above => boxes.push((box_of(text), text.text.as_str())),
            _ => {}
        }
    }
    boxes
}

#[test]
fn labels_of_queue_depths_do_not_collide() {
    let mut document = scheduled("none", "x7k2");
    // Many queue depths near the answer, as a saturated target has.
    let curve = &mut document.search.curve;
    let crowd = (1..9).map(|number| {
        let iops = 81_000.0 + f64::from(number % 3) * 60.0;
        common::point(600 + number * 25, iops, true)
    });
    curve.extend(crowd);
    curve.sort_by_key(|point| point.queue_depth);
    let other = find(FindDocument { ..document.clone() });
    for width in [NARROW, WIDE] {
        for figure in panel("capacity-curve").draw(&[find(document.clone()), other.clone()], width)
        {
            let all = boxes(&figure.scene, 260.0);
            for (number, (a, words)) in all.iter().enumerate() {
                for (b, other) in &all[..number] {
                    let apart = a[2] <= b[0] || a[0] >= b[2] || a[3] <= b[1] || a[1] >= b[3];
                    assert!(apart, "{words} on {other} at {width}");
                }
            }
        }
    }
}

#[test]
fn points_past_the_answer_are_faint_dots() {
    let figure = panel("capacity-curve").draw(&[find(scheduled("none", "x7k2"))], WIDE).remove(0);
    let series = figure.scene.marks.iter().find_map(|mark| match mark {
        Mark::Series { name, marks } if name == "mean" => Some(marks),
        _ => None,
    });
    let marks = series.unwrap();
    let on_line = marks.iter().find_map(|mark| match mark {
        Mark::Line { points, .. } => Some(points.len()),
        _ => None,
    });
    // Of five points, the last has more load than the answer.
    assert_eq!(on_line, Some(4));
    let faint = marks.iter().filter(|m| matches!(m, Mark::Dot { opacity, .. } if *opacity < 1.0));
    assert_eq!(faint.count(), 1);
}

#[test]
fn knee_is_ringed_at_its_measured_point() {
    let knee_lines = |document: &FindDocument| {
        let figure = panel("capacity-curve").draw(&[find(document.clone())], WIDE).remove(0);
        let has_knee = has(&figure, "knee at queue depth 256");
        let rings = flat(&figure.scene.marks).into_iter().filter_map(|mark| match mark {
            Mark::Dot { x, y, radius, .. } if *radius == 3.4 => Some((*x, *y)),
            _ => None,
        });
        (has_knee, rings.collect::<Vec<_>>(), figure)
    };
    let mut document = scheduled("none", "x7k2");
    let (has_knee, rings, figure) = knee_lines(&document);
    let [(x, y)] = rings[..] else { panic!("{rings:?}") };
    let on_curve = flat(&figure.scene.marks).into_iter().any(
        |mark| matches!(mark, Mark::Line { points, .. } if points.get(2) == Some(&Some((x, y)))),
    );
    assert!(has_knee && on_curve, "the third point of the curve is the knee");
    // Older versions defined the knee otherwise.
    document.search.knee.as_mut().unwrap().share = None;
    assert_eq!(knee_lines(&document).1, []);
}

#[test]
fn groups_side_by_side_share_their_scales() {
    let slow = |factor: f64| {
        let mut document = scheduled("none", "x7k2");
        document.head.run_id = format!("{factor}");
        for point in &mut document.search.curve {
            point.latency_ns.mean *= factor;
            point.latency_ns.max = (point.latency_ns.max as f64 * factor) as u64;
            point.iops.mean /= factor;
        }
        find(document)
    };
    let groups = grouped(vec![slow(1.0), slow(7.0)], GroupBy::Run);
    let all: Vec<&[Exhibit]> = groups.iter().map(|group| &*group.exhibits).collect();
    for name in ["capacity-curve", "latency-by-load"] {
        let ticks = |number: usize| {
            let figure = panel(name).draw_beside(&groups[number].exhibits, &all, WIDE).remove(0);
            let tick = |mark: &Mark| match mark {
                Mark::Text(text) if text.x < 66.0 && text.size == 11.0 => {
                    Some((text.text.clone(), text.y.round() as i64))
                }
                _ => None,
            };
            flat(&figure.scene.marks).into_iter().filter_map(tick).collect::<Vec<_>>()
        };
        assert_eq!(ticks(0), ticks(1), "{name}");
    }
}

#[test]
fn search_draws_the_latencies_of_its_points() {
    let mut document = scheduled("none", "x7k2");
    let draw = |document: &FindDocument| {
        panel("latency-by-load").draw(&[find(document.clone())], WIDE).remove(0)
    };
    let kept = draw(&document);
    assert!(!has(&kept, "latencies not kept") && has(&kept, "< 250 µs"));
    // The numbers stand in the picture: a mean, a maximum, a bandwidth, the line at 10 ms.
    for words in ["102 µs", "1.28 ms", "40.1 MB/s", "10 ms", "mean", "slowest"] {
        assert!(texts(&kept.scene).contains(&words), "{words}: {:?}", texts(&kept.scene));
    }
    document.search.curve.iter_mut().for_each(|point| point.latency_shares.clear());
    assert!(has(&draw(&document), "latencies not kept"), "documents of older versions");
}

/// Returns one run for each file of fio 2.0.7 whose name starts like this.
fn imported(start: &str) -> Vec<Exhibit> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fio/tests/data/fio/2.0.7");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            name.starts_with(start) && name.ends_with(".out")
        })
        .collect();
    files.sort();
    let read = |path: &std::path::PathBuf| {
        let (text, mut steps) = (std::fs::read_to_string(path).unwrap(), Vec::new());
        read_results("f", text.as_bytes(), &mut |found| match found {
            Reading::Result(result) => steps.push(result.into_step()),
            Reading::Problem(problem) => panic!("{problem}"),
            other => panic!("a run has one report: {other:?}"),
        })
        .unwrap();
        let mut document = common::run_document(steps);
        document.head.load = Workload::label("fio");
        run(document)
    };
    files.iter().map(read).collect()
}

#[test]
fn load_at_which_two_axes_cross_is_in_both_pictures() {
    let figures = panel("latency-by-load").draw(&imported("read_"), WIDE);
    let of_sizes = figures.iter().find(|figure| figure.title.starts_with("read 1 users")).unwrap();
    assert!(texts(&of_sizes.scene).contains(&"1M"), "{:?}", texts(&of_sizes.scene));
    let of_users = figures.iter().find(|figure| figure.title.starts_with("read 1M")).unwrap();
    assert!(texts(&of_users.scene).contains(&"64"), "{:?}", texts(&of_users.scene));
}

#[test]
fn report_card_has_histograms_above_a_ruler() {
    for width in [NARROW, WIDE] {
        let figure = panel("grades").draw(&imported("readrand_"), width).remove(0);
        // The bounds of A+ and C-, and the marks on the ruler as well as on the card.
        for words in ["2 ms", "14 ms"] {
            assert!(texts(&figure.scene).contains(&words), "{:?}", texts(&figure.scene));
        }
        let tips = flat(&figure.scene.marks).into_iter().filter(
            |mark| matches!(mark, Mark::Rect { tip: Some(tip), .. } if tip.ends_with(" %")),
        );
        assert!(tips.count() > 1, "bars of the histogram");
    }
}

#[test]
fn picture_stands_clear_of_its_edges() {
    let figure = panel("capacity-curve").draw(&[find(scheduled("none", "x7k2"))], WIDE).remove(0);
    let drawn = svg::file(&figure.scene, LIGHT, "a title", "words");
    let heading = drawn.split("<text x=\"").nth(1).unwrap().split('"').next().unwrap();
    let inset = drawn.split("translate(").nth(1).unwrap().split(' ').next().unwrap();
    // The axis titles stand at 0 of the scene: in line with the picture's title.
    assert_eq!(heading, inset);
    assert!(inset.parse::<f64>().unwrap() >= 10.0);
    let title = |mark: &&Mark| matches!(mark, Mark::Text(t) if t.text == "latency" && t.x == 0.0);
    assert_eq!(flat(&figure.scene.marks).into_iter().filter(title).count(), 1);
}

#[test]
fn page_opens_with_verdicts_and_caveats() {
    let mut document = scheduled("none", "x7k2");
    document.caveats = common::caveats();
    let runs = vec![find(document), find(scheduled("mq-deadline", "9b3c"))];
    let groups = grouped(runs, GroupBy::System);
    let page = html::page(&groups, &[panel("capacity-curve")], "two", "0.1.0").unwrap();
    let first_picture = page.find("<svg").unwrap();
    for words in ["81,204 IOPS", "volatile-write-cache", "/data, db1, mq-deadline"] {
        let place = page.find(words).unwrap_or(usize::MAX);
        assert!(place < first_picture, "{words} comes after the pictures");
    }
}
