//! The result of a search in a sentence.

use super::terms::Terms;
use super::{names, options};
use iogauge_model::Limit;
use iogauge_model::limit::{Bound, Metric};
use iogauge_model::load::ArrivalProcess;
use iogauge_model::result::{
    Answer, CurvePoint, DirectionResult, FindDocument, LimitValue, RunDocument, Search, StepResult,
    StoppedBy, Wander, Workload,
};
use iogauge_model::units::shell_word;

/// Formats the sentence with which a find document begins: what was found, and why the search went no
/// further.
#[must_use]
pub fn find_verdict(document: &FindDocument) -> String {
    let answer = &document.search.answer;
    let target = document.head.target.name();
    if answer.is_empty() {
        if answer.stopped_by == StoppedBy::Interrupted && answer.rate_iops.is_some() {
            return format!(
                "No rate was measured on {target}: the search was interrupted during the closed loop that precedes it."
            );
        }
        return format!("Nothing was measured on {target}: {}.", why_nothing(answer.stopped_by));
    }
    let load = names::load(&document.head.load);
    let terms = Terms::of(&document.head);
    let (of, with, perform) =
        if terms.is_database() { ("in", "in", "run") } else { ("of", "for", "do") };
    let limits = names::limits(&document.search.limits, terms);
    let iops = names::capacity(answer, terms.rate);
    let place = place(document);
    let measured = names::measured(document);
    if answer.stopped_by == StoppedBy::Undecided {
        let asked = format!("The capacity of {target} {with} {load} while {limits} is undecided:");
        let ios = names::count(answer.latency_ns.n as f64);
        return match () {
            () if exceeds_at_times(document) => format!(
                "{asked} larger loads exceeded that from time to time, and the windows {place} were too short to \
                 rule it out there ({measured})."
            ),
            () if answer.met => format!(
                "{asked} what was measured {place} ({measured}, {ios} I/Os) is too little, or varies too much, to be \
                 sure that any load keeps the limit."
            ),
            () => format!(
                "Whether {target} can {perform} {load} while {limits} is undecided: {place}, the smallest load, some \
                 windows meet the limit and others break it ({measured})."
            ),
        };
    }
    if answer.stopped_by == StoppedBy::Starved {
        let seen = names::count(answer.iops.mean);
        return format!(
            "The capacity of {target} {with} {load} while {limits} is undecided: this machine had too little \
             processor time for iogauge; {place} it saw {seen} {} with {measured}.",
            terms.rate
        );
    }
    if !answer.met {
        return match answer.stopped_by {
            StoppedBy::Unattainable => format!(
                "{target} cannot {perform} {load} while {limits}: even {place} it delivers {iops} with {measured}."
            ),
            _ => format!(
                "No load was found at which {limits} {with} {load} on {target}; {place} it delivers {iops} with {measured}; {}.",
                stop_reason(answer, terms)
            ),
        };
    }
    let sustains = if is_lower_bound(document) { "sustains at least" } else { "sustains" };
    let reason = match is_unconfirmed(document) {
        true => "stopped when the measuring budget ran out, before this was confirmed".to_owned(),
        false => stop_reason(answer, terms),
    };
    format!(
        "{target} {sustains} {iops} {of} {load} while {limits}, {place} ({measured}); {reason}.{}{}",
        nearly_all(document).unwrap_or_default(),
        wanders(document).unwrap_or_default()
    )
}

/// Returns true if the answer meets a limit on the maximum latency that a larger load violates.
fn exceeds_at_times(document: &FindDocument) -> bool {
    let answer = &document.search.answer;
    let is_larger = |point: &&CurvePoint| match (point.rate_iops, answer.rate_iops) {
        (Some(rate), Some(of_answer)) => rate > of_answer,
        _ => point.queue_depth > answer.queue_depth,
    };
    let breaks_maximum = |point: &CurvePoint| {
        let mut maxima = point.limits.iter().filter(|value| value.limit.metric == Metric::Max);
        maxima.any(LimitValue::is_broken)
    };
    answer.met && document.search.curve.iter().filter(is_larger).any(breaks_maximum)
}

/// Describes how much the rate varied beyond what longer windows average out, and the rate that the target
/// kept nevertheless.
fn wanders(document: &FindDocument) -> Option<String> {
    let Wander { deviation, over_seconds, kept_iops, windows } = document.search.answer.wander?;
    let rate = Terms::of(&document.head).rate;
    // 5 % of fewer windows is less than one.
    let most = if windows < 20 { "each" } else { "95 %" };
    Some(format!(
        " The rate varies by {} over {over_seconds:.0} s: {most} of {windows} windows of 1 s gave {} {rate} or \
         more.",
        names::percent(deviation),
        names::count(kept_iops)
    ))
}

/// Describes the result of a much smaller queue depth that gives nearly all of the answer.
fn nearly_all(document: &FindDocument) -> Option<String> {
    let knee = document
        .search
        .knee
        .filter(|knee| knee.queue_depth <= document.search.answer.queue_depth / 2)?;
    let share = knee.share?;
    let point = document.search.curve.iter().find(|point| point.queue_depth == knee.queue_depth)?;
    let place = Terms::of(&document.head).words.at(knee.queue_depth);
    let [percent, low, high] =
        [share.mean, share.ci95[0], share.ci95[1]].map(|share| format!("{:.0}", share * 100.0));
    let interval = if low == high { String::new() } else { format!(" ({low}–{high} %)") };
    let measured = names::measured_at(document, point);
    Some(format!(" The knee, {place}, gives {percent} % of that{interval}, with {measured}."))
}

/// Formats the answer alone, for a list that shows target and workload next to it: `81,204 IOPS (± 310) at
/// queue depth 812, mean ≤ 10 ms`.
#[must_use]
pub fn find_brief(document: &FindDocument) -> String {
    let answer = &document.search.answer;
    if answer.is_empty() {
        return format!("nothing measured: {}", why_nothing(answer.stopped_by));
    }
    let terms = Terms::of(&document.head);
    let (iops, place) = (names::capacity_brief(answer, terms.rate), place(document));
    if answer.stopped_by == StoppedBy::Undecided {
        return format!("undecided: {iops} {place}, which leaves the limit open");
    }
    if answer.stopped_by == StoppedBy::Starved {
        let seen = names::count(answer.iops.mean);
        return format!("undecided: {seen} {} {place}, while processors lacked", terms.rate);
    }
    if !answer.met {
        let measured = names::broken(document);
        return format!("limit not met: {iops} {place}, {measured}");
    }
    let at_least = if is_lower_bound(document) { "at least " } else { "" };
    let limits: Vec<_> = document
        .search
        .limits
        .iter()
        .map(|limit| format!("{} ≤ {}", terms.words.statistic(limit), Bound(limit.bound_ns)))
        .collect();
    format!("{at_least}{iops} {place}, {}", limits.join(", "))
}

/// Formats the figures of a run in one line: those of its only step, or the number of steps.
#[must_use]
pub fn run_brief(document: &RunDocument) -> String {
    match document.steps.first() {
        Some(first) => steps_brief(first, document.steps.len() as u64),
        None => "nothing measured".to_owned(),
    }
}

/// Like [`run_brief`], for `steps` steps of which `first` is the first.
#[must_use]
pub fn steps_brief(first: &StepResult, steps: u64) -> String {
    if steps == 1 { step_brief(first) } else { names::plural(steps, "step") }
}

fn step_brief(step: &StepResult) -> String {
    if step.database.is_some() {
        return database_brief(step);
    }
    let directions = [("read", &step.read), ("write", &step.write)];
    let mut figures: Vec<_> = directions
        .iter()
        .filter_map(|(word, direction)| direction.as_ref().map(|direction| (word, direction)))
        .map(|(word, direction)| {
            let mean = names::latency(&direction.service_ns, direction.service_ns.mean);
            let mean = if mean.is_empty() { mean } else { format!(", mean {mean}") };
            format!("{word} {}{mean}", names::iops(&direction.iops))
        })
        .collect();
    if step.errors() > 0 {
        figures.push(names::plural(step.errors(), "error"));
    }
    if step.corrupted() > 0 {
        figures.push(format!("{} not as written", names::plural(step.corrupted(), "block")));
    }
    if figures.is_empty() { "no I/O completed".to_owned() } else { figures.join("; ") }
}

/// Formats `38,084 updates/s (± 2,692), mean 2.6 µs; 762 commits/s, mean 4.7 ms`.
fn database_brief(step: &StepResult) -> String {
    let operations =
        [("reads/s", &step.read), ("updates/s", &step.write), ("commits/s", &step.sync)];
    let figure = |(unit, direction): (&str, &Option<DirectionResult>)| {
        let direction = direction.as_ref()?;
        let mean = names::latency(&direction.service_ns, direction.service_ns.mean);
        let mean = if mean.is_empty() { mean } else { format!(", mean {mean}") };
        Some(format!("{}{mean}", names::rate(&direction.iops, unit)))
    };
    let mut figures: Vec<_> = operations.into_iter().filter_map(figure).collect();
    if step.errors() > 0 {
        figures.push(names::plural(step.errors(), "error"));
    }
    if figures.is_empty() { "nothing was measured".to_owned() } else { figures.join("; ") }
}

/// Returns true if time ran out after a larger load had violated a limit, so that the answer is based on a
/// short window.
fn is_unconfirmed(document: &FindDocument) -> bool {
    let Search { answer, curve, .. } = &document.search;
    let is_larger = |point: &&CurvePoint| match (point.rate_iops, answer.rate_iops) {
        (Some(rate), Some(answered)) => rate > answered,
        _ => point.queue_depth > answer.queue_depth,
    };
    answer.stopped_by == StoppedBy::Budget && curve.iter().filter(is_larger).any(|p| !p.met)
}

/// Returns true if the answer is a lower bound.
fn is_lower_bound(document: &FindDocument) -> bool {
    document.search.answer.stopped_by.is_early() && !is_unconfirmed(document)
}

fn place(document: &FindDocument) -> String {
    let answer = &document.search.answer;
    match answer.rate_iops {
        Some(rate) => {
            let rate = names::count(rate);
            format!("at {rate} I/Os per second offered{}", arrivals(&document.head.load))
        }
        None => Terms::of(&document.head).words.at(answer.queue_depth),
    }
}

/// Describes the arrival process of a workload in parentheses; empty if unknown.
fn arrivals(workload: &Workload) -> &'static str {
    match workload.load().and_then(|load| load.arrivals).map(|arrivals| arrivals.process) {
        Some(ArrivalProcess::Poisson) => " (Poisson)",
        Some(ArrivalProcess::Linear) => " (evenly spaced)",
        None => "",
    }
}

/// Returns why a search ended, as the continuation of a sentence: `stopped by mean <= 10 ms: more load
/// breaks it`.
pub(crate) fn stop_reason(answer: &Answer, terms: Terms) -> String {
    if answer.latency_ns.n == 0 {
        why_nothing(answer.stopped_by).to_owned()
    } else if answer.met {
        why_stopped(answer, terms)
    } else {
        why_unmet(answer.stopped_by, terms)
    }
}

fn why_nothing(stopped_by: StoppedBy) -> &'static str {
    match stopped_by {
        StoppedBy::Interrupted => "the search was interrupted before its first point",
        StoppedBy::Ended => "I/Os failed before one was completed",
        StoppedBy::Budget => "no I/O was completed before the measuring budget ran out",
        _ => "no I/O was completed",
    }
}

fn why_stopped(answer: &Answer, terms: Terms) -> String {
    let Terms { rate, concurrency, .. } = terms;
    let words = match answer.stopped_by {
        StoppedBy::Limit => {
            let words = |limit: Limit| {
                format!("{} <= {}", terms.words.statistic(&limit), Bound(limit.bound_ns))
            };
            let limit = answer.stopped_by_limit.map_or_else(|| "the limit".to_owned(), words);
            return format!("stopped by {limit}: more load breaks it");
        }
        StoppedBy::Saturated => {
            return format!(
                "stopped by saturation: more {concurrency} {} no {rate}; the limit is kept",
                terms.add()
            );
        }
        StoppedBy::QueueFull => {
            return format!(
                "stopped by a full queue: {}, and further I/Os wait in front of it",
                names::queue(answer.queue.as_ref())
            );
        }
        StoppedBy::Client => {
            "stopped because this machine reached its limit first: the target may do more"
        }
        StoppedBy::MaxDepth => {
            return format!(
                "stopped at {} with the limit kept: the target may do more",
                terms.most()
            );
        }
        StoppedBy::Budget => "stopped when the measuring budget ran out: the target may do more",
        StoppedBy::Unattainable => "stopped at the smallest load, which breaks the limit",
        StoppedBy::Undecided => "undecided, because what was measured leaves the limit open",
        StoppedBy::Starved => "undecided, because iogauge lacked processor time",
        StoppedBy::Ended => "stopped because I/Os failed",
        StoppedBy::Interrupted => {
            "interrupted before the search was complete: the target may do more"
        }
    };
    words.to_owned()
}

fn why_unmet(stopped_by: StoppedBy, terms: Terms) -> String {
    let words = match stopped_by {
        StoppedBy::Limit | StoppedBy::Unattainable => "every load measured breaks the limit",
        StoppedBy::Undecided => "windows disagree about the limit",
        StoppedBy::Starved => "iogauge lacked processor time",
        StoppedBy::Ended => "I/Os failed",
        StoppedBy::Saturated => "the target is already saturated there",
        StoppedBy::QueueFull => "the target's queue is already full there",
        StoppedBy::Client => "this machine reached its limit before the target",
        StoppedBy::MaxDepth => return format!("that is {}", terms.most()),
        StoppedBy::Budget => "the measuring budget ran out",
        StoppedBy::Interrupted => "interrupted before the search was complete",
    };
    words.to_owned()
}

/// Suggests what the user can do next.
pub(super) fn next_step(document: &FindDocument) -> String {
    let terms = Terms::of(&document.head);
    let stopped_by = match document.search.answer.stopped_by {
        // Without an answer, the curve does not help: the limit or the target has to change.
        StoppedBy::Limit | StoppedBy::Saturated | StoppedBy::QueueFull | StoppedBy::MaxDepth
            if !document.search.answer.met =>
        {
            StoppedBy::Unattainable
        }
        stopped_by => stopped_by,
    };
    match stopped_by {
        StoppedBy::Limit => {
            if terms.is_database() {
                return database_command(document);
            }
            let target = document.head.target.name();
            let Some(load) = document.head.load.load() else {
                return "a longer --budget, and a repetition on another day.".to_owned();
            };
            let command = options::run_command(target, load, document.search.answer.queue_depth);
            let via = document.head.via.as_ref().map_or("", |_| " --via fio");
            format!("\"iogauge run {command}{via}\" measures this load for longer.")
        }
        StoppedBy::Saturated | StoppedBy::QueueFull => match document.search.knee {
            Some(knee) if knee.queue_depth < document.search.answer.queue_depth => format!(
                "work at the knee, {}: {} {} at lower latency; more {} only {} latency.",
                terms.words.at(knee.queue_depth).trim_start_matches("at "),
                names::count(knee.iops),
                terms.rate,
                terms.concurrency,
                terms.add()
            ),
            _ => format!("a lower --limit finds {} with lower latency.", terms.place()),
        },
        StoppedBy::Client => {
            "load the target more: use larger blocks, more --numjobs if a processor is idle, or a \
             larger machine."
                .to_owned()
        }
        StoppedBy::MaxDepth => format!("a larger {} finds the end of the curve.", terms.option()),
        StoppedBy::Budget => "a longer --budget finishes the search.".to_owned(),
        StoppedBy::Unattainable => {
            format!("a --limit above {} could be met.", names::broken(document))
        }
        StoppedBy::Undecided => {
            "increase --budget, change the limit, or repeat at a quieter time.".to_owned()
        }
        StoppedBy::Starved => {
            "use a machine with idle processors, or --max-starvation=100%, which excludes nothing."
                .to_owned()
        }
        StoppedBy::Ended => {
            "remove the cause of the I/O errors and run the same command again.".to_owned()
        }
        StoppedBy::Interrupted => "run the same command again to finish the search.".to_owned(),
    }
}

/// Suggests a command that holds a database's answer for longer.
fn database_command(document: &FindDocument) -> String {
    let target = document.head.target.database().cloned().unwrap_or_default();
    let load = document.head.load.database().cloned().unwrap_or_default();
    let mut command = format!("iogauge db run {}", shell_word(&target.url));
    if target.database != "RAN" {
        command.push_str(&format!(" --name {}", target.database));
    }
    command.push_str(&format!(
        " --mode {} --processes {} --transaction-length {}",
        load.mode, document.search.answer.queue_depth, load.transaction_length
    ));
    if load.hang_ns > 0 {
        let hang = Bound(load.hang_ns).to_string().replace(' ', "");
        command.push_str(&format!(" --hang {hang}"));
    }
    if let Some(percent) = load.read_percent {
        command.push_str(&format!(" --read-pct {percent}"));
    }
    if load.mode != "read" {
        command.push_str(" --drain");
    }
    format!("\"{command}\" measures this load for longer.")
}
