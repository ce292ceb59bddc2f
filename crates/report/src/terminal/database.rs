//! Details of a step through a database that a step on a device does not have, as text.

use super::Page;
use super::grid::{Grid, Kind};
use super::names::{count, plural};
use super::parts;
use super::sheet::{Paint, Sheet};
use super::terms::Terms;
use iogauge_model::CaveatCode;
use iogauge_model::result::{
    BesideDocument, DaemonCycle, DatabaseCheck, DatabaseCounts, DatabaseResult, Head, StepResult,
    StoppedBy,
};
use iogauge_model::units::{Bandwidth, Bytes, Latency};

/// Maximum number of write rounds listed individually.
const MOST_CYCLES: usize = 8;

/// Names of a database's operations, which replace those of I/Os.
pub(super) const OPERATIONS: [&str; 3] = ["read", "update", "commit"];

/// Describes the number of processes in one line.
pub(super) fn asked(step: &StepResult, database: &DatabaseResult) -> String {
    let transactions = plural(database.transactions, "transaction");
    let shares = match (database.read_percent_asked, database.writers) {
        (Some(asked), _) if database.transactions > 0 => {
            let reached = database.read_transactions as f64 * 100.0 / database.transactions as f64;
            format!(", {reached:.1} % of them reads ({asked:.0} % asked)")
        }
        (_, Some(writers)) => {
            let readers = step.queue_depth.saturating_sub(writers);
            let (readers, writers) =
                (plural(readers.into(), "reader"), plural(writers.into(), "writer"));
            format!(" by {readers} and {writers}")
        }
        _ => String::new(),
    };
    let asked = Terms::DATABASE.asked(step.queue_depth, step.queue_depth_achieved);
    format!("{asked}; {transactions}{shares}; {:.1} s", step.seconds)
}

/// Writes what follows the table of operations.
pub(super) fn write(sheet: &mut Sheet, database: &DatabaseResult) {
    for value in &database.limits {
        parts::limit(sheet, Terms::DATABASE, value);
    }
    if let Some(percent) = database.cache_hit_percent {
        sheet.text(
            Paint::Plain,
            &format!("{percent:.1} % of the blocks were in the server's cache"),
        );
    }
    if let Some(counted) = &database.counted {
        write_counts(sheet, counted);
    }
    write_cycles(sheet, database);
}

fn write_counts(sheet: &mut Sheet, counted: &DatabaseCounts) {
    let mut words = Vec::new();
    let both = |made: u64, theirs: Option<u64>, noun: &str| {
        let theirs = theirs.filter(|theirs| *theirs > 0 || made > 0)?;
        let instead = match theirs == made {
            true => String::new(),
            false => format!(" where iogauge made {}", count(made as f64)),
        };
        Some(format!("{} {noun}{instead}", count(theirs as f64)))
    };
    let pairs = [
        both(counted.updates_made, counted.updates, "updates"),
        both(counted.commits_made, counted.commits, "commits"),
    ];
    let pairs: Vec<String> = pairs.into_iter().flatten().collect();
    if !pairs.is_empty() {
        let same = if counted.differ() { "" } else { ", as iogauge did" };
        words.push(format!("{}{same}", pairs.join(" and ")));
    }
    let plain = |n: Option<u64>, what: &str| {
        n.filter(|n| *n > 0).map(|n| format!("{} {what}", count(n as f64)))
    };
    words.extend(plain(counted.blocks_read, "blocks read"));
    words.extend(plain(counted.blocks_hit, "found in its cache"));
    words.extend(plain(counted.blocks_written, "blocks written"));
    let log_bytes = counted.log_bytes.filter(|bytes| *bytes > 0);
    words.extend(log_bytes.map(|bytes| format!("{} of log", Bytes(bytes))));
    if !words.is_empty() {
        let paint = if counted.differ() { Paint::Doubt } else { Paint::Plain };
        sheet.text(paint, &format!("The database itself counted {}.", words.join("; ")));
    }
    let others: Vec<String> = counted
        .others
        .iter()
        .filter(|(_, n)| *n > 0)
        .map(|(name, n)| format!("{name} {}", count(*n as f64)))
        .collect();
    if !others.is_empty() {
        sheet.text(Paint::Plain, &format!("Also: {}.", others.join(", ")));
    }
}

fn write_cycles(sheet: &mut Sheet, database: &DatabaseResult) {
    let cycles = &database.cycles;
    let longest = cycles.iter().map(|cycle| cycle.seconds).max_by(f64::total_cmp);
    let blocks = plural(cycles.iter().map(|cycle| cycle.blocks).sum::<u64>(), "block");
    match (cycles.as_slice(), longest) {
        ([only], _) => {
            let (took, at) = (Latency(only.seconds * 1e9), only.at_seconds);
            let text = format!(
                "write daemon: 1 round of {took} that ended at {at:.1} s, {blocks} written"
            );
            sheet.text(Paint::Plain, &text);
        }
        (several, Some(longest)) => {
            let rounds = plural(several.len() as u64, "round");
            let longest = Latency(longest * 1e9);
            let text =
                format!("write daemon: {rounds}, {blocks} written, the longest took {longest}");
            sheet.text(Paint::Plain, &text);
        }
        (_, None) => {}
    }
    if (2..=MOST_CYCLES).contains(&cycles.len()) {
        let one = |c: &DaemonCycle| {
            let (took, blocks) = (Latency(c.seconds * 1e9), plural(c.blocks, "block"));
            format!("{:.1} s ({took}, {blocks})", c.at_seconds)
        };
        let each: Vec<String> = cycles.iter().map(one).collect();
        sheet.below(Paint::Plain, &format!("they ended at {}", each.join(", ")));
    }
    if let Some(drain) = &database.drain {
        let wrote = drain.physical.as_ref().map_or_else(String::new, |physical| {
            let writes = plural(physical.writes, "write");
            format!(", in {writes} of the devices, {}", Bytes(physical.write_bytes))
        });
        let text = format!("drained after the run in {}{wrote}", Latency(drain.seconds * 1e9));
        sheet.text(Paint::Plain, &text);
    }
    let ratio = |n: Option<f64>, words: &str| n.map(|n| format!("{n:.2} {words}"));
    let amplified = [
        ratio(database.written_per_updated, "bytes written for each byte updated"),
        ratio(database.blocks_per_device_write, "dirty blocks in each device write of the drain"),
    ];
    let amplified: Vec<String> = amplified.into_iter().flatten().collect();
    if !amplified.is_empty() {
        sheet.text(Paint::Plain, &amplified.join(", "));
    }
}

/// Formats the result of a database check.
#[must_use]
pub fn db_check(checked: &DatabaseCheck, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    let values = plural(checked.values, "value");
    match checked.wrong {
        0 => sheet.text(Paint::Good, &format!("{values}, all as they were written")),
        wrong => {
            let text = format!("{} NOT as written, of {values}:", plural(wrong, "value"));
            sheet.text(Paint::Bad, &text);
        }
    }
    for words in &checked.named {
        sheet.text(Paint::Bad, words);
    }
    let more = checked.wrong.saturating_sub(checked.named.len() as u64);
    if more > 0 {
        sheet.text(Paint::Bad, &format!("and {more} more"));
    }
    let transactions = plural(checked.acknowledged, "transaction");
    match (checked.acknowledged_known, checked.lost) {
        (false, _) => {
            sheet.text(Paint::Doubt, "No run on this database recorded what it acknowledged.")
        }
        (true, 0) => sheet.text(
            Paint::Good,
            &format!("{transactions} of the last run acknowledged, all of them there"),
        ),
        (true, lost) => {
            let text = format!("{transactions} of the last run acknowledged, {lost} of them LOST");
            sheet.text(Paint::Bad, &text);
        }
    }
    for worker in checked.workers.iter().filter(|worker| worker.lost > 0) {
        let text = format!(
            "worker {}: acknowledged up to {}, in the database up to {}",
            worker.worker, worker.acknowledged, worker.committed
        );
        sheet.text(Paint::Bad, &text);
    }
    if let Some(loss) = &checked.may_lose {
        sheet.text(Paint::Doubt, &format!("Commits do not wait for the log: {loss}."));
    }
    sheet.into_text()
}

/// Formats a comparison of a database with its device.
#[must_use]
pub fn beside(document: &BesideDocument, page: Page) -> String {
    let mut sheet = Sheet::new(page);
    parts::head(&mut sheet, &document.head);
    let paint = if was_interrupted(document) { Paint::Bad } else { Paint::Strong };
    sheet.text(paint, &format!("{}.", beside_brief(document)));
    for reason in &document.held_back_by {
        sheet.text(Paint::Plain, reason);
    }
    if document.share_percent.is_some_and(|share| share > 100.0) {
        sheet.text(Paint::Plain, why_above(&document.head));
    }
    let kept = document.device.curve.iter().filter(|point| point.met);
    let most_iops = kept.map(|point| point.iops.mean).fold(0.0, f64::max);
    if most_iops > 1.05 * document.device.answer.iops.mean {
        let text = format!(
            "The device did up to {} I/Os a second in one of its measurements, but did not keep that up.",
            count(most_iops)
        );
        sheet.text(Paint::Doubt, &text);
    }
    let terms = Terms::of(&document.head);
    let device = ("The device:", &document.device, Terms::DEVICE);
    let database = document.database.as_ref().map(|side| ("The database:", side, terms));
    for (title, side, terms) in std::iter::once(device).chain(database) {
        sheet.gap();
        sheet.text(Paint::Strong, &format!("{title} {}", side.load));
        if side.answer.stopped_by == StoppedBy::Unattainable {
            sheet.text(Paint::Bad, &format!("The limits do not hold even {}:", terms.words.at(1)));
        }
        let mut grid = Grid::new(&[
            (terms.concurrency, Kind::Number),
            (terms.rate, Kind::Number),
            ("mean", Kind::Number),
            ("p99", Kind::Number),
            ("limits", Kind::Word),
        ]);
        let mut curve: Vec<_> = side.curve.iter().collect();
        curve.sort_by_key(|point| point.queue_depth);
        for point in curve {
            let row = [
                point.queue_depth.to_string(),
                count(point.iops.mean),
                Latency(point.latency_ns.mean).to_string(),
                Latency(point.latency_ns.p99 as f64).to_string(),
                if point.met { "hold" } else { "broken" }.to_owned(),
            ];
            let paint = if point.queue_depth == side.answer.queue_depth {
                Paint::Strong
            } else {
                Paint::Plain
            };
            grid.row(paint, row);
        }
        grid.write(&mut sheet);
    }
    parts::caveats(&mut sheet, "this result", &document.caveats);
    parts::environment(&mut sheet, &document.environment);
    sheet.into_text()
}

/// Explains how a database can exceed the capacity measured on its device.
fn why_above(head: &Head) -> &'static str {
    if head.load.database().is_some_and(|load| load.mode == "read") {
        "The database read more than the device sustained in its search. A cache below the database \
         may hold part of the data, the device may have changed, or I/Os of other programs were counted."
    } else {
        "The database did more I/O than the device sustained in its search for random blocks. The log \
         is written sequentially, no limit bounds the I/O of the write daemon, or I/Os of other programs \
         were counted."
    }
}

fn was_interrupted(document: &BesideDocument) -> bool {
    document.caveats.iter().any(|caveat| caveat.code == CaveatCode::Interrupted)
}

/// Formats the comparison in one line.
#[must_use]
pub fn beside_brief(document: &BesideDocument) -> String {
    let device = &document.device.answer;
    let (iops, moved) = (count(device.iops.mean), Bandwidth(device.bytes_per_sec));
    let BesideDocument { share_percent, database_iops, database_bytes_per_sec, .. } = document;
    if let (Some(share), Some(ios), Some(bytes)) =
        (share_percent, database_iops, database_bytes_per_sec)
    {
        let (ios, bytes) = (count(*ios), Bandwidth(*bytes));
        return format!(
            "The database reaches {share:.0} % of the device: {ios} I/Os a second of {iops}, {bytes} of {moved}"
        );
    }
    let device = format!("the device did {iops} I/Os a second, {moved}");
    let rate = Terms::of(&document.head).rate;
    let database = document.database.as_ref().map(|side| {
        let own = count(side.answer.iops.mean);
        format!("{device}, and the database {own} {rate}")
    });
    match (was_interrupted(document), database) {
        (true, None) if document.device.curve.is_empty() => {
            "Interrupted before anything was measured".to_owned()
        }
        (true, None) => format!("Interrupted before the database was measured: {device}"),
        (true, Some(both)) => format!("Interrupted before the share was known: {both}"),
        (false, both) => {
            let both = both.unwrap_or(device);
            format!("What the devices did for the database is not known, and so no share: {both}")
        }
    }
}
