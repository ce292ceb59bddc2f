//! Text labels that do not overlap.

use super::{Anchor, Frame, Scene, Text, width_of};

/// Width of bold text relative to regular text.
const BOLD: f64 = 1.08;
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
        self.taken.push([x - radius, y - radius, x + radius, y + radius]);
    }

    /// Draws the first of these alternatives that lies within the plot and overlaps nothing. Draws nothing
    /// if there is none.
    pub fn put_if_free(&mut self, scene: &mut Scene, forms: &[Text]) {
        if let Some(text) = forms.iter().find(|text| self.is_free(text)) {
            self.draw(scene, text);
        }
    }

    /// Like [`Labels::put_if_free`], but draws the first alternative if none is free.
    pub fn put(&mut self, scene: &mut Scene, forms: &[Text]) {
        if let Some(text) = forms.iter().find(|text| self.is_free(text)).or(forms.first()) {
            self.draw(scene, text);
        }
    }

    fn draw(&mut self, scene: &mut Scene, text: &Text) {
        self.taken.push(extent(text));
        scene.text(text.clone());
    }

    fn is_free(&self, text: &Text) -> bool {
        let [left, top, right, bottom] = extent(text);
        let Frame { x, y, width, height } = self.frame;
        let is_inside = left >= x && right <= x + width && top >= y && bottom <= y + height;
        is_inside
            && self
                .taken
                .iter()
                .all(|[l, t, r, b]| *r < left || *l > right || *b < top || *t > bottom)
    }
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
        let forms = [text(110.0, 55.0, Anchor::Start), text(98.0, 50.0, Anchor::End)];
        labels.put_if_free(&mut scene, &forms);
        assert_eq!(drawn(&scene), [(100.0, 50.0), (98.0, 50.0)]);
        labels.put_if_free(&mut scene, &forms);
        assert_eq!(drawn(&scene).len(), 2);
        labels.put(&mut scene, &forms);
        assert_eq!(drawn(&scene)[2], (110.0, 55.0));
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
