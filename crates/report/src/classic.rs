//! The classic table: one row per direction of each test, as scripts around fio have printed it for years,
//! and the same rows as an R data frame and as CSV.
//!
//! Figures keep the units and digits of those scripts: MB are MiB per second, latencies are milliseconds,
//! shares are percentages truncated to integers. `docs/formats.md` gives the source of each figure.

use crate::csv::Rows;
use crate::rows::{FINE, Fold, Row, WIDE};
use ::csv::Error;
pub use iogauge_model::classic::COLUMNS;
use iogauge_model::classic::SYSTEM_COLUMN;
use iogauge_model::plain_text::shown_in_line;
use std::io::Write;

/// Optional columns of [`plain`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extra {
    /// Shares of I/Os by latency, in percent; empty if there are none.
    pub buckets: bool,
    /// Percentiles of completion latency, in milliseconds.
    pub percentiles: bool,
    /// True if the heading of the bandwidth is its unit, MiB/s. The scripts print MB.
    pub units: bool,
}

/// Formats the rows as text. Unknown figures are `-`.
#[must_use]
pub fn plain(rows: &[Row], extra: Extra) -> String {
    let bandwidth = if extra.units { "MiB/s" } else { "MB" };
    let mut text =
        format!("test  users size   {bandwidth:>8}       ms      min      max      std    IOPS");
    if extra.buckets {
        text.push_str("    50us   1ms   4ms  10ms  20ms  50ms   .1s    1s    2s   2s+");
    }
    if extra.percentiles {
        text.push_str("       95%      99%    99.5%    99.9%  99.95%    99.99%");
    }
    // The scripts end their heading with a space.
    text.push_str(" \n");
    for row in rows {
        let unknown = || "-".to_owned();
        let users = row.users.map_or_else(unknown, |users| users.to_string());
        let size = row.size_text().unwrap_or_else(unknown);
        let (test, side) = (shown_in_line(&row.test), row.side);
        text.push_str(&format!("{test:>8} {users:>2} {size:>4} {side}"));
        for figure in row.speed_and_latency() {
            let figure = figure.map_or_else(unknown, |figure| format!("{figure:.3}"));
            text.push_str(&format!(" {figure:>8}"));
        }
        text.push_str(&format!(" {:>7.0}", row.iops));
        if extra.buckets {
            text.push(' ');
            for share in row.shares(&WIDE) {
                text.push_str(&format!(" {:>5}", share.map_or_else(unknown, Fold::blank)));
            }
        }
        if extra.percentiles {
            for ms in row.percentiles_ms() {
                let ms = ms.map_or_else(unknown, |ms| format!("{ms:.3}"));
                text.push_str(&format!(",{ms:>8}"));
            }
        }
        text.push('\n');
    }
    text
}

/// Returns R code that creates `m`, a data frame with the columns [`COLUMNS`] and a row per element of
/// `rows`, and sets `testtype` to `name`. Numbers have R's numeric type; unknown figures are `NA`.
#[must_use]
pub fn r_frame(rows: &[Row], name: &str) -> String {
    let mut text = "m <- NULL\nm <- matrix(c(\n".to_owned();
    for (index, row) in rows.iter().enumerate() {
        let mut cells = cells(row, "NA");
        for cell in [0, 2] {
            if cells[cell] != "NA" {
                cells[cell] = quoted(&cells[cell]);
            }
        }
        text.push(if index == 0 { ' ' } else { ',' });
        for (column, cell) in cells.iter().enumerate() {
            let width = [10, 3, 7, 8, 9, 9, 9, 9, 7].get(column).copied().unwrap_or(2);
            let comma = if column == 0 { "" } else { "," };
            text.push_str(&format!("{comma}{cell:>width$}"));
        }
        text.push('\n');
    }
    if rows.is_empty() {
        text.push_str("character(0)\n");
    }
    let names: Vec<String> = COLUMNS.iter().map(|name| format!("\"{name}\"")).collect();
    text.push_str(&format!("),ncol={},byrow=TRUE)\n", COLUMNS.len()));
    let halves = names.split_at(names.len() / 2);
    text.push_str(&format!("colnames <- c({},\n  {})\n", halves.0.join(","), halves.1.join(",")));
    text.push_str("colnames(m) <- colnames\n");
    text.push_str("m <- data.frame(m, stringsAsFactors=FALSE)\n");
    text.push_str("m[-c(1,3)] <- lapply(m[-c(1,3)], as.numeric)\n");
    text.push_str(&format!("testtype <- {}\n", quoted(name)));
    text
}

/// Writes the rows as CSV with the columns `system` and [`COLUMNS`]. Unknown figures are empty.
///
/// # Errors
/// Fails if the writer fails.
pub fn csv(rows: &[Row], writer: impl Write) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    table.write_record([SYSTEM_COLUMN].iter().chain(&COLUMNS))?;
    for row in rows {
        let cells = cells(row, "");
        table.write_record([&row.system].into_iter().chain(&cells))?;
    }
    Ok(table.flush()?)
}

/// Returns the cells of [`COLUMNS`].
fn cells(row: &Row, unknown: &str) -> Vec<String> {
    let or_unknown = |text: Option<String>| text.unwrap_or_else(|| unknown.to_owned());
    let figure = |value: Option<f64>| or_unknown(value.map(|value| format!("{value:.3}")));
    let mut cells = vec![
        row.name(),
        or_unknown(row.users.map(|users| users.to_string())),
        or_unknown(row.size_text()),
    ];
    cells.extend(row.speed_and_latency().map(figure));
    cells.push(format!("{:.0}", row.iops));
    cells.extend(row.shares(&FINE).map(|share| or_unknown(share.map(|share| share.zero()))));
    cells.extend(row.percentiles_ms().map(figure));
    cells
}

/// Quotes text for R (R Language Definition, 3.1.1).
fn quoted(text: &str) -> String {
    let plain = text.chars().filter(|c| !c.is_control());
    let escaped: String = plain
        .flat_map(|c| matches!(c, '"' | '\\').then_some('\\').into_iter().chain([c]))
        .collect();
    format!("\"{escaped}\"")
}
