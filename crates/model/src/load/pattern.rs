//! Direction and order of I/Os.

use super::LoadError;
use crate::units::{Bytes, parse_size_bytes};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Direction and order of I/Os: fio's `rw`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pattern {
    /// Sequential reads.
    Read,
    /// Sequential writes.
    Write,
    /// Random reads.
    RandRead,
    /// Random writes.
    RandWrite,
    /// Sequential reads and writes, mixed. Each direction has its own position.
    ReadWrite,
    /// Random reads and writes, mixed.
    RandRw,
}

impl Pattern {
    /// All patterns with their names.
    pub const ALL: &[(Self, &'static str)] = &[
        (Self::Read, "read"),
        (Self::Write, "write"),
        (Self::RandRead, "randread"),
        (Self::RandWrite, "randwrite"),
        (Self::ReadWrite, "readwrite"),
        (Self::RandRw, "randrw"),
    ];

    /// Returns the name used on the command line and in output.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(p, _)| *p == self).map_or("", |(_, word)| word)
    }

    /// True if offsets are random.
    #[must_use]
    pub fn is_random(self) -> bool {
        matches!(self, Self::RandRead | Self::RandWrite | Self::RandRw)
    }

    /// True if some I/Os are reads.
    #[must_use]
    pub fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::RandWrite)
    }

    /// True if some I/Os are writes.
    #[must_use]
    pub fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::RandRead)
    }

    /// True if there are reads and writes.
    #[must_use]
    pub fn is_mixed(self) -> bool {
        self.reads() && self.writes()
    }
}

impl FromStr for Pattern {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let word = if text == "rw" { "readwrite" } else { text };
        Self::ALL.iter().find(|(_, w)| *w == word).map(|(p, _)| *p).ok_or_else(|| {
            let words: Vec<_> = Self::ALL.iter().map(|(_, w)| *w).collect();
            LoadError::new("rw", format!("\"{text}\" is not one of {}", words.join(", ")))
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is done with offsets after they are chosen: the number after fio's `rw`, with its `rw_sequencer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Modifier {
    /// Offsets are used as they are.
    #[default]
    None,
    /// This many consecutive I/Os start at each random offset; at least 2.
    Sequential(u32),
    /// This many I/Os are issued at each random offset; at least 2.
    Identical(u32),
    /// This many bytes are skipped after each sequential I/O. A negative number goes back; if it is at least
    /// the block size, the stream runs backwards.
    Skip(i64),
}

impl fmt::Display for Modifier {
    /// Formats the modifier for a label: nothing, `:8`, `:8 identical` or `:64 KiB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => Ok(()),
            Self::Sequential(ios) => write!(f, ":{ios}"),
            Self::Identical(ios) => write!(f, ":{ios} identical"),
            Self::Skip(bytes) => {
                let sign = if *bytes < 0 { "-" } else { "" };
                write!(f, ":{sign}{}", Bytes(bytes.unsigned_abs()))
            }
        }
    }
}

/// The meaning of the number after a random pattern: fio's `rw_sequencer`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sequencer {
    /// This many consecutive I/Os from each offset.
    #[default]
    Sequential,
    /// This many I/Os at each offset.
    Identical,
}

impl FromStr for Sequencer {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match text {
            "sequential" => Ok(Self::Sequential),
            "identical" => Ok(Self::Identical),
            _ => {
                let reason = format!("\"{text}\" is not one of sequential, identical");
                Err(LoadError::new("rw_sequencer", reason))
            }
        }
    }
}

/// fio's `rw` as typed: a pattern and the number after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rw {
    pub pattern: Pattern,
    /// I/Os per random offset, or bytes skipped between sequential I/Os.
    number: Option<i64>,
}

impl Rw {
    /// Returns the meaning of the number. The sequencer applies only to random patterns.
    #[must_use]
    pub fn modifier(self, sequencer: Sequencer) -> Modifier {
        match self.number {
            None => Modifier::None,
            Some(0) if !self.pattern.is_random() => Modifier::None,
            Some(bytes) if !self.pattern.is_random() => Modifier::Skip(bytes),
            // One I/O per offset is the default.
            Some(1) => Modifier::None,
            Some(ios) => match sequencer {
                Sequencer::Sequential => Modifier::Sequential(ios as u32),
                Sequencer::Identical => Modifier::Identical(ios as u32),
            },
        }
    }
}

impl FromStr for Rw {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let (word, number) = text.split_once(':').map_or((text, None), |(w, n)| (w, Some(n)));
        let pattern: Pattern = word.parse()?;
        let fail = |wanted: &str| {
            let number = number.unwrap_or_default();
            LoadError::new("rw", format!("\"{number}\" after {word} is not {wanted}"))
        };
        let count = |text: &str| {
            let ios = text.parse::<u32>().ok().filter(|ios| *ios > 0);
            ios.map(i64::from).ok_or_else(|| fail("a number of I/Os of at least 1"))
        };
        let bytes = |text: &str| {
            let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
            let bytes = parse_size_bytes(size).ok().and_then(|bytes| i64::try_from(bytes).ok());
            bytes.map(|bytes| sign * bytes).ok_or_else(|| fail("a size such as 64k or -64k"))
        };
        let number = match number {
            None => None,
            Some(text) if pattern.is_random() => Some(count(text)?),
            Some(text) => Some(bytes(text)?),
        };
        Ok(Self { pattern, number })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn access_pattern_names_round_trip() {
        for (pattern, word) in Pattern::ALL {
            assert_eq!(word.parse::<Pattern>(), Ok(*pattern));
            assert_eq!(pattern.to_string(), *word);
        }
        assert_eq!("rw".parse::<Pattern>(), Ok(Pattern::ReadWrite));
        let message = "random".parse::<Pattern>().unwrap_err().to_string();
        assert!(message.contains("randread"), "{message}");
    }

    #[test]
    fn rw_suffix_meaning_depends_on_the_pattern() {
        let modifier = |text: &str, sequencer| text.parse::<Rw>().unwrap().modifier(sequencer);
        for (text, sequential, identical) in [
            ("randread", Modifier::None, Modifier::None),
            ("randread:1", Modifier::None, Modifier::None),
            ("randread:8", Modifier::Sequential(8), Modifier::Identical(8)),
            ("rw:4k", Modifier::Skip(4096), Modifier::Skip(4096)),
            ("read:-8k", Modifier::Skip(-8192), Modifier::Skip(-8192)),
            ("write:0", Modifier::None, Modifier::None),
        ] {
            assert_eq!(modifier(text, Sequencer::Sequential), sequential, "{text}");
            assert_eq!(modifier(text, Sequencer::Identical), identical, "{text}");
        }
        for (text, word) in [
            ("randread:0", "at least 1"),
            ("randread:4k", "number of I/Os"),
            ("read:x", "64k"),
            ("read:", "64k"),
            ("foo:8", "randread"),
        ] {
            let message = text.parse::<Rw>().unwrap_err().to_string();
            assert!(message.contains(word), "{text}: {message}");
        }
        assert!("random".parse::<Sequencer>().is_err());
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "(rand)?(read|write|rw)(:[-0-9kmg.]{0,20})?") {
            if let Ok(rw) = text.parse::<Rw>() {
                let _ = rw.modifier(Sequencer::Identical).to_string();
            }
        }
    }
}
