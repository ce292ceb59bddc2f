//! Runs as one HTML file. It works offline, without scripts, in light and dark mode, on paper, and on any
//! screen from a phone to a wide monitor. If scripts run, a small one shows values under the pointer and
//! switches series on and off.

use crate::chart::{DARK, Ink, LIGHT, Theme, svg};
use crate::exhibit::{Exhibit, Group, Shown, run_titles};
use crate::panel::{self, BESIDE, Figure, MANY, NARROW, Panel, WIDE};
use crate::terminal::{self, Page};
use askama::Template;
use iogauge_model::Caveat;
use iogauge_model::plain_text::shown;
use std::fmt::Write;

/// Name and version of the format.
pub const FORMAT: &str = "iogauge.html/1";

/// Width of the text of a run, in columns.
const COLUMNS: u16 = 90;

#[derive(Template)]
#[template(path = "report.html")]
struct Report<'a> {
    title: &'a str,
    format: &'a str,
    version: &'a str,
    style: String,
    script: &'a str,
    /// True if groups of runs are shown side by side.
    beside: bool,
    /// True if there are so many runs that their caveats are folded.
    folded: bool,
    /// What was thinned to keep the file small.
    thinned: Option<String>,
    runs: Vec<Run>,
    panels: Vec<Drawn>,
}

/// The section of a run.
struct Run {
    id: String,
    heading: String,
    /// What the run showed, in sentences.
    verdict: Vec<String>,
    facts: Vec<(&'static str, String)>,
    doubts: Vec<Caveat>,
    notes: Vec<Caveat>,
    text: String,
}

impl Run {
    /// Returns the number of caveats.
    fn caveats(&self) -> usize {
        self.doubts.len() + self.notes.len()
    }
}

/// The section of a panel.
struct Drawn {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// True if many figures are shown side by side.
    small: bool,
    groups: Vec<DrawnGroup>,
}

/// The figures of one group in a panel, under its name if there are several groups.
struct DrawnGroup {
    name: String,
    figures: Vec<DrawnFigure>,
}

/// A figure in both widths, or only in the narrow one if there are many.
struct DrawnFigure {
    title: String,
    description: String,
    wide: Option<String>,
    narrow: String,
}

/// With more runs than this, the caveats of each are folded.
const FEW: usize = 5;

/// Returns the file with these panels. Several groups are shown side by side if there is room. This takes a
/// few milliseconds per run.
///
/// # Errors
/// Fails if the page cannot be rendered.
pub fn page(
    groups: &[Group],
    panels: &[&Panel],
    title: &str,
    version: &str,
) -> Result<String, askama::Error> {
    let drawn: Vec<Drawn> = panels.iter().filter_map(|panel| drawn(panel, groups)).collect();
    let all: Vec<&Exhibit> = groups.iter().flat_map(|group| &group.exhibits).collect();
    let runs: Vec<Run> =
        all.iter().zip(run_titles(&all)).map(|(exhibit, title)| run(exhibit, title)).collect();
    let report = Report {
        title,
        format: FORMAT,
        version,
        style: style(),
        script: include_str!("report.js"),
        beside: groups.len() > 1,
        folded: runs.len() > FEW,
        runs,
        thinned: thinned(groups, &drawn),
        panels: drawn,
    };
    // The template itself contains no such characters.
    Ok(shown(&report.render()?).into_owned())
}

/// Returns a note if lines have fewer points because many runs share a page.
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
    let all: Vec<&[Exhibit]> = groups.iter().map(|group| &*group.exhibits).collect();
    let narrow = groups.iter().map(|group| panel.draw_beside(&group.exhibits, &all, NARROW));
    let narrow: Vec<Vec<Figure>> = narrow.collect();
    let small = narrow.iter().any(|figures| figures.len() >= MANY);
    let width = if groups.len() > 1 { BESIDE } else { WIDE };
    let group = |(group, narrow): (&Group, Vec<Figure>)| {
        let wide = if small { Vec::new() } else { panel.draw_beside(&group.exhibits, &all, width) };
        let name = if groups.len() > 1 { group.name.clone() } else { String::new() };
        DrawnGroup { name, figures: figures(wide, narrow) }
    };
    // A group that has nothing for a panel keeps its column, so that the gap is visible.
    let any = narrow.iter().any(|figures| !figures.is_empty());
    let groups = groups.iter().zip(narrow).map(group).collect();
    let Panel { name, title, about, .. } = *panel;
    any.then_some(Drawn { name, title, about, small, groups })
}

/// Returns the figures in both widths, or only in the narrow one if there is no wide one.
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

/// Returns what a run showed, in sentences.
fn verdict(exhibit: &Exhibit) -> Vec<String> {
    match &exhibit.document {
        Shown::Run(run) => vec![terminal::run_brief(run)],
        Shown::Find(find) => vec![terminal::find_verdict(find)],
        Shown::Suite(suite) if suite.conclusion.verdict.is_empty() => {
            vec![terminal::suite_brief(suite)]
        }
        Shown::Suite(suite) => suite.conclusion.verdict.clone(),
        Shown::Crosscheck(check) => vec![terminal::crosscheck_brief(check)],
        Shown::Beside(beside) => vec![terminal::beside_brief(beside)],
        Shown::Profile(profile) => vec![terminal::profile_brief(profile)],
        Shown::Trend(trend) => vec![terminal::trend_brief(trend)],
    }
}

/// `heading` distinguishes the run from the others.
fn run(exhibit: &Exhibit, heading: String) -> Run {
    let page = Page::plain(COLUMNS);
    let text = match &exhibit.document {
        Shown::Run(run) => terminal::run(run, page),
        Shown::Find(find) => terminal::find(find, page),
        Shown::Suite(suite) => terminal::suite(suite, page),
        Shown::Crosscheck(check) => terminal::crosscheck(check, page),
        Shown::Beside(beside) => terminal::beside(beside, page),
        Shown::Profile(profile) => terminal::profile(profile, page),
        Shown::Trend(trend) => terminal::trend(trend, page),
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
        heading,
        verdict: verdict(exhibit),
        facts: facts.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
        doubts,
        notes,
        text,
    }
}

/// Returns the style sheet: the colours of both themes as properties, a class for each role, and the
/// layout.
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
