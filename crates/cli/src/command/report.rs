//! `iogauge report`: pictures of kept runs.

use super::history;
use super::whole_file;
use crate::args::{ReportArgs, ThemeArg};
use crate::exit::{Exit, Usage};
use crate::screen;
use anyhow::Context;
use iogauge_lab::history::{RunRef, StoredRun};
use iogauge_report::chart::{DARK, LIGHT, png, svg};
use iogauge_report::exhibit::{Exhibit, Group, grouped};
use iogauge_report::html;
use iogauge_report::panel::{Figure, PANELS, Panel, WIDE};
use std::collections::BTreeMap;
use std::path::Path;

/// Pixels of a PNG for each unit of its drawing: as sharp as a screen of twice the usual density.
const PNG_SCALE: f64 = 2.0;

/// Runs the command.
///
/// # Errors
/// Where there is no such run, nothing to draw of it, or a file cannot be written.
pub fn run(args: &ReportArgs) -> anyhow::Result<Exit> {
    if args.html.is_none() && args.svg.is_none() && args.png.is_none() {
        let text = "a report needs a place; right would be --html FILE, --svg DIR or --png DIR";
        return Err(Usage(text.to_owned()).into());
    }
    let history = history::open_kept(&args.history)?;
    let last = [RunRef::Back(0)];
    let runs = if args.runs.is_empty() { &last[..] } else { &args.runs };
    let (mut exhibits, mut started) = (Vec::new(), BTreeMap::new());
    for run in runs {
        let stored = history.show(run)?;
        if started.insert(stored.row.id.to_string(), stored.row.started).is_none() {
            exhibits.push(exhibit(&stored)?);
        }
    }
    let title = args.title.clone().unwrap_or_else(|| heading(&exhibits));
    let mut groups = grouped(exhibits, args.group_by.into());
    // Groups stand as they were typed. In each, where two measured the same load, the later one is drawn.
    for group in &mut groups {
        group.exhibits.sort_by_key(|run| started.get(&run.head().run_id));
    }
    let wanted =
        |panel: &&Panel| args.panel.is_empty() || args.panel.iter().any(|name| name == panel.name);
    let panels: Vec<&'static Panel> = PANELS.iter().filter(wanted).collect();
    // A page has the words of runs that have no picture; whoever names pictures wants them.
    let needs_figures = args.svg.is_some() || args.png.is_some() || !args.panel.is_empty();
    let figures = if needs_figures { figures(&groups, &panels)? } else { Vec::new() };
    if let Some(path) = &args.html {
        let page = html::page(&groups, &panels, &title, env!("CARGO_PKG_VERSION"))?;
        write(path, page.as_bytes())?;
    }
    let theme = match args.theme {
        ThemeArg::Light => LIGHT,
        ThemeArg::Dark => DARK,
    };
    if let Some(directory) = &args.svg {
        write_all(directory, "svg", &figures, |title, figure| {
            Ok(svg::file(&figure.scene, theme, title, &figure.description).into_bytes())
        })?;
    }
    if let Some(directory) = &args.png {
        write_all(directory, "png", &figures, |title, figure| {
            Ok(png::render(&figure.scene, theme, title, PNG_SCALE)?)
        })?;
    }
    Ok(Exit::Done)
}

/// A run that is closed, ready to be drawn.
fn exhibit(stored: &StoredRun) -> anyhow::Result<Exhibit> {
    let document = history::result(stored, "to draw")?;
    let unknown = |error| Usage(format!("run {}: {error}", stored.row.id));
    Ok(Exhibit::of(document).map_err(unknown)?)
}

fn heading(exhibits: &[Exhibit]) -> String {
    match exhibits {
        [one] => one.place(),
        several => format!("iogauge: {} runs", several.len()),
    }
}

/// A figure, its name among files, and its title.
struct Named {
    name: String,
    title: String,
    figure: Figure,
}

/// The figures of panels, numbered in each from 1; by their group's name where there are several.
fn figures(groups: &[Group], panels: &[&'static Panel]) -> anyhow::Result<Vec<Named>> {
    let mut named = Vec::new();
    for panel in panels {
        let mut drawn: Vec<(&str, Figure)> = Vec::new();
        for Group { name, exhibits } in groups {
            drawn.extend((panel.draw)(exhibits, WIDE).into_iter().map(|figure| (&**name, figure)));
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
        let text = "these runs have nothing for such a picture; right would be another --panel";
        return Err(Usage(text.to_owned()).into());
    }
    Ok(named)
}

/// A name as it may stand in that of a file.
fn in_file_name(name: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | '_' | '-');
    let safe = name.chars().map(|letter| if plain(letter) { letter } else { '-' });
    safe.take(60).collect::<String>().trim_matches(['-', '.']).to_owned()
}

/// Writes each figure into a directory.
fn write_all(
    directory: &Path,
    extension: &str,
    figures: &[Named],
    render: impl Fn(&str, &Figure) -> anyhow::Result<Vec<u8>>,
) -> anyhow::Result<()> {
    std::fs::create_dir_all(directory)
        .with_context(|| format!("{} cannot be made", directory.display()))?;
    for Named { name, title, figure } in figures {
        write(&directory.join(format!("{name}.{extension}")), &render(title, figure)?)?;
    }
    Ok(())
}

/// Writes a file and tells so.
fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    whole_file::put(path, bytes)?;
    screen::print(&path.display().to_string())
}
