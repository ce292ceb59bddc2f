//! The document of `iogauge run` as text.

use super::Page;
use super::block_layer;
use super::database;
use super::fio;
use super::grid::{Grid, Kind};
use super::hosts;
use super::names::{count, latency, percentile, plural, plus_minus};
use super::parts::{self, Logical};
use super::sheet::{Paint, Sheet};
use super::terms::Terms;
use super::verify;
use iogauge_model::result::{
    CpuUse, DirectionResult, LatencySummary, RunDocument, SteadyStateResult, StepResult,
};
use iogauge_model::units::{Bandwidth, Latency};

/// Formats the document: a table for each step, then the caveats.
#[must_use]
pub fn run(document: &RunDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    parts::head(&mut sheet, &document.head);
    if document.interrupted {
        sheet.text(Paint::Bad, "Interrupted: these are the figures up to then.");
    }
    if let Some(doubt) = parts::in_doubt(&document.caveats) {
        sheet.text(Paint::Doubt, &doubt);
    }
    if document.steps.is_empty() {
        sheet.text(Paint::Bad, "Nothing was measured: no step came to its end.");
    }
    if document.head.load.database().is_some_and(|load| load.hang_ns == 0) {
        let text = "Processes begin the next transaction at once (no --hang); those of an application pause.";
        sheet.text(Paint::Plain, text);
    }
    let ladder = document.head.load.database().and_then(|load| load.ladder.as_ref());
    if let Some(end) = ladder.and_then(|ladder| ladder.ended_by.as_ref()) {
        sheet.text(Paint::Strong, &format!("The ladder ended: {end}."));
    }
    for (index, step) in document.steps.iter().enumerate() {
        sheet.gap();
        let title = match document.steps.len() {
            1 => step.label.clone(),
            all => format!("Step {} of {all}: {}", index + 1, step.label),
        };
        sheet.text(Paint::Strong, &title);
        write_step(&mut sheet, step);
    }
    hosts::write_parts(&mut sheet, &document.head.host_parts);
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    sheet.into_text()
}

fn write_step(sheet: &mut Sheet, step: &StepResult) {
    if let Some(done) = &step.database {
        sheet.text(Paint::Plain, &database::asked(step, done));
        let [read, update, commit] = database::OPERATIONS;
        let own = [(read, &step.read), (update, &step.write), (commit, &step.sync)];
        write_directions(sheet, "a second", &own);
        hosts::write(sheet, &step.hosts, Terms::DATABASE);
        database::write(sheet, done);
        write_cpu(sheet, &step.cpu);
        if let Some(physical) = &step.physical {
            parts::physical(sheet, Some(&logical(step)), physical);
        }
        return;
    }
    let mut asked = format!(
        "queue depth {} requested, {:.1} achieved",
        step.queue_depth, step.queue_depth_achieved
    );
    if let Some(rate) = step.rate_iops {
        asked = format!("{} IOPS offered; {asked}", count(rate));
    }
    match step.fio.as_ref().filter(|fio| fio.from_table) {
        Some(row) => sheet.text(Paint::Plain, &fio::of_table(row, step)),
        None => sheet.text(Paint::Plain, &format!("{asked}; {:.1} s", step.seconds)),
    }
    let own = [("read", &step.read), ("write", &step.write), ("sync", &step.sync)];
    write_directions(sheet, "IOPS", &own);
    for (index, job) in step.jobs.iter().enumerate() {
        let title = format!("Job {}: {}", index + 1, job.name);
        sheet.gap();
        sheet.text(Paint::Strong, &title);
        let asked = format!(
            "queue depth {} requested, {:.1} achieved",
            job.queue_depth, job.queue_depth_achieved
        );
        sheet.text(Paint::Plain, &asked);
        let own = [("read", &job.read), ("write", &job.write), ("sync", &job.sync)];
        write_directions(sheet, "IOPS", &own);
    }
    hosts::write(sheet, &step.hosts, Terms::DEVICE);
    for value in &step.limits {
        parts::limit(sheet, Terms::DEVICE, value);
    }
    if let Some(state) = &step.steady_state {
        sheet.text(Paint::Plain, &steady_state(state));
    }
    if let Some(verified) = &step.verify {
        verify::write(sheet, verified);
    }
    match &step.fio {
        Some(row) if row.from_table => {}
        // Earlier versions stored 0 for what fio does not report.
        Some(fio) => {
            write_cpu(sheet, &CpuUse { machine_percent: None, ..step.cpu });
            fio::write(sheet, fio);
        }
        None => write_cpu(sheet, &step.cpu),
    }
    if let Some(physical) = &step.physical {
        parts::physical(sheet, Some(&logical(step)), physical);
    }
    if let Some(trace) = &step.trace {
        block_layer::write(sheet, trace);
    }
}

/// Formats `Steady state iops:5% for 10 s: attained after 14.0 s, 3.21 % at the end`.
fn steady_state(state: &SteadyStateResult) -> String {
    let mut text =
        format!("Steady state {} for {} s", state.sought, state.sought.window_ns as f64 / 1e9);
    match state.attained_at_seconds {
        Some(seconds) => text.push_str(&format!(": attained after {seconds:.1} s")),
        None => text.push_str(": not attained"),
    }
    match state.at_end() {
        Some(value) => text.push_str(&format!(", {} at the end", state.sought.value_word(value))),
        None => text.push_str(", because no window was complete"),
    }
    text
}

/// Writes a table of the directions that did any I/O, and their failures.
fn write_directions(
    sheet: &mut Sheet,
    rate: &'static str,
    directions: &[(&str, &Option<DirectionResult>); 3],
) {
    let mut grid = Grid::new(&[
        ("", Kind::Word),
        (rate, Kind::Number),
        ("±", Kind::Number),
        ("bandwidth", Kind::Number),
        ("mean", Kind::Number),
        ("min", Kind::Spare(1)),
        ("p50", Kind::Number),
        ("p95", Kind::Spare(3)),
        ("p99", Kind::Number),
        ("p99.9", Kind::Number),
        ("p99.99", Kind::Spare(2)),
        ("max", Kind::Number),
    ]);
    let mut any = false;
    for (word, direction) in directions {
        let Some(direction) = direction else { continue };
        any = true;
        let iops = count(direction.iops.mean);
        let moved = bandwidth(direction.bytes_per_sec);
        let row = figures(word, iops, plus_minus(&direction.iops), moved, &direction.service_ns);
        grid.row(Paint::Plain, row);
        if let Some(response) = &direction.response_ns {
            let empty = String::new;
            let word = format!("{word} response");
            grid.row(Paint::Plain, figures(&word, empty(), empty(), empty(), response));
        }
    }
    if any {
        grid.write(sheet);
    } else {
        sheet.text(Paint::Bad, "No I/O was completed.");
    }
    for (word, direction) in directions {
        if let Some(direction) = direction {
            write_errors(sheet, word, direction);
        }
    }
}

pub(super) fn bandwidth(bytes_per_sec: f64) -> String {
    if bytes_per_sec == 0.0 {
        String::new()
    } else if bytes_per_sec < 1e15 {
        Bandwidth(bytes_per_sec).to_string()
    } else {
        format!("{bytes_per_sec:.2e} B/s")
    }
}

fn figures(
    word: &str,
    iops: String,
    plus_minus: String,
    bandwidth: String,
    summary: &LatencySummary,
) -> [String; 12] {
    let whole = |value: u64| latency(summary, value as f64);
    let ends = summary.percentiles_ci95.unwrap_or_default();
    let tail = |value: u64, ends: [Option<u64>; 2]| percentile(summary, value, ends);
    [
        word.to_owned(),
        iops,
        plus_minus,
        bandwidth,
        latency(summary, summary.mean),
        whole(summary.min),
        tail(summary.p50, ends.p50),
        tail(summary.p95, ends.p95),
        tail(summary.p99, ends.p99),
        tail(summary.p999, ends.p999),
        tail(summary.p9999, ends.p9999),
        whole(summary.max),
    ]
}

fn write_errors(sheet: &mut Sheet, word: &str, direction: &DirectionResult) {
    if direction.errors > 0 {
        let failed = plural(direction.errors, word);
        let failed = match direction.ios {
            0 => format!("{failed} failed and none succeeded"),
            ios => {
                format!("{failed} failed; the figures are those of the other {}", count(ios as f64))
            }
        };
        sheet.text(Paint::Bad, &failed);
    }
    if direction.short > 0 {
        let short = format!("{} moved fewer bytes than asked", plural(direction.short, word));
        sheet.text(Paint::Doubt, &short);
    }
}

fn write_cpu(sheet: &mut Sheet, cpu: &CpuUse) {
    let mut text = String::from("CPU ");
    if cpu.ns_per_io > 0.0 {
        text.push_str(&format!("{} per I/O; ", Latency(cpu.ns_per_io)));
    }
    text.push_str(&format!(
        "user {:.0} %, system {:.0} % of one processor",
        cpu.user_percent, cpu.system_percent
    ));
    if cpu.polled_percent >= 0.5 {
        text.push_str(&format!(", {:.0} % of it polling for arrivals", cpu.polled_percent));
    }
    if let Some(percent) = cpu.machine_percent {
        text.push_str(&format!("; machine {percent:.0} % busy"));
    }
    for (share, word) in [(cpu.steal_percent, "stolen"), (cpu.iowait_percent, "waiting for I/O")] {
        if share >= 0.5 {
            text.push_str(&format!(", {share:.0} % {word}"));
        }
    }
    sheet.text(Paint::Plain, &text);
}

fn logical(step: &StepResult) -> Logical {
    let of = |direction: &Option<DirectionResult>| {
        direction.as_ref().map_or((0, 0), |direction| (direction.ios, direction.bytes))
    };
    let ((reads, read_bytes), (writes, write_bytes)) = (of(&step.read), of(&step.write));
    Logical { reads, writes, read_bytes, write_bytes }
}
