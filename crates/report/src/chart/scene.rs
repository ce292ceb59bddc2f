//! What a picture is made of.

use super::ink::Ink;

/// A line's look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stroke {
    /// What it is drawn in.
    pub ink: Ink,
    pub width: f64,
    /// True where it is broken.
    pub dashed: bool,
}

impl Stroke {
    /// A line of this width.
    #[must_use]
    pub fn solid(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: false }
    }

    /// A broken line of this width.
    #[must_use]
    pub fn dashed(ink: Ink, width: f64) -> Self {
        Self { ink, width, dashed: true }
    }
}

/// Where a text stands from its point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Has its middle there.
    Middle,
    /// Ends there.
    End,
}

/// A line of text.
#[derive(Debug, Clone, PartialEq)]
pub struct Text {
    pub x: f64,
    pub y: f64,
    /// What it says; from outside as it came.
    pub text: String,
    /// Height of its letters.
    pub size: f64,
    /// How it stands to its point.
    pub anchor: Anchor,
    /// What it is drawn in.
    pub ink: Ink,
    /// True for a heading.
    pub bold: bool,
    /// True where it reads upwards.
    pub upwards: bool,
}

impl Text {
    /// A text of the usual size.
    #[must_use]
    pub fn new(x: f64, y: f64, anchor: Anchor, ink: Ink, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { x, y, text, size: Self::SIZE, anchor, ink, bold: false, upwards: false }
    }

    /// Usual height of letters.
    pub const SIZE: f64 = 11.0;

    /// The same as a heading.
    #[must_use]
    pub fn bold(self) -> Self {
        Self { bold: true, ..self }
    }

    /// The same with letters of another height.
    #[must_use]
    pub fn size(self, size: f64) -> Self {
        Self { size, ..self }
    }

    /// The same reading upwards.
    #[must_use]
    pub fn upwards(self) -> Self {
        Self { upwards: true, ..self }
    }
}

/// What is told where a pointer is over a place of a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct HoverPoint {
    /// Where, from the left of the picture.
    pub x: f64,
    /// Lines of what is told: the first is the heading.
    pub lines: Vec<String>,
}

/// A plot area that tells its values: the point nearest to the pointer's x.
#[derive(Debug, Clone, PartialEq)]
pub struct Hover {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    /// What is told, from left to right.
    pub points: Vec<HoverPoint>,
}

/// One thing that is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum Mark {
    /// A box.
    Rect {
        x: f64,
        y: f64,
        width: f64,
        height: f64,
        /// What it is filled with.
        fill: Ink,
        /// How much it covers what is behind it, from 0 to 1.
        opacity: f64,
        /// What it tells without scripts.
        tip: Option<String>,
    },
    /// A line through points; `None` parts it.
    Line {
        points: Vec<Option<(f64, f64)>>,
        stroke: Stroke,
    },
    /// A surface between points.
    Area {
        points: Vec<(f64, f64)>,
        /// What it is filled with.
        fill: Ink,
        /// How much it covers what is behind it, from 0 to 1.
        opacity: f64,
    },
    Dot {
        x: f64,
        y: f64,
        radius: f64,
        /// What it is filled with.
        fill: Ink,
        /// What it tells without scripts.
        tip: Option<String>,
    },
    Text(Text),
    /// Marks that belong to one series, which can be switched off by its name.
    Series {
        /// The series' name; from outside as it came.
        name: String,
        marks: Vec<Mark>,
    },
    /// A plot area that tells its values.
    Hover(Hover),
}

/// A picture.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// What is in it, from back to front.
    pub marks: Vec<Mark>,
}

impl Scene {
    /// An empty one.
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

    /// Adds a box.
    pub fn rect(&mut self, [x, y, width, height]: [f64; 4], fill: Ink, opacity: f64) {
        self.add(Mark::Rect { x, y, width, height, fill, opacity, tip: None });
    }
}
