//! What is known about the results of one system in a file.

use super::Words;
use crate::history::{IMPORT, NewRun, UtcTime, WholeRun};
use iogauge_model::result::{
    Environment, FioResult, FioTarget, Head, RUN_FORMAT, RunDocument, TargetFacts, Workload,
};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;

/// What is known about a run, as far as its file has been read.
#[derive(Debug, Clone)]
pub(super) struct About {
    path: String,
    modified: UtcTime,
    /// The system as named in the file.
    pub(super) system: Option<Arc<str>>,
    pub(super) results: u32,
    reported_unix_seconds: Option<i64>,
    first: Option<Box<FioResult>>,
}

impl About {
    pub(super) fn new(path: &Path, modified: UtcTime) -> Self {
        Self {
            path: path.display().to_string(),
            modified,
            system: None,
            results: 0,
            reported_unix_seconds: None,
            first: None,
        }
    }

    /// Begins with another system of the same file.
    pub(super) fn of_system(&self, system: Option<Arc<str>>) -> Self {
        Self { system, results: 0, reported_unix_seconds: None, first: None, ..self.clone() }
    }

    pub(super) fn path(&self) -> &str {
        &self.path
    }

    pub(super) fn add(&mut self, result: &FioResult) {
        self.first.get_or_insert_with(|| Box::new(result.clone()));
        self.results += 1;
        let reported = [self.reported_unix_seconds, result.reported_unix_seconds];
        self.reported_unix_seconds = reported.into_iter().flatten().min();
    }

    fn load(&self) -> String {
        let label = self.first.as_ref().map_or_else(String::new, |first| first.label());
        match self.results {
            0 | 1 => label,
            all => format!("{label} and {} more", all - 1),
        }
    }

    /// Returns when fio reported the first result, or the file's modification time if it did not.
    fn started(&self) -> UtcTime {
        let reported = self.reported_unix_seconds.and_then(|s| s.checked_mul(1_000_000_000));
        reported.map_or(self.modified, UtcTime::from_unix_ns)
    }

    /// Returns the run. Without `content` it is incomplete. `is_one_of_several` is true if the file has several
    /// systems.
    pub(super) fn run(
        &self,
        content: Option<&str>,
        is_one_of_several: bool,
        words: &Words<'_>,
    ) -> WholeRun {
        let started = self.started();
        let version = self.first.as_ref().map_or("", |first| &first.fio_version);
        let target = TargetFacts::Fio(FioTarget {
            path: self.path.clone(),
            fio_version: version.to_owned(),
            system: (words.system)(self.system.as_deref(), is_one_of_several),
            content: content.map(str::to_owned),
        });
        let head = Head {
            format: RUN_FORMAT.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run_id: String::new(),
            started: started.to_string(),
            target,
            load: Workload::label(self.load()),
            label: None,
            via: None,
            host_parts: Vec::new(),
        };
        let run = NewRun {
            kind: IMPORT.to_owned(),
            started,
            command_line: words.command_line.clone(),
            target: self.path.clone(),
            load: self.load(),
            label: words.label.clone(),
            head: json!(head),
        };
        let document = RunDocument {
            head,
            steps: Vec::new(),
            interrupted: false,
            caveats: Vec::new(),
            environment: Environment::default(),
        };
        WholeRun { run, document, verdict: self.verdict(is_one_of_several, words) }
    }

    /// Returns the result in one line. Runs of one file differ by their system, which lists do not show otherwise.
    fn verdict(&self, is_one_of_several: bool, words: &Words<'_>) -> String {
        let Some(first) = &self.first else { return String::new() };
        let verdict = (words.verdict)(&first.to_step(), self.results);
        match &self.system {
            Some(system) if is_one_of_several => format!("{system}: {verdict}"),
            _ => verdict,
        }
    }
}
