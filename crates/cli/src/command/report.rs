//! `iogauge report`: draws pictures of kept runs.

use super::history;
use super::pictures::{self, Outputs};
use crate::args::ReportArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::{History, HistoryError, RunRef, Runs, UtcTime};
use iogauge_report::exhibit::{Exhibit, ExhibitError, grouped};
use iogauge_report::panel::{OF_SERIES, PANELS, Panel};
use std::collections::BTreeMap;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// There is no such run, a run has nothing to draw, or a file cannot be written.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    if args.html.is_none() && args.svg.is_none() && args.png.is_none() {
        let text = "a report needs an output; hint: use --html FILE, --svg DIR or --png DIR";
        return Err(Usage(text.to_owned()).into());
    }
    if args.html.as_deref() == Some(Path::new("-")) {
        let text = "--html -: a report is written to a file; hint: use --html report.html";
        return Err(Usage(text.to_owned()).into());
    }
    if args.panel.iter().any(|name| name == OF_SERIES) {
        let text = format!(
            "--panel {OF_SERIES}: it shows a series of runs, and a report each run; hint: use iogauge history trend \
             RUN --svg DIR"
        );
        return Err(Usage(text).into());
    }
    let history = history::open_existing(&args.history)?;
    let Drawn { exhibits, started, left_out } = drawn(&history, &chosen(&history, args)?)?;
    let title = args.title.clone().unwrap_or_else(|| heading(&exhibits));
    let mut groups = grouped(exhibits, args.group_by.into());
    // Groups keep the order in which they were typed. If two runs of a group measured the same
    // workload, the later one is drawn.
    for group in &mut groups {
        group.exhibits.sort_by_key(|run| started.get(&run.head().run_id));
    }
    let wanted =
        |panel: &&Panel| args.panel.is_empty() || args.panel.iter().any(|name| name == panel.name);
    let panels: Vec<&'static Panel> = PANELS.iter().filter(wanted).collect();
    // An HTML page also shows runs without a picture. Options that name pictures need at least one.
    let needs_figures = args.svg.is_some() || args.png.is_some() || !args.panel.is_empty();
    let outputs = Outputs {
        html: args.html.as_deref(),
        svg: args.svg.as_deref(),
        png: args.png.as_deref(),
        theme: args.theme,
        force: args.force,
        say: screen::say,
    };
    pictures::put(&groups, &panels, &title, needs_figures, &outputs)?;
    Ok(history::tell_left_out(&history, "report", &left_out))
}

/// The requested runs, ready to be drawn.
struct Drawn {
    exhibits: Vec<Exhibit>,
    /// Start time of each run, by its ID.
    started: BTreeMap<String, UtcTime>,
    /// One line for each damaged run, with the reason.
    left_out: Vec<String>,
}

/// A run to draw.
struct Chosen {
    run: RunRef,
    /// True if it was named itself, and not only as one of a range, label or system.
    is_named: bool,
}

/// Returns the requested runs.
fn chosen(history: &History, args: &ReportArgs) -> anyhow::Result<Vec<Chosen>> {
    let of_system = args.system.as_ref().map(|name| Runs::System(name.clone()));
    let of_system = of_system.map(|system| history.select(&system)).transpose()?;
    if args.runs.is_empty() {
        let (runs, is_named) = match of_system {
            Some(runs) => (runs, false),
            None => (history.last_together()?, true),
        };
        return Ok(runs.into_iter().map(|run| Chosen { run, is_named }).collect());
    }
    let mut chosen = Vec::new();
    for runs in &args.runs {
        let is_named = runs.is_one();
        let found = history.select(runs)?.into_iter();
        chosen.extend(found.map(|run| Chosen { run, is_named }));
    }
    let Some(of_system) = of_system else { return Ok(chosen) };
    let mut kept = Vec::new();
    for one in chosen {
        let id = history.resolve(&one.run)?.id.to_string();
        if of_system.contains(&RunRef::Name(id)) {
            kept.push(one);
        }
    }
    if kept.is_empty() {
        let name = args.system.as_deref().unwrap_or_default();
        let text =
            format!("none of these runs is of system {name}; hint: leave RUN or --system out");
        return Err(Usage(text).into());
    }
    Ok(kept)
}

/// Returns the runs ready to be drawn, each once. Omits damaged runs, and runs without a result or a picture that were
/// not named themselves.
///
/// # Errors
/// All runs are damaged, a run is not closed or cannot be drawn, or there is no such run.
fn drawn(history: &History, runs: &[Chosen]) -> anyhow::Result<Drawn> {
    let (mut exhibits, mut started) = (Vec::new(), BTreeMap::new());
    let (mut left_out, mut first) = (Vec::new(), None);
    for Chosen { run, is_named } in runs {
        let stored = match history.show(run) {
            Ok(stored) => stored,
            Err(HistoryError::Damaged { path, reason }) => {
                left_out.push(format!("run {run}: {reason}"));
                first.get_or_insert(HistoryError::Damaged { path, reason }.into());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let id = stored.row.id.to_string();
        if started.insert(id.clone(), stored.row.started).is_some() {
            continue;
        }
        let document = match history::result(&stored, "to draw") {
            Ok(document) => document,
            Err(error) if *is_named => return Err(error),
            Err(error) => {
                screen::warning(&format!("left out of the report: {error}"));
                continue;
            }
        };
        let error = match Exhibit::of(document) {
            Ok(exhibit) => {
                exhibits.push(exhibit);
                continue;
            }
            Err(error) => error,
        };
        let usage = Usage(format!("run {id}: {error}"));
        match error {
            ExhibitError::Format(_) if *is_named => return Err(usage.into()),
            ExhibitError::Format(_) => {
                screen::warning(&format!("left out of the report: {usage}"));
            }
            ExhibitError::Document(_) => {
                left_out.push(usage.to_string());
                first.get_or_insert(usage.into());
            }
        }
    }
    match first {
        Some(error) if exhibits.is_empty() => Err(error),
        None if exhibits.is_empty() => {
            Err(Usage("none of these runs has a result; hint: see iogauge history list".to_owned())
                .into())
        }
        _ => Ok(Drawn { exhibits, started, left_out }),
    }
}

fn heading(exhibits: &[Exhibit]) -> String {
    match exhibits {
        [one] => one.place(),
        several => format!("iogauge: {} runs", several.len()),
    }
}
