//! Runs as one HTML file: it works offline, without scripts, in light and dark, on paper, and from a
//! telephone to a wide screen. Where scripts run, a small one tells values under the pointer and switches
//! series.

use crate::chart::{DARK, Ink, LIGHT, Theme, svg};
use crate::exhibit::{Exhibit, Group, Shown};
use crate::panel::{self, BESIDE, Figure, NARROW, Panel, WIDE};
use crate::terminal::{self, Page};
use askama::Template;
use iogauge_model::Caveat;
use iogauge_model::plain_text::shown;
use std::fmt::Write;

/// Version word of the file.
pub const FORMAT: &str = "iogauge.html/1";

/// Columns of the text of a run.
const COLUMNS: u16 = 90;

#[derive(Template)]
#[template(path = "report.html")]
struct Report<'a> {
    title: &'a str,
    format: &'a str,
    version: &'a str,
    style: String,
    script: &'a str,
    /// True for groups of runs side by side.
    beside: bool,
    /// What was thinned for the sake of the file's size.
    thinned: Option<String>,
    runs: Vec<Run>,
    panels: Vec<Drawn>,
}

/// A run's own section.
struct Run {
    id: String,
    heading: String,
    facts: Vec<(&'static str, String)>,
    doubts: Vec<Caveat>,
    notes: Vec<Caveat>,
    text: String,
}

/// A panel's section.
struct Drawn {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// True for many figures side by side.
    small: bool,
    groups: Vec<DrawnGroup>,
}

/// A group's figures of a panel, under its name where there are several.
struct DrawnGroup {
    name: String,
    figures: Vec<DrawnFigure>,
}

/// A figure in both widths, or in the narrow one where there are many.
struct DrawnFigure {
    title: String,
    description: String,
    wide: Option<String>,
    narrow: String,
}

/// From so many figures of a panel on each is small, beside others.
const MANY: usize = 9;

/// The file, with these panels. Several groups stand side by side where there is room. Takes some
/// milliseconds for each run.
///
/// # Errors
/// Where it cannot be put together.
pub fn page(
    groups: &[Group],
    panels: &[&Panel],
    title: &str,
    version: &str,
) -> Result<String, askama::Error> {
    let drawn: Vec<Drawn> = panels.iter().filter_map(|panel| drawn(panel, groups)).collect();
    let report = Report {
        title,
        format: FORMAT,
        version,
        style: style(),
        script: include_str!("report.js"),
        beside: groups.len() > 1,
        runs: groups.iter().flat_map(|group| &group.exhibits).map(run).collect(),
        thinned: thinned(groups, &drawn),
        panels: drawn,
    };
    // The page has no such characters of its own.
    Ok(shown(&report.render()?).into_owned())
}

/// Says so where lines have fewer points since many runs share a page.
fn thinned(groups: &[Group], drawn: &[Drawn]) -> Option<String> {
    let runs = groups.iter().map(|group| group.exhibits.len()).max()?;
    let [points, of_few] = [runs, 1].map(panel::points_over_time);
    let is_drawn = drawn.iter().any(|panel| panel::OVER_TIME.contains(&panel.name));
    (is_drawn && points < of_few).then(|| {
        format!(
            "So that the file stays small, a run over time has {points} points at most here, neighbours joined. \
             Alone it has up to {of_few}."
        )
    })
}

fn drawn(panel: &Panel, groups: &[Group]) -> Option<Drawn> {
    let narrow = groups.iter().map(|group| (panel.draw)(&group.exhibits, NARROW));
    let narrow: Vec<Vec<Figure>> = narrow.collect();
    let small = narrow.iter().any(|figures| figures.len() >= MANY);
    let width = if groups.len() > 1 { BESIDE } else { WIDE };
    let group = |(group, narrow): (&Group, Vec<Figure>)| {
        let wide = if small { Vec::new() } else { (panel.draw)(&group.exhibits, width) };
        let name = if groups.len() > 1 { group.name.clone() } else { String::new() };
        DrawnGroup { name, figures: figures(wide, narrow) }
    };
    // A group that has nothing for a panel keeps its column: what is missing shows.
    let any = narrow.iter().any(|figures| !figures.is_empty());
    let groups = groups.iter().zip(narrow).map(group).collect();
    let Panel { name, title, about, .. } = *panel;
    any.then_some(Drawn { name, title, about, small, groups })
}

/// Figures in both widths, or where there is no wide one in the narrow one.
fn figures(wide: Vec<Figure>, narrow: Vec<Figure>) -> Vec<DrawnFigure> {
    let mut wide = wide.into_iter().map(|wide| svg::inline(&wide.scene, &wide.description, true));
    let figure = |narrow: Figure| {
        let wide = wide.next();
        DrawnFigure {
            narrow: svg::inline(&narrow.scene, &narrow.description, wide.is_none()),
            wide,
            title: narrow.title,
            description: narrow.description,
        }
    };
    narrow.into_iter().map(figure).collect()
}

fn run(exhibit: &Exhibit) -> Run {
    let page = Page::plain(COLUMNS);
    let text = match &exhibit.document {
        Shown::Run(run) => terminal::run(run, page),
        Shown::Find(find) => terminal::find(find, page),
        Shown::Suite(suite) => terminal::suite(suite, page),
        Shown::Crosscheck(check) => terminal::crosscheck(check, page),
        Shown::Beside(beside) => terminal::beside(beside, page),
        Shown::Profile(profile) => terminal::profile(profile, page),
    };
    let (doubts, notes) = exhibit.caveats().iter().cloned().partition(Caveat::is_doubt);
    let (head, environment) = (exhibit.head(), exhibit.environment());
    let facts = [
        ("run", head.run_id.clone()),
        ("began", head.started.clone()),
        ("host", environment.host.clone()),
        ("kernel", environment.kernel.clone()),
        ("processor", environment.cpu_model.clone()),
        ("measured by", head.via.as_ref().map_or_else(String::new, |via| via.version.clone())),
    ];
    Run {
        id: head.run_id.clone(),
        heading: exhibit.place(),
        facts: facts.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
        doubts,
        notes,
        text,
    }
}

/// The style sheet: colours of both themes as properties, a class for each role, the layout.
fn style() -> String {
    let mut style = String::new();
    let colors = |theme: Theme| {
        Ink::all().fold(String::new(), |mut text, ink| {
            let _ = write!(text, "--{}:{};", ink.word(), theme.color(ink));
            text
        })
    };
    let _ = writeln!(style, ":root{{{}}}", colors(LIGHT));
    let _ = writeln!(
        style,
        "@media screen and (prefers-color-scheme:dark){{:root{{{}}}}}",
        colors(DARK)
    );
    for ink in Ink::all() {
        let word = ink.word();
        let _ = writeln!(style, ".f-{word}{{fill:var(--{word})}}.k-{word}{{stroke:var(--{word})}}");
    }
    style.push_str(include_str!("report.css"));
    style
}
