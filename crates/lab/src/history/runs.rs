//! How users name several runs at once: a range, a label, a workload, a system.

use super::{History, HistoryError, IMPORT, Label, RunId, RunRef, query};
use std::fmt;
use std::str::FromStr;

/// What separates the ends of a range.
const TO: &str = "..";
const LABEL: &str = "label:";
const LOAD: &str = "load:";
const SYSTEM: &str = "system:";

/// Runs as the user names them. [`History::select`] finds them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runs {
    One(RunRef),
    /// Two runs and those between them, from the first to the second: `last-5..last`.
    Range(RunRef, RunRef),
    /// Runs that have this label.
    Label(Label),
    /// Runs whose workload contains this text, case-sensitive, as `iogauge history list` shows it.
    Load(String),
    /// Runs of this system: the host, or the system that the results were imported as.
    System(String),
}

impl Runs {
    /// True if it names exactly one run.
    #[must_use]
    pub fn is_one(&self) -> bool {
        matches!(self, Self::One(_))
    }
}

impl FromStr for Runs {
    type Err = HistoryError;

    fn from_str(text: &str) -> Result<Self, HistoryError> {
        let value = |prefix| text.strip_prefix(prefix).filter(|value: &&str| !value.is_empty());
        if let Some(label) = text.strip_prefix(LABEL) {
            return label.parse().map(Self::Label);
        }
        if let Some(load) = value(LOAD) {
            return Ok(Self::Load(load.to_owned()));
        }
        if let Some(system) = value(SYSTEM) {
            return Ok(Self::System(system.to_owned()));
        }
        match text.split_once(TO) {
            Some((first, second)) => Ok(Self::Range(first.parse()?, second.parse()?)),
            None => text.parse().map(Self::One),
        }
    }
}

impl fmt::Display for Runs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(run) => run.fmt(f),
            Self::Range(first, second) => write!(f, "{first}{TO}{second}"),
            Self::Label(label) => write!(f, "{LABEL}{label}"),
            Self::Load(load) => write!(f, "{LOAD}{load}"),
            Self::System(system) => write!(f, "{SYSTEM}{system}"),
        }
    }
}

impl History {
    /// Returns the runs that a user names, at least one. Those of a label, a workload or a system are in the order in which they
    /// began.
    ///
    /// # Errors
    /// [`HistoryError::NoSuchRun`] or [`HistoryError::Ambiguous`], or the file cannot be read.
    pub fn select(&self, runs: &Runs) -> Result<Vec<RunRef>, HistoryError> {
        let (names, _) = self.store.read(query::names)?;
        let found: Vec<RunRef> = match runs {
            Runs::One(run) => vec![run.clone()],
            Runs::Range(first, second) => {
                let [first, second] = [first.pick(&names)?, second.pick(&names)?];
                let mut places: Vec<usize> = (first.min(second)..=first.max(second)).collect();
                if second < first {
                    places.reverse();
                }
                places.into_iter().map(|place| reference(&names[place], place)).collect()
            }
            Runs::Label(label) => self.named(|c| query::of_label(c, label))?,
            Runs::Load(load) => self.named(|c| query::of_load(c, load))?,
            Runs::System(system) => self.named(|c| query::of_system(c, system))?,
        };
        if found.is_empty() {
            let hint = format!("it holds {}, see iogauge history list", names.len());
            return Err(HistoryError::NoSuchRun { reference: runs.to_string(), hint });
        }
        Ok(found)
    }

    /// As [`Self::select`], for several names in their order. A run that several of them name comes once.
    ///
    /// # Errors
    /// As [`Self::select`].
    pub fn select_all(&self, all: &[Runs]) -> Result<Vec<RunRef>, HistoryError> {
        let mut found = Vec::new();
        for runs in all {
            for run in self.select(runs)? {
                if runs.is_one() || !found.contains(&run) {
                    found.push(run);
                }
            }
        }
        Ok(found)
    }

    fn named(
        &self,
        find: impl Fn(&rusqlite::Connection) -> rusqlite::Result<Vec<String>>,
    ) -> Result<Vec<RunRef>, HistoryError> {
        Ok(self.store.read(find)?.into_iter().map(RunRef::Name).collect())
    }

    /// Returns the last run; if it was imported, all runs that the same import added, in their order.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn last_together(&self) -> Result<Vec<RunRef>, HistoryError> {
        let (rows, _) = self.list_undamaged(&super::Filter::default())?;
        let Some(last) = rows.first().filter(|last| last.kind == IMPORT) else {
            return Ok(vec![RunRef::Back(0)]);
        };
        let same = rows.iter().rev().filter(|r| r.kind == IMPORT && r.process == last.process);
        Ok(same.map(|row| RunRef::Name(row.id.to_string())).collect())
    }
}

/// Names a run so that it stays the same if another one is added. A damaged ID cannot be typed.
fn reference(id: &RunId, place: usize) -> RunRef {
    match id.as_str() {
        "" => RunRef::Back(u32::try_from(place).unwrap_or(u32::MAX)),
        id => RunRef::Name(id.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_named_by_reference_range_label_load_or_system() {
        let one = |text: &str| text.parse::<RunRef>().unwrap();
        for (text, runs) in [
            ("last-1", Runs::One(one("last-1"))),
            ("last-5..last", Runs::Range(one("last-5"), one("last"))),
            ("x7k2..-1", Runs::Range(one("x7k2"), one("last-1"))),
            ("label:before update", Runs::Label("before update".parse().unwrap())),
            ("load:randread 4 KiB", Runs::Load("randread 4 KiB".to_owned())),
            ("system:array1", Runs::System("array1".to_owned())),
        ] {
            assert_eq!(text.parse::<Runs>().unwrap(), runs, "{text}");
            assert_eq!(runs.to_string().parse::<Runs>().unwrap(), runs, "{text}");
        }
        for text in
            ["", "..", "last..", "..last", "label:", "load:", "system:", "a b", "last...last"]
        {
            assert!(text.parse::<Runs>().is_err(), "{text}");
        }
    }
}
