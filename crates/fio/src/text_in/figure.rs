//! Numbers in fio's text output, with suffixes and units that differ between versions.

use iogauge_model::calendar::{Civil, MONTHS};
use memchr::{memchr, memchr_iter};

/// Larger figures are not measurements, and their sums would not be finite.
const LARGEST: f64 = 1e30;

/// A printed number: its value, and one unit of its last printed digit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure {
    pub(crate) value: f64,
    pub(super) step: f64,
}

impl Figure {
    /// Returns the exact value if it could have been printed as this figure, otherwise the figure.
    pub(super) fn refined(self, exact: f64) -> f64 {
        if (exact - self.value).abs() <= self.step { exact } else { self.value }
    }
}

/// Returns the trimmed text after `key` up to the next comma.
#[inline(always)]
pub(super) fn field<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let (_, text) = cut(line, key)?;
    let end = memchr(b',', text.as_bytes()).unwrap_or(text.len());
    Some(text[..end].trim_ascii())
}

/// Splits a line at the first `key`. For such short lines and keys, setting up the searcher of
/// `str::split_once` takes longer than the search.
#[inline(always)]
pub(super) fn cut<'a>(line: &'a str, key: &str) -> Option<(&'a str, &'a str)> {
    let bytes = line.as_bytes();
    let found = |at: &usize| bytes[*at..].starts_with(key.as_bytes());
    let at = memchr_iter(*key.as_bytes().first()?, bytes).find(found)?;
    Some((&line[..at], &line[at + key.len()..]))
}

/// Splits text at the first occurrence of an ASCII byte. This is faster than `str::split_once`, which can
/// search for any character.
#[inline]
pub(super) fn once(text: &str, by: u8) -> Option<(&str, &str)> {
    let at = memchr(by, text.as_bytes())?;
    Some((&text[..at], &text[at + 1..]))
}

/// Splits text at an ASCII byte, like `str::split`.
pub(super) fn pieces(text: &str, by: u8) -> impl Iterator<Item = &str> {
    let ends = memchr_iter(by, text.as_bytes()).chain([text.len()]);
    ends.scan(0, move |begin, end| {
        let piece = &text[*begin..end];
        *begin = end + 1;
        Some(piece)
    })
}

/// Returns the number with which `text` begins, and the remaining text.
fn leading(text: &str) -> Option<(Figure, &str)> {
    let text = text.trim_ascii_start();
    let text = text.strip_prefix(">=").unwrap_or(text);
    let (mut whole, mut decimals, mut points, mut end) = (0u64, 0, 0, 0);
    for byte in text.bytes() {
        match byte {
            // May overflow; long numbers are parsed differently below.
            b'0'..=b'9' => whole = whole.wrapping_mul(10).wrapping_add(u64::from(byte - b'0')),
            b'.' => points += 1,
            _ => break,
        }
        decimals += usize::from(points > 0);
        end += 1;
    }
    let (digits, rest) = text.split_at(end);
    let decimals = decimals.saturating_sub(1);
    let known = DECIMALS.get(decimals);
    let value = match known {
        // A division of exact numbers rounds once, like `str::parse` (Clinger, "How to Read Floating Point
        // Numbers Accurately", 1990), but is several times faster.
        Some((power, _)) if end <= EXACT_DIGITS && points <= 1 && points < end => {
            whole as f64 / power
        }
        _ => digits.parse().ok()?,
    };
    let step = match known {
        Some((_, step)) => *step,
        None => 0.1f64.powi(i32::try_from(decimals).ok()?),
    };
    Some((Figure { value, step }, rest))
}

/// Indexed by the number of decimals: the power of ten, and one unit of the last decimal.
const DECIMALS: [(f64, f64); 7] = [
    (1.0, 1.0),
    (1e1, 0.1),
    (1e2, 0.01),
    (1e3, 0.001),
    (1e4, 0.000_1),
    (1e5, 0.000_01),
    (1e6, 0.000_001),
];
/// Integers of up to this many digits are exact in `f64`.
const EXACT_DIGITS: usize = 15;

fn scaled(figure: Figure, factor: f64) -> Option<Figure> {
    let value = figure.value * factor;
    (value < LARGEST).then_some(Figure { value, step: figure.step * factor })
}

/// Parses a count, rate or latency: `46.0k` is 46 000, `1.2M` is 1 200 000.
pub(crate) fn number(text: &str) -> Option<Figure> {
    let (figure, rest) = leading(text)?;
    let factor = match rest.trim_ascii_end() {
        "" => 1.0,
        "k" | "K" => 1e3,
        "m" | "M" => 1e6,
        "g" | "G" => 1e9,
        _ => return None,
    };
    scaled(figure, factor)
}

/// The meaning of `K`, `M` and `G` without a following `i`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    /// Powers of 1024: fio before 2.14.
    Binary,
    /// Powers of 1000: fio since 2.14, which writes `Ki` for 1024.
    Decimal,
}

/// Parses bytes or bytes per second: `417688KB`, `513MiB/s`, `822173 B/s`, and `23.6Mi`, which fio prints
/// for all clients together.
pub(super) fn bytes(text: &str, prefix: Prefix) -> Option<Figure> {
    let (figure, rest) = leading(text)?;
    let unit = rest.trim_ascii();
    let unit = unit.strip_suffix("/s").unwrap_or(unit).trim_ascii_end();
    let unit = unit.strip_suffix('B').unwrap_or(unit);
    let (letter, base) = match unit.strip_suffix('i') {
        Some(letter) => (letter, 1024f64),
        None if prefix == Prefix::Binary => (unit, 1024.0),
        None => (unit, 1000.0),
    };
    let power = match letter {
        "" => 0,
        "k" | "K" => 1,
        "M" => 2,
        "G" => 3,
        "T" => 4,
        "P" => 5,
        _ => return None,
    };
    scaled(figure, base.powi(power))
}

/// Parses a share such as `47.29%`.
pub(super) fn percent(text: &str) -> Option<f64> {
    let (figure, rest) = leading(text)?;
    (rest.trim_ascii() == "%").then_some(figure.value)
}

/// Returns the nanoseconds of the unit in the first parentheses of a line: `clat (usec): min=…`.
pub(super) fn unit_ns(line: &str) -> Option<f64> {
    let (_, behind) = once(line, b'(')?;
    match once(behind, b')')?.0.trim_ascii() {
        "nsec" => Some(1.0),
        "usec" => Some(1e3),
        "msec" => Some(1e6),
        "sec" => Some(1e9),
        _ => None,
    }
}

/// Returns the seconds since 1970 of `Sat Nov 21 09:06:36 2026` (ctime(3)), as if it were UTC.
pub(super) fn unix_seconds(text: &str) -> Option<i64> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let [_, month, day, time, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as i64 + 1;
    let day: i64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let year: i64 = year.parse().ok().filter(|year| (1970..10_000).contains(year))?;
    let mut clock =
        time.split(':').map(|part| part.parse::<i64>().ok().filter(|n| (0..61).contains(n)));
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    Some(Civil { year, month, day, hour, minute, second }.unix_seconds())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn value(figure: Option<Figure>) -> Option<f64> {
        figure.map(|figure| figure.value)
    }

    #[test]
    fn counts_with_suffixes_are_parsed() {
        assert_eq!(value(number("46.0k")), Some(46_000.0));
        assert_eq!(value(number(" 17392 ")), Some(17_392.0));
        assert_eq!(value(number("1.2M")), Some(1_200_000.0));
        assert_eq!(value(number("1305.5K")), Some(1_305_500.0));
        assert_eq!(value(number(">=17113")), Some(17_113.0));
        for wrong in ["", "k", "1.2.3", "12x", "-1", "nan"] {
            assert_eq!(number(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn byte_units_depend_on_fio_version() {
        let old = |text| value(bytes(text, Prefix::Binary));
        let new = |text| value(bytes(text, Prefix::Decimal));
        assert_eq!(old("417688KB"), Some(417_688.0 * 1024.0));
        assert_eq!(old("1046.3MB/s"), Some(1046.3 * 1048576.0));
        assert_eq!(old("822173 B/s"), Some(822_173.0));
        assert_eq!(old("8K"), Some(8192.0));
        assert_eq!(new("13.0MiB/s"), Some(13.0 * 1048576.0));
        assert_eq!(new("13.6MB/s"), Some(13.6e6));
        assert_eq!(new("135kB/s"), Some(135e3));
        assert_eq!(new("23.6Mi"), Some(23.6 * 1048576.0));
        assert_eq!(new("8192B"), Some(8192.0));
        assert_eq!(new("16.0KiB"), Some(16_384.0));
        assert_eq!(new("12 parsecs"), None);
    }

    #[test]
    fn refined_value_stays_within_printed_precision() {
        let printed = number("65.7k").unwrap();
        assert_eq!(printed.refined(65_650.8), 65_650.8);
        assert_eq!(printed.refined(70_000.0), 65_700.0);
    }

    #[test]
    fn ctime_timestamps_are_parsed() {
        assert_eq!(unix_seconds("Sat Nov 21 09:06:36 2026"), Some(1_795_251_996));
        assert_eq!(unix_seconds("Thu Jan  1 00:00:00 1970"), Some(0));
        assert_eq!(unix_seconds("Tue Feb 29 12:00:00 2000"), Some(951_825_600));
        assert_eq!(unix_seconds("Sat Nov 21 2026"), None);
    }

    proptest! {
        #[test]
        fn decimal_parsing_matches_std_f64_parsing(digits in "[0-9]{0,20}[.]?[0-9]{0,20}[.]?") {
            let figure = leading(&digits).map(|(figure, _)| figure.value);
            prop_assert_eq!(figure, digits.parse::<f64>().ok());
        }

        #[test]
        fn key_splitting_matches_std_split(line in "[ab=é]{0,12}", key in "[ab=é]{1,3}") {
            prop_assert_eq!(cut(&line, &key), line.split_once(&key));
            prop_assert_eq!(once(&line, b'='), line.split_once('='));
            prop_assert!(pieces(&line, b'=').eq(line.split('=')));
        }

        #[test]
        fn parsing_arbitrary_figures_never_panics(text in ".{0,40}") {
            let _ = (number(&text), bytes(&text, Prefix::Binary), percent(&text));
            let _ = (unit_ns(&text), unix_seconds(&text), field(&text, "="));
        }
    }
}
