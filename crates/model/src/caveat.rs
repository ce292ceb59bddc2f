//! Reasons why a result may mislead. They are part of the result.

use serde::{Deserialize, Serialize};

macro_rules! caveat_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal,)+) => {
        /// What kind of doubt a caveat raises. Stored and printed as its kebab-case word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[non_exhaustive]
        pub enum CaveatCode {
            $($(#[doc = $doc])+ #[serde(rename = $code)] $name,)+
        }

        impl CaveatCode {
            /// Every code, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The word used in JSON and text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code),+ }
            }
        }
    };
}

caveat_codes! {
    /// The page cache stands between the tool and the device.
    PageCache = "page-cache",
    /// The file has holes: reading them touches no medium.
    SparseHoles = "sparse-holes",
    /// The file has allocated extents that were never written: reading them touches no medium.
    UnwrittenExtents = "unwritten-extents",
    /// Blocks of the target read as zeros: a thin device may not have touched its medium.
    ZeroBlocks = "zero-blocks",
    /// The device may keep written data in a volatile cache.
    VolatileWriteCache = "volatile-write-cache",
    /// The engine asked for could not be had; another one measured.
    EngineFallback = "engine-fallback",
    /// Another engine feature fell back (registered buffers, O_NOATIME, huge pages).
    FeatureFallback = "feature-fallback",
    /// The tool's own processor time bounds the result, not the device.
    ClientBound = "client-bound",
    /// The hypervisor took processor time away during the run.
    StealTime = "steal-time",
    /// The depth achieved lies under the depth asked.
    DepthNotReached = "depth-not-reached",
    /// The rate achieved lies under the rate offered.
    RateNotReached = "rate-not-reached",
    /// Too few I/Os for the statistic asked.
    TooFewSamples = "too-few-samples",
    /// The figures drifted or jumped during the measurement.
    NotSteady = "not-steady",
    /// The target came to another level during the measurement: burst credits ran out, a cache
    /// filled, a throttle set in, or a neighbour came or went.
    RegimeChange = "regime-change",
    /// The first write of a block runs at another speed than its rewrite (thin provisioning).
    FirstWriteDiffers = "first-write-differs",
    /// The device did other work than the load's during the run.
    OtherLoad = "other-load",
    /// Some I/Os failed; the figures are those of the others.
    IoErrors = "io-errors",
    /// The run was interrupted before its time.
    Interrupted = "interrupted",
    /// Latencies beyond the histogram's range were counted as overflow.
    LatencyOverflow = "latency-overflow",
    /// The target is a simulation; nothing real was measured.
    Simulated = "simulated",
    /// Nothing was issued to any device (engine `null`).
    NoIo = "no-io",
    /// The limit was not reached because the search ran out of time or range.
    SearchCutShort = "search-cut-short",
}

/// One reason to doubt a result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caveat {
    /// What kind of doubt.
    pub code: CaveatCode,
    /// The doubt in one sentence, with the figures it rests on.
    pub message: String,
    /// What to do: a command where there is one.
    pub remedy: String,
}

impl Caveat {
    /// A caveat with its message and remedy.
    #[must_use]
    pub fn new(code: CaveatCode, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { code, message: message.into(), remedy: remedy.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_kebab_words_and_serialize_as_themselves() {
        for code in CaveatCode::ALL {
            let word = code.as_str();
            assert!(word.chars().all(|c| c.is_ascii_lowercase() || c == '-'), "{word}");
            assert_eq!(serde_json::to_string(code).unwrap(), format!("\"{word}\""));
            assert_eq!(CaveatCode::ALL.iter().filter(|c| c.as_str() == word).count(), 1);
        }
    }
}
