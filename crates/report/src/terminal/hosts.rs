//! The hosts that did the I/O, as a table.

use super::grid::{Grid, Kind};
use super::names::count;
use super::sheet::{Paint, Sheet};
use super::terms::Terms;
use iogauge_model::Vocabulary;
use iogauge_model::result::{HostPart, HostResult, fairness};
use iogauge_model::units::Latency;

/// Of more hosts than this, the slowest and the fastest are shown.
const MOST: usize = 12;
/// From this index on, shares count as equal: they differ by 10 % of their mean (standard deviation).
const EQUAL: f64 = 0.99;

/// Writes the part of each host and what it reached alone, if the parts are not equal. Of many hosts, those with the
/// smallest and the largest parts are shown.
pub(super) fn write_parts(sheet: &mut Sheet, parts: &[HostPart]) {
    if parts.is_empty() {
        return;
    }
    let mut shown: Vec<&HostPart> = parts.iter().collect();
    let left_out = parts.len().saturating_sub(MOST);
    if left_out > 0 {
        shown.sort_by(|a, b| b.part.total_cmp(&a.part));
        shown.drain(MOST / 2..MOST / 2 + left_out);
    }
    let mut grid = Grid::new(&[
        ("host", Kind::Text),
        ("IOPS alone", Kind::Number),
        ("part of the load", Kind::Number),
    ]);
    for HostPart { name, alone_iops, part } in shown {
        let part = format!("{:.1} %", part * 100.0);
        grid.row(Paint::Plain, [name.clone(), count(*alone_iops), part]);
    }
    sheet.gap();
    grid.write(sheet);
    if left_out > 0 {
        let text = format!(
            "{left_out} of {} hosts, with parts between these, are not shown.",
            parts.len()
        );
        sheet.text(Paint::Plain, &text);
    }
}

/// Writes the results of each of several hosts, and how evenly they share the I/O.
pub(super) fn write(sheet: &mut Sheet, hosts: &[HostResult], terms: Terms) {
    if hosts.len() < 2 {
        return;
    }
    let busy: Vec<&HostResult> = hosts.iter().filter(|host| !host.is_idle()).collect();
    let (shown, between) = most_telling(hosts, &busy);
    let concurrency = match terms.words {
        Vocabulary::Device => "QD",
        Vocabulary::Database => "processes",
    };
    let mut grid = Grid::new(&[
        ("host", Kind::Text),
        (terms.rate, Kind::Number),
        ("share", Kind::Number),
        (concurrency, Kind::Number),
        ("mean", Kind::Number),
        ("p99", Kind::Number),
        ("max", Kind::Number),
        ("CPU", Kind::Number),
        ("failed", Kind::Number),
    ]);
    for host in shown {
        let known = |ns: f64| if host.ios > 0 { Latency(ns).to_string() } else { "–".to_owned() };
        // Of one processor, as in top.
        let cpu = if host.cpu_percent > 0.0 {
            format!("{:.0} %", host.cpu_percent)
        } else {
            String::new()
        };
        let failed = if host.errors > 0 { count(host.errors as f64) } else { String::new() };
        let paint = if host.errors > 0 { Paint::Bad } else { Paint::Plain };
        grid.row(
            paint,
            [
                host.name.clone(),
                count(host.iops),
                format!("{:.1} %", host.share * 100.0),
                format!("{:.1}", host.queue_depth),
                known(host.latency_ns_mean),
                known(host.latency_ns_p99 as f64),
                known(host.latency_ns_max as f64),
                cpu,
                failed,
            ],
        );
    }
    sheet.gap();
    grid.write(sheet);
    let idle = hosts.len() - busy.len();
    if hosts.len() > MOST {
        let idle = if idle > 0 { format!("; {idle} are idle") } else { String::new() };
        let text = match between {
            0 => format!("These are the busy ones of {} hosts{idle}.", hosts.len()),
            _ => format!(
                "These are the slowest and the fastest of {} hosts by mean latency. {between} between them are not \
                 shown{idle}.",
                hosts.len()
            ),
        };
        sheet.text(Paint::Plain, &text);
    }
    if !busy.is_empty() {
        sheet.text(Paint::Plain, &fairness_words(hosts, terms));
    }
}

/// Returns the hosts to show, and the number of busy ones left out.
fn most_telling<'a>(
    all: &'a [HostResult],
    busy: &[&'a HostResult],
) -> (Vec<&'a HostResult>, usize) {
    if all.len() <= MOST {
        return (all.iter().collect(), 0);
    }
    let mut ranked = busy.to_vec();
    ranked.sort_by(|a, b| b.latency_ns_mean.total_cmp(&a.latency_ns_mean));
    let between = ranked.len().saturating_sub(MOST);
    if between > 0 {
        ranked.drain(MOST / 2..MOST / 2 + between);
    }
    (ranked, between)
}

/// Formats Jain's index of the hosts' IOPS, with its meaning.
fn fairness_words(hosts: &[HostResult], terms: Terms) -> String {
    let index = fairness(hosts.iter().map(|host| host.iops));
    let hosts = hosts.len();
    let meaning = if index >= EQUAL {
        "the hosts have about equal shares".to_owned()
    } else {
        format!(
            "as uneven as if {:.1} of {hosts} hosts had equal shares and the others none",
            index * hosts as f64
        )
    };
    format!("Jain's fairness index of the {} is {index:.3}: {meaning}.", terms.rate)
}
