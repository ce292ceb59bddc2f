//! Processors that workers may run on: fio's `cpus_allowed`.

use super::LoadError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Number of processors in Linux's default CPU set (`CPU_SETSIZE`, CPU_SET(3)).
const MOST: u32 = 1024;

/// Numbers of processors, at least one, in ascending order.
#[derive(Debug, Clone, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
pub struct Cpus(Vec<u32>);

impl Cpus {
    /// The processor numbers.
    #[must_use]
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    /// Returns the processor of a worker if each worker gets one, in turn.
    #[must_use]
    pub fn of_worker(&self, worker: u32) -> &[u32] {
        let index = worker as usize % self.0.len().max(1);
        self.0.get(index..=index).unwrap_or(&self.0)
    }
}

impl FromStr for Cpus {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        let fail = || {
            let reason =
                format!("\"{text}\" is not a list such as 0,5,8-15 of numbers under {MOST}");
            LoadError::new("cpus_allowed", reason)
        };
        let number = |text: &str| {
            text.trim().parse::<u32>().ok().filter(|number| *number < MOST).ok_or_else(fail)
        };
        let mut numbers = Vec::new();
        for entry in text.split(',') {
            let (first, last) = match entry.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None => (number(entry)?, number(entry)?),
            };
            if first > last {
                return Err(fail());
            }
            numbers.extend(first..=last);
        }
        numbers.sort_unstable();
        numbers.dedup();
        Ok(Self(numbers))
    }
}

impl fmt::Display for Cpus {
    /// Formats the numbers as fio does: `0,5,8-15`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let runs = self.0.chunk_by(|a, b| a + 1 == *b);
        for (index, run) in runs.enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match run {
                [first, .., last] => write!(f, "{separator}{first}-{last}")?,
                run => run.iter().try_for_each(|number| write!(f, "{separator}{number}"))?,
            }
        }
        Ok(())
    }
}

/// How processors are assigned to workers: fio's `cpus_allowed_policy`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CpuPolicy {
    /// Each worker may run on all of the processors.
    #[default]
    Shared,
    /// Each worker runs on one of the processors, in turn.
    Split,
}

impl FromStr for CpuPolicy {
    type Err = LoadError;

    fn from_str(text: &str) -> Result<Self, LoadError> {
        match text {
            "shared" => Ok(Self::Shared),
            "split" => Ok(Self::Split),
            _ => {
                let reason = format!("\"{text}\" is not one of shared, split");
                Err(LoadError::new("cpus_allowed_policy", reason))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn printed_cpu_lists_parse_back() {
        for (text, printed) in
            [("0", "0"), ("0,5,8-15", "0,5,8-15"), ("3,1-2,2", "1-3"), ("7-7,9", "7,9")]
        {
            let cpus: Cpus = text.parse().unwrap();
            assert_eq!(cpus.to_string(), printed);
            assert_eq!(printed.parse::<Cpus>().unwrap(), cpus);
        }
        for text in ["", "x", "1,", "3-1", "1024", "0-4000000000", "-1", "1-2-3"] {
            let message = text.parse::<Cpus>().unwrap_err().to_string();
            assert!(message.contains("0,5,8-15"), "{text}: {message}");
        }
    }

    #[test]
    fn cpus_are_assigned_to_workers_round_robin() {
        let cpus: Cpus = "2,4,6".parse().unwrap();
        let turns: Vec<&[u32]> = (0..4).map(|worker| cpus.of_worker(worker)).collect();
        assert_eq!(turns, [&[2], &[4], &[6], &[2]]);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9,-]{0,12}") {
            if let Ok(cpus) = text.parse::<Cpus>() {
                prop_assert!(!cpus.numbers().is_empty());
                prop_assert_eq!(cpus.to_string().parse::<Cpus>().unwrap(), cpus);
            }
        }
    }
}
