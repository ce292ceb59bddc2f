//! The results of many runs, one at a time.

use super::{History, HistoryError, IMPORT, RunRef, RunRow, query};

/// What is kept of the result of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct KeptResult {
    pub row: RunRow,
    /// Its document as JSON; `None` if the run was not closed. That of an import has no steps.
    pub document: Option<String>,
    /// The only step of an import as JSON; `None` if it has several.
    pub step: Option<String>,
}

impl History {
    /// Returns the results of runs in the order given, each once. Only one of them is in memory. An item is an error if
    /// its row is damaged.
    ///
    /// # Errors
    /// As [`Self::resolve`].
    pub fn results(
        &self,
        runs: &[RunRef],
    ) -> Result<impl Iterator<Item = Result<KeptResult, HistoryError>>, HistoryError> {
        let (names, seqs) = self.store.read(query::names)?;
        let mut chosen: Vec<i64> = Vec::new();
        let mut is_chosen = std::collections::HashSet::new();
        for run in runs {
            let seq = seqs[run.pick(&names)?];
            if is_chosen.insert(seq) {
                chosen.push(seq);
            }
        }
        Ok(chosen.into_iter().map(|seq| self.result(seq)))
    }

    fn result(&self, seq: i64) -> Result<KeptResult, HistoryError> {
        self.store.read(|connection| {
            let row = query::row_of(connection, seq, &self.here)?;
            let document = query::document(connection, seq)?;
            let is_single = row.kind == IMPORT && row.steps == 1;
            let step = is_single.then(|| query::first_step(connection, seq)).transpose()?;
            Ok(KeptResult { row, document, step })
        })
    }
}
