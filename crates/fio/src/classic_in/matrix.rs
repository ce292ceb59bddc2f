//! R code that fills a matrix with the rows of a table, and names the system.

use iogauge_model::result::FioResult;

/// A line with fewer cells is not a row of such a matrix.
pub(super) const LEAST_CELLS: usize = 20;
/// More rows than this do not wait for the name behind their matrix.
pub(super) const MOST_ROWS: usize = 4096;

/// Rows whose system may be named behind them.
#[derive(Debug, Default)]
pub(super) struct Frame {
    pub(super) name: Option<String>,
    pub(super) rows: Vec<FioResult>,
}

/// What a line does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Matrix<'a> {
    /// `NAMEm <- NULL`.
    Empty(Option<String>),
    /// `NAMEm <- matrix(c(`, and the cells behind it.
    Begins { name: Option<String>, rest: &'a str },
    /// `testtype <- "NAME"`.
    Named(String),
}

/// Parses a line; `None` for any other R code, and for other text.
pub(super) fn line(text: &str) -> Option<Matrix<'_>> {
    if !text.starts_with(|first: char| first.is_ascii_alphabetic()) {
        return None;
    }
    // Quicker than a search for both characters: almost no line has the first one.
    let at = memchr::memchr(b'<', text.as_bytes())?;
    let (variable, value) = (text[..at].trim_ascii_end(), text[at..].strip_prefix("<-")?);
    let value = value.trim_ascii_start();
    if variable == "testtype" {
        let (cells, _) = super::cells::of_r(value);
        return Some(Matrix::Named(cells.first()?.clone().into_owned()));
    }
    // The variable of the matrix is the name of the data set and an m.
    let name = variable.strip_suffix('m')?;
    let name = (!name.is_empty()).then(|| name.to_owned());
    if value.trim_ascii_end() == "NULL" {
        return Some(Matrix::Empty(name));
    }
    let rest = value.strip_prefix("matrix(")?.trim_ascii_start().strip_prefix("c(")?;
    Some(Matrix::Begins { name, rest })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_r_code_are_told_apart() {
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(line("m <- NULL"), Some(Matrix::Empty(None)));
        assert_eq!(line("myboxm <- NULL "), Some(Matrix::Empty(name("mybox"))));
        assert_eq!(line("m<-matrix(c("), Some(Matrix::Begins { name: None, rest: "" }));
        let begins = Matrix::Begins { name: name("a.b"), rest: " 1" };
        assert_eq!(line("a.bm <- matrix(c( 1"), Some(begins));
        assert_eq!(line("testtype <- \"my box\""), Some(Matrix::Named("my box".to_owned())));
        for other in ["tm <- t(m)", "m <-tm", "x <- NULL", "", "<-", "m <- data.frame(m)"] {
            assert_eq!(line(other), None, "{other}");
        }
    }
}
