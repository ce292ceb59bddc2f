//! What fio reports beyond the figures of a step: sampled rates, the steady state, devices.

use super::grid::{Grid, Kind};
use super::names::{count, plural};
use super::run::bandwidth;
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{FioDisk, FioResult, FioSamples, FioSteadyState, StepResult};
use iogauge_model::units::Bytes;

pub(super) fn write(sheet: &mut Sheet, result: &FioResult) {
    if let Some(state) = &result.steady_state {
        sheet.text(Paint::Plain, &of_fio(state));
    }
    write_samples(sheet, result);
    write_disks(sheet, &result.disks);
}

/// Formats `8 users; average queue depth 7.9; a row of a table, without run time and numbers of I/Os`.
pub(super) fn of_table(row: &FioResult, step: &StepResult) -> String {
    let mut known = Vec::new();
    known.extend(row.users.map(|users| plural(users.into(), "user")));
    if step.queue_depth_achieved > 0.0 {
        known.push(format!("average queue depth {:.1}", step.queue_depth_achieved));
    }
    known.push("a row of a table, without run time and numbers of I/Os".to_owned());
    known.join("; ")
}

/// Formats `Steady state (iops within 0.3%): attained, 0.21% at the end`.
fn of_fio(state: &FioSteadyState) -> String {
    let mut text = format!("Steady state ({}", state.of);
    if !state.bound.is_empty() {
        text.push_str(&format!(" within {}", state.bound));
    }
    if let Some(seconds) = state.window_seconds {
        text.push_str(&format!(" for {seconds:.0} s"));
    }
    text.push_str(if state.attained { "): attained" } else { "): not attained" });
    if !state.at_end.is_empty() {
        text.push_str(&format!(", {} at the end", state.at_end));
    }
    text
}

fn write_samples(sheet: &mut Sheet, result: &FioResult) {
    let mut grid = Grid::new(&[
        ("sampled by fio", Kind::Word),
        ("samples", Kind::Number),
        ("min", Kind::Number),
        ("mean", Kind::Number),
        ("max", Kind::Number),
        ("std. dev.", Kind::Number),
    ]);
    let mut any = false;
    for (word, direction) in result.directions() {
        let mut row = |rate: &str, samples: &Option<FioSamples>, shown: fn(f64) -> String| {
            let Some(samples) = samples else { return };
            any = true;
            grid.row(
                Paint::Plain,
                [
                    format!("{word} {rate}"),
                    samples.n.map_or_else(String::new, |n| count(n as f64)),
                    shown(samples.min),
                    shown(samples.mean),
                    shown(samples.max),
                    shown(samples.stddev),
                ],
            );
        };
        row("IOPS", &direction.sampled_iops, count);
        row("bandwidth", &direction.sampled_bytes_per_sec, bandwidth);
    }
    if any {
        sheet.gap();
        grid.write(sheet);
    }
}

fn write_disks(sheet: &mut Sheet, disks: &[FioDisk]) {
    if disks.is_empty() {
        return;
    }
    let mut grid = Grid::new(&[
        ("devices in the whole run", Kind::Word),
        ("reads", Kind::Number),
        ("writes", Kind::Number),
        ("read", Kind::Number),
        ("written", Kind::Number),
        ("merged", Kind::Spare(1)),
        ("busy", Kind::Number),
    ]);
    for disk in disks {
        let moved = |bytes: Option<u64>| bytes.map_or_else(String::new, |b| Bytes(b).to_string());
        grid.row(
            Paint::Plain,
            [
                disk.device.clone(),
                count(disk.reads as f64),
                count(disk.writes as f64),
                moved(disk.read_bytes),
                moved(disk.write_bytes),
                count(disk.reads_merged.saturating_add(disk.writes_merged) as f64),
                format!("{:.1} %", disk.busy_percent),
            ],
        );
    }
    sheet.gap();
    grid.write(sheet);
}
