//! Tests of capacity curves: what limits bound is drawn, axes follow what is drawn, labels are readable.
#![allow(clippy::unwrap_used)]

mod common;

use common::{box_of, database, find_document, flat, struck};
use iogauge_model::Limit;
use iogauge_model::result::{FindDocument, LimitValue, StoppedBy};
use iogauge_report::chart::{Ink, Mark, Scene};
use iogauge_report::exhibit::{Exhibit, Shown};
use iogauge_report::panel::{Figure, NARROW, PANELS, WIDE};

fn draw(documents: &[FindDocument], width: f64) -> Vec<Figure> {
    let panel = PANELS.iter().find(|panel| panel.name == "capacity-curve").unwrap();
    let exhibit = |document: &FindDocument| Exhibit {
        system: "db1".to_owned(),
        document: Shown::Find(Box::new(document.clone())),
    };
    panel.draw(&documents.iter().map(exhibit).collect::<Vec<_>>(), width)
}

/// Returns a search with these limits. The value of each is twice its bound at the last point, which has more load than
/// the answer, and below it before.
fn limited(limits: &[&str], id: &str) -> FindDocument {
    let mut document = find_document(StoppedBy::Limit);
    document.head.run_id = format!("20261121-101530-{id}");
    let limits: Vec<Limit> = limits.iter().map(|limit| limit.parse().unwrap()).collect();
    let values = |share: f64| -> Vec<LimitValue> {
        let value = |limit: &Limit| LimitValue {
            limit: *limit,
            value_ns: Some(limit.bound_ns as f64 * share),
            ci95_ns: None,
            n: 1000,
        };
        limits.iter().map(value).collect()
    };
    let shares = [0.1, 0.3, 0.6, 0.9, 2.0];
    for (point, share) in document.search.curve.iter_mut().zip(shares) {
        point.limits = values(share);
    }
    document.search.answer.limits = values(0.9);
    document.search.limits = limits;
    document
}

fn texts(scene: &Scene) -> Vec<&str> {
    let words = flat(&scene.marks).into_iter().filter_map(|mark| match mark {
        Mark::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    words.collect()
}

/// Returns the heights of a curve's points, first those of its line, then faint ones.
fn heights(scene: &Scene, curve: &str) -> Vec<f64> {
    let marks = scene.marks.iter().find_map(|mark| match mark {
        Mark::Series { name, marks } if name == curve => Some(marks),
        _ => None,
    });
    let dots = marks.unwrap_or_else(|| panic!("no {curve}")).iter().filter_map(|mark| match mark {
        Mark::Dot { y, .. } => Some(*y),
        _ => None,
    });
    dots.collect()
}

/// Returns the heights of the lines of limits.
fn bounds(scene: &Scene) -> Vec<f64> {
    let lines = scene.marks.iter().filter_map(|mark| match mark {
        Mark::Line { points, stroke } if stroke.ink == Ink::Limit => Some(points[0]?.1),
        _ => None,
    });
    lines.collect()
}

#[test]
fn limited_statistic_is_a_curve_that_crosses_its_limit() {
    let document = limited(&["write:p99<=3ms", "max<=20ms", "p99<=5ms"], "x7k2");
    for width in [NARROW, WIDE] {
        let figure = draw(std::slice::from_ref(&document), width).remove(0);
        let limits = bounds(&figure.scene);
        for (curve, limit) in ["write:p99"].iter().zip(&limits) {
            let heights = heights(&figure.scene, curve);
            // Heights are distances from the top.
            assert!(heights[..4].iter().all(|y| y > limit), "{curve}: {heights:?} {limit}");
            assert!(heights[4] < *limit, "{curve}: {heights:?} {limit}");
        }
        // Statistics of all I/Os are drawn as the others, and once.
        assert_eq!(heights(&figure.scene, "max").len(), 5);
        let words = texts(&figure.scene);
        for name in ["mean", "p95", "p99", "p99.9", "write:p99", "max"] {
            assert_eq!(words.iter().filter(|word| **word == name).count(), 1, "{name}: {words:?}");
        }
    }
}

#[test]
fn curve_of_commits_has_the_words_of_a_database() {
    let mut document = limited(&["sync:p99<=20ms"], "x7k2");
    document.head.target = database("sqlite:d");
    let figure = draw(std::slice::from_ref(&document), WIDE).remove(0);
    let words = texts(&figure.scene);
    assert!(words.contains(&"commit:p99") && words.contains(&"commit:p99 <= 20 ms"), "{words:?}");
    // The answer is labelled with its processes.
    assert!(words.contains(&"812 processes") && words.contains(&"1"), "{words:?}");
    let told = flat(&figure.scene.marks).into_iter().any(|mark| match mark {
        Mark::Hover(hover) => hover.points[0].lines.contains(&"commit:p99 2 ms".to_owned()),
        _ => false,
    });
    assert!(told, "the values that a pointer shows");
    let mut other = document.clone();
    (other.head.run_id, other.search.limits) = ("9b3c".to_owned(), vec![Limit::default()]);
    let together = draw(&[document.clone(), other], WIDE).remove(0);
    let names = texts(&together.scene);
    assert!(names.iter().all(|name| !name.contains("sync:")), "{names:?}");
    // Documents of older versions have no values of limits.
    document.search.curve.iter_mut().for_each(|point| point.limits.clear());
    let figure = draw(&[document], WIDE).remove(0);
    assert!(!texts(&figure.scene).contains(&"commit:p99"));
}

#[test]
fn overlay_draws_the_statistic_that_all_limits_bound() {
    let both = [limited(&["write:p99<=5ms"], "x7k2"), limited(&["write:p99<=8ms"], "9b3c")];
    let figure = draw(&both, WIDE).remove(0);
    let words = texts(&figure.scene);
    assert!(words.contains(&"p99 write latency") && !words.contains(&"mean latency"), "{words:?}");
    for (name, limit) in
        ["write:p99 <= 5 ms", "write:p99 <= 8 ms"].iter().zip(bounds(&figure.scene))
    {
        let heights = heights(&figure.scene, name);
        assert!(heights[..4].iter().all(|y| *y > limit) && heights[4] < limit, "{name}");
    }
}

#[test]
fn limits_on_an_axis_of_means_name_their_statistic() {
    let both = [limited(&["p99<=5ms"], "x7k2"), limited(&["max<=50ms"], "9b3c")];
    for width in [NARROW, WIDE] {
        let figure = draw(&both, width).remove(0);
        let words = texts(&figure.scene);
        let named =
            ["mean latency", "p99 <= 5 ms", "max <= 50 ms", "limit on the latency that it names"];
        for name in named {
            assert!(words.contains(&name), "{name}: {words:?}");
        }
    }
}

#[test]
fn axis_follows_what_is_drawn() {
    let mut document = limited(&["p99<=5ms"], "x7k2");
    document.search.curve[4].iops.ci95 = [10_000.0, 190_000.0];
    for figure in draw(&[document.clone(), limited(&["p99<=5ms"], "9b3c")], WIDE) {
        let words = texts(&figure.scene);
        assert!(words.contains(&"100k") && !words.contains(&"120k"), "{words:?}");
    }
    // The interval of the answer is drawn.
    document.search.answer.iops.ci95 = [10_000.0, 190_000.0];
    assert!(texts(&draw(&[document], WIDE)[0].scene).contains(&"200k"));
}

#[test]
fn labels_are_not_crossed_by_lines() {
    for (share, database_url) in [(0.2, ""), (0.5, "sqlite:d"), (0.9, ""), (1.0, "sqlite:d")] {
        let mut document = limited(&["p99<=5ms", "write:p99<=3ms"], "x7k2");
        // Points past the answer have up to five times its rate.
        document.search.curve[4].iops.mean = 81_204.0 / share;
        if !database_url.is_empty() {
            document.head.target = database(database_url);
        }
        let other = limited(&["p99<=5ms", "write:p99<=3ms"], "9b3c");
        for width in [NARROW, WIDE] {
            for figure in draw(&[document.clone(), other.clone()], width) {
                assert_eq!(struck(&figure.scene), Vec::<String>::new(), "{share} at {width}");
                let scene = &figure.scene;
                let answer = flat(&scene.marks).into_iter().find_map(|mark| match mark {
                    Mark::Text(text) if text.text.starts_with("81.2k") => Some(box_of(text)),
                    _ => None,
                });
                let [left, _, right, _] = answer.unwrap();
                assert!(left > 0.0 && right < scene.width);
            }
        }
    }
}
