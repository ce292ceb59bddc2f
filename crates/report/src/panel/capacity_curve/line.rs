//! Lines of a capacity curve: a latency statistic at each point.

use crate::chart::Ink;
use crate::exhibit::Capacity;
use crate::terminal::{Terms, statistic_ns};
use iogauge_model::Limit;
use iogauge_model::limit::{Metric, Side};
use iogauge_model::result::{Answer, CurvePoint, LatencySummary, LimitValue};

/// Statistics of all I/Os that every curve has.
const USUAL: [Metric; 4] =
    [Metric::Mean, Metric::Percentile(95.0), Metric::Percentile(99.0), Metric::Percentile(99.9)];

/// Inks of statistics that only a limit bounds. They repeat after the last.
const LIMITED: [Ink; 4] = [Ink::Series(7), Ink::Series(4), Ink::Series(5), Ink::Series(6)];

/// A latency statistic of all I/Os, of one direction, or of the worst host.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Statistic {
    each: bool,
    side: Side,
    metric: Metric,
}

impl Statistic {
    pub(super) const MEAN: Self = Self { each: false, side: Side::Any, metric: Metric::Mean };

    /// Returns the statistic that a limit bounds.
    pub(super) fn of(limit: &Limit) -> Self {
        Self { each: limit.each, side: limit.side, metric: limit.metric }
    }

    /// Returns its value at a point in nanoseconds; `None` if it was not kept, or without I/Os of its direction.
    pub(super) fn at(self, point: &CurvePoint) -> Option<f64> {
        self.value_ns(&point.latency_ns, &point.limits)
    }

    /// Returns its value at the answer in nanoseconds, as [`Self::at`].
    pub(super) fn at_answer(self, answer: &Answer) -> Option<f64> {
        self.value_ns(&answer.latency_ns, &answer.limits)
    }

    fn value_ns(self, summary: &LatencySummary, limits: &[LimitValue]) -> Option<f64> {
        let own = || limits.iter().find(|value| Self::of(&value.limit) == self)?.value_ns;
        let of_all =
            (self.side == Side::Any && !self.each).then(|| statistic_ns(summary, self.metric));
        of_all.flatten().or_else(own).filter(|ns| ns.is_finite())
    }

    /// Returns the title of an axis: `p99 write latency`.
    pub(super) fn title(self, terms: Terms) -> String {
        let whose = if self.each { " of the worst host" } else { "" };
        format!("{} {}latency{whose}", self.metric, terms.side(self.side))
    }
}

/// A line of a curve.
#[derive(Debug)]
pub(super) struct Line {
    /// Its name in the legend: `p95`, `write:p99`.
    pub name: String,
    pub ink: Ink,
    pub wide: f64,
    pub statistic: Statistic,
}

/// Returns the lines of a curve: the usual ones, and one for each other statistic that a limit bounds.
pub(super) fn lines(capacity: &Capacity<'_>) -> Vec<Line> {
    let usual = (0..).zip(USUAL).map(|(number, metric)| Line {
        name: metric.to_string(),
        ink: Ink::Series(number),
        wide: if number == 0 { 2.2 } else { 1.4 },
        statistic: Statistic { each: false, side: Side::Any, metric },
    });
    let mut lines: Vec<Line> = usual.collect();
    for limit in capacity.limits.iter() {
        let statistic = Statistic::of(limit);
        let is_drawn = lines.iter().any(|line| line.statistic == statistic);
        if is_drawn || capacity.curve.iter().all(|point| statistic.at(point).is_none()) {
            continue;
        }
        let ink = LIMITED[(lines.len() - USUAL.len()) % LIMITED.len()];
        // Wide, because it lies behind the others, with which it may coincide.
        lines.push(Line { name: capacity.terms.words.statistic(limit), ink, wide: 3.0, statistic });
    }
    lines
}
