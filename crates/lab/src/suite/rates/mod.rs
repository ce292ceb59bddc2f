//! Suites whose figures are the settings of other software. Each measures fixed loads one after the other, as the
//! software's own tool does, and its figures have the names of the settings.

pub(super) mod iocost;
pub(super) mod seastar;
#[cfg(test)]
mod tests;

use super::SuiteStep;
use super::kit::{Column, Row, iops, listed, table, words};
use iogauge_model::load::Load;
use iogauge_model::result::{
    Cell, Conclusion, MeasuredRate, RatesFindings, SuiteStepResult, SuiteTable,
};
use iogauge_model::units::{Bandwidth, Count};
use iogauge_model::{Caveat, CaveatCode, Step};
use serde_json::json;

/// The smaller block of these suites.
const SMALL_BYTES: u64 = 4096;

/// The unit of a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Ios,
    Bytes,
}

/// A figure and how it is measured.
#[derive(Debug, Clone, PartialEq)]
struct Figure {
    /// Its name in the settings, and the key of its step.
    name: &'static str,
    unit: Unit,
    load: Load,
    ramp_ns: u64,
    runtime_ns: u64,
}

impl Figure {
    fn step(&self) -> SuiteStep {
        let step = Step::single(self.load.clone(), self.ramp_ns, self.runtime_ns);
        SuiteStep::single("rates", self.name, step)
    }

    /// Returns the rate, if its step is complete.
    fn rate(&self, steps: &[SuiteStepResult]) -> Option<Rate> {
        let measured = steps.iter().find(|step| step.place.key == self.name)?;
        let step = measured.step().filter(|_| !measured.interrupted)?;
        let (row, iops) = (Row::of(self.name, step)?, iops(step));
        let bytes_per_sec = iops.times(self.load.mean_block_bytes());
        let (name, load) = (self.name.to_owned(), self.load.label());
        Some(Rate {
            unit: self.unit,
            row,
            measured: MeasuredRate { name, load, iops, bytes_per_sec },
        })
    }
}

/// The measured rate of a figure.
#[derive(Debug, Clone, PartialEq)]
struct Rate {
    unit: Unit,
    row: Row,
    measured: MeasuredRate,
}

impl Rate {
    /// Returns half the width of the interval in percent, if there is an interval.
    fn half_width(&self) -> Cell {
        let iops = &self.measured.iops;
        if iops.n < 2 { Cell::Empty } else { Cell::Percent(iops.relative_error() * 100.0) }
    }

    /// Describes the rate in the unit of its figure: `read_iops 81,204 IOPS`.
    fn text(&self) -> String {
        let MeasuredRate { name, iops, bytes_per_sec, .. } = &self.measured;
        match self.unit {
            Unit::Ios => format!("{name} {} IOPS", Count(iops.mean.round())),
            Unit::Bytes => format!("{name} {}", Bandwidth(bytes_per_sec.mean)),
        }
    }
}

/// True for a caveat that concerns rates: percentiles, which may take more I/Os, are none of the figures.
fn concerns(caveat: &Caveat, _: &SuiteStepResult) -> bool {
    caveat.code != CaveatCode::TooFewSamples
}

/// Returns verdict, table and findings. `purpose` names what the figures are for.
fn conclude(purpose: &str, figures: &[Figure], steps: &[SuiteStepResult]) -> Conclusion {
    let rates: Vec<Rate> = figures.iter().filter_map(|figure| figure.rate(steps)).collect();
    let first = match rates.len() {
        number if number == figures.len() => {
            format!("For {purpose}: {}.", listed(rates.iter().map(Rate::text), ", "))
        }
        number => format!("{number} of the {} figures of {purpose} were measured.", figures.len()),
    };
    let columns: &[Column<'_, &Rate>] = &[
        ("#figure", &|rate| words(&rate.measured.name)),
        ("#load", &|rate| words(&rate.measured.load)),
        ("IOPS", &|rate| rate.row.iops()),
        ("±", &|rate| rate.half_width()),
        ("bandwidth", &|rate| rate.row.bandwidth()),
        ("mean", &|rate| rate.row.mean()),
    ];
    let mut table = table(format!("Figures of {purpose}"), &rates, columns);
    table.notes.push("±: half the width of the 95 % CI of the rate.".to_owned());
    let findings = RatesFindings { rates: rates.into_iter().map(|rate| rate.measured).collect() };
    Conclusion {
        verdict: vec![first],
        tables: vec![SuiteTable::Own(table)],
        findings: json!(findings),
    }
}
