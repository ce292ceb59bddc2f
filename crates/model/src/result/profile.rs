//! What `iogauge profile` recorded: the system alone.

use super::{Environment, Head, Physical, SystemPoint};
use crate::caveat::Caveat;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The document of `iogauge profile`.
#[derive(Debug, Clone, PartialEq, JsonSchema, Serialize, Deserialize)]
pub struct ProfileDocument {
    /// Format, version, run; the target is what devices were watched.
    #[serde(flatten)]
    pub head: Head,
    /// What its author had to say of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// When recording began, RFC 3339 in UTC.
    pub began: String,
    /// Time recorded, in seconds.
    pub seconds: f64,
    /// Time between two samples as asked, in seconds; a long record joins neighbours.
    pub every_seconds: f64,
    /// The machine's figures over time.
    pub system: Vec<SystemPoint>,
    /// What the devices did over the whole time; `None` where there are none, or they went away.
    pub physical: Option<Physical>,
    /// True where it ended before the time that was asked for.
    pub interrupted: bool,
    /// Why recording had to end; `None` where it did not have to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// Reasons to doubt the result.
    pub caveats: Vec<Caveat>,
    /// Where it ran.
    pub environment: Environment,
}
