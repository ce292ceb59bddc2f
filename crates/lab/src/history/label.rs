//! Labels: names that users give to runs.

use super::store::Durability;
use super::{History, HistoryError, RunId, RunRef};
use rusqlite::params;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;

/// Maximum number of characters.
const LONGEST: usize = 100;

/// A user's name for a run. Several runs may have the same label.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label(String);

impl Label {
    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Makes a label of a text that the history holds.
    pub(super) fn stored(text: String) -> Self {
        Self(text)
    }
}

impl FromStr for Label {
    type Err = HistoryError;

    /// Spaces at the ends do not count.
    fn from_str(text: &str) -> Result<Self, HistoryError> {
        let label = text.trim();
        let is_long = label.chars().nth(LONGEST).is_some();
        if label.is_empty() || is_long || label.chars().any(char::is_control) {
            return Err(HistoryError::BadLabel { label: text.to_owned(), longest: LONGEST });
        }
        Ok(Self(label.to_owned()))
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl History {
    /// Gives runs a label in place of their earlier one, or removes it; all or none of them. Returns their IDs.
    ///
    /// # Errors
    /// As [`Self::resolve`]; the file cannot be written.
    pub fn set_label(
        &mut self,
        references: &[RunRef],
        label: Option<&Label>,
    ) -> Result<Vec<RunId>, HistoryError> {
        self.store.refuse_unwritable()?;
        let rows = self.distinct(references)?;
        self.store.write(Durability::Machine, |t| {
            let mut update = t.prepare("UPDATE run SET label = ?2 WHERE seq = ?1")?;
            let label = label.map(Label::as_str);
            rows.iter().try_for_each(|row| update.execute(params![row.seq, label]).map(|_| ()))
        })?;
        Ok(rows.into_iter().map(|row| row.id).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_trimmed_and_checked() {
        let label = |text: &str| text.parse::<Label>();
        assert_eq!(label("  nightly, array 1 ").unwrap().as_str(), "nightly, array 1");
        assert!(label(&"ü".repeat(LONGEST)).is_ok());
        for text in ["", "  ", "a\nb", "a\u{7f}", &"ü".repeat(LONGEST + 1)] {
            let message = label(text).unwrap_err().to_string();
            assert!(message.contains("hint: use 1 to 100 characters"), "{message}");
        }
    }
}
