//! The system over time as CSV: a row for each sample, and one for each device in it.

use super::Rows;
use crate::exhibit::{Exhibit, Timeline};
use ::csv::Error;
use iogauge_model::result::{CpuKinds, DevicePoint, MemoryKinds, Paging, SystemPoint, Tasks};
use std::io::Write;

/// First column of the rows of [`system`].
pub const SYSTEM_CSV_FORMAT: &str = "iogauge.profile-csv/1";

/// First columns of every row.
const HEAD: [&str; 8] =
    ["format", "run_id", "target", "step", "label", "began", "at_seconds", "device"];

/// A column in the rows of devices.
type DeviceColumn = (&'static str, fn(&DevicePoint) -> Option<f64>);

/// A column in the rows of the whole machine.
type MachineColumn = (&'static str, fn(&SystemPoint) -> Option<f64>);

/// Columns of devices. The row of the machine holds the values of all devices together, if they can be
/// combined.
const DEVICE: &[DeviceColumn] = &[
    ("reads_per_sec", |device| Some(device.reads_per_sec)),
    ("writes_per_sec", |device| Some(device.writes_per_sec)),
    ("read_bytes_per_sec", |device| Some(device.read_bytes_per_sec)),
    ("write_bytes_per_sec", |device| Some(device.write_bytes_per_sec)),
    ("busy_percent", |device| Some(device.busy_percent)),
    ("read_await_ns", |device| device.read_await_ns),
    ("write_await_ns", |device| device.write_await_ns),
    ("queue_depth", |device| Some(device.queue_depth)),
    ("flushes_per_sec", |device| Some(device.flushes_per_sec)),
];

/// The columns of [`DEVICE`] in the row of the machine.
const SUMS: &[fn(&SystemPoint) -> Option<f64>] = &[
    |point| Some(point.reads_per_sec),
    |point| Some(point.writes_per_sec),
    |point| Some(point.read_bytes_per_sec),
    |point| Some(point.write_bytes_per_sec),
    |point| Some(point.busy_percent),
];

/// Columns that only the row of the machine has.
const MACHINE: &[MachineColumn] = &[
    ("cpu_percent", |point| Some(point.cpu_percent)),
    ("user_percent", |point| cpu(point, |cpu| cpu.user_percent)),
    ("system_percent", |point| cpu(point, |cpu| cpu.system_percent)),
    ("iowait_percent", |point| Some(point.iowait_percent)),
    ("irq_percent", |point| cpu(point, |cpu| cpu.irq_percent)),
    ("softirq_percent", |point| cpu(point, |cpu| cpu.softirq_percent)),
    ("steal_percent", |point| Some(point.steal_percent)),
    ("guest_percent", |point| cpu(point, |cpu| cpu.guest_percent)),
    ("idle_percent", |point| cpu(point, |cpu| cpu.idle_percent)),
    ("runnable", |point| tasks(point, |tasks| tasks.runnable)),
    ("blocked", |point| tasks(point, |tasks| tasks.blocked)),
    ("context_switches_per_sec", |point| tasks(point, |tasks| tasks.context_switches_per_sec)),
    ("interrupts_per_sec", |point| tasks(point, |tasks| tasks.interrupts_per_sec)),
    ("memory_available_bytes", |point| Some(point.memory_available_bytes as f64)),
    ("memory_free_bytes", |point| memory(point, |memory| memory.free_bytes)),
    ("cached_bytes", |point| memory(point, |memory| memory.cached_bytes)),
    ("dirty_bytes", |point| Some(point.dirty_bytes as f64)),
    ("writeback_bytes", |point| memory(point, |memory| memory.writeback_bytes)),
    ("swap_used_bytes", |point| memory(point, |memory| memory.swap_used_bytes)),
    ("paged_in_bytes_per_sec", |point| paging(point, |paging| paging.in_bytes_per_sec)),
    ("paged_out_bytes_per_sec", |point| paging(point, |paging| paging.out_bytes_per_sec)),
    ("swap_in_bytes_per_sec", |point| paging(point, |paging| paging.swap_in_bytes_per_sec)),
    ("swap_out_bytes_per_sec", |point| paging(point, |paging| paging.swap_out_bytes_per_sec)),
    ("major_faults_per_sec", |point| paging(point, |paging| paging.major_faults_per_sec)),
];

fn cpu(point: &SystemPoint, of: fn(&CpuKinds) -> f64) -> Option<f64> {
    point.cpu.as_ref().map(of)
}

fn tasks(point: &SystemPoint, of: fn(&Tasks) -> f64) -> Option<f64> {
    point.tasks.as_ref().map(of)
}

fn memory(point: &SystemPoint, of: fn(&MemoryKinds) -> u64) -> Option<f64> {
    point.memory.as_ref().map(of).map(|bytes| bytes as f64)
}

fn paging(point: &SystemPoint, of: fn(&Paging) -> f64) -> Option<f64> {
    point.paging.as_ref().map(of)
}

/// Writes the system samples of a run: for each sample a row of the machine, whose `device` is `all`, and a
/// row for each whole device. `at_seconds` counts from `began`, the start of the step. Rates and shares
/// cover the time since the previous sample. What was not recorded is empty. A run without samples has only
/// a header.
///
/// # Errors
/// Fails if the writer fails.
pub fn system(exhibit: &Exhibit, writer: impl Write) -> Result<(), Error> {
    let mut table = Rows::new(writer);
    let devices = DEVICE.iter().map(|(name, _)| *name);
    let machine = MACHINE.iter().map(|(name, _)| *name);
    table.write_record(HEAD.into_iter().chain(devices).chain(machine))?;
    for course in exhibit.courses() {
        for point in course.system {
            let sums = SUMS.iter().map(|of| cell(of(point)));
            let untold = (SUMS.len()..DEVICE.len()).map(|_| String::new());
            let figures = MACHINE.iter().map(|(_, of)| cell(of(point)));
            let row = head(exhibit, &course, point, "all").into_iter();
            table.write_record(row.chain(sums).chain(untold).chain(figures))?;
            for device in &point.devices {
                let figures = DEVICE.iter().map(|(_, of)| cell(of(device)));
                let untold = MACHINE.iter().map(|_| String::new());
                let row = head(exhibit, &course, point, &device.device).into_iter();
                table.write_record(row.chain(figures).chain(untold))?;
            }
        }
    }
    Ok(table.flush()?)
}

fn head(
    exhibit: &Exhibit,
    course: &Timeline<'_>,
    point: &SystemPoint,
    device: &str,
) -> [String; HEAD.len()] {
    [
        SYSTEM_CSV_FORMAT.to_owned(),
        exhibit.head().run_id.clone(),
        exhibit.target(),
        course.step.to_string(),
        course.label.to_owned(),
        course.began.unwrap_or_default().to_owned(),
        format!("{:.3}", point.at_seconds),
        device.to_owned(),
    ]
}

/// Formats a figure with at most three decimals; tick counters are less exact than that.
fn cell(value: Option<f64>) -> String {
    let Some(value) = value.filter(|value| value.is_finite()) else { return String::new() };
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
