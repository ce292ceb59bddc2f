//! Rows of printed tables: `    read  1   8K r  135.875    0.055 …`.

use super::row::{self, Cells, Share};
use crate::text_in::number;
use iogauge_model::classic::{PERCENTS, PRINTED_BOUNDS_NS};
use std::borrow::Cow;

/// Bandwidth, the four latencies, and IOPS.
const FIGURES: usize = 6;
/// How lines begin that fio prints between figures; a number follows.
const OF_FIO: [&str; 4] = ["fio-", "Starting ", "Jobs: ", "Run status group "];
/// Width of a column of shares. The first one ends this many characters and a blank behind the IOPS.
const SHARE_WIDTH: usize = 6;
/// The shortest row with all its figures.
const SHORTEST: usize = 22;

/// Words that some versions print behind the number of users, which is then glued to the name.
const USERS: [&str; 4] = ["thread", "threads", "thread(s)", "users"];

/// A complaint about a row that is used without the part concerned.
pub(super) type Doubt = Option<&'static str>;

/// Returns true for the line above the rows.
pub(super) fn is_heading(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("test ") else { return false };
    let mut words = rest.split_ascii_whitespace();
    words.next() == Some("users") && words.next() == Some("size")
}

/// Returns the name that a line above the heading gives to the system; `None` for a prompt with the command that printed
/// the table, and for a line of fio.
pub(super) fn name_in(text: &str) -> Option<&str> {
    let name = text.trim_matches(|c: char| matches!(c, '#' | '=' | '*' | '-' | ':' | ' '));
    let has_number = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    let is_of_fio = name.starts_with('|')
        || name.matches('=').count() > 1
        || OF_FIO.iter().any(|begin| text.strip_prefix(begin).is_some_and(has_number));
    let is_name = name.contains(char::is_alphanumeric) && !is_of_fio && !is_prompt(text);
    is_name.then_some(name)
}

/// Returns true for `$ command`, `root@host:~# command` and `[user@host folder]$ command`.
fn is_prompt(text: &str) -> bool {
    let mut words = text.split_ascii_whitespace();
    let ends = |word: &str| match word.strip_suffix(['$', '%', '>', '#']) {
        Some("") => word != "#",
        Some(place) => place.contains(['@', ':', '~', '/', ']']),
        None => false,
    };
    words.next().is_some_and(ends) || words.next().is_some_and(|word| word.len() > 1 && ends(word))
}

/// Quickly rules out almost every line that is not a row.
pub(super) fn may_be_row(text: &str) -> bool {
    let ends =
        |last: &u8| last.is_ascii_digit() || matches!(last, b',' | b'-' | b'k' | b'K' | b'M');
    let bytes = text.as_bytes();
    bytes.len() >= SHORTEST
        && bytes.last().is_some_and(ends)
        && bytes
            .windows(3)
            .take(64)
            .any(|three| matches!(three, [b' ', b'r' | b'w' | b't' | b'm', b' ']))
}

/// A word of a line and where it is.
#[derive(Debug, Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    begin: usize,
}

impl Word<'_> {
    fn end(&self) -> usize {
        self.begin + self.text.len()
    }
}

fn words(text: &str) -> Vec<Word<'_>> {
    let begin = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    text.split_ascii_whitespace().map(|word| Word { text: word, begin: begin(word) }).collect()
}

/// Parses a row; `None` if the line is not one. Below a heading, a line that resembles a row is one.
pub(super) fn cells(
    text: &str,
    is_below_heading: bool,
) -> Option<Result<(Cells<'_>, Doubt), String>> {
    // The percentiles begin with the first comma.
    let (head, behind) = text.split_once(',').unwrap_or((text, ""));
    let words = words(head);
    let is_side = |at: &usize| matches!(words[*at].text, "r" | "w" | "t" | "m");
    let is_sized = |at: &usize| {
        let size = words[at - 1].text;
        size == row::UNKNOWN || row::size(size).is_some()
    };
    let mut sides = (2..words.len()).filter(is_side);
    let Some(side) = sides.clone().find(is_sized) else {
        let has_figure =
            |at: usize| words.get(at + 1).is_some_and(|word| number(word.text).is_some());
        let reason = if sides.any(has_figure) {
            "the block size is neither a size nor -"
        } else if lacks_side(&words) {
            "the direction is missing, which is r, w, t or m"
        } else {
            return None;
        };
        return is_below_heading.then(|| Err(reason.to_owned()));
    };
    let figures = &words[side + 1..];
    if figures.len() < FIGURES {
        let reason = format!("{} figures instead of {FIGURES}", figures.len());
        return is_below_heading.then_some(Err(reason));
    }
    Some(parsed(text, &words, side, behind))
}

/// Returns true for a row without its direction, or without anything behind its users or size.
fn lacks_side(words: &[Word<'_>]) -> bool {
    if let [test, users] = words {
        return row::is_word(test.text) && row::users(users.text).is_some();
    }
    let is_users = |word: &Word<'_>| {
        word.text.ends_with(|c: char| c.is_ascii_digit())
            || word.text == row::UNKNOWN
            || USERS.contains(&word.text)
    };
    // Words of other text have a number before a number, but seldom before a size with its unit.
    (1..words.len()).any(|at| {
        let size = words[at].text;
        let is_clear = size.ends_with(|c: char| c.is_ascii_alphabetic());
        let has_figures = words.len() - at > FIGURES;
        row::size(size).is_some() && (is_clear || has_figures) && is_users(&words[at - 1])
    })
}

fn parsed<'a>(
    text: &'a str,
    words: &[Word<'a>],
    side: usize,
    behind: &'a str,
) -> Result<(Cells<'a>, Doubt), String> {
    let (name, users) = name_and_users(text, words, side)?;
    let figures = &words[side + 1..];
    let mut percentiles: Vec<Cow<'a, str>> =
        behind.split(',').map(|cell| cell.trim_ascii().into()).collect();
    while percentiles.last().is_some_and(|last| last.is_empty()) {
        percentiles.pop();
    }
    if !percentiles.is_empty() && percentiles.len() != PERCENTS.len() {
        return Err(format!("{} percentiles instead of {}", percentiles.len(), PERCENTS.len()));
    }
    let (shares, doubt) = match shares(figures[FIGURES - 1].end(), &figures[FIGURES..]) {
        Some(shares) => (shares, None),
        None => (Vec::new(), Some("the shares are not below their headings; they are left out")),
    };
    let cells = Cells {
        name: name.into(),
        users: users.into(),
        size: words[side - 1].text.into(),
        side: words[side].text.chars().next(),
        figures: std::array::from_fn(|at| figures[at].text.into()),
        shares,
        percentiles,
    };
    Ok((cells, doubt))
}

/// Returns the name of the test and its number of users, which may be glued to it.
fn name_and_users<'a>(
    text: &'a str,
    words: &[Word<'a>],
    side: usize,
) -> Result<(&'a str, &'a str), String> {
    let mut at = side - 2;
    if USERS.contains(&words[at].text) && at > 0 {
        at -= 1;
    }
    let last = words[at];
    let (glued, users) = if last.text == row::UNKNOWN {
        ("", last.text)
    } else {
        last.text.split_at(last.text.trim_end_matches(|c: char| c.is_ascii_digit()).len())
    };
    if glued.starts_with(|first: char| !first.is_alphabetic() && first != '_') {
        return Err(format!("the number of users cannot be \"{}\"", last.text));
    }
    let name = text[..last.begin + glued.len()].trim_ascii();
    if users.is_empty() {
        return Err(format!("the number of users is missing behind {name}"));
    }
    if name.is_empty() {
        return Err("the name of the test is missing".to_owned());
    }
    Ok((name, users))
}

/// Returns the share of each column that is not blank; `None` if a word is not below a heading. Only the position tells
/// which columns are blank.
fn shares<'a>(iops_end: usize, words: &[Word<'a>]) -> Option<Vec<Share<'a>>> {
    let of_column = |word: &Word<'a>| {
        let behind = word.end().checked_sub(iops_end + 1)?;
        let column = behind.checked_sub(1)? / SHARE_WIDTH;
        let is_below = behind.is_multiple_of(SHARE_WIDTH);
        let bound = PRINTED_BOUNDS_NS.get(column).filter(|_| is_below)?;
        Some((*bound, Cow::Borrowed(word.text)))
    };
    if words.len() == PRINTED_BOUNDS_NS.len() {
        let in_order = PRINTED_BOUNDS_NS.iter().zip(words);
        return Some(in_order.map(|(bound, word)| (*bound, word.text.into())).collect());
    }
    words.iter().map(of_column).collect()
}
