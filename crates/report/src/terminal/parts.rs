//! What run and find documents have in common.

use super::grid::{Grid, Kind};
use super::names::count;
use super::sheet::{Paint, Sheet};
use super::terms::Terms;
use iogauge_model::Caveat;
use iogauge_model::limit::Bound;
use iogauge_model::result::{Environment, Head, LimitValue, Physical};
use iogauge_model::units::{Bytes, Latency};

/// What the workload requested, for comparison with what the devices did.
pub(super) struct Logical {
    pub(super) reads: u64,
    pub(super) writes: u64,
    pub(super) read_bytes: u64,
    pub(super) write_bytes: u64,
}

pub(super) fn head(sheet: &mut Sheet, head: &Head) {
    let via = head.via.as_ref().map_or_else(String::new, |via| format!("  via {}", via.version));
    let title = format!("{}  {}  {}{via}", head.run_id, head.started, head.target.name());
    sheet.text(Paint::Strong, &title);
}

pub(super) fn physical(sheet: &mut Sheet, logical: Option<&Logical>, physical: &Physical) {
    let mut grid = Grid::new(&[
        ("I/O", Kind::Word),
        ("reads", Kind::Number),
        ("writes", Kind::Number),
        ("read", Kind::Number),
        ("written", Kind::Number),
        ("of logical", Kind::Number),
    ]);
    let cells = |name: &str, reads, writes, read_bytes, write_bytes, ratio: String| {
        [
            name.to_owned(),
            count(reads as f64),
            count(writes as f64),
            Bytes(read_bytes).to_string(),
            Bytes(write_bytes).to_string(),
            ratio,
        ]
    };
    if let Some(l) = logical {
        let row = cells("logical", l.reads, l.writes, l.read_bytes, l.write_bytes, String::new());
        grid.row(Paint::Plain, row);
    }
    let ratio = physical.ratio_to_logical.map_or_else(String::new, |ratio| format!("{ratio:.2}×"));
    let p = physical;
    grid.row(
        Paint::Plain,
        cells("physical", p.reads, p.writes, p.read_bytes, p.write_bytes, ratio),
    );
    if let [_, _, ..] = physical.devices.as_slice() {
        for d in &physical.devices {
            let name = format!("  {}", d.device);
            let row = cells(&name, d.reads, d.writes, d.read_bytes, d.write_bytes, String::new());
            grid.row(Paint::Plain, row);
        }
    }
    sheet.gap();
    grid.write(sheet);
}

/// Lists the caveats about `subject`, then the notes.
pub(super) fn caveats(sheet: &mut Sheet, subject: &str, caveats: &[Caveat]) {
    let (doubts, notes): (Vec<_>, Vec<_>) = caveats.iter().partition(|caveat| caveat.is_doubt());
    list(sheet, Paint::Doubt, &format!("Reasons to doubt {subject}"), &doubts);
    list(sheet, Paint::Plain, &format!("Notes on {subject}"), &notes);
}

fn list(sheet: &mut Sheet, paint: Paint, title: &str, caveats: &[&Caveat]) {
    if caveats.is_empty() {
        return;
    }
    sheet.gap();
    sheet.line(if paint == Paint::Plain { Paint::Strong } else { paint }, title);
    for caveat in caveats {
        sheet.text(paint, &format!("- {}: {}", caveat.code.as_str(), caveat.message));
        if !caveat.hint.is_empty() {
            sheet.below(Paint::Plain, &format!("→ {}", caveat.hint));
        }
    }
}

/// Formats `In doubt: page-cache, client-bound.`; `None` if nothing is in doubt.
pub(super) fn in_doubt(caveats: &[Caveat]) -> Option<String> {
    let mut codes: Vec<&str> = Vec::new();
    for caveat in caveats.iter().filter(|caveat| caveat.is_doubt()) {
        if !codes.contains(&caveat.code.as_str()) {
            codes.push(caveat.code.as_str());
        }
    }
    (!codes.is_empty()).then(|| format!("In doubt: {}; the reasons are below.", codes.join(", ")))
}

pub(super) fn environment(sheet: &mut Sheet, environment: &Environment) {
    let e = environment;
    let mut parts = Vec::new();
    for (name, value) in [("", &e.host), ("Linux ", &e.kernel), ("", &e.cpu_model)] {
        if !value.is_empty() {
            parts.push(format!("{name}{value}"));
        }
    }
    if e.cpus > 0 {
        parts.push(super::names::plural(u64::from(e.cpus), "processor"));
    }
    if e.memory_bytes > 0 {
        parts.push(format!("{} of memory", Bytes(e.memory_bytes)));
    }
    if !matches!(e.virtualization.as_str(), "" | "none") {
        parts.push(format!("in {}", e.virtualization));
    }
    if !e.clock.is_empty() {
        parts.push(format!("clock {}", e.clock));
    }
    if !parts.is_empty() {
        sheet.gap();
        sheet.text(Paint::Plain, &format!("On {}", parts.join(", ")));
    }
}

/// Writes whether a limit holds.
pub(super) fn limit(sheet: &mut Sheet, terms: Terms, value: &LimitValue) {
    let Some(ns) = value.value_ns else {
        return sheet.text(Paint::Doubt, &format!("{}: nothing to judge", value.limit));
    };
    let holds = ns <= value.limit.bound_ns as f64;
    let (paint, verdict) = if holds { (Paint::Good, "holds") } else { (Paint::Bad, "broken") };
    let bound = Bound(value.limit.bound_ns);
    let statistic = terms.words.statistic(&value.limit);
    let text = format!("{statistic} {} ≤ {bound}: {verdict}", Latency(ns));
    let text = if holds { text } else { text.replace('≤', ">") };
    sheet.text(paint, &text);
}
