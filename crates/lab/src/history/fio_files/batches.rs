//! Reads a file and sends its steps in batches.

use super::about::About;
use super::fingerprint::Fingerprint;
use super::{BATCH_BYTES, BUFFER_BYTES, MOST_SYSTEMS};
use crate::history::{Content, ReadySteps};
use iogauge_fio::{Problem, Reading, read_results};
use iogauge_model::result::FioResult;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, BufReader};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;

/// Steps to be written, and what could not be read before them.
pub(super) struct Batch {
    pub(super) parts: Vec<Part>,
    pub(super) problems: Vec<Problem>,
}

/// Steps of one system, with what is known about it by then.
pub(super) struct Part {
    /// The number of the system, from 0.
    pub(super) number: usize,
    pub(super) about: About,
    pub(super) steps: ReadySteps,
}

/// What is known about a file that was read.
pub(super) struct WholeFile {
    /// Each of its systems that has results, in order.
    pub(super) systems: Vec<About>,
    pub(super) interim_reports: u64,
    pub(super) content: Content,
}

/// Reads a file and sends its steps. Each system that the file names has its own.
pub(super) fn read(file: File, empty: About, batches: &SyncSender<Batch>) -> io::Result<WholeFile> {
    let unwanted = Cell::new(false);
    let input = Fingerprint::new(file, &unwanted);
    let mut input = BufReader::with_capacity(BUFFER_BYTES, input);
    let path = empty.path().to_owned();
    let mut pending = Pending::new(empty);
    let mut interim_reports = 0;
    read_results(&path, &mut input, &mut |found| {
        match found {
            Reading::Problem(problem) => pending.problem(problem),
            Reading::Interim(reports) => interim_reports = reports,
            Reading::System(system) => pending.current = pending.number_of(system),
            Reading::Result(result) => pending.add(result),
        }
        if pending.bytes >= BATCH_BYTES {
            let sent = batches.send(pending.batch());
            unwanted.set(unwanted.get() || sent.is_err());
        }
    })?;
    // If the receiver is gone, it reports the reason.
    let _ = batches.send(pending.batch());
    let systems = pending.systems.into_iter().map(|(about, _)| about);
    let systems = systems.filter(|about| about.results > 0).collect();
    Ok(WholeFile { systems, interim_reports, content: input.into_inner().content() })
}

/// What was read and not sent.
struct Pending {
    /// Each system so far, in order. The first one has no name until a result with a name comes first.
    systems: Vec<(About, ReadySteps)>,
    /// The system of the next results; `None` if there are too many.
    current: Option<usize>,
    problems: Vec<Problem>,
    /// Size of the steps and problems.
    bytes: usize,
    /// True if results of too many systems were reported.
    told: bool,
}

impl Pending {
    fn new(empty: About) -> Self {
        Self {
            systems: vec![(empty, ReadySteps::default())],
            current: Some(0),
            problems: Vec::new(),
            bytes: 0,
            told: false,
        }
    }

    fn number_of(&mut self, system: Option<Arc<str>>) -> Option<usize> {
        if let Some(known) = self.systems.iter().position(|(about, _)| about.system == system) {
            return Some(known);
        }
        // A file that names all its systems has no other.
        if let [(first, _)] = &mut self.systems[..]
            && first.results == 0
        {
            first.system = system;
            return Some(0);
        }
        if self.systems.len() >= MOST_SYSTEMS {
            return None;
        }
        let about = self.systems[0].0.of_system(system);
        self.systems.push((about, ReadySteps::default()));
        Some(self.systems.len() - 1)
    }

    fn add(&mut self, result: Box<FioResult>) {
        let Some(current) = self.current else { return self.tell_too_many(&result) };
        let (about, steps) = &mut self.systems[current];
        about.add(&result);
        let before = steps.bytes();
        steps.push(&result.into_step());
        self.bytes += steps.bytes() - before;
    }

    fn problem(&mut self, problem: Problem) {
        self.bytes += problem.reason.len();
        self.problems.push(problem);
    }

    fn tell_too_many(&mut self, result: &FioResult) {
        if !std::mem::replace(&mut self.told, true) {
            let reason =
                format!("more than {MOST_SYSTEMS} systems; the results of the others are left out");
            let FioResult { file, line, .. } = result;
            self.problem(Problem { file: file.clone(), line: *line, reason });
        }
    }

    /// Returns all of it.
    fn batch(&mut self) -> Batch {
        let numbered = self.systems.iter_mut().enumerate();
        let parts =
            numbered.filter(|(_, (_, steps))| steps.bytes() > 0).map(|(number, (about, steps))| {
                // The next steps take about as much.
                let next = ReadySteps::with_capacity(steps.bytes() + steps.bytes() / 8);
                Part { number, about: about.clone(), steps: std::mem::replace(steps, next) }
            });
        let parts = parts.collect();
        self.bytes = 0;
        Batch { parts, problems: std::mem::take(&mut self.problems) }
    }
}
