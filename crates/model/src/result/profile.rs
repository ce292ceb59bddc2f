//! Recordings of `iogauge profile`: the machine's figures only.

use super::{Environment, Head, Physical, SystemPoint};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge profile`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProfileDocument {
    /// Format, version, run, and the devices recorded as target.
    #[serde(flatten)]
    pub head: Head,
    /// The user's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Start of the recording, RFC 3339 in UTC.
    pub began: String,
    /// Time recorded, in seconds.
    pub seconds: f64,
    /// Time between two samples as requested, in seconds. A long recording merges adjacent samples.
    pub every_seconds: f64,
    /// Samples of the machine.
    pub system: Vec<SystemPoint>,
    /// I/O of the devices over the whole time; `None` if there are no devices or they disappeared.
    pub physical: Option<Physical>,
    /// True if the recording ended early.
    pub interrupted: bool,
    /// Why the recording had to end; `None` if it did not have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Reasons why the result may mislead.
    pub caveats: Vec<Caveat>,
    /// The machine.
    pub environment: Environment,
}
