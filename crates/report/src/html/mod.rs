//! Runs as one HTML file: it works offline, without scripts, in light and dark, on paper, and from a
//! telephone to a wide screen. Where scripts run, a small one tells values under the pointer and switches
//! series.

use crate::chart::{DARK, Ink, LIGHT, Theme, svg};
use crate::exhibit::{Exhibit, Shown};
use crate::panel::{Figure, NARROW, PANELS, Panel, WIDE};
use crate::terminal::{self, Page};
use askama::Template;
use iogauge_model::Caveat;
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
    runs: Vec<Run>,
    panels: Vec<Drawn>,
}

/// A run's own section.
struct Run {
    id: String,
    heading: String,
    facts: Vec<(&'static str, String)>,
    caveats: Vec<Caveat>,
    text: String,
}

/// A panel's section.
struct Drawn {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// True for many figures side by side.
    small: bool,
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

/// The file. Takes some milliseconds for each run.
///
/// # Errors
/// Where it cannot be put together.
pub fn page(exhibits: &[Exhibit], title: &str, version: &str) -> Result<String, askama::Error> {
    let report = Report {
        title,
        format: FORMAT,
        version,
        style: style(),
        script: include_str!("report.js"),
        runs: exhibits.iter().map(run).collect(),
        panels: PANELS.iter().filter_map(|panel| drawn(panel, exhibits)).collect(),
    };
    report.render()
}

fn drawn(panel: &Panel, exhibits: &[Exhibit]) -> Option<Drawn> {
    let narrow = (panel.draw)(exhibits, NARROW);
    let small = narrow.len() >= MANY;
    let wide = if small { Vec::new() } else { (panel.draw)(exhibits, WIDE) };
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
    let figures: Vec<DrawnFigure> = narrow.into_iter().map(figure).collect();
    let Panel { name, title, about, .. } = *panel;
    (!figures.is_empty()).then_some(Drawn { name, title, about, small, figures })
}

fn run(exhibit: &Exhibit) -> Run {
    let page = Page::plain(COLUMNS);
    let (text, caveats) = match &exhibit.document {
        Shown::Run(run) => (terminal::run(run, page), &run.caveats),
        Shown::Find(find) => (terminal::find(find, page), &find.caveats),
        Shown::Suite(suite) => (terminal::suite(suite, page), &suite.caveats),
        Shown::Profile(profile) => (terminal::profile(profile, page), &profile.caveats),
    };
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
        caveats: caveats.clone(),
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
