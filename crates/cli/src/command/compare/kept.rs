//! Runs of the history compared.

use super::turns::{self, exit_of};
use crate::args::CompareArgs;
use crate::command::history;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::compare::kept::{self, KeptRule, KeptRun, Side};
use iogauge_lab::history::{History, Runs};
use iogauge_model::result::CompareFindings;
use iogauge_report::terminal;
use std::path::Path;

/// Returns true if the subjects are runs of the history, false if they are targets.
///
/// # Errors
/// Some are runs, and some are targets.
pub(super) fn names_runs(args: &CompareArgs) -> anyhow::Result<bool> {
    let is_run = |text: &&String| !is_target(text) && text.parse::<Runs>().is_ok();
    let runs = args.subjects.iter().filter(is_run).count();
    if runs > 0 && runs < args.subjects.len() {
        let named = args.subjects.iter().find(is_run).map_or("", String::as_str);
        let text = format!(
            "\"{named}\" is not a target that exists, and a run cannot be compared with a target; hint: name targets \
             or runs"
        );
        return Err(Usage(text).into());
    }
    Ok(runs > 0)
}

fn is_target(text: &str) -> bool {
    let is_set = ["label:", "load:", "system:"].iter().any(|prefix| text.starts_with(prefix));
    text.contains('/') && !is_set || text.starts_with("sim:") || Path::new(text).exists()
}

/// Compares the runs.
///
/// # Errors
/// There are no such runs, or their loads differ.
pub(super) fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let history = history::open(&args.output.history)?;
    let sides = args.subjects.iter().map(|text| side(&history, text));
    let sides: Vec<Side> = sides.collect::<anyhow::Result<_>>()?;
    let [_, _, ..] = sides.as_slice() else {
        let text = "compare needs two sides; hint: use iogauge compare last-1 last";
        return Err(Usage(text.to_owned()).into());
    };
    let baseline = turns::baseline(&args.comparing, sides.len())?;
    if let Some(run) = kept::on_two_sides(&sides) {
        let text = format!("run {run} is on two sides; hint: name other runs, or another label");
        return Err(Usage(text).into());
    }
    if let Some(unlike) = kept::unlike(&sides).filter(|_| !args.unlike) {
        let text = format!(
            "the loads of these runs differ: {} is {}; hint: use --unlike to compare them",
            unlike.what,
            unlike.values.join(" and ")
        );
        return Err(Usage(text).into());
    }
    let rule =
        KeptRule { metric: args.comparing.metric, margin: args.comparing.margin / 100.0, baseline };
    let document = kept::compare(&sides, rule);
    if args.output.json {
        screen::data(&screen::json(&document)?)?;
    } else {
        screen::print(&terminal::compare_runs(&document, screen::page(false)))?;
    }
    if sides.iter().flat_map(|side| &side.runs).any(KeptRun::has_errors) {
        return Ok(Exit::IoErrors);
    }
    let findings = CompareFindings::of(&document.conclusion.findings);
    Ok(findings.map_or(Exit::Undecided, |findings| exit_of(findings.verdict())))
}

fn side(history: &History, text: &str) -> anyhow::Result<Side> {
    let mut runs = Vec::new();
    for run in history.select(&text.parse::<Runs>()?)? {
        let stored = history.show(&run)?;
        let id = stored.row.id.to_string();
        let kept = stored.document.as_ref().and_then(|document| KeptRun::of(&id, document));
        let kept = kept.ok_or_else(|| {
            Usage(format!(
                "run {id} has no single answer to compare; hint: name runs of iogauge find, or of iogauge run with \
                 one step"
            ))
        })?;
        runs.push(kept);
    }
    Ok(Side { about: text.to_owned(), runs })
}
