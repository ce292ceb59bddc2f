//! What a result shows about a capacity.

use super::Reason;
use super::load::words;
use crate::terminal::listed;
use iogauge_model::Caveat;
use iogauge_model::load::Load;
use iogauge_model::result::{
    Answer, Estimate, Head, RatesFindings, Search, StoppedBy, SuiteDocument, Workload,
};
use iogauge_model::units::{Bandwidth, Count, parse_size_bytes};
use serde::Deserialize;

/// Half the width of a 95 % interval above which a figure is in doubt, relative to the figure.
const MOST_ERROR: f64 = 0.1;

/// A result.
pub(super) struct Evidence<'a> {
    pub(super) head: &'a Head,
    pub(super) caveats: &'a [Caveat],
    pub(super) subject: Subject<'a>,
}

/// What a result is of.
pub(super) enum Subject<'a> {
    Search(&'a Search),
    Suite(&'a SuiteDocument),
}

/// A capacity that a search found.
pub(super) struct Capacity<'a> {
    pub(super) load: &'a Load,
    pub(super) answer: &'a Answer,
    search: &'a Search,
}

impl<'a> Evidence<'a> {
    /// Returns the capacity that a search found, whatever ended it; not a lower bound.
    pub(super) fn capacity(&self) -> Result<Capacity<'a>, Reason> {
        let search = match self.subject {
            Subject::Search(search) => search,
            Subject::Suite(suite) => {
                return Err(Reason::OtherSuite { suite: suite.suite.name.clone() });
            }
        };
        let load = self.head.load.load().ok_or_else(|| self.unknown_load())?;
        let several = search.curve.iter().any(|point| !point.hosts.is_empty());
        if several || !self.head.host_parts.is_empty() {
            return Err(Reason::Hosts);
        }
        let errors = search.curve.iter().map(|point| point.errors).sum();
        if errors > 0 {
            return Err(Reason::IoErrors { errors });
        }
        let answer = &search.answer;
        if answer.is_empty() {
            return Err(Reason::Undecided);
        }
        match answer.stopped_by {
            StoppedBy::Interrupted | StoppedBy::Ended => Err(Reason::Incomplete),
            StoppedBy::Undecided | StoppedBy::Starved => Err(Reason::Undecided),
            _ if !answer.met => Err(Reason::LimitBroken),
            early if early.is_early() => Err(Reason::LowerBound { stopped_by: early }),
            _ => Ok(Capacity { load, answer, search }),
        }
    }

    /// Returns the capacity that a search found, if no latency limit ended it.
    pub(super) fn maximum(&self) -> Result<Capacity<'a>, Reason> {
        let capacity = self.capacity()?;
        let answer = capacity.answer;
        if answer.rate_iops.is_some() {
            return Err(Reason::OpenLoop);
        }
        if answer.stopped_by.is_limit() {
            let first = answer.stopped_by_limit.or(capacity.search.limits.first().copied());
            return Err(first.map_or(Reason::Undecided, |limit| Reason::LimitDecided { limit }));
        }
        Ok(capacity)
    }

    /// Returns the findings of a suite, if it is complete. `own` are the options of the suite that change the loads, with
    /// the values that the definition has.
    pub(super) fn rates(
        &self,
        suite: &'static str,
        own: &[(&'static str, Option<u64>)],
    ) -> Result<RatesFindings, Reason> {
        let document = match self.subject {
            Subject::Search(_) => return Err(Reason::NeedsSuite { suite }),
            Subject::Suite(document) => document,
        };
        if document.suite.name != suite {
            return Err(Reason::OtherSuite { suite: document.suite.name.clone() });
        }
        for (option, of_definition) in own {
            let typed = document.suite.options.get(*option);
            if let Some(typed) = typed.filter(|text| parse_size_bytes(text).ok() != *of_definition)
            {
                return Err(Reason::SuiteOption { option, typed: typed.clone() });
            }
        }
        let steps = || document.steps.iter();
        let several = steps().filter_map(|step| step.step()).any(|step| !step.hosts.is_empty());
        if several || !self.head.host_parts.is_empty() {
            return Err(Reason::Hosts);
        }
        let errors = steps().filter_map(|step| step.step()).map(|step| step.errors()).sum();
        if errors > 0 {
            return Err(Reason::IoErrors { errors });
        }
        if document.interrupted || document.steps_left > 0 || steps().any(|step| step.interrupted) {
            return Err(Reason::Incomplete);
        }
        RatesFindings::deserialize(&document.conclusion.findings)
            .map_err(|error| Reason::Damaged { reason: error.to_string() })
    }

    fn unknown_load(&self) -> Reason {
        match &self.head.load {
            Workload::Label { label } => Reason::LoadUnknown { label: label.clone() },
            other => Reason::LoadUnknown { label: crate::terminal::load_words(other) },
        }
    }
}

impl Capacity<'_> {
    /// Returns the bytes per second.
    pub(super) fn bytes_per_sec(&self) -> Estimate {
        self.answer.iops.times(self.load.mean_block_bytes())
    }

    /// Returns why the variable with this name is in doubt, if it is.
    pub(super) fn doubt(&self, name: &str) -> Option<String> {
        doubt(name, &self.answer.iops)
    }

    /// Describes the I/Os per second and how they were measured.
    pub(super) fn iops_remark(&self) -> String {
        let Answer { iops, .. } = self.answer;
        format!("Measured: {} IOPS{}, {}", whole(iops.mean), interval(iops, whole), self.place())
    }

    /// Describes the bytes per second and how they were measured.
    pub(super) fn bandwidth_remark(&self) -> String {
        let rate = self.bytes_per_sec();
        let text = |bytes: f64| Bandwidth(bytes).to_string();
        format!("Measured: {}{}, {}", text(rate.mean), interval(&rate, text), self.place())
    }

    fn place(&self) -> String {
        let Answer { rate_iops, queue_depth, stopped_by, .. } = self.answer;
        let limits: Vec<String> = self.search.limits.iter().map(ToString::to_string).collect();
        let under = match stopped_by.is_limit() {
            true => format!(" under {}", listed(&limits)),
            false => String::new(),
        };
        let load = words(self.load);
        match rate_iops {
            Some(_) => format!("{load} in an open loop{under}"),
            None => format!("{load} at queue depth {queue_depth}{under}"),
        }
    }
}

/// Returns why a figure is in doubt: it has a wide interval or none.
pub(super) fn doubt(name: &str, rate: &Estimate) -> Option<String> {
    let error = rate.relative_error();
    match rate.n {
        0 | 1 => Some(format!("In doubt: {name} has no interval. Measure longer.")),
        _ if error > MOST_ERROR => {
            let percent = error * 100.0;
            Some(format!("In doubt: the 95 % CI of {name} is ± {percent:.0} %. Measure longer."))
        }
        _ => None,
    }
}

/// Formats the interval of an estimate: ` (95 % CI 80,000 to 82,000, n = 30)`.
pub(super) fn interval(estimate: &Estimate, text: impl Fn(f64) -> String) -> String {
    let [low, high] = estimate.ci95.map(text);
    match estimate.n {
        0 | 1 => String::new(),
        n if low == high => format!(" (95 % CI ± 0, n = {n})"),
        n => format!(" (95 % CI {low} to {high}, n = {n})"),
    }
}

/// Formats a rate as a whole number.
pub(super) fn whole(rate: f64) -> String {
    Count(rate.round()).to_string()
}
