//! What came of checking the data of a step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is wrong with a unit.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VerifyFault {
    /// It differs from what was written, which is known.
    Corrupt {
        /// Bytes that differ.
        differing_bytes: u64,
        /// The first of them, from the beginning of the unit.
        first_byte: u64,
        /// The one bit that differs, where there is only one: 0 is the lowest of its byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bit: Option<u32>,
    },
    /// Its header is there and destroyed.
    HeaderDamaged,
    /// It has no header: other data, or nothing.
    NoHeader {
        /// True where all of it is zeros.
        zeros: bool,
    },
    /// It begins with one write and goes on with another.
    Torn {
        /// Which write of the unit it begins with.
        sequence: u32,
        /// Where that ends, from the beginning of the unit.
        from_byte: u64,
        /// Which write of the unit the rest is of; `None` for one that is not known.
        rest_sequence: Option<u32>,
    },
    /// It is the unit of another place.
    Misplaced {
        /// Where it belongs.
        of_offset_bytes: u64,
        /// File or device of the target it belongs to, from 0, where that is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_part: Option<u32>,
    },
    /// It is of an earlier write of the unit than the last one that was acknowledged.
    Stale {
        /// Which write of the unit it is.
        sequence: u32,
        /// Which it ought to be.
        expected_sequence: u32,
    },
    /// It is of another run: what this one wrote is not there.
    OtherRun {
        /// Number of that run.
        run: u64,
    },
    /// Its header is of another algorithm or length.
    OtherFormat {
        /// Algorithm, by fio's word; `None` for one that is not known.
        algorithm: Option<String>,
        /// Length of the unit, in bytes.
        length_bytes: u32,
    },
    /// It could not be read.
    Unreadable {
        /// Error number; 0 where the file ended.
        errno: i32,
    },
}

impl fmt::Display for VerifyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corrupt { first_byte, bit: Some(bit), .. } => {
                write!(f, "corrupt: bit {bit} of byte {first_byte} is flipped")
            }
            Self::Corrupt { differing_bytes: 1, first_byte, .. } => {
                write!(f, "corrupt: byte {first_byte} differs")
            }
            Self::Corrupt { differing_bytes, first_byte, .. } => {
                write!(f, "corrupt: {differing_bytes} bytes differ, the first is byte {first_byte}")
            }
            Self::HeaderDamaged => f.write_str("corrupt: the header is destroyed"),
            Self::NoHeader { zeros: true } => f.write_str("all zeros: nothing of what was written"),
            Self::NoHeader { zeros: false } => {
                f.write_str("no header: other data than what was written")
            }
            Self::Torn { sequence, from_byte, rest_sequence } => {
                write!(f, "torn: write {sequence} up to byte {from_byte}, then ")?;
                match rest_sequence {
                    Some(rest) => write!(f, "write {rest}"),
                    None => f.write_str("other data"),
                }
            }
            Self::Misplaced { of_offset_bytes, of_part } => {
                write!(f, "misplaced: belongs to offset {of_offset_bytes}")?;
                match of_part {
                    Some(part) => write!(f, " of file {} of the target", part + 1),
                    None => Ok(()),
                }
            }
            Self::Stale { sequence, expected_sequence } => write!(
                f,
                "stale: holds write {sequence}, and write {expected_sequence} was acknowledged"
            ),
            Self::OtherRun { run } => {
                write!(f, "lost: holds data of another run ({run:016x})")
            }
            Self::OtherFormat { algorithm, length_bytes } => write!(
                f,
                "header of another form: {}, {length_bytes} bytes",
                algorithm.as_deref().unwrap_or("an algorithm not known here")
            ),
            Self::Unreadable { errno: 0 } => f.write_str("unreadable: the file ends before"),
            Self::Unreadable { errno } => {
                let error = std::io::Error::from_raw_os_error(*errno);
                write!(f, "unreadable: {error}")
            }
        }
    }
}

/// A unit that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyFinding {
    /// File or device.
    pub path: String,
    /// Where the unit begins in it.
    pub offset_bytes: u64,
    /// Length of the unit.
    pub length_bytes: u64,
    /// What is wrong.
    pub reason: VerifyFault,
}

/// How far a check came.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyEnd {
    /// To its end.
    #[default]
    Complete,
    /// To the first finding, as was asked.
    Fatal,
    /// To where it was interrupted, which may be before it began.
    Interrupted,
    /// Nothing was to be read back, as was asked.
    NotAsked,
}

/// What came of checking the data of a step.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyResult {
    /// How content was proven, by fio's words.
    pub algorithm: String,
    /// Units judged; one that was read again counts again.
    pub units: u64,
    /// Bytes judged.
    pub bytes: u64,
    /// Units that were written and could not be judged: several writes were under way at once, or
    /// one of them failed.
    pub unjudged: u64,
    /// Units that are not as they were written.
    pub corrupted: u64,
    /// Time the check took behind the step's own, in seconds; 0 where the step's reads were checked.
    pub seconds: f64,
    /// How far it came.
    pub end: VerifyEnd,
    /// The first of those that are not as written, at most 16.
    pub findings: Vec<VerifyFinding>,
}
