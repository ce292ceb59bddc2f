//! Heat maps of latency: time from left to right, latency upwards; the shade is the share of an interval's
//! I/Os.

use crate::chart::{Ink, Mark, Scale, Stroke};
use iogauge_model::result::{LATENCY_BANDS, LatencyBands, latency_band_low_ns};

/// The largest share of each shade, in percent, with its legend. The steps are nearly logarithmic, because
/// rare I/Os are what such a map should reveal.
const SHADES: [(f64, &str); Ink::HEATS as usize] = [
    (0.1, "up to 0.1 % of the I/Os of an interval"),
    (1.0, "1 %"),
    (3.0, "3 %"),
    (10.0, "10 %"),
    (30.0, "30 %"),
    (100.0, "100 %"),
];

/// One interval.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    begin: f64,
    end: f64,
    /// The bands that contain I/Os, each with its shade.
    shades: Vec<(usize, u8)>,
}

impl Column {
    /// Returns the column of the interval between two times.
    pub fn of(bands: &LatencyBands, begin: f64, end: f64) -> Self {
        let all = bands.count() as f64;
        let shade = |count: u64| {
            let percent = count as f64 * 100.0 / all;
            SHADES.iter().position(|(most, _)| percent <= *most).unwrap_or(SHADES.len() - 1) as u8
        };
        let held = bands.iter().filter(|(_, count)| *count > 0);
        Self { begin, end, shades: held.map(|(band, count)| (band, shade(count))).collect() }
    }
}

/// Returns the lowest and highest latency of a band as drawn. A logarithmic axis has no 0 and needs an
/// upper end.
fn edges_ns(band: usize) -> [f64; 2] {
    let low = |band| latency_band_low_ns(band) as f64;
    match band {
        0 => [low(1) / 2.0, low(1)],
        band if band + 1 < LATENCY_BANDS => [low(band), low(band + 1)],
        band => [low(band), low(band) * 2.0],
    }
}

/// Returns the ends of the latency axis; `None` if no column has an I/O.
pub fn ends_ns(columns: &[Column]) -> Option<[f64; 2]> {
    let bands = || columns.iter().flat_map(|column| &column.shades).map(|(band, _)| *band);
    Some([edges_ns(bands().min()?)[0], edges_ns(bands().max()?)[1]])
}

/// Draws the map as one line per shade, as thick as a band is high. Adjacent columns of one shade form one
/// stroke, so that a long run takes little space in the file.
pub fn marks(columns: &[Column], x: Scale, y: Scale) -> Vec<Mark> {
    let Some([least, most]) = ends_ns(columns) else { return Vec::new() };
    // On a logarithmic axis, all bands have the same height. The addition closes the seams between them.
    let height = (y.at(least) - y.at(least * 2f64.sqrt())).abs() + 0.3;
    let mut lines: Vec<Vec<Option<(f64, f64)>>> = vec![Vec::new(); SHADES.len()];
    // Wide columns end at whole pixels, which is sharper and shorter.
    let widths = || columns.iter().map(|column| x.at(column.end) - x.at(column.begin));
    let is_wide =
        widths().sum::<f64>() > 6.0 * columns.len() as f64 && widths().all(|px| px >= 1.0);
    let edge = |at: f64| if is_wide { x.at(at).round() } else { x.at(at) };
    for band in 0..LATENCY_BANDS {
        let [low, high] = edges_ns(band);
        if high <= least || low >= most {
            continue;
        }
        let middle = y.at((low * high).sqrt());
        for (begin, end, shade) in strokes(columns, band) {
            let line = &mut lines[usize::from(shade)];
            line.extend([Some((edge(begin), middle)), Some((edge(end), middle)), None]);
        }
    }
    let drawn = (0..).zip(lines).filter(|(_, points)| !points.is_empty());
    drawn
        .map(|(shade, points)| Mark::Line {
            points,
            stroke: Stroke::solid(Ink::Heat(shade), height),
        })
        .collect()
}

/// Returns the periods in which a band keeps its shade.
fn strokes(columns: &[Column], band: usize) -> Vec<(f64, f64, u8)> {
    let mut strokes: Vec<(f64, f64, u8)> = Vec::new();
    for column in columns {
        let Ok(found) = column.shades.binary_search_by_key(&band, |(band, _)| *band) else {
            continue;
        };
        let (_, shade) = column.shades[found];
        // Ends of intervals are sums of their lengths and differ in the last digits.
        let near = (column.end - column.begin) * 0.01;
        match strokes.last_mut() {
            Some((_, end, same)) if *same == shade && (column.begin - *end).abs() <= near => {
                *end = column.end;
            }
            _ => strokes.push((column.begin, column.end, shade)),
        }
    }
    strokes
}

/// Returns the legend of the shades.
pub fn legend() -> [(Ink, &'static str); SHADES.len()] {
    std::array::from_fn(|shade| (Ink::Heat(shade as u8), SHADES[shade].1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_model::Histogram;

    fn column(begin: f64, latencies: &[(u64, u64)]) -> Column {
        let mut histogram = Histogram::new();
        latencies.iter().for_each(|(ns, n)| histogram.record_n(*ns, *n));
        Column::of(&LatencyBands::of(&histogram), begin, begin + 1.0)
    }

    #[test]
    fn heat_map_shades_reflect_latency_shares() {
        let mixed = column(0.0, &[(100_000, 9_900), (1_000_000, 95), (50_000_000, 5)]);
        let shades: Vec<u8> = mixed.shades.iter().map(|(_, shade)| *shade).collect();
        assert_eq!(shades, [5, 1, 0]);
        assert_eq!(column(0.0, &[]).shades, []);
    }

    #[test]
    fn unchanged_heat_map_cells_share_one_stroke() {
        let same = [(100_000, 10)];
        let columns: Vec<Column> = [0.0, 1.0, 2.0, 4.0].map(|at| column(at, &same)).into();
        let (x, y) = (Scale::linear([0.0, 5.0], [0.0, 50.0]), Scale::log(1e4, 1e6, [100.0, 0.0]));
        let marks = marks(&columns, x, y);
        let [Mark::Line { points, stroke }] = marks.as_slice() else { panic!("{marks:?}") };
        assert_eq!(stroke.ink, Ink::Heat(5));
        let ends: Vec<f64> = points.iter().flatten().map(|(x, _)| *x).collect();
        assert_eq!(ends, [0.0, 30.0, 40.0, 50.0]);
    }

    #[test]
    fn heat_map_range_includes_extreme_latencies() {
        let columns = [column(0.0, &[(0, 1), (u64::MAX, 1)])];
        let [least, most] = ends_ns(&columns).unwrap();
        assert!(least > 0.0 && most > 2f64.powi(40));
        assert_eq!(ends_ns(&[column(0.0, &[])]), None);
    }
}
