//! Guides: named limits that a field agrees on.

use crate::limit::{Limit, Metric, Side};
use std::fmt;

/// A rule of thumb for storage latency, as limits.
#[derive(Debug, PartialEq)]
pub struct Guide {
    /// The value of `--guide`.
    pub name: &'static str,
    pub limits: &'static [Limit],
    /// What storage the guide is for, and its limits in words.
    pub about: &'static str,
    /// Where the rule comes from.
    pub source: &'static str,
}

/// All guides. Help and error messages list them from here.
pub const GUIDES: &[Guide] = &[
    Guide {
        name: "flash",
        limits: &[
            Limit { each: false, side: Side::Any, metric: Metric::Mean, bound_ns: 2_000_000 },
            Limit { each: false, side: Side::Any, metric: Metric::Max, bound_ns: 5_000_000 },
        ],
        about: "databases on all-flash storage: 2 ms on average, never over 5 ms",
        source: "InterSystems, Random Read IO Storage Performance Tool: what is acceptable for \
                 random reads of 8 KiB and 64 KiB on all-flash arrays",
    },
    Guide {
        name: "etcd",
        limits: &[Limit {
            each: false,
            side: Side::Write,
            metric: Metric::Percentile(99.0),
            bound_ns: 10_000_000,
        }],
        about: "the log of an etcd member, written with --sync=dsync: 99 % within 10 ms",
        source: "etcd FAQ: the 99th percentile of wal_fsync_duration_seconds under 10 ms",
    },
];

impl Guide {
    /// Returns the description and the source in one line.
    #[must_use]
    pub fn help(&self) -> String {
        format!("{} ({})", self.about, self.source)
    }
}

/// The error for an unknown name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" is not a guide; hint: use {}", listed())]
pub struct GuideError {
    name: String,
}

fn listed() -> String {
    GUIDES.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Finds a guide by its name, ignoring case.
///
/// # Errors
/// If no guide has this name.
pub fn find(name: &str) -> Result<&'static Guide, GuideError> {
    let word = name.trim().to_ascii_lowercase();
    let guide = GUIDES.iter().find(|guide| guide.name == word);
    guide.ok_or_else(|| GuideError { name: name.to_owned() })
}

/// Writes the name and the limits: `flash (mean <= 2 ms, max <= 5 ms)`.
impl fmt::Display for Guide {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let limits: Vec<String> = self.limits.iter().map(ToString::to_string).collect();
        write!(f, "{} ({})", self.name, limits.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limit::tightest;

    #[test]
    fn every_guide_is_complete_and_found_by_name() {
        for guide in GUIDES {
            assert_eq!(find(guide.name), Ok(guide));
            assert_eq!(find(&guide.name.to_uppercase()), Ok(guide));
            assert!(guide.name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{guide}");
            assert!(!guide.limits.is_empty() && !guide.about.is_empty(), "{guide}");
            assert!(!guide.source.is_empty(), "{guide}");
            assert_eq!(tightest(guide.limits.iter().copied()), guide.limits, "{guide} repeats");
            for limit in guide.limits {
                assert_eq!(limit.to_string().parse(), Ok(*limit), "{guide} cannot be typed");
                let bound = limit.to_string().split("<= ").nth(1).unwrap().to_owned();
                assert!(guide.about.contains(&bound), "{guide} is told otherwise than it holds");
            }
        }
        let mut names: Vec<_> = GUIDES.iter().map(|guide| guide.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), GUIDES.len(), "two guides have one name");
    }

    #[test]
    fn flash_guide_limits_mean_to_2_ms_and_max_to_5_ms() {
        let flash = find("flash").unwrap();
        assert_eq!(flash.to_string(), "flash (mean <= 2 ms, max <= 5 ms)");
    }

    #[test]
    fn unknown_guide_error_lists_all_guides_in_one_line() {
        for name in ["list", "", "flush"] {
            let message = find(name).unwrap_err().to_string();
            assert!(!message.contains('\n'), "{message}");
            assert!(GUIDES.iter().all(|guide| message.contains(&guide.to_string())), "{message}");
        }
    }
}
