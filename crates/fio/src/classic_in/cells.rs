//! Lines of CSV and of R code, divided into cells.

use super::row;
use iogauge_model::plain_text::csv_cell;
use std::borrow::Cow;

/// Divides a line of CSV (RFC 4180) at its commas. Blanks around a cell are dropped. Returns `None` if a quote is not
/// closed.
pub(super) fn of_csv(text: &str) -> Option<Vec<Cow<'_, str>>> {
    let mut cells = Vec::new();
    let mut rest = text;
    loop {
        let (cell, behind) = csv_field(rest.trim_ascii_start())?;
        cells.push(cell);
        match behind.split_once(',') {
            Some((_, next)) => rest = next,
            None => return Some(cells),
        }
    }
}

/// Returns the first cell and the text from its end on. A quoted cell has doubled quotes.
fn csv_field(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(',').unwrap_or(text.len());
        return Some((Cow::Borrowed(text[..end].trim_ascii_end()), &text[end..]));
    };
    let mut cell = String::new();
    let mut rest = quoted;
    while let Some((before, behind)) = rest.split_once('"') {
        cell.push_str(before);
        rest = behind;
        match rest.strip_prefix('"') {
            Some(next) => {
                cell.push('"');
                rest = next;
            }
            None => return Some((Cow::Owned(cell.trim_ascii().to_owned()), rest)),
        }
    }
    None
}

/// Returns the cells without the empty one behind a comma at the end of the line, if they are `columns` otherwise. An
/// empty cell may also be the last one.
pub(super) fn within<'a, 'b>(cells: &'b [Cow<'a, str>], columns: usize) -> &'b [Cow<'a, str>] {
    match cells.split_last() {
        Some((last, others)) if last.is_empty() && others.len() == columns => others,
        _ => cells,
    }
}

/// Removes the apostrophe that iogauge puts before what a spreadsheet would take for a formula.
pub(super) fn unescaped(cell: &str) -> &str {
    let bare = cell.strip_prefix('\'').filter(|bare| csv_cell(bare) == cell);
    bare.unwrap_or(cell)
}

/// Returns true for what was meant as a row: most of its cells are there, or the first ones have the right form.
pub(super) fn is_like_row(cells: &[Cow<'_, str>], first: usize) -> bool {
    let is_sized = || {
        let size = cells.get(first + 2).and_then(|size| row::size(size));
        let users = cells.get(first + 1).and_then(|users| row::users(users));
        size.is_some() && users.is_some()
    };
    cells.len() >= super::matrix::LEAST_CELLS || is_sized()
}

/// Divides a line within R's `c(…)` at its commas. Blanks, quotes and commas at the ends of the line are dropped.
/// The second value is true if the parenthesis is closed.
pub(super) fn of_r(text: &str) -> (Vec<Cow<'_, str>>, bool) {
    let mut cells: Vec<Cow<'_, str>> = Vec::new();
    let mut cell = String::new();
    let (mut is_quoted, mut is_escaped, mut ends) = (false, false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => {
                cell.push(letter);
                is_escaped = false;
            }
            '\\' if is_quoted => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => {
                cells.push(Cow::Owned(std::mem::take(&mut cell).trim().to_owned()))
            }
            ')' if !is_quoted => {
                ends = true;
                break;
            }
            _ => cell.push(letter),
        }
    }
    cells.push(Cow::Owned(cell.trim().to_owned()));
    if cells.last().is_some_and(|last| last.is_empty()) {
        cells.pop();
    }
    if cells.first().is_some_and(|first| first.is_empty()) {
        cells.remove(0);
    }
    (cells, ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_lines_are_divided_at_commas_outside_quotes() {
        let cells = |text| of_csv(text).unwrap();
        assert_eq!(cells(" a , b,\"c, \"\"d\"\"\" ,,"), ["a", "b", "c, \"d\"", "", ""]);
        assert_eq!(cells(""), [""]);
        assert_eq!(of_csv("a,\"open, 1"), None);
    }

    #[test]
    fn r_lines_are_divided_without_their_outer_commas() {
        let (cells, ends) = of_r(",  \"a \\\"b\\\", c\",  1, NA");
        assert_eq!((cells, ends), (vec!["a \"b\", c".into(), "1".into(), "NA".into()], false));
        assert_eq!(of_r("),nrow=31)"), (vec![], true));
        assert_eq!(of_r("1,2)"), (vec!["1".into(), "2".into()], true));
        assert_eq!(of_r("1, 2,"), (vec!["1".into(), "2".into()], false));
    }

    #[test]
    fn only_the_apostrophe_before_a_formula_is_removed() {
        assert_eq!((unescaped("'=1+1"), unescaped("'tis"), unescaped("a")), ("=1+1", "'tis", "a"));
    }
}
