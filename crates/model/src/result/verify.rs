//! Results of the verification of a step.

use super::DirectionResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What is wrong with a unit.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VerifyFault {
    /// It differs from the data written, which is known.
    Corrupt {
        /// Number of bytes that differ.
        differing_bytes: u64,
        /// First of these bytes, from the start of the unit.
        first_byte: u64,
        /// The bit that differs, if there is only one; 0 is the lowest bit of the byte.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bit: Option<u32>,
    },
    /// Its header is damaged.
    HeaderDamaged,
    /// It has no header: other data, or none.
    NoHeader {
        /// True if the whole unit is zeros.
        zeros: bool,
    },
    /// It starts with the data of one write and continues with that of another.
    Torn {
        /// Number of the write that it starts with.
        sequence: u32,
        /// End of this write's data, from the start of the unit.
        from_byte: u64,
        /// Number of the write that the rest is from; `None` if unknown.
        rest_sequence: Option<u32>,
    },
    /// It belongs to another location.
    Misplaced {
        /// The offset it belongs to.
        of_offset_bytes: u64,
        /// Number of the file or device of the target that it belongs to, from 0, if it is another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        of_part: Option<u32>,
    },
    /// It is from an earlier write than the last acknowledged one.
    Stale {
        /// Number of the write that it is from.
        sequence: u32,
        /// Number of the last acknowledged write.
        expected_sequence: u32,
    },
    /// It is from another run; the data written by this run is missing.
    OtherRun {
        /// Number of the other run.
        run: u64,
    },
    /// Its header has another algorithm or length.
    OtherFormat {
        /// Algorithm, by its name in fio; `None` if unknown.
        algorithm: Option<String>,
        /// Length of the unit, in bytes.
        length_bytes: u32,
    },
    /// It could not be read.
    Unreadable {
        /// Error number; 0 if the file ended.
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
            Self::NoHeader { zeros: true } => f.write_str("all zeros: none of the written data"),
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

/// A unit with wrong data.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyFinding {
    /// Name of the host that found it; `None` if there is one host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Path of the file or device.
    pub path: String,
    /// Offset of the unit.
    pub offset_bytes: u64,
    /// Length of the unit.
    pub length_bytes: u64,
    /// What is wrong.
    pub reason: VerifyFault,
}

impl VerifyFinding {
    /// Returns the path, with the host if there are several.
    #[must_use]
    pub fn place(&self) -> String {
        self.host
            .as_ref()
            .map_or_else(|| self.path.clone(), |host| format!("{host}: {}", self.path))
    }
}

/// How the verification ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyEnd {
    /// It was completed.
    #[default]
    Complete,
    /// It ended at the first finding, as requested.
    Fatal,
    /// It was interrupted, possibly before it started.
    Interrupted,
    /// It was not requested.
    NotAsked,
}

/// Result of the verification of a step.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyResult {
    /// The algorithm, by its name in fio.
    pub algorithm: String,
    /// Number of units verified. A unit that was read again counts again.
    pub units: u64,
    /// Number of bytes verified.
    pub bytes: u64,
    /// Units that could not be verified: several writes were in flight at once, a write failed, or `unwritten`.
    pub unjudged: u64,
    /// Units among them that were never written, according to a saved state.
    #[serde(default, skip_serializing_if = "super::step::is_zero")]
    pub unwritten: u64,
    /// Units with wrong data.
    pub corrupted: u64,
    /// Time of the verification after the step, in seconds; 0 if the reads of the step itself were verified.
    pub seconds: f64,
    /// Reads of the verification after the step; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Box<DirectionResult>>,
    /// How the verification ended.
    pub end: VerifyEnd,
    /// The first units with wrong data, at most 16.
    pub findings: Vec<VerifyFinding>,
    /// The same of each job, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<VerifyJobResult>,
}

/// Result of the verification of one of several jobs. A range that several jobs have written counts for the first.
#[derive(Debug, Clone, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct VerifyJobResult {
    /// Units with wrong data.
    pub corrupted: u64,
    /// Reads of the verification after the step; `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<Box<DirectionResult>>,
}
