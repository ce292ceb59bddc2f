//! Writes pictures of runs as HTML, SVG and PNG.

use crate::args::ThemeArg;
use crate::exit::Usage;
use iogauge_lab::output::{OutputDirectory, OutputFile, Replace};
use iogauge_report::chart::{DARK, LIGHT, Theme, svg};
use iogauge_report::exhibit::{Exhibit, Group};
use iogauge_report::html;
use iogauge_report::panel::{Figure, Panel, WIDE};
use std::path::Path;

/// Where pictures go.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outputs<'a> {
    /// An HTML file.
    pub html: Option<&'a Path>,
    /// A directory for SVG.
    pub svg: Option<&'a Path>,
    /// A directory for PNG.
    pub png: Option<&'a Path>,
    /// Colours of SVG and PNG.
    pub theme: ThemeArg,
    /// True if files of others may be replaced.
    pub force: bool,
    /// Prints the path of each file.
    pub say: fn(&str) -> anyhow::Result<()>,
}

/// Draws runs and writes the pictures. `needs_figures` is true if there must be at least one.
///
/// # Errors
/// There is none, or a file cannot be written.
pub(super) fn put(
    groups: &[Group],
    panels: &[&'static Panel],
    title: &str,
    needs_figures: bool,
    outputs: &Outputs<'_>,
) -> anyhow::Result<()> {
    let figures = if needs_figures { figures(groups, panels)? } else { Vec::new() };
    let replace = Replace::from(outputs.force);
    let html = outputs.html.map(|path| OutputFile::check(path, replace)).transpose()?;
    let svg = pictures(outputs.svg, "svg", &figures, replace)?;
    let png = pictures(outputs.png, "png", &figures, replace)?;
    let theme = match outputs.theme {
        ThemeArg::Light => LIGHT,
        ThemeArg::Dark => DARK,
    };
    // Every path has been checked before the first file is written. PNG comes first, because a build may lack it.
    for (file, Named { title, figure, .. }) in png.into_iter().zip(&figures) {
        write(file, &png_of(figure, theme, title)?, outputs.say)?;
    }
    if let Some(file) = html {
        let page = html::page(groups, panels, title, env!("CARGO_PKG_VERSION"))?;
        write(file, page.as_bytes(), outputs.say)?;
    }
    for (file, Named { title, figure, .. }) in svg.into_iter().zip(&figures) {
        let text = svg::file(&figure.scene, theme, title, &figure.description);
        write(file, text.as_bytes(), outputs.say)?;
    }
    Ok(())
}

/// Draws a figure as PNG, with two pixels for each unit of its drawing: that suits screens of twice the usual density.
#[cfg(feature = "png")]
fn png_of(figure: &Figure, theme: Theme, title: &str) -> anyhow::Result<Vec<u8>> {
    Ok(iogauge_report::chart::png::render(&figure.scene, theme, title, 2.0)?)
}

#[cfg(not(feature = "png"))]
fn png_of(_: &Figure, _: Theme, _: &str) -> anyhow::Result<Vec<u8>> {
    let text = "--png: this build draws no PNG; hint: use --svg DIR, or build it with `make`";
    Err(Usage(text.to_owned()).into())
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
///
/// # Errors
/// It cannot be written.
pub(super) fn write(
    file: OutputFile,
    bytes: &[u8],
    say: fn(&str) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let path = file.path().display().to_string();
    file.put(bytes)?;
    say(&path)
}
