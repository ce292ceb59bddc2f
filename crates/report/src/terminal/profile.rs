//! The document of `iogauge profile` as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::{count, plural};
use super::parts;
use super::sheet::{Paint, Sheet};
use iogauge_model::result::{DevicePoint, ProfileDocument, SystemPoint};
use iogauge_model::units::{Bandwidth, Bytes, Latency};

/// A figure of the machine: its name, its value, and the formatter of the value.
type Shown = (&'static str, fn(&SystemPoint) -> Option<f64>, fn(f64) -> String);

const FIGURES: &[Shown] = &[
    ("processors busy", |p| Some(p.cpu_percent), percent),
    ("  user", |p| Some(p.cpu.as_ref()?.user_percent), percent),
    ("  system", |p| Some(p.cpu.as_ref()?.system_percent), percent),
    ("  interrupts", |p| p.cpu.as_ref().map(|c| c.irq_percent + c.softirq_percent), percent),
    ("  guests", |p| Some(p.cpu.as_ref()?.guest_percent), percent),
    ("waiting for I/O", |p| Some(p.iowait_percent), percent),
    ("taken by the hypervisor", |p| Some(p.steal_percent), percent),
    ("tasks ready to run", |p| Some(p.tasks.as_ref()?.runnable), tenths),
    ("tasks waiting for I/O", |p| Some(p.tasks.as_ref()?.blocked), tenths),
    ("context switches/s", |p| Some(p.tasks.as_ref()?.context_switches_per_sec), count),
    ("interrupts/s", |p| Some(p.tasks.as_ref()?.interrupts_per_sec), count),
    ("device reads/s", |p| Some(p.reads_per_sec), count),
    ("device writes/s", |p| Some(p.writes_per_sec), count),
    ("device reads", |p| Some(p.read_bytes_per_sec), bandwidth),
    ("device writes", |p| Some(p.write_bytes_per_sec), bandwidth),
    ("devices busy", |p| Some(p.busy_percent), percent),
    ("memory available", |p| Some(p.memory_available_bytes as f64), bytes),
    ("page cache", |p| Some(p.memory.as_ref()?.cached_bytes as f64), bytes),
    ("dirty pages", |p| Some(p.dirty_bytes as f64), bytes),
    ("pages being written", |p| Some(p.memory.as_ref()?.writeback_bytes as f64), bytes),
    ("swap used", |p| Some(p.memory.as_ref()?.swap_used_bytes as f64), bytes),
    ("read from swap", |p| Some(p.paging.as_ref()?.swap_in_bytes_per_sec), bandwidth),
    ("written to swap", |p| Some(p.paging.as_ref()?.swap_out_bytes_per_sec), bandwidth),
    ("major faults/s", |p| Some(p.paging.as_ref()?.major_faults_per_sec), tenths),
];

/// Formats the document: a summary, each figure, and each device with the columns of `iostat -x`.
#[must_use]
pub fn profile(document: &ProfileDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    sheet.text(Paint::Strong, &format!("{}.", profile_brief(document)));
    sheet.gap();
    parts::head(&mut sheet, &document.head);
    if let Some(note) = &document.note {
        sheet.text(Paint::Plain, note);
    }
    if let Some(fault) = &document.fault {
        sheet.text(Paint::Bad, &format!("Ended early: {fault}"));
    } else if document.interrupted {
        sheet.text(Paint::Bad, "Interrupted: this is what was recorded until then.");
    }
    if document.system.is_empty() {
        return sheet.into_text();
    }
    sheet.text(Paint::Plain, &samples(document));
    sheet.gap();
    write_figures(&mut sheet, &document.system);
    write_devices(&mut sheet, &document.system);
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    sheet.into_text()
}

/// Formats the profile in one line, for a list that shows the devices next to it.
#[must_use]
pub fn profile_brief(document: &ProfileDocument) -> String {
    let mean = |of: fn(&SystemPoint) -> f64| {
        Spread::of(&document.system, |point| Some(of(point))).map_or(0.0, |spread| spread.mean)
    };
    format!(
        "{} s: processors {} busy, {} waiting for I/O; devices {} busy, {} read, {} written",
        count(document.seconds.round()),
        percent(mean(|point| point.cpu_percent)),
        percent(mean(|point| point.iowait_percent)),
        percent(mean(|point| point.busy_percent)),
        bandwidth(mean(|point| point.read_bytes_per_sec)),
        bandwidth(mean(|point| point.write_bytes_per_sec)),
    )
}

fn samples(document: &ProfileDocument) -> String {
    let number = document.system.len() as u64;
    let each = document.seconds / document.system.len().max(1) as f64;
    // The last sample may be short.
    let joined = if each > document.every_seconds * 1.5 {
        format!(", joined to {each:.1} s each")
    } else {
        String::new()
    };
    let asked = document.every_seconds;
    format!(
        "{}, one each {asked} s{joined}; lowest, p95 and highest are those of samples",
        plural(number, "sample")
    )
}

/// The distribution of a figure over a recording.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Spread {
    mean: f64,
    min: f64,
    p95: f64,
    max: f64,
}

impl Spread {
    /// Computes the distribution over the samples that have the figure, weighted by their length; `None` if
    /// none has it.
    fn of(points: &[SystemPoint], of: impl Fn(&SystemPoint) -> Option<f64>) -> Option<Self> {
        let mut begun = 0.0;
        let mut told: Vec<(f64, f64)> = Vec::new();
        for point in points {
            if let Some(value) = of(point) {
                told.push((value, point.at_seconds - begun));
            }
            begun = point.at_seconds;
        }
        told.sort_by(|a, b| a.0.total_cmp(&b.0));
        let ((min, _), (max, _)) = (*told.first()?, *told.last()?);
        let seconds: f64 = told.iter().map(|(_, seconds)| seconds).sum();
        let mean = told.iter().map(|(value, length)| value * length).sum::<f64>() / seconds;
        let mut passed = 0.0;
        let reached = told.iter().find(|(_, length)| {
            passed += length;
            passed >= 0.95 * seconds
        });
        Some(Self { mean, min, p95: reached.map_or(max, |(value, _)| *value), max })
    }
}

fn write_figures(sheet: &mut Sheet, points: &[SystemPoint]) {
    let number = Kind::Number;
    let mut grid = Grid::new(&[
        ("system", Kind::Word),
        ("mean", number),
        ("lowest", Kind::Spare(0)),
        ("p95", number),
        ("highest", number),
    ]);
    for (name, of, shown) in FIGURES {
        let Some(Spread { mean, min, p95, max }) = Spread::of(points, of) else { continue };
        // A figure that was always zero is omitted if it is a detail.
        if max > 0.0 || !name.starts_with("  ") {
            grid.row(
                Paint::Plain,
                [(*name).to_owned(), shown(mean), shown(min), shown(p95), shown(max)],
            );
        }
    }
    grid.write(sheet);
}

/// Writes a line for each device, with the column names of `iostat -x`.
fn write_devices(sheet: &mut Sheet, points: &[SystemPoint]) {
    let mut grid = Grid::new(&[
        ("device", Kind::Word),
        ("r/s", Kind::Number),
        ("w/s", Kind::Number),
        ("f/s", Kind::Spare(0)),
        ("read", Kind::Number),
        ("written", Kind::Number),
        ("r_await", Kind::Number),
        ("w_await", Kind::Number),
        ("aqu-sz", Kind::Number),
        ("%util", Kind::Number),
        ("highest", Kind::Spare(1)),
    ]);
    let names = points.first().map_or(&[][..], |point| point.devices.as_slice());
    for (number, DevicePoint { device, .. }) in names.iter().enumerate() {
        let spread = |of: fn(&DevicePoint) -> f64| {
            Spread::of(points, |point| point.devices.get(number).map(of))
        };
        let mean = |of: fn(&DevicePoint) -> f64| spread(of).map_or(0.0, |spread| spread.mean);
        let wait = |each: fn(&DevicePoint) -> Option<f64>, rate: fn(&DevicePoint) -> f64| {
            await_ns(points, number, each, rate)
                .map_or_else(String::new, |ns| Latency(ns).to_string())
        };
        let highest = spread(|device| device.busy_percent).map_or(0.0, |spread| spread.max);
        let row = [
            device.clone(),
            tenths(mean(|device| device.reads_per_sec)),
            tenths(mean(|device| device.writes_per_sec)),
            tenths(mean(|device| device.flushes_per_sec)),
            bandwidth(mean(|device| device.read_bytes_per_sec)),
            bandwidth(mean(|device| device.write_bytes_per_sec)),
            wait(|device| device.read_await_ns, |device| device.reads_per_sec),
            wait(|device| device.write_await_ns, |device| device.writes_per_sec),
            format!("{:.2}", mean(|device| device.queue_depth)),
            format!("{:.1}", mean(|device| device.busy_percent)),
            format!("{highest:.1}"),
        ];
        grid.row(Paint::Plain, row);
    }
    if !names.is_empty() {
        sheet.gap();
        grid.write(sheet);
    }
}

/// Returns the mean time of a device's I/Os over all samples, weighted by the I/Os of each sample.
fn await_ns(
    points: &[SystemPoint],
    device: usize,
    each: fn(&DevicePoint) -> Option<f64>,
    rate: fn(&DevicePoint) -> f64,
) -> Option<f64> {
    let (mut begun, mut ios, mut waited) = (0.0, 0.0, 0.0);
    for point in points {
        let length = point.at_seconds - begun;
        begun = point.at_seconds;
        let Some(device) = point.devices.get(device) else { continue };
        let Some(await_ns) = each(device) else { continue };
        ios += rate(device) * length;
        waited += await_ns * rate(device) * length;
    }
    (ios > 0.0).then(|| waited / ios)
}

fn percent(value: f64) -> String {
    format!("{value:.1} %")
}

fn tenths(value: f64) -> String {
    if value >= 100.0 { count(value) } else { format!("{value:.1}") }
}

fn bandwidth(value: f64) -> String {
    Bandwidth(value).to_string()
}

fn bytes(value: f64) -> String {
    Bytes(value as u64).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_mean_is_weighted_by_sample_duration() {
        let point = |at_seconds, cpu_percent| SystemPoint {
            at_seconds,
            cpu_percent,
            ..SystemPoint::default()
        };
        let points = [point(18.0, 10.0), point(19.0, 50.0), point(20.0, 90.0)];
        let spread = Spread::of(&points, |point| Some(point.cpu_percent)).unwrap();
        assert_eq!(spread, Spread { mean: 16.0, min: 10.0, p95: 50.0, max: 90.0 });
        assert_eq!(Spread::of(&points, |_| None), None);
    }
}
