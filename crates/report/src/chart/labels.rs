//! Text labels that do not overlap.

use super::{Anchor, Frame, Scene, Text, width_of};

/// Width of bold text relative to regular text.
const BOLD: f64 = 1.08;
/// Minimum space between labels side by side.
const GAP: f64 = 2.0;
/// Heights of letters above and below the base line, relative to the text size.
const ABOVE: f64 = 0.8;
const BELOW: f64 = 0.25;

/// The occupied boxes of a plot, each `[left, top, right, bottom]`.
#[derive(Debug)]
pub struct Labels {
    frame: Frame,
    taken: Vec<[f64; 4]>,
}

impl Labels {
    /// Creates labels for a plot in which nothing is occupied yet.
    #[must_use]
    pub fn new(frame: Frame) -> Self {
        Self { frame, taken: Vec::new() }
    }

    /// Keeps labels away from a dot.
    pub fn avoid(&mut self, x: f64, y: f64, radius: f64) {
        self.avoid_rect([x - radius, y - radius, 2.0 * radius, 2.0 * radius]);
    }

    /// Keeps labels away from a rectangle, given by its left and upper edge, its width and its height.
    pub fn avoid_rect(&mut self, [x, y, width, height]: [f64; 4]) {
        self.taken.push([x, y, x + width, y + height]);
    }

    /// Keeps labels away from a line through these points.
    pub fn avoid_line(&mut self, points: &[(f64, f64)]) {
        const STEP: f64 = 4.0;
        for ends in points.windows(2) {
            let [(from_x, from_y), (to_x, to_y)] = [ends[0], ends[1]];
            let steps = ((to_x - from_x).hypot(to_y - from_y) / STEP).ceil().clamp(1.0, 1e4) as u32;
            for step in 0..=steps {
                let share = f64::from(step) / f64::from(steps);
                self.avoid(from_x + (to_x - from_x) * share, from_y + (to_y - from_y) * share, 1.5);
            }
        }
    }

    /// Draws the first of these alternatives that lies within the plot and overlaps nothing. Draws nothing
    /// if there is none.
    pub fn put_if_free(&mut self, scene: &mut Scene, forms: &[Text]) {
        if let Some(text) = forms.iter().find(|text| self.is_free(text)) {
            self.draw(scene, text);
        }
    }

    /// Like [`Labels::put_if_free`], but if none is free, draws the first of those that overlap least, within the plot
    /// if possible.
    pub fn put(&mut self, scene: &mut Scene, forms: &[Text]) {
        let free = forms.iter().find(|text| self.is_free(text));
        let best = free.or_else(|| forms.iter().min_by_key(|text| self.overlaps(text)));
        if let Some(text) = best {
            self.draw(scene, text);
        }
    }

    /// Returns whether a text leaves the plot, and how many boxes it overlaps.
    fn overlaps(&self, text: &Text) -> (bool, usize) {
        let own = extent(text);
        let boxes = self.taken.iter().filter(|taken| overlap(&own, taken));
        (!self.is_inside(&own), boxes.count())
    }

    fn draw(&mut self, scene: &mut Scene, text: &Text) {
        self.taken.push(extent(text));
        scene.text(text.clone());
    }

    fn is_free(&self, text: &Text) -> bool {
        self.overlaps(text) == (false, 0)
    }

    fn is_inside(&self, [left, top, right, bottom]: &[f64; 4]) -> bool {
        let Frame { x, y, width, height } = self.frame;
        *left >= x && *right <= x + width && *top >= y && *bottom <= y + height
    }
}

/// Returns true if a text in this box overlaps another box, or lies too close beside it.
fn overlap([left, top, right, bottom]: &[f64; 4], [l, t, r, b]: &[f64; 4]) -> bool {
    *r + GAP >= *left && *l <= *right + GAP && *b >= *top && *t <= *bottom
}

/// Returns an upper estimate of the box of a horizontal text.
fn extent(text: &Text) -> [f64; 4] {
    let width = width_of(&text.text, text.size) * if text.bold { BOLD } else { 1.0 };
    let left = match text.anchor {
        Anchor::Start => text.x,
        Anchor::Middle => text.x - width / 2.0,
        Anchor::End => text.x - width,
    };
    [left, text.y - text.size * ABOVE, left + width, text.y + text.size * BELOW]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Ink, Mark};

    const FRAME: Frame = Frame { x: 50.0, y: 10.0, width: 200.0, height: 100.0 };

    fn text(x: f64, y: f64, anchor: Anchor) -> Text {
        Text::new(x, y, anchor, Ink::Text, "QD16")
    }

    fn drawn(scene: &Scene) -> Vec<(f64, f64)> {
        let text = |mark: &Mark| match mark {
            Mark::Text(text) => Some((text.x, text.y)),
            _ => None,
        };
        scene.marks.iter().filter_map(text).collect()
    }

    #[test]
    fn first_non_overlapping_label_variant_is_drawn() {
        let (mut labels, mut scene) = (Labels::new(FRAME), Scene::new(300.0, 120.0));
        labels.put_if_free(&mut scene, &[text(100.0, 50.0, Anchor::Start)]);
        let forms = [text(110.0, 55.0, Anchor::Start), text(96.0, 50.0, Anchor::End)];
        labels.put_if_free(&mut scene, &forms);
        assert_eq!(drawn(&scene), [(100.0, 50.0), (96.0, 50.0)]);
        labels.put_if_free(&mut scene, &forms);
        assert_eq!(drawn(&scene).len(), 2);
        labels.put(&mut scene, &forms);
        assert_eq!(drawn(&scene)[2], (110.0, 55.0));
    }

    #[test]
    fn label_without_free_place_overlaps_as_little_as_possible() {
        let (mut labels, mut scene) = (Labels::new(FRAME), Scene::new(300.0, 120.0));
        labels.avoid_line(&[(110.0, 20.0), (110.0, 100.0)]);
        labels.avoid(160.0, 48.0, 3.0);
        let outside = text(245.0, 50.0, Anchor::Start);
        let struck = text(100.0, 50.0, Anchor::Start);
        let touched = text(155.0, 50.0, Anchor::Start);
        labels.put(&mut scene, &[outside, struck, touched.clone()]);
        assert_eq!(drawn(&scene), [(touched.x, touched.y)]);
    }

    #[test]
    fn labels_stay_inside_the_plot_and_avoid_dots() {
        let (mut labels, mut scene) = (Labels::new(FRAME), Scene::new(300.0, 120.0));
        labels.avoid(105.0, 48.0, 3.0);
        for outside in [
            text(60.0, 50.0, Anchor::End),
            text(240.0, 50.0, Anchor::Start),
            text(100.0, 12.0, Anchor::Middle),
            text(100.0, 110.0, Anchor::Middle),
            text(100.0, 50.0, Anchor::Start),
        ] {
            labels.put_if_free(&mut scene, &[outside]);
        }
        assert!(drawn(&scene).is_empty());
    }
}
