//! The elements of a picture.

use super::ink::Ink;

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    pub ink: Ink,
    pub width: f64,
    pub dashed: bool,
}

impl Stroke {
    /// Returns a solid line of this width.
    #[must_use]
    pub fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: false }
    }

    /// Returns a dashed line of this width.
    #[must_use]
    pub fn dashed(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: true }
    }
}

/// Where a text lies relative to its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// The text starts at the point.
    Start,
    /// The text is centred on the point.
    Middle,
    /// The text ends at the point.
    End,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    pub x: f64,
    pub y: f64,
    /// The text; it is escaped on output.
    pub text: String,
    /// Height of the letters.
    pub size: f64,
    /// Where the text lies relative to its point.
    pub anchor: Anchor,
    pub ink: Ink,
    /// True for a heading.
    pub bold: bool,
    /// True if the text reads upwards.
    pub upwards: bool,
}

impl Text {
    /// Returns a text of the default size.
    #[must_use]
    pub fn new(x: f64, y: f64, anchor: Anchor, ink: Ink, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { x, y, text, size: Self::SIZE, anchor, ink, bold: false, upwards: false }
    }

    /// Default height of letters.
    pub const SIZE: f64 = 11.0;

    /// Makes the text bold.
    #[must_use]
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// Sets the height of the letters.
    #[must_use]
    pub fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// Makes the text read upwards.
    #[must_use]
    pub fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// The values shown while the pointer is over a point of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct HoverPoint {
    /// Distance from the left edge of the picture.
    pub x: f64,
    /// The lines to show; the first is the heading.
    pub lines: Vec<String>,
}

/// A plot area that shows the values of the point whose x is nearest to the pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct Hover {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// The points, from left to right.
    pub points: Vec<HoverPoint>,
}

/// An element of a picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        fill: Ink,
        /// From 0 (invisible) to 1 (opaque).
        opacity: f64,
        /// Tooltip that works without scripts.
        tip: Option<String>,
    },
    /// A line through points; `None` interrupts it.
    Line {
        points: Vec<Option<(f64, f64)>>,
        stroke: Stroke,
    },
    /// A filled polygon.
    Area {
        points: Vec<(f64, f64)>,
        fill: Ink,
        /// From 0 (invisible) to 1 (opaque).
        opacity: f64,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        fill: Ink,
        /// From 0 (invisible) to 1 (opaque).
        opacity: f64,
        /// Tooltip that works without scripts.
        tip: Option<String>,
    },
    Text(Text),
    /// The marks of one series, which can be switched off by its name.
    Series {
        /// The series' name; it is escaped on output.
        name: String,
        marks: Vec<Mark>,
    },
    /// A plot area that shows its values.
    Hover(Hover),
}

impl Mark {
    /// Returns an opaque dot without a tooltip.
    #[must_use]
    pub fn dot(x: f64, y: f64, radius: f64, fill: Ink) -> Self {
        Self::Dot { x, y, radius, fill, opacity: 1.0, tip: None }
    }
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// The marks, from back to front.
    pub marks: Vec<Mark>,
}

impl Scene {
    /// Creates an empty picture.
    #[must_use]
    pub fn new(width: f64, height: f64) -> Self {
        Self { width, height, marks: Vec::new() }
    }

    /// Adds a mark in front of the others.
    pub fn add(&mut self, mark: Mark) {
        self.marks.push(mark);
    }

    /// Adds a text.
    pub fn text(&mut self, text: Text) {
        self.add(Mark::Text(text));
    }

    /// Adds a line.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>, stroke: Stroke) {
        self.add(Mark::Line { points: points.into_iter().map(Some).collect(), stroke });
    }

    /// Adds a rectangle.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: Ink, opacity: f64) {
        self.add(Mark::Rect { x, y, width, height, fill, opacity, tip: None });
    }
}
