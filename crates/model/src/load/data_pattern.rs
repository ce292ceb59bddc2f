//! A repeated sequence of bytes: fio's `verify_pattern` and `buffer_pattern`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};
use std::io;
use std::path::Path;
use std::str::FromStr;

/// Maximum length of a pattern. That of fio 3.33 is 512, of later versions 128 MiB.
const MOST_BYTES: usize = 64 << 10;
/// Length of an offset in a pattern.
const OFFSET_BYTES: usize = 8;

/// A repeated sequence of bytes. It may contain the offset of the data, with its lowest byte first.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DataPattern {
    /// The bytes, with zeros where an offset is.
    #[schemars(skip)]
    bytes: Vec<u8>,
    /// Indices of the first bytes of offsets, ascending.
    #[schemars(skip)]
    offsets: Vec<usize>,
}

/// Why text is not a pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DataPatternError {
    #[error(
        "\"{0}\" is not a pattern; hint: use 0xaa55, \"text\", a number, %o, or several of them in a row"
    )]
    Syntax(String),
    #[error(
        "a file is not read as a pattern here; hint: use 0x and its bytes, as printed by xxd -p"
    )]
    File,
    #[error("'{path}': {reason}")]
    Unreadable { path: String, reason: String },
    #[error("must have between 1 and {MOST_BYTES} bytes, not {0}")]
    Length(usize),
}

impl DataPattern {
    /// A pattern of zeros: fio's `zero_buffers`.
    #[must_use]
    pub fn zeros() -> Self {
        Self { bytes: vec![0], offsets: Vec::new() }
    }

    /// Returns true if the pattern contains offsets.
    #[must_use]
    pub fn has_offsets(&self) -> bool {
        !self.offsets.is_empty()
    }

    /// Returns the text of a pattern with the bytes of its files, each named as `'FILE'`; `None` if it names none.
    /// `read` returns the first bytes of a file, at most the given number. As in fio, what does not fit into a
    /// pattern is left out.
    ///
    /// # Errors
    /// A file that cannot be read, or text that is not a pattern.
    pub fn with_files(
        text: &str,
        read: &dyn Fn(&Path, usize) -> io::Result<Vec<u8>>,
    ) -> Result<Option<String>, DataPatternError> {
        if !text.contains('\'') {
            return Ok(None);
        }
        let of_file = |path: &str| {
            let bytes = read(Path::new(path), MOST_BYTES);
            bytes.map_err(|error| DataPatternError::Unreadable {
                path: path.to_owned(),
                reason: error.to_string(),
            })
        };
        Self::parse(text, &of_file).map(|pattern| Some(pattern.to_string()))
    }

    fn parse(
        text: &str,
        of_file: &dyn Fn(&str) -> Result<Vec<u8>, DataPatternError>,
    ) -> Result<Self, DataPatternError> {
        let fail = || DataPatternError::Syntax(text.to_owned());
        let mut pattern = Self { bytes: Vec::new(), offsets: Vec::new() };
        let mut rest = text.trim_ascii_start();
        while !rest.is_empty() {
            let after = if let Some(rest) = rest.strip_prefix("%o") {
                pattern.offsets.push(pattern.bytes.len());
                pattern.bytes.extend([0; OFFSET_BYTES]);
                rest
            } else if let Some(quoted) = rest.strip_prefix('"') {
                let (quoted, rest) = quoted.split_once('"').ok_or_else(fail)?;
                pattern.bytes.extend(quoted.bytes());
                rest
            } else if let Some(quoted) = rest.strip_prefix('\'') {
                let (path, rest) = quoted.split_once('\'').ok_or_else(fail)?;
                let room = MOST_BYTES.saturating_sub(pattern.bytes.len());
                pattern.bytes.extend(of_file(path)?.into_iter().take(room));
                rest
            } else if let Some(digits) = rest.strip_prefix("0x").or(rest.strip_prefix("0X")) {
                let (digits, rest) = digits_before(digits, |c| c.is_ascii_hexdigit());
                pattern.bytes.extend(hex(digits).filter(|b| !b.is_empty()).ok_or_else(fail)?);
                rest
            } else {
                let (minus, digits) = rest.strip_prefix('-').map_or(("", rest), |d| ("-", d));
                let (digits, rest) = digits_before(digits, |c| c.is_ascii_digit());
                let number = format!("{minus}{digits}");
                pattern.bytes.extend(decimal(&number).ok_or_else(fail)?);
                rest
            };
            rest = after.trim_ascii_start();
        }
        match pattern.bytes.len() {
            1..=MOST_BYTES => Ok(pattern),
            length => Err(DataPatternError::Length(length)),
        }
    }

    /// Fills data with the pattern, from its beginning on. `offset` is that of the data.
    pub fn fill(&self, data: &mut [u8], offset: u64) {
        for repetition in data.chunks_mut(self.bytes.len()) {
            repetition.copy_from_slice(&self.bytes[..repetition.len()]);
            for at in &self.offsets {
                let Some(place) = repetition.get_mut(*at..) else { break };
                place.iter_mut().zip(offset.to_le_bytes()).for_each(|(to, byte)| *to = byte);
            }
        }
    }
}

impl TryFrom<String> for DataPattern {
    type Error = DataPatternError;

    fn try_from(text: String) -> Result<Self, DataPatternError> {
        text.parse()
    }
}

impl From<DataPattern> for String {
    fn from(pattern: DataPattern) -> Self {
        pattern.to_string()
    }
}

/// Formats the pattern as hexadecimal digits and `%o`: `0xaa55%o0x12`.
impl fmt::Display for DataPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        let (mut at, mut is_in_digits) = (0, false);
        while at < self.bytes.len() {
            if self.offsets.contains(&at) {
                text.push_str("%o");
                at += OFFSET_BYTES;
                is_in_digits = false;
                continue;
            }
            if !is_in_digits {
                text.push_str("0x");
                is_in_digits = true;
            }
            write!(text, "{:02x}", self.bytes[at])?;
            at += 1;
        }
        f.pad(&text)
    }
}

impl FromStr for DataPattern {
    type Err = DataPatternError;

    /// Parses one or more of these in a row, with or without blanks in between: `0xaa55`, bytes in the order
    /// written; `"text"`; a decimal number, lowest byte first and without zeros at the end, with a minus sign
    /// four bytes; `%o`, the offset.
    fn from_str(text: &str) -> Result<Self, DataPatternError> {
        Self::parse(text, &|_| Err(DataPatternError::File))
    }
}

/// Splits text after its digits. A zero before an `x` begins the next number.
fn digits_before(text: &str, is_digit: fn(&char) -> bool) -> (&str, &str) {
    let end = text.find(|c: char| !is_digit(&c)).unwrap_or(text.len());
    let begins_another = text[..end].ends_with('0') && text[end..].starts_with(['x', 'X']);
    text.split_at(if begins_another { end - 1 } else { end })
}

/// Parses hexadecimal digits. If their number is odd, the first digit is a byte of its own.
fn hex(digits: &str) -> Option<Vec<u8>> {
    let even = if digits.len().is_multiple_of(2) { digits.into() } else { format!("0{digits}") };
    (0..even.len() / 2).map(|i| u8::from_str_radix(&even[2 * i..2 * i + 2], 16).ok()).collect()
}

fn decimal(number: &str) -> Option<Vec<u8>> {
    if let Ok(number) = number.parse::<u32>() {
        let used = (4 - number.leading_zeros() as usize / 8).max(1);
        return Some(number.to_le_bytes()[..used].to_vec());
    }
    number.parse::<i32>().ok().map(|number| number.to_le_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filled(text: &str, length: usize, offset: u64) -> Vec<u8> {
        let mut data = vec![0xee; length];
        text.parse::<DataPattern>().unwrap().fill(&mut data, offset);
        data
    }

    /// The bytes are those that fio 3.33 writes.
    #[test]
    fn patterns_match_fio() {
        assert_eq!(filled("0xaa55", 5, 0), [0xaa, 0x55, 0xaa, 0x55, 0xaa]);
        assert_eq!(filled("0x123", 2, 0), [0x01, 0x23]);
        assert_eq!(filled("300", 4, 0), [0x2c, 0x01, 0x2c, 0x01]);
        assert_eq!(filled("65536", 4, 0), [0, 0, 1, 0]);
        assert_eq!(filled("-7", 4, 0), [0xf9, 0xff, 0xff, 0xff]);
        assert_eq!(filled("\"a\"0", 3, 0), [b'a', 0, b'a']);
        assert_eq!(filled("\"ab\" 12", 3, 0), [b'a', b'b', 12]);
        assert_eq!(
            filled("\"abcd\"-120xdeadface", 14, 0),
            *b"abcd\xf4\xff\xff\xff\xde\xad\xfa\xceab"
        );
        assert_eq!(filled("%o", 9, 0x1000), [0, 0x10, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(
            filled("0xff%o\"abcd\"-12", 19, 0x1000),
            *b"\xff\0\x10\0\0\0\0\0\0abcd\xf4\xff\xff\xff\xff\0"
        );
    }

    #[test]
    fn invalid_patterns_are_rejected() {
        for text in ["", "0x", "\"\"", "zz", "\"a", "%", "%x", "1,2", "-", "4294967296", "\u{e9}"] {
            assert!(text.parse::<DataPattern>().is_err(), "{text}");
        }
        assert_eq!("'file'".parse::<DataPattern>(), Err(DataPatternError::File));
        let longest = format!("0x{}", "ab".repeat(MOST_BYTES));
        assert!(longest.parse::<DataPattern>().is_ok());
        let longer = format!("{longest}ab").parse::<DataPattern>();
        assert_eq!(longer, Err(DataPatternError::Length(MOST_BYTES + 1)));
    }

    #[test]
    fn files_in_patterns_are_replaced_by_their_bytes() {
        let read = |path: &Path, most: usize| match path.to_str() {
            Some("a") => Ok(b"xy\0".to_vec()),
            Some("long") => Ok(vec![7; most]),
            _ => Err(io::ErrorKind::NotFound.into()),
        };
        let with_files = |text| DataPattern::with_files(text, &read);
        assert_eq!(with_files("0xaa'a'\"'a'\"%o"), Ok(Some("0xaa787900276127%o".to_owned())));
        assert_eq!(with_files("0xaa\"a\""), Ok(None));
        let long = with_files("0x01'long'").unwrap().unwrap();
        assert_eq!(long.len(), 2 + 2 * MOST_BYTES);
        assert!(matches!(with_files("'b'"), Err(DataPatternError::Unreadable { .. })));
        assert!(matches!(with_files("'b"), Err(DataPatternError::Syntax(_))));
    }

    proptest! {
        #[test]
        fn patterns_round_trip(
            tokens in prop::collection::vec(
                prop::sample::select(vec!["0xaa55", "0x0", "\"x y\"", "12 ", "-3 ", "%o", "0x00ff"]),
                1..8,
            ),
            offset: u64,
        ) {
            let pattern: DataPattern = tokens.concat().parse().unwrap();
            let again: DataPattern = pattern.to_string().parse().unwrap();
            prop_assert_eq!(&again, &pattern);
            let (mut one, mut other) = (vec![0; 100], vec![1; 100]);
            pattern.fill(&mut one, offset);
            again.fill(&mut other, offset);
            prop_assert_eq!(one, other);
        }

        #[test]
        fn parsing_arbitrary_pattern_never_panics(text in ".{0,40}") {
            let _ = text.parse::<DataPattern>();
        }
    }
}
