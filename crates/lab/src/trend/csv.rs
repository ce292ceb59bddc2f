//! A series as CSV, for other tools that look for changes.

use super::{Measured, Series};
use csv::Writer;
use iogauge_model::plain_text::csv_cell;
use iogauge_model::result::TrendMetric;
use std::io::{self, Write};

/// The first column. The number rises when a column changes its position or meaning.
const FORMAT: &str = "iogauge.trend-csv/1";
/// The columns before those of the metrics.
const FIRST: [&str; 5] = ["format", "time", "run_id", "target", "label"];
/// The columns after them.
const LAST: [&str; 2] = ["iops_ci95_low", "iops_ci95_high"];

impl Series {
    /// Writes one row for each run, in time order: the start of the run as RFC 3339 in UTC, attributes, and all metrics
    /// by their names in [`TrendMetric::ALL`]. A value that is not known is empty. Apache Otava reads this as a test of
    /// type `csv` with the time column `time`.
    ///
    /// # Errors
    /// The writer fails.
    pub fn write_csv(&self, writer: &mut dyn Write) -> io::Result<()> {
        let mut table = Writer::from_writer(writer);
        let metrics = TrendMetric::ALL.iter().map(|(_, _, name)| *name);
        table.write_record(FIRST.into_iter().chain(metrics).chain(LAST))?;
        for run in &self.runs {
            for cell in cells(run) {
                table.write_field(csv_cell(&cell).as_bytes())?;
            }
            // Ends the row.
            table.write_record(None::<&[u8]>)?;
        }
        table.flush()
    }
}

fn cells(run: &Measured) -> Vec<String> {
    let label = run.label.clone().unwrap_or_default();
    let first =
        [FORMAT.to_owned(), run.started.clone(), run.run_id.clone(), run.target.clone(), label];
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| value.to_string());
    let value = |metric| run.value(metric).map(|(value, _)| value);
    let values = TrendMetric::ALL.iter().map(|(metric, ..)| number(value(*metric)));
    let ci95 = run.value(TrendMetric::Iops).and_then(|(_, ci95)| ci95);
    let ends = [0, 1].map(|end: usize| number(ci95.map(|ci95| ci95[end])));
    first.into_iter().chain(values).chain(ends).collect()
}
