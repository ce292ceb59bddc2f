//! Results of many searches of one device.

use super::scenarios::{Scenario, Truth};
use iogauge_lab::search::SearchOutcome;
use std::fmt::Write;

/// Maximum relative error of an answer without chance: of tens of thousands of I/Os, those that begin in the window and
/// end after it.
const EXACT: f64 = 1e-3;

/// Maximum width of the median CI relative to that of an oracle, which knows how far answers are off the true capacity:
/// an overly wide CI must not pass.
pub const WIDEST: f64 = 2.0;

/// From this queue depth on, the IOPS of neighbouring queue depths differ by less than a tenth.
const FEW_DEPTHS: u32 = 10;

/// Minimum number of searches from which the errors of the answers are known well enough.
pub const TELLING: usize = 50;

/// Returns the half-width of the interval that contains the true capacity in 95 % of searches with these relative
/// errors.
pub fn oracle(errors: impl Iterator<Item = f64>) -> f64 {
    let squares: Vec<f64> = errors.map(|error| error * error).collect();
    1.96 * (squares.iter().sum::<f64>() / squares.len() as f64).sqrt()
}

/// One search.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// Relative error of the answer.
    error: f64,
    covered: bool,
    queue_depth: u32,
    /// Half-width of the CI, relative to the answer.
    half_width: f64,
    n: u64,
    met: bool,
    seconds: f64,
    over_budget: bool,
    steady: bool,
}

impl Outcome {
    pub fn new(found: &SearchOutcome, truth: f64, budget_seconds: f64) -> Self {
        let answer = &found.search.answer;
        let [low, high] = answer.iops.ci95;
        let point = found.search.curve.iter().find(|p| p.queue_depth == answer.queue_depth);
        Self {
            error: answer.iops.mean / truth - 1.0,
            covered: (low..=high).contains(&truth),
            queue_depth: answer.queue_depth,
            half_width: (high - low) / 2.0 / answer.iops.mean,
            n: answer.iops.n,
            met: answer.met,
            seconds: found.search.measured_seconds,
            over_budget: found.search.measured_seconds > budget_seconds * 1.01,
            steady: point.is_some_and(|p| p.steady),
        }
    }
}

/// All searches of one device.
pub struct Row {
    pub scenario: &'static Scenario,
    pub truth: f64,
    pub outcomes: Vec<Outcome>,
}

fn percentile(values: impl Iterator<Item = f64>, share: f64) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    sorted[((sorted.len() - 1) as f64 * share).round() as usize]
}

impl Row {
    fn percent(&self, of: impl Fn(&Outcome) -> bool) -> f64 {
        let count = self.outcomes.iter().filter(|o| of(o)).count();
        count as f64 * 100.0 / self.outcomes.len() as f64
    }

    fn worst_error(&self) -> f64 {
        self.outcomes.iter().map(|o| o.error.abs()).fold(0.0, f64::max)
    }

    fn half_width(&self) -> f64 {
        percentile(self.outcomes.iter().map(|o| o.half_width), 0.5)
    }

    /// Returns the median CI divided by the oracle's.
    fn beside_oracle(&self) -> f64 {
        self.half_width() / oracle(self.outcomes.iter().map(|o| o.error))
    }

    /// Returns what would be wrong in the table.
    pub fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        let name = self.scenario.name;
        let worst = self.worst_error();
        if worst > self.scenario.tolerance() {
            faults.push(format!("{name}: an answer {:.1} % off the truth", worst * 100.0));
        }
        if self.outcomes.iter().any(|o| o.over_budget) {
            faults.push(format!("{name}: a search over its budget"));
        }
        if self.outcomes.iter().any(|o| !o.met) {
            faults.push(format!("{name}: a limit that can be met was not"));
        }
        let covered = self.percent(|o| o.covered);
        // With few seeds the percentage is uncertain: this bound fails for 1 of 10,000 good searches.
        let n = self.outcomes.len() as f64;
        let slack = if n >= 200.0 { 0.0 } else { 4.0 * (0.05 * 0.95 / n).sqrt() * 100.0 };
        if self.scenario.chance && covered < 92.0 - slack {
            faults.push(format!("{name}: intervals cover the truth in {covered:.1} % of runs"));
        }
        let wider = self.beside_oracle();
        // With few queue depths the slope of the curve is hardly known, and the CI is wide.
        let is_fine = self.outcomes.iter().all(|o| o.queue_depth >= FEW_DEPTHS);
        let tells = self.scenario.chance && self.outcomes.len() >= TELLING;
        if tells && is_fine && wider > WIDEST {
            faults.push(format!("{name}: intervals are {wider:.2} times as wide as need be"));
        }
        if !self.scenario.chance && worst > EXACT {
            faults.push(format!("{name}: a truth without chance is missed by {worst}"));
        }
        faults
    }
}

/// Returns the table in docs/search.md.
pub fn render(rows: &[Row]) -> String {
    let mut text = String::from(
        "| device, limit | truth from | capacity | answers off it: median; worst | interval ± | of the oracle's | covers | depth | measured s | steady |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let all = || row.outcomes.iter();
        let source = match row.scenario.truth {
            Truth::Formula(_) => "formula",
            Truth::Erlang { .. } => "Erlang C",
            Truth::Sweep => "sweep",
        };
        let (oracle, covers) = if row.scenario.chance {
            (format!("{:.2}", row.beside_oracle()), format!("{:.1} %", row.percent(|o| o.covered)))
        } else {
            (String::new(), "exact".to_owned())
        };
        let queue_depth = |share| percentile(all().map(|o| f64::from(o.queue_depth)), share);
        let queue_depths = if row.scenario.open_loop {
            String::new()
        } else {
            format!("{:.0} ({:.0}–{:.0})", queue_depth(0.5), queue_depth(0.0), queue_depth(1.0))
        };
        let _ = writeln!(
            text,
            "| {} ({}) | {source} | {:.0} | {:+.2} %; {:.2} % | {:.2} % (n {:.0}) | {oracle} | {covers} | {queue_depths} | {:.1} | {:.0} % |",
            row.scenario.name,
            row.scenario.limits.join(", "),
            row.truth,
            percentile(all().map(|o| o.error), 0.5) * 100.0,
            row.worst_error() * 100.0,
            row.half_width() * 100.0,
            percentile(all().map(|o| o.n as f64), 0.5),
            percentile(all().map(|o| o.seconds), 0.5),
            row.percent(|o| o.steady),
        );
    }
    text
}
