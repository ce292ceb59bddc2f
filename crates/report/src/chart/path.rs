//! Lines as SVG path data (W3C, Scalable Vector Graphics 1.1, 8.3).

use std::fmt::Write;

/// A point of a line; `None` interrupts the line.
type Point = Option<(f64, f64)>;

/// Maximum distance of a simplified line from its points, in pixels. The eye does not see it.
const OFF: f64 = 0.3;

/// Returns a path through all points, in relative steps, which are shorter than coordinates.
pub(super) fn full(points: impl Iterator<Item = Point>) -> String {
    written(points, false)
}

/// Returns a path without the points that lie on the line between others, in the shortest notation.
pub(super) fn brief(points: &[Point]) -> String {
    let stretches = points.split(Option::is_none);
    let kept = stretches.flat_map(|stretch| {
        let stretch: Vec<(f64, f64)> = stretch.iter().flatten().copied().collect();
        thinned(&stretch).into_iter().map(Some).chain([None])
    });
    written(kept, true)
}

/// Returns a path with a zero-length line at each point.
pub(super) fn dots(points: impl Iterator<Item = (f64, f64)>) -> String {
    let apart = points.flat_map(|point| [Some(point), None]);
    written(apart, true).replace('m', "h0m") + "h0"
}

fn written(points: impl Iterator<Item = Point>, brief: bool) -> String {
    let mut path = String::new();
    let mut pen: Option<(i64, i64)> = None;
    let mut is_parted = true;
    for point in points {
        let Some((x, y)) = point.filter(|(x, y)| x.is_finite() && y.is_finite()) else {
            is_parted = true;
            continue;
        };
        // Coordinates are rounded to tenths of a pixel before they are subtracted, so that rounding errors
        // do not add up.
        let here = ((x * 10.0).round() as i64, (y * 10.0).round() as i64);
        let _ = match pen {
            Some(before) if before == here && !is_parted => continue,
            Some((x, y)) if brief => {
                let letter = if is_parted { 'm' } else { 'l' };
                let (right, down) = (here.0 - x, here.1 - y);
                let space = if down < 0 { "" } else { " " };
                match (is_parted, down) {
                    (false, 0) => write!(path, "h{}", tenths(right)),
                    _ => write!(path, "{letter}{}{space}{}", tenths(right), tenths(down)),
                }
            }
            Some((x, y)) if !is_parted => {
                write!(path, "l{} {}", tenths(here.0 - x), tenths(here.1 - y))
            }
            _ => write!(path, "M{} {}", tenths(here.0), tenths(here.1)),
        };
        (pen, is_parted) = (Some(here), false);
    }
    path
}

/// Returns the points that are needed for a line that passes every point within [`OFF`] (Douglas and
/// Peucker, Algorithms for the reduction of the number of points, 1973).
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut is_kept = vec![false; points.len()];
    let Some(last) = points.len().checked_sub(1) else { return Vec::new() };
    (is_kept[0], is_kept[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((first, last)) = open.pop() {
        let away = |number: usize| distance(points[number], points[first], points[last]);
        let farthest = (first + 1..last).max_by(|a, b| away(*a).total_cmp(&away(*b)));
        let Some(farthest) = farthest.filter(|number| away(*number) > OFF) else { continue };
        is_kept[farthest] = true;
        open.extend([(first, farthest), (farthest, last)]);
    }
    points.iter().zip(is_kept).filter_map(|(point, kept)| kept.then_some(*point)).collect()
}

/// Returns the distance of a point from the line segment between two ends.
fn distance((x, y): (f64, f64), (from_x, from_y): (f64, f64), (to_x, to_y): (f64, f64)) -> f64 {
    let (right, down) = (to_x - from_x, to_y - from_y);
    let length_squared = right * right + down * down;
    let along = if length_squared > 0.0 {
        (((x - from_x) * right + (y - from_y) * down) / length_squared).clamp(0.0, 1.0)
    } else {
        0.0
    };
    (x - from_x - along * right).hypot(y - from_y - along * down)
}

fn tenths(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, part) = (value.unsigned_abs() / 10, value.unsigned_abs() % 10);
    if part == 0 { format!("{sign}{whole}") } else { format!("{sign}{whole}.{part}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a path as a browser does; `None` is an interruption.
    fn read(path: &str) -> Vec<Point> {
        let apart = path.replace('-', " -");
        let apart = ["M", "m", "l", "h"]
            .iter()
            .fold(apart, |text, letter| text.replace(letter, &format!(" {letter} ")));
        let mut words = apart.split_whitespace();
        let (mut at, mut places) = ((0.0, 0.0), Vec::new());
        while let Some(letter) = words.next() {
            let mut next = || words.next().unwrap().parse::<f64>().unwrap();
            let (x, y) = if letter == "h" { (next(), 0.0) } else { (next(), next()) };
            at = if letter == "M" { (x, y) } else { (at.0 + x, at.1 + y) };
            if letter.eq_ignore_ascii_case("m") && !places.is_empty() {
                places.push(None);
            }
            places.push(Some(at));
        }
        places
    }

    #[test]
    fn straight_line_is_reduced_to_its_end_points() {
        let points = |ys: [f64; 5]| (0..).zip(ys).map(|(x, y)| Some((f64::from(x) * 2.0, y)));
        let straight: Vec<Point> = points([1.0, 1.2, 0.9, 1.1, 1.0]).collect();
        assert_eq!(brief(&straight), "M0 1h8");
        assert_eq!(full(straight.into_iter()), "M0 1l2 0.2l2 -0.3l2 0.2l2 -0.1");
        let bent: Vec<Point> = points([1.0, 1.0, 9.0, 1.0, 1.0]).collect();
        assert_eq!(brief(&bent), "M0 1h2l2 8l2-8h2");
        // A line that returns to its start is not dropped.
        assert_eq!(brief(&[Some((0.0, 0.0)), Some((5.0, 0.0)), Some((0.0, 0.0))]), "M0 0h5h-5");
    }

    #[test]
    fn gaps_separate_path_segments() {
        let parted = [Some((0.0, 0.0)), Some((3.0, 0.0)), None, Some((5.0, 0.5)), None, None];
        assert_eq!(brief(&parted), "M0 0h3m2 0.5");
        assert_eq!(full(parted.into_iter()), "M0 0l3 0M5 0.5");
        assert_eq!(brief(&[]), "");
        assert_eq!(dots([(1.0, 2.0), (3.0, 1.0), (3.0, 1.0)].into_iter()), "M1 2h0m2-1h0m0 0h0");
    }

    proptest! {
        #[test]
        fn relative_path_steps_reach_the_points(
            points in prop::collection::vec(prop::option::weighted(0.9, (0.0f64..900.0, 0.0f64..400.0)), 2..50),
        ) {
            let drawn = read(&full(points.iter().copied()));
            let expected: Vec<_> = points.iter().flatten().collect();
            for (drawn, point) in drawn.iter().flatten().zip(expected) {
                prop_assert!((drawn.0 - point.0).abs() < 0.06 && (drawn.1 - point.1).abs() < 0.06);
            }
        }

        #[test]
        fn simplified_line_passes_near_all_points(
            points in prop::collection::vec(prop::option::weighted(0.9, (0.0f64..90.0, 0.0f64..9.0)), 2..80),
        ) {
            let drawn = read(&brief(&points));
            let pieces: Vec<_> = drawn.split(Option::is_none).collect();
            for point in points.iter().flatten() {
                let near = |piece: &[Point]| {
                    let ends: Vec<(f64, f64)> = piece.iter().flatten().copied().collect();
                    let alone = ends.iter().map(|end| distance(*point, *end, *end));
                    let between = ends.windows(2).map(|ends| distance(*point, ends[0], ends[1]));
                    alone.chain(between).fold(f64::INFINITY, f64::min)
                };
                let nearest = pieces.iter().map(|piece| near(piece)).fold(f64::INFINITY, f64::min);
                prop_assert!(nearest < OFF + 0.1, "{point:?} is {nearest} off {drawn:?}");
            }
        }
    }
}
