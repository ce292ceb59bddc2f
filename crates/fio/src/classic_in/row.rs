//! Cells of a row as a result.

use crate::text_in::number;
use iogauge_model::classic::{BOUNDS_NS, PERCENTS};
use iogauge_model::result::{BlockRange, FioDirection, FioLatency, FioResult, LatencyShare};
use std::borrow::Cow;

/// An unknown figure in printed text; in R code it is `NA`, in CSV empty.
pub(super) const UNKNOWN: &str = "-";

/// The upper bound of a share in nanoseconds, and its percentage.
pub(super) type Share<'a> = (Option<u64>, Cow<'a, str>);

/// More users than this are a mistake.
const MOST_USERS: u32 = 1 << 20;
/// Larger blocks are a mistake.
const LARGEST_BLOCK: u64 = 1 << 40;
/// More MiB or I/Os per second are a mistake.
const HIGHEST_RATE: f64 = 1e12;
/// Longer latencies are a mistake: a day, in milliseconds.
const LONGEST_MS: f64 = 24.0 * 3600.0 * 1000.0;
/// Shares are truncated, so that they sum up to less than 100 %.
const ALL_PERCENT: f64 = 100.0;

/// Words of fio for direction and order, with the side of those that have one direction.
const WORDS: [(&str, char); 11] = [
    ("read", 'r'),
    ("write", 'w'),
    ("trim", 't'),
    ("randread", 'r'),
    ("randwrite", 'w'),
    ("randtrim", 't'),
    ("rw", MIXED),
    ("readwrite", MIXED),
    ("randrw", MIXED),
    ("trimwrite", MIXED),
    ("randtrimwrite", MIXED),
];
/// The side of a row that counts all directions, or does not say which.
const MIXED: char = 'm';

/// The cells of a row, without padding.
#[derive(Debug)]
pub(super) struct Cells<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) users: Cow<'a, str>,
    pub(super) size: Cow<'a, str>,
    /// `r`, `w`, `t` or `m`; `None` if the form has no column for it.
    pub(super) side: Option<char>,
    /// MiB per second; mean, minimum, maximum and standard deviation in milliseconds; IOPS.
    pub(super) figures: [Cow<'a, str>; 6],
    /// Shares by latency. Columns of printed text that are blank are left out.
    pub(super) shares: Vec<Share<'a>>,
    /// Percentiles at [`PERCENTS`] in milliseconds; none, or all of them.
    pub(super) percentiles: Vec<Cow<'a, str>>,
}

/// Returns the cells of the columns of CSV and R code.
///
/// # Errors
/// There are not as many cells as columns.
pub(super) fn of_columns<'a>(cells: &'a [Cow<'a, str>]) -> Result<Cells<'a>, String> {
    let [name, users, size, mib, mean, min, max, stddev, iops, rest @ ..] = cells else {
        return Err(format!("only {} cells", cells.len()));
    };
    if rest.len() != BOUNDS_NS.len() + PERCENTS.len() {
        return Err(format!("{} shares and percentiles instead of 22", rest.len()));
    }
    let (shares, percentiles) = rest.split_at(BOUNDS_NS.len());
    let borrowed = |cell: &'a Cow<'a, str>| Cow::Borrowed(&**cell);
    Ok(Cells {
        name: super::cells::unescaped(name).into(),
        users: borrowed(users),
        size: borrowed(size),
        side: None,
        figures: [mib, mean, min, max, stddev, iops].map(borrowed),
        shares: BOUNDS_NS.into_iter().zip(shares.iter().map(borrowed)).collect(),
        percentiles: percentiles.iter().map(borrowed).collect(),
    })
}

/// Converts a row to a result with one direction.
///
/// # Errors
/// A cell has no sensible value; the reason names it.
pub(super) fn result(cells: &Cells<'_>) -> Result<FioResult, String> {
    if cells.name.is_empty() || is_unknown(&cells.name) {
        return Err("the name of the test is missing".to_owned());
    }
    let users = known(&cells.users, "the number of users", users)?;
    let block = known(&cells.size, "the block size", size)?;
    let [mib, _, _, _, _, iops] = &cells.figures;
    let rate = |text: &str| figure(text, HIGHEST_RATE);
    let mib = known(mib, "the bandwidth", rate)?;
    let iops = known(iops, "IOPS", rate)?.ok_or("IOPS are missing")?;
    let direction = FioDirection {
        bytes_per_sec: mib.unwrap_or(0.0) * f64::from(1 << 20),
        iops,
        block,
        lat: latency(cells)?,
        ..FioDirection::default()
    };
    let (rw, side) = rw_and_side(&cells.name, cells.side);
    let mut result = FioResult {
        from_table: true,
        name: cells.name.clone().into_owned(),
        rw: rw.to_owned(),
        users,
        shares: shares(&cells.shares)?,
        ..FioResult::default()
    };
    *match side {
        'r' => &mut result.read,
        'w' => &mut result.write,
        't' => &mut result.trim,
        _ => &mut result.mixed,
    } = Some(direction);
    Ok(result)
}

/// Returns true for a word of fio for direction and order.
pub(super) fn is_word(name: &str) -> bool {
    WORDS.iter().any(|(word, _)| *word == name)
}

/// Returns fio's word for the test, which is empty if the name is none, and the letter of the direction.
fn rw_and_side(name: &str, side: Option<char>) -> (&str, char) {
    let word = WORDS.iter().find(|(word, _)| *word == name);
    let of_end = || match name.as_bytes() {
        [_, .., b'_', end @ (b'r' | b'w' | b't')] => char::from(*end),
        _ => MIXED,
    };
    let own = word.map_or_else(of_end, |(_, side)| *side);
    (word.map_or("", |(word, _)| word), side.unwrap_or(own))
}

/// Returns fio's word of a mixed test: the name of printed rows, and of CSV and R code without its end.
fn mixed_word(result: &FioResult) -> Option<&'static str> {
    let name = result.name.strip_suffix("_r").or_else(|| result.name.strip_suffix("_w"));
    let name = name.unwrap_or(&result.name);
    let mixed = WORDS.iter().find(|(word, side)| *word == name && *side == MIXED);
    mixed.map(|(word, _)| *word)
}

/// Returns true for the reads of a mixed test.
pub(super) fn is_first_half(result: &FioResult) -> bool {
    result.read.is_some() && mixed_word(result).is_some()
}

/// Returns true if `writes` are of the test that has these reads.
pub(super) fn is_other_half(reads: &FioResult, writes: &FioResult) -> bool {
    let block = |direction: &Option<FioDirection>| direction.as_ref().and_then(|d| d.block);
    writes.write.is_some()
        && mixed_word(reads) == mixed_word(writes)
        && reads.name.contains('_') == writes.name.contains('_')
        && reads.users == writes.users
        && block(&reads.read) == block(&writes.write)
        && reads.shares == writes.shares
}

/// Names a test that has both directions.
pub(super) fn joined(mut both: Box<FioResult>) -> Box<FioResult> {
    if let Some(word) = mixed_word(&both) {
        (both.name, both.rw) = (word.to_owned(), word.to_owned());
    }
    both
}

fn is_unknown(text: &str) -> bool {
    matches!(text, "" | UNKNOWN | "NA")
}

/// Returns the value of a cell; `None` if it is unknown.
fn known<T>(
    text: &str,
    what: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, String> {
    if is_unknown(text) {
        return Ok(None);
    }
    match parse(text) {
        Some(value) => Ok(Some(value)),
        None => Err(format!("{what} cannot be \"{text}\"")),
    }
}

fn figure(text: &str, most: f64) -> Option<f64> {
    Some(number(text)?.value).filter(|value| *value <= most)
}

pub(super) fn users(text: &str) -> Option<u32> {
    text.parse().ok().filter(|users| (1..=MOST_USERS).contains(users))
}

/// Parses `8K`, `1M`, `512` or `4K-64K`.
pub(super) fn size(text: &str) -> Option<BlockRange> {
    let (min, max) = text.split_once('-').unwrap_or((text, text));
    let (min_bytes, max_bytes) = (bytes(min)?, bytes(max)?);
    (min_bytes <= max_bytes).then_some(BlockRange { min_bytes, max_bytes })
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &text[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let bytes = digits.parse::<u64>().ok()?.checked_mul(1 << shift)?;
    (1..=LARGEST_BLOCK).contains(&bytes).then_some(bytes)
}

/// Returns the latency of a row; `None` if it is unknown.
fn latency(cells: &Cells<'_>) -> Result<Option<FioLatency>, String> {
    let ms = |text: &str, what: &str| known(text, what, |text| figure(text, LONGEST_MS));
    let [_, mean, min, max, stddev, _] = &cells.figures;
    let figures = [
        ms(mean, "the mean latency")?,
        ms(min, "the minimum")?,
        ms(max, "the maximum")?,
        ms(stddev, "the standard deviation")?,
    ];
    let mut percentiles = Vec::new();
    for (percent, text) in PERCENTS.iter().zip(&cells.percentiles) {
        let value = ms(text, "a percentile")?;
        percentiles.extend(value.map(|value| (*percent, ns(value))));
    }
    match figures {
        [Some(mean), Some(min), Some(max), Some(stddev)] => Ok(Some(FioLatency {
            min_ns: ns(min),
            max_ns: ns(max),
            mean_ns: mean * 1e6,
            stddev_ns: stddev * 1e6,
            percentiles,
            ..FioLatency::default()
        })),
        [None, None, None, None] if percentiles.is_empty() => Ok(None),
        _ => Err("a figure of the latency is missing".to_owned()),
    }
}

fn ns(ms: f64) -> u64 {
    (ms * 1e6).round() as u64
}

/// Returns the shares; none if they are unknown.
fn shares(cells: &[Share<'_>]) -> Result<Vec<LatencyShare>, String> {
    let mut shares = Vec::with_capacity(cells.len());
    for (below_ns, text) in cells {
        let percent = known(text, "a share", |text| figure(text, ALL_PERCENT))?;
        shares.extend(percent.map(|percent| LatencyShare { below_ns: *below_ns, percent }));
    }
    if !shares.is_empty() && shares.len() < cells.len() {
        return Err("some of the shares are missing".to_owned());
    }
    if shares.iter().map(|share| share.percent).sum::<f64>() > ALL_PERCENT {
        return Err("the shares sum up to more than 100 %".to_owned());
    }
    Ok(shares)
}
