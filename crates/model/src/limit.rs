//! Latency limits: `mean<=10ms`, `read:p99.9<=5ms`, `max<=50ms`, `each:p99<=5ms`.

pub use crate::directions::Directions;
use crate::histogram::Histogram;
use crate::load::Load;
use crate::units::parse_duration_ns;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The latency statistic that a limit bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Metric {
    Mean,
    /// A percentile above 0 and below 100.
    Percentile(f64),
    /// The largest latency.
    Max,
}

impl Metric {
    /// Returns the value of the statistic in nanoseconds.
    #[must_use]
    pub fn of(self, histogram: &Histogram) -> f64 {
        match self {
            Self::Mean => histogram.mean_ns(),
            Self::Percentile(percent) => histogram.percentile_ns(percent) as f64,
            Self::Max => histogram.max_ns() as f64,
        }
    }

    /// Returns the number of I/Os that the statistic needs to be reliable. For a percentile, at least ten
    /// values must lie beyond it.
    #[must_use]
    pub fn samples_wanted(self) -> u64 {
        match self {
            Self::Mean => 100,
            Self::Percentile(percent) => (10.0 / (1.0 - percent / 100.0)).round() as u64,
            Self::Max => 1000,
        }
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mean => f.pad("mean"),
            Self::Percentile(percent) => f.pad(&format!("p{percent}")),
            Self::Max => f.pad("max"),
        }
    }
}

/// The I/Os that a limit bounds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Reads and writes together.
    #[default]
    Any,
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Flushes only: fsync of files, commits of databases.
    Sync,
}

impl Side {
    fn is_any(&self) -> bool {
        *self == Self::Any
    }

    /// Returns the part of a limit before the metric: `read:`, `write:`, `sync:` or nothing.
    #[must_use]
    pub fn prefix(self) -> &'static str {
        match self {
            Self::Any => "",
            Self::Read => "read:",
            Self::Write => "write:",
            Self::Sync => "sync:",
        }
    }
}

/// An upper bound on a latency statistic.
#[derive(Debug, Clone, Copy, PartialEq, JsonSchema)]
#[schemars(into = "Stored", from = "Stored")]
pub struct Limit {
    /// True if the statistic of each of several hosts is bounded by itself, and not that of all I/Os together.
    pub each: bool,
    /// The I/Os bounded.
    pub side: Side,
    pub metric: Metric,
    /// The bound in nanoseconds, at least 1.
    pub bound_ns: u64,
}

impl Limit {
    /// Returns the statistic as the user types it: `read:p99.9`.
    #[must_use]
    pub fn statistic(&self) -> String {
        let each = if self.each { "each:" } else { "" };
        format!("{each}{}{}", self.side.prefix(), self.metric)
    }

    /// True if both limits bound the same statistic.
    #[must_use]
    pub fn bounds_as(&self, other: &Self) -> bool {
        Self { bound_ns: 0, ..*self } == Self { bound_ns: 0, ..*other }
    }

    /// Returns the latencies that the limit bounds: those of each host that did I/O, or all together.
    pub fn judged<'d, 'a>(
        &self,
        latencies: &'d Directions<'a>,
    ) -> impl Iterator<Item = &'d Histogram> + use<'d, 'a> {
        let hosts = if self.each { latencies.hosts() } else { &[] };
        let side = self.side;
        let all = hosts.is_empty().then(|| latencies.of(side));
        all.into_iter().chain(hosts.iter().map(move |(_, own)| own.of(side)))
    }

    /// Returns the statistic as the user types it for a database, where flushes are commits: `commit:p99.9`.
    #[must_use]
    pub fn database_statistic(&self) -> String {
        let each = if self.each { "each:" } else { "" };
        match self.side {
            Side::Sync => format!("{each}commit:{}", self.metric),
            _ => self.statistic(),
        }
    }

    /// Formats the limit for a database: `commit:p99.9 <= 5 ms`.
    #[must_use]
    pub fn database_words(&self) -> String {
        format!("{} <= {}", self.database_statistic(), Bound(self.bound_ns))
    }

    /// Returns the value of the bounded statistic in nanoseconds, if each host is bounded that of the worst one;
    /// infinity if the side has no I/O.
    #[must_use]
    pub fn statistic_ns(&self, latencies: &Directions<'_>) -> f64 {
        let value = |histogram: &Histogram| match histogram.count() {
            0 => f64::INFINITY,
            _ => self.metric.of(histogram),
        };
        self.judged(latencies).map(value).fold(0.0, f64::max)
    }

    /// True if the statistic does not exceed the bound. False if there is no I/O.
    #[must_use]
    pub fn holds(&self, latencies: &Directions<'_>) -> bool {
        self.statistic_ns(latencies) <= self.bound_ns as f64
    }

    /// True if the bounded side has as many I/Os as its statistic needs, if each host is bounded on each host.
    #[must_use]
    pub fn has_samples(&self, latencies: &Directions<'_>) -> bool {
        let wanted = self.metric.samples_wanted();
        self.judged(latencies).all(|histogram| histogram.count() >= wanted)
    }

    /// Checks that a measurement on this many hosts has the hosts that this limit bounds.
    ///
    /// # Errors
    /// If the limit bounds each host, and there is only one.
    pub fn check_hosts(&self, hosts: usize) -> Result<(), LimitError> {
        match self.each && hosts < 2 {
            true => Err(LimitError::OneHost(*self, Self { each: false, ..*self })),
            false => Ok(()),
        }
    }

    /// Checks that a workload issues the I/Os that this limit bounds.
    ///
    /// # Errors
    /// If the workload issues none of them.
    pub fn check(&self, load: &Load) -> Result<(), LimitError> {
        let mixed = load.rw.is_mixed() && !load.dependent;
        let reads = load.dependent || load.rw.reads() && !(mixed && load.read_percent == 0);
        let writes = load.writes() && !(mixed && load.read_percent == 100);
        let syncs = writes && (load.fsync_every > 0 || load.fdatasync_every > 0 || load.end_fsync);
        let (missing, words, right) = match self.side {
            Side::Sync => (!syncs, "flushes", "randwrite --fsync=1"),
            Side::Read => (!reads, "reads", "randread"),
            Side::Write => (!writes, "writes", "randwrite"),
            Side::Any => return Ok(()),
        };
        if !missing {
            return Ok(());
        }
        let share = if mixed { format!(" rwmixread={}", load.read_percent) } else { String::new() };
        let asked = format!("rw={}{share}", load.rw);
        Err(LimitError::NoSuchDirection { limit: *self, words, asked, right })
    }
}

/// Removes redundant limits: keeps the tightest of several on one statistic, in order of first occurrence.
#[must_use]
pub fn tightest(limits: impl IntoIterator<Item = Limit>) -> Vec<Limit> {
    let mut kept: Vec<Limit> = Vec::new();
    for limit in limits {
        match kept.iter_mut().find(|kept| kept.bounds_as(&limit)) {
            Some(same) => same.bound_ns = same.bound_ns.min(limit.bound_ns),
            None => kept.push(limit),
        }
    }
    kept
}

impl Limit {
    /// Default limit of a search on storage: p99 up to 5 ms.
    pub const USUAL: Self = Self {
        each: false,
        side: Side::Any,
        metric: Metric::Percentile(99.0),
        bound_ns: 5_000_000,
    };
    /// Default limit on rotating disks, where one I/O takes about 10 ms: p99 up to 50 ms.
    pub const USUAL_OF_DISKS: Self = Self { bound_ns: 50_000_000, ..Self::USUAL };
}

/// Default limit of a search on a database: a mean of 10 ms.
impl Default for Limit {
    fn default() -> Self {
        Self { each: false, side: Side::Any, metric: Metric::Mean, bound_ns: 10_000_000 }
    }
}

/// Formats a bound as typed, without rounding: `10 ms`, `2.555 ms`.
#[derive(Debug, Clone, Copy)]
pub struct Bound(pub u64);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("s", 1_000_000_000u64), ("ms", 1_000_000), ("µs", 1_000)];
        match units.iter().find(|(_, factor)| self.0 >= *factor) {
            Some((unit, factor)) => f.pad(&format!("{} {unit}", self.0 as f64 / *factor as f64)),
            None => f.pad(&format!("{} ns", self.0)),
        }
    }
}

/// Formats the limit as the user may type it: `read:p99.9 <= 5 ms`. Exact for bounds of up to some weeks.
impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} <= {}", self.statistic(), Bound(self.bound_ns))
    }
}

/// Why a limit is invalid or does not fit a workload.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LimitError {
    /// The limit has no `<=`.
    #[error("limit \"{0}\" has no \"<=\"; hint: use mean<=10ms or read:p99.9<=5ms")]
    NoBound(String),
    #[error(
        "\"{0}:\" is not a direction; hint: use read:p99<=5ms, write:p99<=5ms or sync:p99<=5ms, or each:p99<=5ms on \
         several hosts"
    )]
    Side(String),
    /// `each:` does not come first.
    #[error("limit \"{0}\" has \"each:\" after a direction; hint: use each:read:p99<=5ms")]
    EachFirst(String),
    /// The limit bounds each of several hosts, and only one host does I/O.
    #[error(
        "limit \"{0}\" bounds each of several hosts, and there is one; hint: use --limit '{1}'"
    )]
    OneHost(Limit, Limit),
    #[error("\"{0}\" is not a latency statistic; hint: use mean, p50, p99, p99.9 or max")]
    Metric(String),
    /// The bound has no unit. A bare 10 would mean ten seconds, which nobody means in a limit.
    #[error("the bound of limit \"{0}\" has no unit; hint: use 10ms or 250us")]
    Unit(String),
    /// The bound is not a duration above zero.
    #[error("the bound of limit \"{0}\" is not a time above 0; hint: use 10ms or 250us")]
    Bound(String),
    #[error("\"{0}\" has several limits; hint: use --limit once for each")]
    Several(String),
    /// The workload issues no I/O in the bounded direction.
    #[error(
        "limit \"{limit}\" bounds {words}, and {asked} makes none; hint: use --rw=randrw or --rw={right}"
    )]
    NoSuchDirection {
        limit: Limit,
        /// The I/Os it bounds, in the plural.
        words: &'static str,
        /// The options of the workload, which issues no such I/O.
        asked: String,
        /// A pattern that issues such I/O.
        right: &'static str,
    },
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let (statistic, bound) =
            text.split_once("<=").ok_or_else(|| LimitError::NoBound(text.to_owned()))?;
        if bound.contains("<=") {
            return Err(LimitError::Several(text.to_owned()));
        }
        let word = |text: &str, wanted: &str| text.trim().eq_ignore_ascii_case(wanted);
        let (each, of_side) = match statistic.split_once(':') {
            Some((each, rest)) if word(each, "each") => (true, rest),
            _ => (false, statistic),
        };
        let (side, metric) = match of_side.split_once(':') {
            None => (Side::Any, of_side),
            Some((side, metric)) => match side.trim().to_ascii_lowercase().as_str() {
                "read" => (Side::Read, metric),
                "write" => (Side::Write, metric),
                "sync" | "commit" => (Side::Sync, metric),
                _ => return Err(LimitError::Side(side.trim().to_owned())),
            },
        };
        if metric.split_once(':').is_some_and(|(each, _)| word(each, "each")) {
            return Err(LimitError::EachFirst(text.to_owned()));
        }
        let metric = metric.parse()?;
        let bound = bound.trim();
        if bound.ends_with(|c: char| c.is_ascii_digit() || c == '.') {
            return Err(LimitError::Unit(text.to_owned()));
        }
        let bound_ns = parse_duration_ns(bound)
            .ok()
            .filter(|ns| *ns > 0 && !bound.is_empty())
            .ok_or_else(|| LimitError::Bound(text.to_owned()))?;
        Ok(Self { each, side, metric, bound_ns })
    }
}

impl FromStr for Metric {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let word = text.trim().to_ascii_lowercase();
        let fail = || LimitError::Metric(text.trim().to_owned());
        match word.as_str() {
            "mean" | "avg" => Ok(Self::Mean),
            "max" => Ok(Self::Max),
            _ => {
                let digits = word.strip_prefix('p').ok_or_else(fail)?;
                if !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
                    return Err(fail());
                }
                let percent: f64 = digits.parse().map_err(|_| fail())?;
                if percent > 0.0 && percent < 100.0 {
                    Ok(Self::Percentile(percent))
                } else {
                    Err(fail())
                }
            }
        }
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(JsonSchema, Serialize, Deserialize)]
struct Stored {
    metric: String,
    bound_ns: u64,
    /// True if each of several hosts is bounded by itself; missing for all together.
    #[serde(default, skip_serializing_if = "is_false")]
    each: bool,
    /// Missing for reads and writes together.
    #[serde(default, rename = "direction", skip_serializing_if = "Side::is_any")]
    side: Side,
}

impl Serialize for Limit {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { each, side, metric, bound_ns } = *self;
        Stored { metric: metric.to_string(), bound_ns, each, side }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let metric = stored.metric.parse().map_err(serde::de::Error::custom)?;
        let Stored { each, side, bound_ns, .. } = stored;
        Ok(Self { each, side, metric, bound_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn limit_examples_from_the_help_parse() {
        let limit: Limit = "mean<=10ms".parse().unwrap();
        assert_eq!(limit, Limit::default());
        let limit: Limit = " p99.9 <= 5ms ".parse().unwrap();
        assert_eq!(limit.metric, Metric::Percentile(99.9));
        assert_eq!(limit.metric.samples_wanted(), 10_000);
        assert_eq!("max<=50ms".parse::<Limit>().unwrap().metric, Metric::Max);
        let limit: Limit = "read:p99<=5ms".parse().unwrap();
        assert_eq!((limit.side, limit.bound_ns), (Side::Read, 5_000_000));
        let limit: Limit = " Write : mean <= 2 ms".parse().unwrap();
        assert_eq!((limit.side, limit.metric, limit.each), (Side::Write, Metric::Mean, false));
        let limit: Limit = "each:p99<=5ms".parse().unwrap();
        assert_eq!(limit, Limit { each: true, ..Limit::USUAL });
        let limit: Limit = " Each : read : p99 <= 5ms".parse().unwrap();
        assert_eq!(limit.to_string(), "each:read:p99 <= 5 ms");
    }

    #[test]
    fn limit_parse_errors_state_first_fault_and_valid_syntax() {
        for (text, what) in [
            ("mean", "has no \"<=\""),
            ("mean<10ms", "has no \"<=\""),
            ("foo<=5", "\"foo\" is not a latency statistic"),
            ("p101<=1ms", "\"p101\" is not"),
            ("median<=1ms", "\"median\" is not"),
            ("p<=1ms", "\"p\" is not"),
            ("pinf<=1ms", "\"pinf\" is not"),
            ("<=1ms", "\"\" is not"),
            ("trim:p99<=1ms", "\"trim:\" is not a direction"),
            (":p99<=1ms", "\":\" is not a direction"),
            ("read:foo<=5", "\"foo\" is not"),
            ("mean<=10", "has no unit"),
            ("read:each:p99<=5ms", "hint: use each:read:p99<=5ms"),
            ("each:each:p99<=5ms", "\"each:\" is not a direction"),
            ("each:<=5ms", "\"\" is not"),
            ("p99<=5ms,mean<=1ms", "has several limits"),
            ("mean<=", "is not a time above 0"),
            ("mean<=0ms", "is not a time above 0"),
            ("mean<=-5ms", "is not a time above 0"),
            ("mean<=5 parsec", "is not a time above 0"),
        ] {
            let message = text.parse::<Limit>().unwrap_err().to_string();
            assert!(message.contains(what) && message.contains("hint: "), "{message}");
        }
    }

    fn limit(text: &str) -> Limit {
        text.parse().unwrap()
    }

    #[test]
    fn each_direction_is_judged_by_its_own_latencies() {
        let (mut reads, mut writes) = (Histogram::new(), Histogram::new());
        reads.record_n(1_000_000, 3);
        writes.record_n(9_000_000, 1);
        let mut syncs = Histogram::new();
        syncs.record_n(40_000_000, 1);
        let both = Directions::new(&reads, &writes, &syncs);
        assert_eq!(limit("commit:mean<=2ms").statistic_ns(&both), 4e7);
        assert_eq!(limit("commit:mean<=2ms").to_string(), "sync:mean <= 2 ms");
        assert_eq!(limit("read:mean<=2ms").statistic_ns(&both), 1e6);
        assert_eq!(limit("write:mean<=2ms").statistic_ns(&both), 9e6);
        assert_eq!(limit("mean<=2ms").statistic_ns(&both), 3e6);
        assert!(limit("read:max<=2ms").holds(&both) && !limit("max<=2ms").holds(&both));
        let nothing = Histogram::new();
        let only_reads = Directions::new(&reads, &nothing, &nothing);
        assert_eq!(limit("mean<=2ms").statistic_ns(&only_reads), 1e6);
        assert!(!limit("write:mean<=1h").holds(&only_reads), "no write, no proof");
        assert!(!limit("mean<=2ms").has_samples(&only_reads));
    }

    #[test]
    fn limit_on_each_host_is_judged_by_the_worst_one() {
        let none = Histogram::empty();
        let of = |ms: u64, n| {
            let mut histogram = Histogram::empty();
            histogram.record_n(ms * 1_000_000, n);
            histogram
        };
        let (fast, slow, mut all) = (of(1, 900), of(20, 100), of(1, 900));
        all.merge(&slow);
        let alone = |reads| Directions::new(reads, &none, &none);
        let hosts = [(0, alone(&fast)), (2, alone(&slow))];
        let latencies = alone(&all).with_hosts(hosts);
        assert!(limit("mean<=3ms").holds(&latencies) && !limit("each:mean<=3ms").holds(&latencies));
        assert_eq!(limit("each:mean<=3ms").statistic_ns(&latencies), 2e7);
        assert!(limit("p99<=3ms").has_samples(&latencies));
        assert!(!limit("each:p99<=3ms").has_samples(&latencies), "100 are too few for p99");
        // A single host is all hosts.
        assert_eq!(limit("each:mean<=3ms").statistic_ns(&alone(&fast)), 1e6);
    }

    #[test]
    fn limit_on_each_host_needs_several() {
        assert_eq!(limit("p99<=5ms").check_hosts(1), Ok(()));
        assert_eq!(limit("each:p99<=5ms").check_hosts(2), Ok(()));
        let error = limit("each:p99<=5ms").check_hosts(1).unwrap_err().to_string();
        let wanted = "limit \"each:p99 <= 5 ms\" bounds each of several hosts, and there is one; \
                      hint: use --limit 'p99 <= 5 ms'";
        assert_eq!(error, wanted);
    }

    #[test]
    fn limit_on_a_direction_without_ios_is_rejected() {
        use crate::load::Pattern;
        let load =
            |rw, read_percent, dependent| Load { rw, read_percent, dependent, ..Load::default() };
        let (reads, writes) = (limit("read:p99<=5ms"), limit("write:p99<=5ms"));
        let message = reads.check(&load(Pattern::RandWrite, 50, false)).unwrap_err().to_string();
        assert_eq!(
            message,
            "limit \"read:p99 <= 5 ms\" bounds reads, and rw=randwrite makes none; \
             hint: use --rw=randrw or --rw=randread"
        );
        let all_reads = load(Pattern::RandRw, 100, false);
        let message = writes.check(&all_reads).unwrap_err().to_string();
        assert!(message.contains("rw=randrw rwmixread=100 makes none"), "{message}");
        assert_eq!(reads.check(&all_reads), Ok(()));
        assert!(writes.check(&load(Pattern::Read, 50, false)).is_err());
        assert_eq!(writes.check(&load(Pattern::RandRead, 50, true)), Ok(()), "updates write");
        assert_eq!(Limit::default().check(&load(Pattern::Write, 50, false)), Ok(()));
    }

    #[test]
    fn tightest_limit_per_statistic_is_kept() {
        let typed =
            ["mean<=5ms", "p99<=9ms", "read:mean<=1ms", "mean<=2ms", "mean<=3ms", "each:mean<=8ms"];
        let kept = tightest(typed.map(limit));
        assert_eq!(kept, ["mean<=2ms", "p99<=9ms", "read:mean<=1ms", "each:mean<=8ms"].map(limit));
    }

    #[test]
    fn limits_of_older_results_are_readable() {
        let stored = serde_json::json!({"metric": "mean", "bound_ns": 10_000_000});
        assert_eq!(serde_json::from_value::<Limit>(stored.clone()).unwrap(), Limit::default());
        assert_eq!(serde_json::to_value(Limit::default()).unwrap(), stored);
        let stored = serde_json::to_value(limit("write:max<=1s")).unwrap();
        assert_eq!(stored["direction"], "write");
        assert_eq!(serde_json::to_value(limit("each:max<=1s")).unwrap()["each"], true);
    }

    fn any_limit() -> impl Strategy<Value = Limit> {
        let metric = prop_oneof![
            Just(Metric::Mean),
            Just(Metric::Max),
            (1u32..9999).prop_map(|p| Metric::Percentile(f64::from(p) / 100.0)),
        ];
        let side = prop_oneof![Just(Side::Any), Just(Side::Read), Just(Side::Write)];
        let limit = (any::<bool>(), side, metric, 1u64..1 << 50);
        limit.prop_map(|(each, side, metric, bound_ns)| Limit { each, side, metric, bound_ns })
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "\\PC{0,24}") {
            let _ = text.parse::<Limit>();
        }

        #[test]
        fn limit_text_and_json_round_trip(limit in any_limit()) {
            let text = serde_json::to_string(&limit).unwrap();
            prop_assert_eq!(serde_json::from_str::<Limit>(&text).unwrap(), limit);
            prop_assert_eq!(limit.to_string().parse::<Limit>().unwrap(), limit);
        }

        #[test]
        fn tightest_limits_are_equivalent_to_all_limits(
            limits in prop::collection::vec(any_limit(), 1..8), ns in 1u64..1 << 50,
        ) {
            let (mut reads, nothing) = (Histogram::new(), Histogram::new());
            reads.record(ns);
            let latencies = Directions::new(&reads, &nothing, &nothing);
            let all = limits.iter().all(|limit| limit.holds(&latencies));
            prop_assert_eq!(tightest(limits).iter().all(|limit| limit.holds(&latencies)), all);
        }
    }
}
