//! How users name a run: `last`, `last-1`, `-1`, the beginning of an ID or its last characters.

use super::{HistoryError, RunId};
use std::fmt;
use std::str::FromStr;

/// Length of the random end of an ID.
const SUFFIX: usize = 4;

/// A run as the user names it. [`super::History::resolve`] finds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunRef {
    /// Number of runs after it: `last` is 0, `last-1` and `-1` are 1.
    Back(u32),
    /// The beginning of an ID, or its last four characters.
    Name(String),
}

impl FromStr for RunRef {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Self, HistoryError> {
        let fail = || HistoryError::BadReference(text.to_owned());
        let word = text.trim().to_ascii_lowercase();
        if word == "last" {
            return Ok(Self::Back(0));
        }
        let name = word.strip_prefix("last").unwrap_or(&word);
        if let Some(back) = name.strip_prefix('-') {
            return back.parse().map(Self::Back).map_err(|_| fail());
        }
        let fits = |c: char| c.is_ascii_digit() || c.is_ascii_lowercase() || c == '-';
        if word.is_empty() || !word.chars().all(fits) {
            return Err(fail());
        }
        Ok(Self::Name(word))
    }
}

impl fmt::Display for RunRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Back(0) => f.pad("last"),
            Self::Back(back) => f.pad(&format!("last-{back}")),
            Self::Name(name) => f.pad(name),
        }
    }
}

impl RunRef {
    /// Returns the index of the named run in `runs`, which are sorted newest first.
    pub(super) fn pick(&self, runs: &[RunId]) -> Result<usize, HistoryError> {
        let place = match self {
            Self::Back(back) => usize::try_from(*back).ok().filter(|place| *place < runs.len()),
            Self::Name(name) => self.pick_name(name, runs)?,
        };
        place.ok_or_else(|| HistoryError::NoSuchRun {
            reference: self.to_string(),
            hint: match runs {
                [] => "it holds none yet".to_owned(),
                [only] => format!("it holds one, {only}"),
                [last, ..] => format!("it holds {}, the last being {last}", runs.len()),
            },
        })
    }

    fn pick_name(&self, name: &str, runs: &[RunId]) -> Result<Option<usize>, HistoryError> {
        let that = |fits: &dyn Fn(&str) -> bool| -> Vec<usize> {
            (0..runs.len()).filter(|place| fits(runs[*place].as_str())).collect()
        };
        let mut places = that(&|id| id.starts_with(name));
        if places.is_empty() && name.len() == SUFFIX {
            places = that(&|id| id.ends_with(name));
        }
        match places.as_slice() {
            [] => Ok(None),
            [place] => Ok(Some(*place)),
            several => Err(HistoryError::Ambiguous {
                reference: name.to_owned(),
                candidates: several.iter().map(|place| runs[*place].clone()).collect(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn runs() -> Vec<RunId> {
        ["20261121-101530-x7k2", "20261121-101530-a111", "20261120-080000-2026"]
            .map(|id| RunId::stored(id.to_owned()))
            .to_vec()
    }

    fn pick(text: &str) -> Result<usize, HistoryError> {
        text.parse::<RunRef>()?.pick(&runs())
    }

    #[test]
    fn run_ref_matches_last_n_prefix_and_suffix() {
        for (text, place) in [
            ("last", 0),
            ("LAST-1", 1),
            ("-2", 2),
            ("last-0", 0),
            ("20261121-101530-x", 0),
            ("20261120", 2),
            ("a111", 1),
            ("20261121-101530-a111", 1),
        ] {
            assert_eq!(pick(text).unwrap(), place, "{text}");
        }
    }

    #[test]
    fn run_ref_errors_list_available_runs() {
        let message = |text| pick(text).unwrap_err().to_string();
        let ambiguous = message("2026");
        assert!(ambiguous.contains("20261121-101530-x7k2, 20261121-101530-a111"), "{ambiguous}");
        assert!(message("2025").contains("it holds 3, the last being 20261121-101530-x7k2"));
        assert!(message("last-3").contains("no run \"last-3\""));
        let empty = RunRef::Back(0).pick(&[]).unwrap_err().to_string();
        assert!(empty.contains("holds none yet"), "{empty}");
        for text in ["", "last-", "last-x", "--", "a b", "ü", "-99999999999"] {
            assert!(matches!(pick(text), Err(HistoryError::BadReference(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn run_ref_parsing_never_panics_and_round_trips(text in "\\PC{0,12}") {
            if let Ok(reference) = text.parse::<RunRef>() {
                prop_assert_eq!(reference.to_string().parse::<RunRef>().unwrap(), reference.clone());
                let _ = reference.pick(&runs());
            }
        }
    }
}
