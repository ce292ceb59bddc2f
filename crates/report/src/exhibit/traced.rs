//! What the block layer saw, beside the load.

use super::{Exhibit, Shown};
use iogauge_model::Histogram;
use iogauge_model::result::{BlockTrace, StepResult, TracedRequests};

/// What the block layer saw of a step, or of the answer of a search.
#[derive(Debug, Clone)]
pub struct Traced<'a> {
    /// What was measured: `randread 8 KiB depth 16`.
    pub name: String,
    /// Reads, writes and flushes, whichever there were.
    pub directions: Vec<TracedDirection<'a>>,
}

/// One direction of a load, as the load and as the block layer had it.
#[derive(Debug, Clone, Copy)]
pub struct TracedDirection<'a> {
    /// `read`, `write` or `sync`.
    pub word: &'static str,
    /// Latencies of its I/Os, where they were kept.
    pub ios: Option<&'a Histogram>,
    pub requests: Option<&'a TracedRequests>,
}

impl Exhibit {
    /// What the block layer saw, of each step or answer that was traced.
    #[must_use]
    pub fn traced(&self) -> Vec<Traced<'_>> {
        if let Shown::Find(find) = &self.document {
            let trace = find.trace.iter();
            let name = || format!("answer at depth {}", find.answer.queue_depth);
            return trace.map(|trace| traced(name(), trace, [None; 3])).collect();
        }
        self.steps().into_iter().filter_map(traced_step).collect()
    }
}

fn traced<'a>(name: String, trace: &'a BlockTrace, ios: [Option<&'a Histogram>; 3]) -> Traced<'a> {
    let requests = [&trace.read, &trace.write, &trace.flush];
    let both = ["read", "write", "sync"].into_iter().zip(ios).zip(requests);
    let directions = both.map(|((word, ios), requests)| TracedDirection {
        word,
        ios,
        requests: requests.as_ref(),
    });
    // A direction that no request was made for has no device to stand beside.
    Traced { name, directions: directions.filter(|d| d.requests.is_some()).collect() }
}

fn traced_step(step: &StepResult) -> Option<Traced<'_>> {
    let ios = [&step.read, &step.write, &step.sync].map(|direction| {
        let histogram = direction.as_ref().map(|d| &d.service_histogram);
        histogram.filter(|histogram| histogram.count() > 0)
    });
    Some(traced(step.label.clone(), step.trace.as_ref()?, ios))
}
