//! Classic tables: rows that scripts around fio printed from its outputs, and that iogauge prints too.
//!
//! There are three forms: printed text, CSV with a header, and R code with a matrix. The content of each line decides
//! which form it has. A row is a line.

mod cells;
mod matrix;
mod printed;
mod row;

use crate::results_in::Problem;
use iogauge_model::classic::{COLUMNS, SYSTEM_COLUMN};
use iogauge_model::result::FioResult;
use matrix::{Frame, Matrix};
use std::borrow::Cow;
use std::sync::Arc;

/// No header of CSV is shorter.
const SHORTEST_HEADER: usize = 150;
/// Longer names of systems are a mistake.
const LONGEST_NAME: usize = 255;

/// The name of a system; `None` if the file does not name it.
pub(super) type System = Option<Arc<str>>;

/// Something found in a table.
#[derive(Debug, PartialEq)]
pub(super) enum Found {
    Result(System, Box<FioResult>),
    Problem(Problem),
}

/// What the next lines belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Anything; a row of printed text may come without a heading.
    Text,
    /// Printed text below its heading.
    Printed,
    /// CSV below its header; true if the first column is the system.
    Csv(bool),
    /// Cells of a matrix; true if it had a row.
    Matrix(bool),
}

/// Reads tables line by line.
#[derive(Debug)]
pub(super) struct ClassicReader<'a> {
    file: &'a str,
    mode: Mode,
    /// The last line of other text, which may name the system of a printed table; empty behind a table.
    heading: String,
    /// The system of printed tables: a heading holds until the next one.
    system: System,
    frame: Frame,
    /// The reads of a mixed test, whose writes may be the next row.
    half: Option<(System, Box<FioResult>)>,
}

impl<'a> ClassicReader<'a> {
    /// Creates a reader of the text of `file`, a name for use in results and problems.
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            mode: Mode::Text,
            heading: String::new(),
            system: None,
            frame: Frame::default(),
            half: None,
        }
    }

    /// Takes a trimmed line with its number, from 1. Returns false if it is not part of a table.
    pub(super) fn line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) -> bool {
        let is_part = match self.mode {
            Mode::Text | Mode::Printed => self.printed_line(text, number, sink),
            Mode::Csv(has_system) => self.csv_line(text, has_system, number, sink),
            Mode::Matrix(had_row) => self.matrix_line(text, had_row, number, sink),
        };
        if is_part {
            return true;
        }
        if self.mode != Mode::Text || self.half.is_some() {
            self.mode = Mode::Text;
            self.end_half(sink);
        }
        self.beginning(text, number, sink)
    }

    /// Emits what is left. Call it at the end of the text.
    pub(super) fn finish(&mut self, sink: &mut dyn FnMut(Found)) {
        self.end_frame(sink);
        self.end_half(sink);
    }

    /// Takes a line that begins a table; returns false for any other line.
    fn beginning(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) -> bool {
        if printed::is_heading(text) {
            if !self.heading.is_empty() {
                // What is not a name still ends the tables of the system before it.
                self.system = self.name(number, sink).map(Arc::from);
            }
            self.heading.clear();
            self.mode = Mode::Printed;
            return true;
        }
        if let Some(has_system) = csv_header(text) {
            self.mode = Mode::Csv(has_system);
            return true;
        }
        if self.r_line(text, number, sink) {
            return true;
        }
        self.heading.clear();
        if text.len() <= LONGEST_NAME {
            self.heading.push_str(text);
        } else {
            // Enough to find that it is too long. Decoding each character of all lines would be slow.
            self.heading.extend(text.chars().take(LONGEST_NAME + 1));
        }
        false
    }

    /// Returns the name of the system above a heading.
    fn name(&self, number: u64, sink: &mut dyn FnMut(Found)) -> Option<&str> {
        let name = printed::name_in(&self.heading)?;
        if name.len() > LONGEST_NAME {
            let reason =
                format!("a name of more than {LONGEST_NAME} bytes above a table is ignored");
            self.tell(&reason, number, sink);
            return None;
        }
        Some(name)
    }

    fn printed_line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) -> bool {
        let is_below_heading = self.mode == Mode::Printed;
        if !is_below_heading && !printed::may_be_row(text) {
            return false;
        }
        let Some(cells) = printed::cells(text, is_below_heading) else { return false };
        let row = cells.and_then(|(cells, doubt)| Ok((row::result(&cells)?, doubt)));
        if row.is_err() && !is_below_heading {
            return false;
        }
        self.mode = Mode::Printed;
        self.heading.clear();
        match row {
            Ok((result, doubt)) => {
                let system = self.system.clone();
                self.row(system, result, number, sink);
                doubt.into_iter().for_each(|reason| self.tell(reason, number, sink));
            }
            Err(reason) => self.tell(&format!("row of a table: {reason}"), number, sink),
        }
        true
    }

    fn csv_line(
        &mut self,
        text: &str,
        has_system: bool,
        number: u64,
        sink: &mut dyn FnMut(Found),
    ) -> bool {
        let Some(cells) = cells::of_csv(text) else {
            self.tell("row of CSV: a quote is not closed", number, sink);
            return true;
        };
        if csv_header(text).is_some() || !cells::is_like_row(&cells, usize::from(has_system)) {
            return false;
        }
        match csv_row(&cells, has_system) {
            Ok((system, result)) => self.row(system, result, number, sink),
            Err(reason) => self.tell(&format!("row of CSV: {reason}"), number, sink),
        }
        true
    }

    /// Takes a line of R code that concerns a matrix; returns false for any other line.
    fn r_line(&mut self, text: &str, number: u64, sink: &mut dyn FnMut(Found)) -> bool {
        match matrix::line(text) {
            Some(Matrix::Empty(name)) => {
                self.end_frame(sink);
                self.frame.name = name;
                true
            }
            Some(Matrix::Begins { name, rest }) => {
                if !self.frame.rows.is_empty() {
                    self.end_frame(sink);
                }
                // The line before may have named it already.
                self.frame.name = name.or_else(|| self.frame.name.take());
                self.matrix_line(rest, false, number, sink)
            }
            Some(Matrix::Named(name)) if !self.frame.rows.is_empty() => {
                if !name.is_empty() && name.len() <= LONGEST_NAME {
                    self.frame.name = Some(name);
                }
                self.end_frame(sink);
                true
            }
            _ => false,
        }
    }

    fn matrix_line(
        &mut self,
        text: &str,
        had_row: bool,
        number: u64,
        sink: &mut dyn FnMut(Found),
    ) -> bool {
        let (cells, ends) = cells::of_r(text);
        let is_other = !had_row && !cells.is_empty() && cells.len() < matrix::LEAST_CELLS;
        // R code often has another matrix; iogauge writes one without rows as `character(0)`.
        if is_other && cells != ["character(0"] {
            return false;
        }
        let is_row = cells.len() >= matrix::LEAST_CELLS;
        self.mode = if ends { Mode::Text } else { Mode::Matrix(had_row || is_row) };
        if cells.is_empty() || is_other {
            return true;
        }
        if !cells.len().is_multiple_of(COLUMNS.len()) {
            let reason = format!("row of a matrix: {} cells instead of 31", cells.len());
            self.tell(&reason, number, sink);
            return true;
        }
        for cells in cells.chunks_exact(COLUMNS.len()) {
            match row::of_columns(cells).and_then(|cells| row::result(&cells)) {
                Ok(result) => {
                    let result = self.placed(result, number);
                    self.frame.rows.push(result);
                }
                Err(reason) => self.tell(&format!("row of a matrix: {reason}"), number, sink),
            }
        }
        if self.frame.rows.len() >= matrix::MOST_ROWS {
            self.end_rows(sink);
        }
        true
    }

    fn placed(&self, result: FioResult, number: u64) -> FioResult {
        FioResult { file: self.file.to_owned(), line: number, ..result }
    }

    fn tell(&self, reason: &str, number: u64, sink: &mut dyn FnMut(Found)) {
        sink(Found::Problem(Problem::new(self.file, number, reason)));
    }

    fn row(&mut self, system: System, result: FioResult, number: u64, sink: &mut dyn FnMut(Found)) {
        let result = self.placed(result, number);
        self.pair(system, result, sink);
    }

    /// Emits a result. The reads of a mixed test wait for their writes.
    fn pair(&mut self, system: System, result: FioResult, sink: &mut dyn FnMut(Found)) {
        if let Some((known, mut reads)) = self.half.take() {
            if known == system && row::is_other_half(&reads, &result) {
                reads.write = result.write;
                return sink(Found::Result(system, row::joined(reads)));
            }
            sink(Found::Result(known, reads));
        }
        let is_half = row::is_first_half(&result);
        let result = Box::new(result);
        if is_half {
            self.half = Some((system, result));
        } else {
            sink(Found::Result(system, result));
        }
    }

    fn end_half(&mut self, sink: &mut dyn FnMut(Found)) {
        if let Some((system, result)) = self.half.take() {
            sink(Found::Result(system, result));
        }
    }

    /// Emits the rows of the last matrix and forgets its name.
    fn end_frame(&mut self, sink: &mut dyn FnMut(Found)) {
        self.end_rows(sink);
        self.frame.name = None;
    }

    fn end_rows(&mut self, sink: &mut dyn FnMut(Found)) {
        if self.frame.rows.is_empty() {
            return;
        }
        let system = self.frame.name.as_deref().map(Arc::from);
        for result in std::mem::take(&mut self.frame.rows) {
            self.pair(system.clone(), result, sink);
        }
        self.end_half(sink);
    }
}

/// Returns whether the first column of CSV is the system; `None` if the line is not a header of such CSV.
fn csv_header(text: &str) -> Option<bool> {
    // This rules out almost any other line quickly.
    if text.len() < SHORTEST_HEADER || !text.starts_with(['n', 's', 'N', 'S', '"']) {
        return None;
    }
    let cells = cells::of_csv(text)?;
    let is = |cells: &[_], names: &[&str]| {
        let cells = cells::within(cells, names.len());
        let alike = |(cell, name): (&Cow<'_, str>, &&str)| cell.eq_ignore_ascii_case(name);
        cells.len() == names.len() && cells.iter().zip(names).all(alike)
    };
    if is(&cells, &COLUMNS) {
        return Some(false);
    }
    let (first, rest) = cells.split_first()?;
    (first.eq_ignore_ascii_case(SYSTEM_COLUMN) && is(rest, &COLUMNS)).then_some(true)
}

fn csv_row(cells: &[Cow<'_, str>], has_system: bool) -> Result<(System, FioResult), String> {
    let columns = COLUMNS.len() + usize::from(has_system);
    let cells = cells::within(cells, columns);
    if cells.len() != columns {
        return Err(format!("{} cells instead of {columns}", cells.len()));
    }
    let (system, cells) = cells.split_at(usize::from(has_system));
    let system = system.first().map(|name| cells::unescaped(name)).filter(|name| !name.is_empty());
    if system.is_some_and(|name| name.len() > LONGEST_NAME) {
        return Err(format!("the name of the system has more than {LONGEST_NAME} bytes"));
    }
    let result = row::result(&row::of_columns(cells)?)?;
    Ok((system.map(Arc::from), result))
}

#[cfg(test)]
mod tests;
