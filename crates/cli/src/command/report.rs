//! `iogauge report`: draws pictures of kept runs.

use super::history;
use crate::args::{ReportArgs, ThemeArg};
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::history::{History, HistoryError, RunRef, Runs, UtcTime};
use iogauge_lab::output::{OutputDirectory, OutputFile, Replace};
use iogauge_report::chart::{DARK, LIGHT, png, svg};
use iogauge_report::exhibit::{Exhibit, ExhibitError, Group, grouped};
use iogauge_report::html;
use iogauge_report::panel::{Figure, PANELS, Panel, WIDE};
use std::collections::BTreeMap;
use std::path::Path;

/// Pixels of a PNG for each unit of its drawing; 2 suits screens of twice the usual density.
const PNG_SCALE: f64 = 2.0;

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
    let figures = if needs_figures { figures(&groups, &panels)? } else { Vec::new() };
    let replace = Replace::from(args.force);
    let html = args.html.as_ref().map(|path| OutputFile::check(path, replace)).transpose()?;
    let svg = pictures(args.svg.as_deref(), "svg", &figures, replace)?;
    let png = pictures(args.png.as_deref(), "png", &figures, replace)?;
    // Every path has been checked before the first file is written.
    if let Some(file) = html {
        let page = html::page(&groups, &panels, &title, env!("CARGO_PKG_VERSION"))?;
        write(file, page.as_bytes())?;
    }
    let theme = match args.theme {
        ThemeArg::Light => LIGHT,
        ThemeArg::Dark => DARK,
    };
    for (file, Named { title, figure, .. }) in svg.into_iter().zip(&figures) {
        write(file, svg::file(&figure.scene, theme, title, &figure.description).as_bytes())?;
    }
    for (file, Named { title, figure, .. }) in png.into_iter().zip(&figures) {
        write(file, &png::render(&figure.scene, theme, title, PNG_SCALE)?)?;
    }
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

/// A figure with its file name stem and its title.
struct Named {
    name: String,
    title: String,
    figure: Figure,
}

/// Draws the figures of panels and numbers those of each panel from 1. If there are several groups,
/// the file name includes the group's name.
fn figures(groups: &[Group], panels: &[&'static Panel]) -> anyhow::Result<Vec<Named>> {
    let mut named = Vec::new();
    let all: Vec<&[Exhibit]> = groups.iter().map(|group| &*group.exhibits).collect();
    for panel in panels {
        let mut drawn: Vec<(&str, Figure)> = Vec::new();
        for Group { name, exhibits } in groups {
            let figures = panel.draw_beside(exhibits, &all, WIDE).into_iter();
            drawn.extend(figures.map(|figure| (&**name, figure)));
        }
        for (number, (group, figure)) in (1..).zip(drawn) {
            let group = match groups.len() {
                1 => String::new(),
                _ => format!("{}-", in_file_name(group)),
            };
            let title = format!("{}: {}", panel.title, figure.title);
            let name = format!("{}-{group}{number}", panel.name);
            named.push(Named { name, title, figure });
        }
    }
    if named.is_empty() {
        let text = "these runs have no data for this chart; hint: use another --panel";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(named)
}

/// Replaces characters that do not belong in a file name.
fn in_file_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let safe = name.chars().map(|letter| if plain(letter) { letter } else { '-' });
    safe.take(60).collect::<String>().trim_matches(['-', '.']).to_owned()
}

/// Checks one file for each figure in a directory; returns none without a directory.
fn pictures(
    directory: Option<&Path>,
    extension: &str,
    figures: &[Named],
    replace: Replace,
) -> anyhow::Result<Vec<OutputFile>> {
    let Some(directory) = directory else { return Ok(Vec::new()) };
    let directory = OutputDirectory::make(directory)?;
    let file =
        |Named { name, .. }: &Named| directory.check(&format!("{name}.{extension}"), replace);
    Ok(figures.iter().map(file).collect::<Result<_, _>>()?)
}

/// Writes a file and prints its path.
fn write(file: OutputFile, bytes: &[u8]) -> anyhow::Result<()> {
    let path = file.path().display().to_string();
    file.put(bytes)?;
    screen::say(&path)
}
