//! The system beside the load: what the devices did, how busy they were, processor, memory.

use super::timeline::{self, Line, Plot, Time};
use super::{Figure, Panel};
use crate::chart::{Ink, Scene, bytes, bytes_per_sec, percent, seconds};
use crate::exhibit::Exhibit;
use iogauge_model::result::{IntervalPoint, SystemPoint};

pub const PANEL: Panel = Panel {
    name: "system",
    title: "The system beside it",
    about: "What the load asked for and what the devices did (less where a cache answered, more where a file system \
            or a database adds to it), how busy the devices were, what the processors did, and memory: what iostat, \
            vmstat and system profiles tell, on the load's own axis of time.",
    draw,
};

/// Unit of the axis of memory: its marks are round in it.
const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

/// What is drawn of a run: samples of the machine and intervals of the load, by time.
struct Course {
    time: Time,
    machine: Vec<(f64, SystemPoint)>,
    load: Vec<(f64, IntervalPoint)>,
}

fn draw(exhibits: &[Exhibit], width: f64) -> Vec<Figure> {
    let most = timeline::most(exhibits.len());
    let figure = |exhibit: &Exhibit| {
        let course = course(exhibit, most)?;
        let title = format!("{}, run {}", exhibit.place(), exhibit.head().run_id);
        Some(Figure { title, description: description(&course), scene: scene(&course, width) })
    };
    exhibits.iter().filter_map(figure).collect()
}

fn course(exhibit: &Exhibit, most: usize) -> Option<Course> {
    let mut course = Course { time: Time::default(), machine: Vec::new(), load: Vec::new() };
    for step in exhibit.steps() {
        let ends =
            [step.system.last().map(|p| p.at_seconds), step.series.last().map(|p| p.at_seconds)];
        let length = ends.into_iter().flatten().fold(0.0, f64::max);
        if step.system.is_empty() {
            continue;
        }
        let begin = course.time.follow(length);
        let machine = step.system.iter().map(|point| (begin + point.at_seconds, point.clone()));
        course.machine.extend(machine);
        course
            .load
            .extend(step.series.iter().map(|point| (begin + point.at_seconds, point.clone())));
    }
    thin(&mut course.machine, most);
    course.load = timeline::joined(&course.load, most);
    (course.machine.len() > 1).then_some(course)
}

/// Keeps every so many of the samples.
fn thin(machine: &mut Vec<(f64, SystemPoint)>, most: usize) {
    let every = machine.len().div_ceil(most).max(1);
    let mut number = 0;
    machine.retain(|_| {
        number += 1;
        number % every == 0
    });
}

fn scene(course: &Course, width: f64) -> Scene {
    let machine = |name, ink, of: fn(&SystemPoint) -> f64| {
        let values = course.machine.iter().map(|(at, point)| (*at, Some(of(point)))).collect();
        Line { name, ink, values }
    };
    let load = |name, ink, of: fn(&IntervalPoint) -> u64| {
        let rate =
            |point: &IntervalPoint| (point.seconds > 0.0).then(|| of(point) as f64 / point.seconds);
        let values = course.load.iter().map(|(at, point)| (*at, rate(point))).collect();
        Line { name, ink, values }
    };
    let plots = [
        Plot {
            title: "bytes asked for and moved",
            label: &bytes_per_sec,
            log: false,
            at_least: 0.0,
            heat: Vec::new(),
            lines: vec![
                load("reads asked", Ink::Text, |point| point.read_bytes),
                load("writes asked", Ink::Series(4), |point| point.write_bytes),
                machine("device reads", Ink::Series(0), |point| point.read_bytes_per_sec),
                machine("device writes", Ink::Series(1), |point| point.write_bytes_per_sec),
            ],
        },
        Plot {
            title: "devices busy",
            label: &percent,
            log: false,
            at_least: 100.0,
            heat: Vec::new(),
            lines: vec![machine("devices busy", Ink::Series(2), |point| point.busy_percent)],
        },
        Plot {
            title: "processors",
            label: &percent,
            log: false,
            at_least: 100.0,
            heat: Vec::new(),
            lines: vec![
                machine("processors busy", Ink::Series(3), |point| point.cpu_percent),
                machine("waiting for I/O", Ink::Series(7), |point| point.iowait_percent),
                machine("taken by the hypervisor", Ink::Limit, |point| point.steal_percent),
            ],
        },
        Plot {
            title: "memory",
            label: &|gib| bytes(gib * GIB),
            log: false,
            at_least: 0.0,
            heat: Vec::new(),
            lines: vec![
                machine("available", Ink::Good, |point| point.memory_available_bytes as f64 / GIB),
                machine("dirty pages", Ink::Series(6), |point| point.dirty_bytes as f64 / GIB),
            ],
        },
    ];
    let told = course.machine.iter().map(|(at, point)| {
        let lines = vec![
            seconds(*at),
            format!("device reads {}", bytes_per_sec(point.read_bytes_per_sec)),
            format!("device writes {}", bytes_per_sec(point.write_bytes_per_sec)),
            format!("devices busy {}", percent(point.busy_percent)),
            format!("processors busy {}", percent(point.cpu_percent)),
            format!("dirty pages {}", bytes(point.dirty_bytes as f64)),
        ];
        (*at, lines)
    });
    timeline::draw(&course.time, &plots, told.collect(), width)
}

fn description(course: &Course) -> String {
    let mean = |of: fn(&SystemPoint) -> f64| {
        let sum: f64 = course.machine.iter().map(|(_, point)| of(point)).sum();
        sum / course.machine.len().max(1) as f64
    };
    format!(
        "Over {} the devices read {} and wrote {}, and were busy for {} of the time; the processors were busy for {}, \
         and the hypervisor took {}.",
        seconds(course.time.seconds),
        bytes_per_sec(mean(|point| point.read_bytes_per_sec)),
        bytes_per_sec(mean(|point| point.write_bytes_per_sec)),
        percent(mean(|point| point.busy_percent)),
        percent(mean(|point| point.cpu_percent)),
        percent(mean(|point| point.steal_percent)),
    )
}
