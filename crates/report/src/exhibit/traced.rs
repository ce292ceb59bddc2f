//! Latencies in the block layer, compared with those of the workload.

use super::{Exhibit, Shown};
use iogauge_model::Histogram;
use iogauge_model::result::{BlockTrace, StepResult, TracedRequests};

/// The block layer's view of a step, or of the answer of a search.
#[derive(Debug, Clone)]
pub struct Traced<'a> {
    /// What was measured: `randread 8 KiB depth 16`.
    pub name: String,
    /// Those of reads, writes and flushes that occurred.
    pub directions: Vec<TracedDirection<'a>>,
}

/// One direction, as measured by the workload and in the block layer.
#[derive(Debug, Clone, Copy)]
pub struct TracedDirection<'a> {
    /// `read`, `write` or `sync`.
    pub word: &'static str,
    /// Latencies of its I/Os, if they were kept.
    pub ios: Option<&'a Histogram>,
    pub requests: Option<&'a TracedRequests>,
}

impl Exhibit {
    /// Returns the block layer's view of each step or answer that was traced.
    #[must_use]
    pub fn traced(&self) -> Vec<Traced<'_>> {
        if let Shown::Find(find) = &self.document {
            let trace = find.search.trace.iter();
            let name = || format!("answer at queue depth {}", find.search.answer.queue_depth);
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
    // A direction without requests has nothing to compare with.
    Traced { name, directions: directions.filter(|d| d.requests.is_some()).collect() }
}

fn traced_step(step: &StepResult) -> Option<Traced<'_>> {
    let ios = [&step.read, &step.write, &step.sync].map(|direction| {
        let histogram = direction.as_ref().map(|d| &d.service_histogram);
        histogram.filter(|histogram| histogram.count() > 0)
    });
    Some(traced(step.label.clone(), step.trace.as_ref()?, ios))
}
