//! Reasons why a result may mislead. They are part of the result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

macro_rules! caveat_codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal, $rule:ident, $title:literal,
       $hint:literal;)+) => {
        /// What kind of doubt a caveat raises. Stored and printed as its kebab-case word.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize)]
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

            /// What it says, in a few words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title),+ }
            }

            /// How its impact is decided.
            #[must_use]
            pub const fn rule(self) -> ImpactRule {
                match self { $(Self::$name => ImpactRule::$rule),+ }
            }

            /// What to do about it where nothing more is known: a command where there is one.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint),+ }
            }
        }
    };
}

caveat_codes! {
    /// The page cache stands between the tool and the device.
    PageCache = "page-cache", Doubt, "the page cache is in the way",
        "leave out --direct=0";
    /// The file has holes: reading them touches no medium.
    SparseHoles = "sparse-holes", Share, "the file has holes",
        "iogauge prepare FILE";
    /// The file has allocated extents that were never written: reading them touches no medium.
    UnwrittenExtents = "unwritten-extents", Share, "blocks of the file were never written",
        "iogauge prepare FILE";
    /// Blocks of the target read as zeros: a thin device may not have touched its medium.
    ZeroBlocks = "zero-blocks", Share, "blocks hold only zeros",
        "iogauge prepare TARGET";
    /// Blocks of the target compress or repeat: a compressing or deduplicating device reads less
    /// from its medium than was asked.
    CompressibleData = "compressible-data", Share, "blocks compress or repeat",
        "iogauge prepare TARGET";
    /// A cache on the way may hold the whole target, or much of it.
    SmallerThanCache = "smaller-than-cache", Share, "a cache may hold the target",
        "iogauge prepare TARGET --size=… with more than the cache holds";
    /// No block device is behind the file system: it is memory, or what is behind it does not show.
    NoDevice = "no-device", Doubt, "no device is behind the file system",
        "a directory on a file system with a block device behind it (df -T shows them)";
    /// The device may keep written data in a volatile cache.
    VolatileWriteCache = "volatile-write-cache", Doubt, "writes return before they are durable",
        "add --sync=dsync to measure durable writes";
    /// The engine asked for could not be had; another one measured.
    EngineFallback = "engine-fallback", Note, "another engine measured",
        "sysctl kernel.io_uring_disabled=0, or a container profile that allows io_uring";
    /// Another engine feature fell back (registered buffers, O_NOATIME, huge pages).
    FeatureFallback = "feature-fallback", Note, "a saving had to be given up",
        "ulimit -l unlimited may help: each I/O costs more processor time than it could";
    /// A control group limits the I/O of this process on a device under the target.
    Throttled = "throttled", Doubt, "a control group limits this I/O",
        "echo $$ > /sys/fs/cgroup/cgroup.procs, as root, before iogauge";
    /// A control group limits the memory of this process, and the page cache with it.
    MemoryLimit = "memory-limit", Doubt, "a control group limits the page cache",
        "echo $$ > /sys/fs/cgroup/cgroup.procs, as root, before iogauge";
    /// The tool's own processor time bounds the result, not the device; or processors
    /// that others keep busy.
    ClientBound = "client-bound", Share, "this machine may be what was measured",
        "--numjobs with more workers, larger blocks, or --iodepth_batch_submit=16 \
         --iodepth_batch_complete_min=8";
    /// iogauge lacked processor time in parts of a search, which are left out.
    ClientStarved = "client-starved", Share, "a lack of processor time",
        "a machine with idle processors; --max-starvation=100% leaves nothing out";
    /// The hypervisor took processor time away during the run.
    StealTime = "steal-time", Share, "the hypervisor took processor time away",
        "repeat the run at a quieter time, and compare";
    /// The depth achieved lies under the depth asked.
    DepthNotReached = "depth-not-reached", Doubt, "the depth achieved lies under the one asked",
        "--numjobs with more workers, or no --iodepth_batch options";
    /// The rate achieved lies under the rate offered.
    RateNotReached = "rate-not-reached", Doubt, "the rate achieved lies under the one offered",
        "a lower --rate_iops, or a higher --iodepth where the target could take more";
    /// Arrivals of an open loop waited because as many I/Os as allowed were outstanding.
    ArrivalsWaited = "arrivals-waited", Doubt, "arrivals waited before the target",
        "a higher --max-depth, where the target could use it";
    /// No I/O was completed while it was measured: there are no figures.
    NothingCompleted = "nothing-completed", Doubt, "no I/O was completed",
        "a --runtime or --budget that is many times as long as one I/O takes";
    /// iogauge itself was paused: stopped, frozen, suspended, or on a machine that was.
    Paused = "paused", Share, "a pause of iogauge itself",
        "run it again without a pause";
    /// Too few I/Os for the statistic asked.
    TooFewSamples = "too-few-samples", Doubt, "too few I/Os for the percentile",
        "a longer --runtime, or --budget of a search";
    /// A database had blocks in its cache at the end that it writes later.
    UnflushedWrites = "unflushed-writes", Note, "the database goes on writing after the run",
        "--drain waits for it and counts what it writes";
    /// A database did not hold what it had acknowledged in the run before.
    AcknowledgedLost = "acknowledged-lost", Note, "the run before lost transactions",
        "iogauge db verify after a crash, before the next run";
    /// Nobody saw what the devices under a database did.
    DevicesUnknown = "devices-unknown", Note, "what the devices did is not known",
        "iogauge on the database's own machine, as a user who may know where its files are";
    /// The figures drifted during the measurement.
    NotSteady = "not-steady", Doubt, "the rate drifted",
        "a longer --ramp_time and --runtime, and a look at what else uses the device";
    /// The figures changed their level during the measurement and stayed there: burst credits ran
    /// out, a cache filled, a throttle set in, or a neighbour came or went.
    PerformanceShift = "regime-change", Doubt, "the rate came to another level",
        "--ramp_time and --runtime long enough to measure the level that lasts";
    /// The first write of a block runs at another speed than its rewrite (thin provisioning).
    FirstWriteDiffers = "first-write-differs", Share, "first writes run at another speed",
        "read write results as rewrites; a first write runs at the other speed";
    /// The device did other work than the load's during the run.
    OtherLoad = "other-load", Doubt, "others used the device",
        "stop what else uses the device (iostat -x 1, iotop), and repeat";
    /// Some I/Os failed; the figures are those of the others.
    IoErrors = "io-errors", Doubt, "I/Os failed",
        "dmesg tells what the kernel saw";
    /// Workers wait for I/Os that do not end; what they had not handed over yet is missing.
    WorkerHeld = "worker-held", Doubt, "I/Os did not end",
        "dmesg tells what the device or file system waits for";
    /// The run was interrupted before its time.
    Interrupted = "interrupted", Note, "the run was interrupted",
        "run it again to its end";
    /// The run was interrupted and taken up again later: between its parts the target may have
    /// rested, or done other work.
    Resumed = "resumed", Note, "the run was taken up again after an interruption",
        "run it in one go where the state of the device matters";
    /// Latencies beyond the histogram's range were counted as overflow.
    LatencyOverflow = "latency-overflow", Note, "latencies beyond the histogram",
        "the maximum and the mean are exact all the same";
    /// The target is a simulation; nothing real was measured.
    Simulated = "simulated", Note, "the target is a simulation",
        "iogauge find DIRECTORY measures a real one";
    /// Nothing was issued to any device (engine `null`).
    NoIo = "no-io", Doubt, "nothing was issued to any device",
        "leave out --ioengine=null to measure the target";
    /// fio did the I/O: its figures are taken its way, or its load is not quite the one asked.
    ViaFio = "via-fio", Note, "real fio did the I/O",
        "iogauge crosscheck TARGET tells whether both measure the same";
    /// The block layer was to be traced and could not be.
    NotTraced = "not-traced", Note, "the block layer was not traced",
        "run as root, with bpftrace installed";
    /// The block layer was traced, which costs something at each request.
    Traced = "traced", Note, "the block layer was traced meanwhile",
        "leave out --trace to measure without what it costs";
    /// What the block layer saw is not the load, request for I/O.
    TraceDiffers = "trace-differs", Note, "requests do not stand for I/Os one for one",
        "read the block layer's figures as those of requests, whoever made them";
    /// The limit was not reached because the search ran out of time or range.
    SearchCutShort = "search-cut-short", Doubt, "the search ended before the limit",
        "a longer --budget, or a larger --max-depth";
}

impl CaveatCode {
    /// What such a caveat does to an answer where no figure tells.
    #[must_use]
    pub const fn impact(self) -> Impact {
        match self.rule() {
            ImpactRule::Note => Impact::Note,
            ImpactRule::Doubt | ImpactRule::Share => Impact::Doubt,
        }
    }
}

/// How the impact of a caveat is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImpactRule {
    /// Always a note.
    Note,
    /// Always a doubt.
    Doubt,
    /// By the share of the answer that may be wrong: a doubt where it is more than
    /// [`DOUBT_SHARE`].
    Share,
}

/// By more than this share an answer has to be off for a caveat to put it in doubt.
pub const DOUBT_SHARE: f64 = 0.1;

/// What a caveat does to the answer it stands beside.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, JsonSchema, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Impact {
    /// Worth knowing; the answer stands.
    Note,
    /// The answer could be another by more than a tenth. Decided from figures where there are
    /// figures, by the kind of caveat otherwise.
    Doubt,
}

/// One reason to doubt a result, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(from = "StoredCaveat")]
#[schemars(!from)]
pub struct Caveat {
    /// What kind of doubt.
    pub code: CaveatCode,
    /// What it does to the answer.
    pub impact: Impact,
    /// The doubt in one sentence, with the figures it rests on.
    pub message: String,
    /// What to do: a command where there is one.
    #[serde(rename = "remedy")]
    pub hint: String,
}

impl Caveat {
    /// A caveat with its message and hint; its impact is that of its kind.
    #[must_use]
    pub fn new(code: CaveatCode, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let (message, hint) = (message.into(), hint.into());
        Self { code, impact: code.impact(), message, hint }
    }

    /// A caveat with its message, the hint and the impact of its kind.
    #[must_use]
    pub fn of(code: CaveatCode, message: impl Into<String>) -> Self {
        Self::new(code, message, code.hint())
    }

    /// The caveat with an impact of its own.
    #[must_use]
    pub fn with_impact(self, impact: Impact) -> Self {
        Self { impact, ..self }
    }

    /// The caveat weighed by the share of the answer that may be wrong, from 0 on: beyond
    /// [`DOUBT_SHARE`] it is a doubt.
    #[must_use]
    pub fn weighed(self, share: f64) -> Self {
        self.with_impact(if share > DOUBT_SHARE { Impact::Doubt } else { Impact::Note })
    }

    /// True where it puts the answer in doubt.
    #[must_use]
    pub fn is_doubt(&self) -> bool {
        self.impact == Impact::Doubt
    }
}

/// A caveat as documents have it; those written before there was an impact take that of the kind.
#[derive(Deserialize)]
struct StoredCaveat {
    code: CaveatCode,
    impact: Option<Impact>,
    message: String,
    #[serde(rename = "remedy")]
    hint: String,
}

impl From<StoredCaveat> for Caveat {
    fn from(stored: StoredCaveat) -> Self {
        let StoredCaveat { code, impact, message, hint } = stored;
        Self { code, impact: impact.unwrap_or(code.impact()), message, hint }
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
            assert!(!code.title().is_empty() && !code.hint().is_empty(), "{word}");
        }
    }

    #[test]
    fn a_share_of_more_than_a_tenth_is_a_doubt() {
        let weighed = |share| Caveat::new(CaveatCode::SparseHoles, "", "").weighed(share).impact;
        assert_eq!([0.0, 0.1, 0.11, f64::INFINITY].map(weighed), {
            use Impact::{Doubt, Note};
            [Note, Note, Doubt, Doubt]
        });
    }

    #[test]
    fn documents_without_an_impact_are_read() {
        let old = r#"{"code": "page-cache", "message": "m", "remedy": "r"}"#;
        let caveat: Caveat = serde_json::from_str(old).unwrap();
        assert_eq!(caveat, Caveat::new(CaveatCode::PageCache, "m", "r"));
        assert!(caveat.is_doubt());
        let noted = caveat.with_impact(Impact::Note);
        let text = serde_json::to_string(&noted).unwrap();
        assert!(text.contains(r#""impact":"note""#), "{text}");
        assert_eq!(serde_json::from_str::<Caveat>(&text).unwrap(), noted);
    }
}
