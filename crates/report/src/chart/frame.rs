//! A plot area with its axes.

use super::ink::Ink;
use super::scale::Scale;
use super::scene::{Anchor, Mark, Scene, Stroke, Text};
use super::text::{cut, width_of};

pub struct Axis<'a> {
    pub scale: Scale,
    /// What the values are.
    pub title: &'a str,
    /// Formats a value. A tick of a horizontal axis without a label is not drawn.
    pub label: &'a dyn Fn(f64) -> String,
    /// Maximum number of ticks; fewer are drawn if their labels would overlap.
    pub ticks: usize,
}

impl std::fmt::Debug for Axis<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Axis").field("scale", &self.scale).field("title", &self.title).finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frame {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

impl Frame {
    /// Space left of a plot area for the tick labels of the vertical axis.
    pub const LEFT: f64 = 66.0;
    /// Space right of a plot area.
    pub const RIGHT: f64 = 14.0;
    /// Space below a plot area for the tick labels and the title of the horizontal axis.
    pub const BELOW: f64 = 36.0;
    /// Space above a plot area for its title.
    pub const ABOVE: f64 = 25.0;

    /// Returns the x coordinates of the left and right edges.
    #[must_use]
    pub fn xs(&self) -> [f64; 2] {
        [self.x, self.x + self.width]
    }

    /// Returns the y coordinates of the lower and upper edges, in this order, because values grow upwards.
    #[must_use]
    pub fn ys(&self) -> [f64; 2] {
        [self.y + self.height, self.y]
    }

    /// Draws the vertical axis: grid lines through the area, labels left of it, the title above it.
    pub fn vertical(&self, scene: &mut Scene, axis: &Axis<'_>) {
        let ticks = axis.scale.ticks(axis.ticks);
        let line = |tick: &f64| {
            let y = axis.scale.at(*tick);
            [Some((self.x, y)), Some((self.x + self.width, y)), None]
        };
        let points = ticks.iter().flat_map(line).collect();
        scene.add(Mark::Line { points, stroke: Stroke::solid(Ink::Grid, 0.7) });
        for tick in ticks {
            let y = axis.scale.at(tick);
            let text = cut(&(axis.label)(tick), Text::SIZE, Self::LEFT - 8.0);
            scene.text(Text::new(self.x - 6.0, y + 4.0, Anchor::End, Ink::Muted, text));
        }
        let left = self.x - Self::LEFT;
        let title = cut(axis.title, Text::SIZE, self.width + Self::LEFT);
        let title = Text::new(left, self.y - 11.0, Anchor::Start, Ink::Text, title).bold();
        scene.text(title);
    }

    /// Draws the horizontal axis: ticks and labels below the area, the title below them.
    pub fn horizontal(&self, scene: &mut Scene, axis: &Axis<'_>) {
        let bottom = self.y + self.height;
        let mut points = vec![Some((self.x, bottom)), Some((self.x + self.width, bottom))];
        let mut free_from = f64::MIN;
        for tick in axis.scale.ticks(axis.ticks) {
            let (x, text) = (axis.scale.at(tick), (axis.label)(tick));
            if text.is_empty() {
                continue;
            }
            let half = width_of(&text, Text::SIZE) / 2.0;
            // Labels that would leave the picture are moved inwards.
            let middle = x.min(scene.width - half).max(half);
            if middle - half < free_from {
                continue;
            }
            free_from = middle + half + 6.0;
            points.extend([None, Some((x, bottom)), Some((x, bottom + 4.0))]);
            scene.text(Text::new(middle, bottom + 15.0, Anchor::Middle, Ink::Muted, text));
        }
        scene.add(Mark::Line { points, stroke: Stroke::solid(Ink::Muted, 1.0) });
        let middle = self.x + self.width / 2.0;
        scene.text(Text::new(middle, bottom + 30.0, Anchor::Middle, Ink::Text, axis.title));
    }
}

/// Draws a legend in rows; `place` is its left edge, its top and its maximum width. Returns its height.
pub fn legend(scene: &mut Scene, place: [f64; 3], entries: &[(Ink, &str)]) -> f64 {
    let entries: Vec<(Ink, f64, &str)> =
        entries.iter().map(|(ink, name)| (*ink, 1.0, *name)).collect();
    faint_legend(scene, place, &entries)
}

/// Like [`legend`], for translucent inks: each entry has its opacity.
pub fn faint_legend(
    scene: &mut Scene,
    [x, y, width]: [f64; 3],
    entries: &[(Ink, f64, &str)],
) -> f64 {
    const ROW: f64 = 16.0;
    const SIGN: f64 = 10.0;
    let (mut at, mut row) = (x, 0.0);
    for (ink, opacity, name) in entries {
        let name = cut(name, Text::SIZE, width - SIGN - 4.0);
        let wide = SIGN + 4.0 + width_of(&name, Text::SIZE) + 12.0;
        if at > x && at + wide - 12.0 > x + width {
            (at, row) = (x, row + ROW);
        }
        scene.rect([at, y + row + 2.0, SIGN, SIGN], *ink, *opacity);
        let place = (at + SIGN + 4.0, y + row + SIGN + 1.0);
        scene.add(Mark::Text(Text::new(place.0, place.1, Anchor::Start, Ink::Text, name)));
        at += wide;
    }
    if entries.is_empty() { 0.0 } else { row + ROW }
}
