//! Scenes as SVG (W3C, Scalable Vector Graphics 1.1).

use super::ink::{Ink, Theme};
use super::path;
use super::scene::{Anchor, Hover, HoverPoint, Mark, Scene, Stroke, Text};
use super::text::cut;
use iogauge_model::plain_text::is_unprintable;
use std::fmt::Write;

/// Fonts of stand-alone pictures, in order of preference. The last two are fallbacks.
const FONTS: &str = "DejaVu Sans, Verdana, sans-serif";

/// Height of the heading of a stand-alone picture, and of its letters.
const HEADING: f64 = 36.0;
const HEADING_SIZE: f64 = 14.0;
/// Space around a stand-alone picture, so that no text touches its edge.
const MARGIN: f64 = 14.0;
/// Width of bold text relative to regular text.
const BOLD: f64 = 1.12;

/// Where colours come from.
#[derive(Debug, Clone, Copy)]
enum Paint<'a> {
    /// Each mark has its own colours.
    Theme(&'a Theme),
    /// Colours come from the classes `f-ROLE` (fill) and `k-ROLE` (stroke) of the surrounding page.
    Page {
        /// True if plot areas include the texts they show.
        words: bool,
    },
}

/// Returns the width and the height of a stand-alone picture.
pub(super) fn size(scene: &Scene) -> [f64; 2] {
    [scene.width + 2.0 * MARGIN, scene.height + HEADING + MARGIN]
}

/// Returns a stand-alone picture: its title above it, a description for screen readers, colours at each
/// mark.
#[must_use]
pub fn file(scene: &Scene, theme: Theme, title: &str, description: &str) -> String {
    let mut svg = String::with_capacity(1 << 14);
    let [width, height] = size(scene).map(number);
    svg.push_str("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    // Names the program that made the file, so that a later report may replace it.
    svg.push_str("<!-- Generator: iogauge -->\n");
    let _ = writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" role=\"img\">\n<title>{}</title>\n\
         <desc>{}</desc>",
        escaped(title),
        escaped(description)
    );
    let surface = theme.color(Ink::Surface);
    let _ = writeln!(svg, "<rect width=\"{width}\" height=\"{height}\" fill=\"{surface}\"/>");
    let heading = cut(title, BOLD * HEADING_SIZE, scene.width);
    let heading = Text::new(MARGIN, HEADING - 13.0, Anchor::Start, Ink::Text, heading);
    words(&mut svg, &heading.bold().size(HEADING_SIZE), Paint::Theme(&theme));
    let _ = write!(svg, "<g transform=\"translate({} {})\">", number(MARGIN), number(HEADING));
    marks(&mut svg, &scene.marks, Paint::Theme(&theme));
    svg.push_str("</g></svg>\n");
    svg
}

/// Returns a picture for an HTML page, as wide as the page allows. `description` is its text alternative;
/// `words` includes the texts that plot areas show. If a page has the same picture in several widths, only
/// one needs the texts.
#[must_use]
pub fn inline(scene: &Scene, description: &str, words: bool) -> String {
    let mut svg = String::with_capacity(1 << 14);
    let _ = write!(
        svg,
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">",
        number(scene.width),
        number(scene.height),
        escaped(description)
    );
    marks(&mut svg, &scene.marks, Paint::Page { words });
    svg.push_str("</svg>");
    svg
}

fn marks(svg: &mut String, list: &[Mark], paint: Paint<'_>) {
    let are_alike = |one: &Mark, other: &Mark| {
        PlainDot::of(one)
            .zip(PlainDot::of(other))
            .is_some_and(|(one, other)| one.look == other.look)
    };
    for alike in list.chunk_by(are_alike) {
        let dots: Vec<PlainDot> = alike.iter().filter_map(PlainDot::of).collect();
        match (dots.as_slice(), paint) {
            ([first, _, ..], Paint::Page { .. }) => dotted(svg, &dots, first.look),
            _ => alike.iter().for_each(|mark| one(svg, mark, paint)),
        }
    }
}

/// A dot without a tip.
struct PlainDot {
    place: (f64, f64),
    /// Radius, ink and opacity.
    look: (f64, Ink, f64),
}

impl PlainDot {
    fn of(mark: &Mark) -> Option<Self> {
        match mark {
            Mark::Dot { x, y, radius, fill, opacity, tip: None } => {
                Some(Self { place: (*x, *y), look: (*radius, *fill, *opacity) })
            }
            _ => None,
        }
    }
}

/// Draws dots as the round ends of zero-length lines, which takes a fraction of the bytes of as many
/// circles.
fn dotted(svg: &mut String, dots: &[PlainDot], (radius, fill, opacity): (f64, Ink, f64)) {
    let path = path::dots(dots.iter().map(|dot| dot.place));
    let (word, width) = (fill.word(), number(radius * 2.0));
    let _ = write!(
        svg,
        "<path d=\"{path}\" class=\"k-{word}\" stroke-width=\"{width}\" stroke-linecap=\"round\"{}/>",
        see_through(opacity)
    );
}

fn one(svg: &mut String, mark: &Mark, paint: Paint<'_>) {
    match mark {
        Mark::Rect { x, y, width, height, fill, opacity, tip } => {
            let _ = write!(
                svg,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}{}",
                number(*x),
                number(*y),
                number(width.max(0.0)),
                number(height.max(0.0)),
                filled(*fill, paint),
                see_through(*opacity)
            );
            end(svg, "rect", tip.as_deref());
        }
        Mark::Line { points, stroke } => line(svg, points, *stroke, paint),
        Mark::Area { points, fill, opacity } => {
            let path = path::full(points.iter().copied().map(Some));
            let _ = write!(
                svg,
                "<path d=\"{path}Z\"{}{}/>",
                filled(*fill, paint),
                see_through(*opacity)
            );
        }
        Mark::Dot { x, y, radius, fill, opacity, tip } => {
            let _ = write!(
                svg,
                "<circle cx=\"{}\" cy=\"{}\" r=\"{}\"{}{}",
                number(*x),
                number(*y),
                number(*radius),
                filled(*fill, paint),
                see_through(*opacity)
            );
            end(svg, "circle", tip.as_deref());
        }
        Mark::Text(text) => words(svg, text, paint),
        Mark::Series { name, marks: inner } => {
            let _ = write!(svg, "<g data-series=\"{}\">", escaped(name));
            marks(svg, inner, paint);
            svg.push_str("</g>");
        }
        Mark::Hover(hover) => {
            if let Paint::Page { words } = paint {
                told(svg, hover, words);
            }
        }
    }
}

fn line(svg: &mut String, points: &[Option<(f64, f64)>], stroke: Stroke, paint: Paint<'_>) {
    let (path, look) = match paint {
        Paint::Theme(theme) => {
            let color = theme.color(stroke.ink);
            let look = format!(" fill=\"none\" stroke=\"{color}\" stroke-linejoin=\"round\"");
            (path::full(points.iter().copied()), look)
        }
        // The page sets the other properties of lines.
        Paint::Page { .. } => (path::brief(points), format!(" class=\"k-{}\"", stroke.ink.word())),
    };
    let dashes = if stroke.dashed { " stroke-dasharray=\"5 3\"" } else { "" };
    let _ =
        write!(svg, "<path d=\"{path}\"{look} stroke-width=\"{}\"{dashes}/>", number(stroke.width));
}

fn words(svg: &mut String, text: &Text, paint: Paint<'_>) {
    let (x, y) = (number(text.x), number(text.y));
    let turned =
        if text.upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
    let weight = if text.bold { " font-weight=\"600\"" } else { "" };
    let size = format!(" font-size=\"{}\"", number(text.size));
    let look = match paint {
        Paint::Theme(theme) => {
            let anchor = match text.anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            format!("{size}{anchor} fill=\"{}\"", theme.color(text.ink))
        }
        // The page has classes for anchors and sets the default size.
        Paint::Page { .. } => {
            let anchor = match text.anchor {
                Anchor::Start => "",
                Anchor::Middle => " m",
                Anchor::End => " e",
            };
            let size = if text.size == Text::SIZE { "" } else { &size };
            format!("{size} class=\"f-{}{anchor}\"", text.ink.word())
        }
    };
    let _ = write!(
        svg,
        "<text x=\"{x}\" y=\"{y}\"{weight}{turned}{look}>{}</text>",
        escaped(&text.text)
    );
}

/// Writes a plot area for scripts: where its points are and what they show. Each point takes a line; its
/// texts are separated by tabs. Two lines before them hold what all points have in common at the same
/// position: the common beginnings and the common endings.
fn told(svg: &mut String, hover: &Hover, words: bool) {
    let xs: Vec<String> = hover.points.iter().map(|point| format!("{:.0}", point.x)).collect();
    let _ = write!(
        svg,
        "<rect class=\"hover\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" data-x=\"{}\"",
        number(hover.x),
        number(hover.y),
        number(hover.width),
        number(hover.height),
        xs.join(" ")
    );
    if words {
        let most = hover.points.iter().map(|point| point.lines.len()).max().unwrap_or(0);
        let same: Vec<Same<'_>> = (0..most).map(|number| Same::of(&hover.points, number)).collect();
        let joined = |words: Vec<String>| words.join("\t");
        let before = joined(same.iter().map(|same| escaped(same.before)).collect());
        let after = joined(same.iter().map(|same| escaped(same.after)).collect());
        let points = hover.points.iter().map(|point| {
            let own = |(line, same): (&String, &Same<'_>)| escaped(same.own(line));
            joined(point.lines.iter().zip(&same).map(own).collect())
        });
        let points = points.collect::<Vec<_>>().join("\n");
        let _ = write!(svg, " data-same=\"{before}\n{after}\" data-told=\"{points}\"");
    }
    svg.push_str("/>");
}

/// What the texts at one position have in common in all points.
struct Same<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> Same<'a> {
    fn of(points: &'a [HoverPoint], number: usize) -> Self {
        let lines = || points.iter().filter_map(|point| Some(point.lines.get(number)?.as_str()));
        let length = |letters: &mut dyn Iterator<Item = (char, char)>| -> usize {
            letters
                .take_while(|(one, other)| one == other)
                .map(|(letter, _)| letter.len_utf8())
                .sum()
        };
        let begin = |one: &'a str, other: &str| &one[..length(&mut one.chars().zip(other.chars()))];
        let end = |one: &'a str, other: &str| {
            &one[one.len() - length(&mut one.chars().rev().zip(other.chars().rev()))..]
        };
        let before = lines().reduce(begin).unwrap_or_default();
        let after = lines().map(|line| &line[before.len()..]).reduce(end).unwrap_or_default();
        Self { before, after }
    }

    fn own<'l>(&self, line: &'l str) -> &'l str {
        &line[self.before.len()..line.len() - self.after.len()]
    }
}

fn filled(ink: Ink, paint: Paint<'_>) -> String {
    match paint {
        Paint::Theme(theme) => format!(" fill=\"{}\"", theme.color(ink)),
        Paint::Page { .. } => format!(" class=\"f-{}\"", ink.word()),
    }
}

fn see_through(opacity: f64) -> String {
    if opacity >= 1.0 { String::new() } else { format!(" opacity=\"{}\"", number(opacity)) }
}

fn end(svg: &mut String, name: &str, tip: Option<&str>) {
    match tip {
        Some(tip) => {
            let _ = write!(svg, "><title>{}</title></{name}>", escaped(tip));
        }
        None => svg.push_str("/>"),
    }
}

/// Formats a number with at most two decimals.
fn number(value: f64) -> String {
    if !value.is_finite() {
        return "0".to_owned();
    }
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Escapes text for XML and HTML, including attributes. Unprintable characters become visible escapes;
/// characters that XML does not allow are dropped (Extensible Markup Language 1.0, 2.2).
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            letter if is_unprintable(letter) => safe.extend(letter.escape_unicode()),
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::LIGHT;
    use proptest::prelude::*;

    fn scene(text: &str) -> Scene {
        let mut scene = Scene::new(100.0, 50.0);
        scene.text(Text::new(1.0, 10.0, Anchor::End, Ink::Text, text).bold().upwards());
        scene.line(
            [(0.0, 0.0), (10.04, 5.55), (10.04, 5.55), (0.3, -2.0)],
            Stroke::dashed(Ink::Limit, 1.0),
        );
        let tip = Some(text.to_owned());
        scene.add(Mark::Dot { x: 5.0, y: 5.0, radius: 2.0, fill: Ink::Good, opacity: 0.5, tip });
        let marks = vec![Mark::Area {
            points: vec![(0.0, 0.0), (1.0, 1.0)],
            fill: Ink::Grid,
            opacity: 0.5,
        }];
        scene.add(Mark::Series { name: text.to_owned(), marks });
        let points = vec![HoverPoint { x: 3.0, lines: vec![text.to_owned()] }];
        scene.add(Mark::Hover(Hover { x: 0.0, y: 0.0, width: 9.0, height: 9.0, points }));
        scene
    }

    #[test]
    fn svg_output_matches_snapshots() {
        insta::assert_snapshot!(file(&scene("a"), LIGHT, "title", "words"));
        insta::assert_snapshot!(inline(&scene("a"), "words", true));
    }

    #[test]
    fn text_shared_by_hover_points_is_stored_once() {
        let point = |lines: &[&str]| HoverPoint {
            x: 1.0,
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        };
        let told = |points: &[HoverPoint]| {
            let hover = Hover { x: 0.0, y: 0.0, width: 1.0, height: 1.0, points: points.into() };
            let mut svg = String::new();
            told(&mut svg, &hover, true);
            svg.split_once(" data-same=").unwrap().1.trim_end_matches("/>").to_owned()
        };
        let points = [point(&["1 s", "reads: 85 %"]), point(&["2 s", "reads: 9 %", "aa"])];
        let expected = "\"\treads: \taa\n s\t %\t\" data-told=\"1\t85\n2\t9\t\"";
        assert_eq!(told(&points), expected);
        let overlaps = [point(&["aa"]), point(&["aaa"]), point(&["aéa"])];
        assert_eq!(told(&overlaps), "\"a\na\" data-told=\"\na\né\"");
        assert_eq!(told(&[]), "\"\n\" data-told=\"\"");
    }

    #[test]
    fn external_text_is_escaped_in_svg() {
        let text = "<script>alert('x')</script>\" onload=\"x\u{0}";
        for svg in [file(&scene(text), LIGHT, text, text), inline(&scene(text), text, true)] {
            assert!(
                !svg.contains("<script") && !svg.contains("\" onload") && !svg.contains('\u{0}')
            );
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_produces_parseable_svg(text: String) {
            let options = resvg::usvg::Options::default();
            let svg = file(&scene(&text), LIGHT, &text, &text);
            prop_assert!(resvg::usvg::Tree::from_str(&svg, &options).is_ok(), "{svg}");
        }
    }
}
