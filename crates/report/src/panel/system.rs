//! The system during the workload, or without one: what the devices did, how busy they were, processors,
//! memory.

use super::timeline::{self, Course, Line, Plot, Time};
use super::{Drawn, Figure, Panel};
use crate::chart::{Ink, bytes, bytes_per_sec, count, latency_ns, percent, seconds};
use crate::exhibit::Exhibit;
use iogauge_model::result::{CpuKinds, DevicePoint, IntervalPoint, SystemPoint};

pub const PANEL: Panel = Panel {
    name: "system",
    title: "The system beside it",
    about: "What the workload requested and what the devices did (less where a cache answered, more where a file \
            system or a database adds I/O), how busy the devices were, their queue depth and latency, the \
            processors, and memory: the figures of iostat, vmstat and system profiles on the workload's time \
            axis.",
    figures: draw,
};

/// Unit of the memory axis, so that its ticks are round.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// Maximum number of devices with their own lines; if there are more, those that moved the most bytes have
/// them.
const MOST_DEVICES: usize = 3;

/// Inks of devices, so that each device looks the same in every plot.
const DEVICE_INKS: [Ink; MOST_DEVICES] = [Ink::Series(2), Ink::Series(3), Ink::Series(5)];

/// What is drawn of a run: samples of the machine and intervals of the workload, by time.
struct Drawing {
    time: Time,
    machine: Vec<(f64, SystemPoint)>,
    load: Vec<(f64, IntervalPoint)>,
    /// Names of the devices that have their own lines.
    devices: Vec<String>,
}

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    timeline::figures::<Drawing>(drawn)
}

impl Course for Drawing {
    fn of(exhibit: &Exhibit, most: usize) -> Option<Self> {
        course(exhibit, most)
    }

    fn plots<R>(&self, then: impl FnOnce(&Time, &[Plot<'_>], Vec<(f64, Vec<String>)>) -> R) -> R {
        let mut plots = vec![moved(self), busy(self)];
        if !self.devices.is_empty() {
            plots.extend(outstanding(self));
        }
        plots.extend([processors(self), memory(self)]);
        let told = self.machine.iter().map(|(at, point)| (*at, told(*at, point)));
        then(&self.time, &plots, told.collect())
    }

    fn description(&self) -> String {
        description(self)
    }
}

fn course(exhibit: &Exhibit, most: usize) -> Option<Drawing> {
    let (mut time, mut machine, mut load) = (Time::default(), Vec::new(), Vec::new());
    let courses = exhibit.courses();
    let samples: usize = courses.iter().map(|course| course.system.len()).sum();
    for course in courses {
        let Some(last) = course.system.last() else { continue };
        let end = course.series.last().map_or(0.0, |point| point.at_seconds);
        let begin = time.follow(&course, last.at_seconds.max(end));
        let points = joined(course.system, samples.div_ceil(most).max(1));
        machine.extend(points.map(|point| (begin + point.at_seconds, point)));
        load.extend(course.series.iter().map(|point| (begin + point.at_seconds, point.clone())));
    }
    let load = timeline::joined(&load, most);
    let devices = busiest(&machine);
    (machine.len() > 1).then_some(Drawing { time, machine, load, devices })
}

/// Joins `every` samples into one.
fn joined(points: &[SystemPoint], every: usize) -> impl Iterator<Item = SystemPoint> {
    let mut begun = 0.0;
    points.chunks(every).map(move |chunk| {
        let mut joined = chunk[0].clone();
        chunk[1..].iter().for_each(|next| joined.append(begun, next));
        begun = joined.at_seconds;
        joined
    })
}

/// Returns the devices that moved the most bytes, in the order of the samples.
fn busiest(machine: &[(f64, SystemPoint)]) -> Vec<String> {
    let mut moved: Vec<(String, f64)> = Vec::new();
    for device in machine.iter().flat_map(|(_, point)| &point.devices) {
        let bytes = device.read_bytes_per_sec + device.write_bytes_per_sec;
        match moved.iter_mut().find(|(name, _)| *name == device.device) {
            Some((_, sum)) => *sum += bytes,
            None => moved.push((device.device.clone(), bytes)),
        }
    }
    let mut ranked: Vec<&(String, f64)> = moved.iter().collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
    ranked.truncate(MOST_DEVICES);
    let drawn = moved.iter().filter(|device| ranked.contains(device));
    drawn.map(|(name, _)| name.clone()).collect()
}

impl Drawing {
    /// Returns a line of the machine; it is interrupted where a sample lacks the value.
    fn machine(
        &self,
        name: &'static str,
        ink: Ink,
        of: fn(&SystemPoint) -> Option<f64>,
    ) -> Line<'_> {
        Line::solid(name, ink, self.machine.iter().map(|(at, point)| (*at, of(point))).collect())
    }

    /// Returns a line of what the workload requested.
    fn load(&self, name: &'static str, ink: Ink, of: fn(&IntervalPoint) -> u64) -> Line<'_> {
        let rate =
            |point: &IntervalPoint| (point.seconds > 0.0).then(|| of(point) as f64 / point.seconds);
        Line::solid(name, ink, self.load.iter().map(|(at, point)| (*at, rate(point))).collect())
    }

    /// Returns a line for each device.
    fn devices(&self, of: fn(&DevicePoint) -> Option<f64>) -> Vec<Line<'_>> {
        let values = |name: &str| {
            let find = |point: &SystemPoint| {
                of(point.devices.iter().find(|device| device.device == name)?)
            };
            self.machine.iter().map(|(at, point)| (*at, find(point))).collect()
        };
        let drawn = self.devices.iter().zip(DEVICE_INKS);
        drawn.map(|(name, ink)| Line::solid(name, ink, values(name))).collect()
    }
}

fn moved(course: &Drawing) -> Plot<'_> {
    let mut lines = Vec::new();
    if !course.load.is_empty() {
        lines.push(course.load("reads asked", Ink::Text, |point| point.read_bytes));
        lines.push(course.load("writes asked", Ink::Series(4), |point| point.write_bytes));
    }
    lines.push(course.machine("device reads", Ink::Series(0), |p| Some(p.read_bytes_per_sec)));
    lines.push(course.machine("device writes", Ink::Series(1), |p| Some(p.write_bytes_per_sec)));
    let title = if course.load.is_empty() { "bytes moved" } else { "bytes asked for and moved" };
    Plot::linear(title, &bytes_per_sec, 0.0, lines)
}

fn busy(course: &Drawing) -> Plot<'_> {
    let lines = match course.devices.as_slice() {
        [] => vec![course.machine("devices busy", Ink::Series(2), |p| Some(p.busy_percent))],
        _ => course.devices(|device| Some(device.busy_percent)),
    };
    Plot::linear("devices busy", &percent, 100.0, lines)
}

/// Returns plots of the devices' queue depths and of how long their I/Os took.
fn outstanding(course: &Drawing) -> [Plot<'_>; 2] {
    let queue = course.devices(|device| Some(device.queue_depth));
    let wait = course.devices(|device| {
        let (reads, writes) = (device.reads_per_sec, device.writes_per_sec);
        let sum = device.read_await_ns.unwrap_or(0.0) * reads
            + device.write_await_ns.unwrap_or(0.0) * writes;
        (reads + writes > 0.0).then(|| sum / (reads + writes))
    });
    [
        Plot::linear("I/Os outstanding", &count, 1.0, queue),
        Plot::linear("time of an I/O", &latency_ns, 0.0, wait),
    ]
}

fn processors(course: &Drawing) -> Plot<'_> {
    let mut lines = Vec::new();
    if course.machine.iter().any(|(_, point)| point.cpu.is_some()) {
        let kind = |name, ink, of: fn(&CpuKinds) -> f64| {
            let value = |(at, point): &(f64, SystemPoint)| (*at, point.cpu.as_ref().map(of));
            Line::solid(name, ink, course.machine.iter().map(value).collect())
        };
        lines.extend([
            kind("user", Ink::Series(0), |cpu| cpu.user_percent + cpu.guest_percent),
            kind("system", Ink::Series(6), |cpu| cpu.system_percent),
            kind("interrupts", Ink::Series(4), |cpu| cpu.irq_percent + cpu.softirq_percent),
        ]);
    } else {
        let busy = course.machine("processors busy", Ink::Series(3), |p| Some(p.cpu_percent));
        lines.push(busy);
    }
    lines.push(course.machine("waiting for I/O", Ink::Series(7), |p| Some(p.iowait_percent)));
    lines.push(course.machine("taken by the hypervisor", Ink::Limit, |p| Some(p.steal_percent)));
    Plot::linear("processors", &percent, 100.0, lines)
}

fn memory(course: &Drawing) -> Plot<'_> {
    let available = |point: &SystemPoint| Some(point.memory_available_bytes as f64 / GIB);
    let dirty = |point: &SystemPoint| Some(point.dirty_bytes as f64 / GIB);
    let lines = vec![
        course.machine("available", Ink::Good, available),
        course.machine("dirty pages", Ink::Series(1), dirty),
    ];
    Plot::linear("memory", &|gib| bytes(gib * GIB), 0.0, lines)
}

/// Returns the hover texts of a moment.
fn told(at: f64, point: &SystemPoint) -> Vec<String> {
    vec![
        seconds(at),
        format!("device reads {}", bytes_per_sec(point.read_bytes_per_sec)),
        format!("device writes {}", bytes_per_sec(point.write_bytes_per_sec)),
        format!("devices busy {}", percent(point.busy_percent)),
        format!("processors busy {}", percent(point.cpu_percent)),
        format!("waiting for I/O {}", percent(point.iowait_percent)),
        format!("dirty pages {}", bytes(point.dirty_bytes as f64)),
    ]
}

fn description(course: &Drawing) -> String {
    let mean = |of: fn(&SystemPoint) -> f64| {
        let sum: f64 = course.machine.iter().map(|(_, point)| of(point)).sum();
        sum / course.machine.len().max(1) as f64
    };
    format!(
        "Over {} the devices read {} and wrote {}, and were busy for {} of the time; the processors were busy for {}, \
         waited for I/O for {}, and the hypervisor took {}.",
        seconds(course.time.seconds),
        bytes_per_sec(mean(|point| point.read_bytes_per_sec)),
        bytes_per_sec(mean(|point| point.write_bytes_per_sec)),
        percent(mean(|point| point.busy_percent)),
        percent(mean(|point| point.cpu_percent)),
        percent(mean(|point| point.iowait_percent)),
        percent(mean(|point| point.steal_percent)),
    )
}
