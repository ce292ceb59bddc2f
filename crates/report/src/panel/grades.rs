//! A report card: grades for the latencies that matter to a database, and for how they scale.

mod ruler;

use super::{Drawn, Figure, Panel};
use crate::chart::{Anchor, Ink, Mark, Scene, Text, latency_ns, wrapped};
use crate::exhibit::{Exhibit, Sample, differing, split_by};
use std::collections::BTreeMap;

pub const PANEL: Panel = Panel {
    name: "grades",
    title: "Report card",
    about: "Marks from A+ to D for latency at the first number of users, and for the growth of latency to the \
            second: growth of latency divided by growth of users; 0 means no growth, 1 as much as the users. \
            Marks are given for the mean and for the 95th and 99th percentiles. The histogram shows the latencies \
            at the first number of users, above a ruler with the bounds of the marks. Writes have marks if each \
            waited for the medium, or if the results do not show whether it did; the picture says which.",
    figures: draw,
};

/// Grades, best first; one more than there are bounds.
const MARKS: [&str; 8] = ["A+", "A", "A-", "B", "B-", "C", "C-", "D"];
/// Upper bounds of the grades for scaling.
const SCALING: [f64; 7] = [0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.9];

/// A test that is graded.
#[derive(Debug)]
struct Subject {
    /// Block size, and kind of I/O.
    name: [&'static str; 2],
    test: &'static str,
    /// True if the subject is writes that wait for the medium.
    is_synchronous: bool,
    size_bytes: u64,
    users: [u32; 2],
    /// Upper bounds of the grades for latency, in milliseconds.
    bounds_ms: [f64; 7],
}

/// All subjects.
const SUBJECTS: [Subject; 4] = [
    Subject {
        name: ["8k", "random reads"],
        test: "randread",
        is_synchronous: false,
        size_bytes: 8 << 10,
        users: [16, 32],
        bounds_ms: [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
    },
    Subject {
        name: ["1m", "sequential reads"],
        test: "read",
        is_synchronous: false,
        size_bytes: 1 << 20,
        users: [1, 8],
        bounds_ms: [12.0, 14.0, 16.0, 18.0, 20.0, 22.0, 24.0],
    },
    Subject {
        name: ["1k", "writes"],
        test: "write",
        is_synchronous: true,
        size_bytes: 1 << 10,
        users: [4, 16],
        bounds_ms: [0.2, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0],
    },
    Subject {
        name: ["128k", "writes"],
        test: "write",
        is_synchronous: true,
        size_bytes: 128 << 10,
        users: [4, 16],
        bounds_ms: [2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0],
    },
];

/// A figure of a sample, in nanoseconds.
type Figured = fn(&Sample) -> Option<f64>;

/// The figures that are graded.
const FIGURES: [(&str, Figured); 3] = [
    ("mean", |sample| sample.row.latency.map(|latency| latency.mean_ns)),
    ("95 %", |sample| sample.row.percentiles_ns[0].map(|ns| ns as f64)),
    ("99 %", |sample| sample.row.percentiles_ns[1].map(|ns| ns as f64)),
];

/// A figure with its grade.
#[derive(Debug, Clone, PartialEq)]
struct Graded {
    mark: usize,
    words: String,
}

/// Printed if it is unknown whether writes waited for the medium.
const UNTOLD: &str = "These results do not show whether each write was synced.";
/// Printed if writes did not wait for the medium.
const REFUSED: &str = "Writes that do not wait for the medium have no marks. Use --sync=dsync to make them wait; a \
                       flush after a write (--fsync) is not part of its latency.";

/// The grades of one subject for latency and scaling, for each of [`FIGURES`].
#[derive(Debug)]
struct Row {
    subject: &'static Subject,
    latency: [Option<Graded>; 3],
    scaling: [Option<Graded>; 3],
    /// The graded sample at the first number of users.
    first: Option<Sample>,
    /// True if it is unknown whether the graded writes waited for the medium.
    is_untold: bool,
    /// For each number of users, true if there are no grades because the writes did not wait.
    refused: [bool; 2],
}

impl Row {
    /// Returns a name like `1k synchronous writes`.
    fn name(&self) -> String {
        let [size, kind] = self.subject.name;
        match (self.subject.is_synchronous, self.refused[0], self.is_untold) {
            (false, ..) => format!("{size} {kind}"),
            (true, true, _) => format!("{size} {kind}, not synchronous"),
            (true, false, true) => format!("{size} {kind}, sync unknown"),
            (true, false, false) => format!("{size} synchronous {kind}"),
        }
    }
}

fn draw(drawn: &Drawn<'_>) -> Vec<Figure> {
    let mut places: BTreeMap<String, Vec<Sample>> = BTreeMap::new();
    for sample in drawn.exhibits.iter().flat_map(Exhibit::samples) {
        places.entry(sample.place.clone()).or_default().push(sample);
    }
    let mut figures = Vec::new();
    for (place, samples) in places {
        // Subjects differ in settings by design, such as `sync`. One card has each subject under one setting.
        let mut names: Vec<String> = Vec::new();
        for subject in &SUBJECTS {
            let own = samples.iter().filter(|sample| subject.is_in(sample));
            let own = differing(own.map(|sample| &sample.settings).collect::<Vec<_>>().into_iter());
            names.extend(own.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>());
        }
        // Whether writes waited is part of a card, which leaves those out that did not.
        names.retain(|name| name != "sync");
        for (words, samples) in split_by(samples, &names, |sample| &sample.settings) {
            let rows: Vec<Row> =
                SUBJECTS.iter().filter_map(|subject| row(subject, &samples)).collect();
            let parts = [&*place, &*words].into_iter().filter(|part| !part.is_empty());
            let title = parts.collect::<Vec<_>>().join(", ");
            let (description, scene) = (description(&rows), scene(&rows, drawn.width));
            figures.extend((!rows.is_empty()).then_some(Figure { title, description, scene }));
        }
    }
    figures
}

impl Subject {
    /// Returns true if the sample is of this subject, for any number of users.
    fn is_in(&self, sample: &Sample) -> bool {
        let size = sample.row.size.is_some_and(|size| {
            size.min_bytes == self.size_bytes && size.max_bytes == self.size_bytes
        });
        sample.row.test == self.test && size
    }
}

/// Returns the grades of a subject if it was measured.
fn row(subject: &'static Subject, samples: &[Sample]) -> Option<Row> {
    let of_users = |users: u32| {
        let measured = || {
            let own =
                move |sample: &&Sample| subject.is_in(sample) && sample.row.users == Some(users);
            samples.iter().rev().filter(own)
        };
        let refused =
            |sample: &&Sample| subject.is_synchronous && sample.row.is_synchronous == Some(false);
        let graded = measured().find(|sample| !refused(sample));
        (graded, graded.is_none() && measured().next().is_some())
    };
    let [(first, first_refused), (second, second_refused)] = subject.users.map(of_users);
    let latency = FIGURES.map(|(_, of)| {
        let ns = of(first?)?;
        let mark = mark(ns / 1e6, &subject.bounds_ms);
        Some(Graded { mark, words: latency_ns(ns) })
    });
    let users = subject.users.map(f64::from);
    let scaling = FIGURES.map(|(_, of)| {
        let growth = super::scaling([of(first?)?, of(second?)?], users);
        let words = super::hundredths(growth);
        let graded = Graded { mark: mark(growth, &SCALING), words };
        growth.is_finite().then_some(graded)
    });
    let untold = |sample: &Sample| sample.row.is_synchronous.is_none();
    let is_untold = subject.is_synchronous
        && first.is_some()
        && [first, second].into_iter().flatten().any(untold);
    let refused = [first_refused, second_refused];
    let is_shown = first_refused || latency.iter().any(Option::is_some);
    is_shown.then(|| Row { subject, latency, scaling, first: first.cloned(), is_untold, refused })
}

/// Returns the index of a value's grade in [`MARKS`].
fn mark(value: f64, bounds: &[f64; 7]) -> usize {
    bounds.iter().position(|bound| value <= *bound).unwrap_or(bounds.len())
}

/// Returns notes on rows whose writes are not known to have waited for the medium.
fn notes(rows: &[Row]) -> Vec<&'static str> {
    let untold = rows.iter().any(|row| row.is_untold).then_some(UNTOLD);
    let refused = rows.iter().any(|row| row.refused.contains(&true)).then_some(REFUSED);
    untold.into_iter().chain(refused).collect()
}

/// Returns the colour of a grade: that of a latency bucket, from fast to slow.
fn ink(mark: usize) -> Ink {
    const INKS: [u8; MARKS.len()] = [4, 5, 6, 7, 8, 9, 10, 12];
    Ink::Bucket(INKS[mark.min(INKS.len() - 1)])
}

/// Where the parts of a row lie.
struct Layout {
    /// Left edge and width of the marks, and the space above them for the name.
    marks: [f64; 2],
    above: f64,
    /// Left edge and width of the histogram, and its distance from the top of the row.
    ruler: [f64; 2],
    ruler_top: f64,
    row: f64,
}

impl Layout {
    const MARK: f64 = 46.0;

    fn of(width: f64) -> Self {
        if width < 600.0 {
            let (marks, ruler) = ([0.0, width], [0.0, width]);
            let (above, ruler_top) = (18.0, 18.0 + Self::MARK + 4.0);
            return Self { marks, above, ruler, ruler_top, row: ruler_top + ruler::HEIGHT + 14.0 };
        }
        let (names, marks) = (170.0, 0.4 * width);
        let left = names + marks + 24.0;
        let ruler = [left, width - left];
        Self {
            marks: [names, marks],
            above: 14.0,
            ruler,
            ruler_top: 0.0,
            row: ruler::HEIGHT + 14.0,
        }
    }
}

fn scene(rows: &[Row], width: f64) -> Scene {
    const HEAD: f64 = 40.0;
    const APART: f64 = 12.0;
    let narrow = width < 600.0;
    let layout = Layout::of(width);
    let [marks, wide] = layout.marks;
    let cell = (wide - APART) / 6.0;
    let mut scene = Scene::new(width, HEAD + rows.len() as f64 * layout.row);
    let left = |half: usize| marks + half as f64 * (3.0 * cell + APART);
    for (half, title) in ["latency", "scaling"].into_iter().enumerate() {
        let middle = left(half) + 1.5 * cell;
        scene.text(Text::new(middle, 12.0, Anchor::Middle, Ink::Text, title).bold());
        for (column, (word, _)) in FIGURES.iter().enumerate() {
            let middle = left(half) + (column as f64 + 0.5) * cell;
            scene.text(Text::new(middle, 30.0, Anchor::Middle, Ink::Muted, *word));
        }
    }
    if !narrow {
        let title = "latencies and bounds";
        scene.text(Text::new(layout.ruler[0], 12.0, Anchor::Start, Ink::Text, title).bold());
    }
    for (number, row) in rows.iter().enumerate() {
        let y = HEAD + number as f64 * layout.row;
        let [first, second] = row.subject.users;
        if narrow {
            let name = format!("{}, {first} to {second} users", row.name());
            scene.text(Text::new(0.0, y + 12.0, Anchor::Start, Ink::Text, name));
        } else {
            let users = format!("{first} to {second} users");
            let y = y + layout.above;
            scene.text(Text::new(0.0, y + 17.0, Anchor::Start, Ink::Text, row.name()));
            scene.text(Text::new(0.0, y + 33.0, Anchor::Start, Ink::Muted, users).size(10.0));
        }
        for (half, graded) in [&row.latency, &row.scaling].into_iter().enumerate() {
            for (column, graded) in graded.iter().enumerate() {
                let x = left(half) + column as f64 * cell + 2.0;
                let place = [x, y + layout.above, cell - 4.0, Layout::MARK - 4.0];
                draw_mark(&mut scene, place, graded.as_ref());
            }
        }
        if let Some(first) = &row.first {
            let [x, width] = layout.ruler;
            ruler::draw(&mut scene, [x, y + layout.ruler_top, width], row.subject, first);
        }
    }
    for line in notes(rows).into_iter().flat_map(|note| wrapped(note, 10.0, width)) {
        scene.height += 14.0;
        let text = Text::new(0.0, scene.height - 4.0, Anchor::Start, Ink::Muted, line);
        scene.text(text.size(10.0));
    }
    scene
}

/// Draws one grade: its letter and its figure on a stripe of its colour.
fn draw_mark(scene: &mut Scene, [x, y, width, height]: [f64; 4], graded: Option<&Graded>) {
    let (letter, words, stripe) = match graded {
        Some(graded) => (MARKS[graded.mark], graded.words.as_str(), ink(graded.mark)),
        None => ("–", "", Ink::Grid),
    };
    scene.rect([x, y, width, height], Ink::Grid, 0.35);
    scene.add(Mark::Rect { x, y, width: 5.0, height, fill: stripe, opacity: 1.0, tip: None });
    let middle = x + width / 2.0 + 2.0;
    scene.text(Text::new(middle, y + 20.0, Anchor::Middle, Ink::Text, letter).bold().size(16.0));
    scene.text(Text::new(middle, y + 36.0, Anchor::Middle, Ink::Muted, words).size(10.0));
}

fn description(rows: &[Row]) -> String {
    let marks = |graded: &[Option<Graded>; 3]| {
        let words = FIGURES.iter().zip(graded).filter_map(|((word, _), graded)| {
            let graded = graded.as_ref()?;
            Some(format!("{word} {} ({})", MARKS[graded.mark], graded.words))
        });
        words.collect::<Vec<_>>()
    };
    let one = |row: &Row| {
        let [first, second] = row.subject.users;
        if row.refused[0] {
            return format!("{}: no marks.", row.name());
        }
        let latency = super::listed(&marks(&row.latency));
        let mut text = format!("{}: latency of {first} users {latency}", row.name());
        let scaling = marks(&row.scaling);
        if !scaling.is_empty() {
            text.push_str(&format!("; scaling to {second} users {}", super::listed(&scaling)));
        } else if row.refused[1] {
            text.push_str(&format!("; {second} users not synchronous, no marks"));
        }
        text.push('.');
        text
    };
    let notes = notes(rows).into_iter().map(str::to_owned);
    rows.iter().map(one).chain(notes).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_on_a_bound_gets_the_better_grade() {
        let bounds = &SUBJECTS[0].bounds_ms;
        let of = |ms: f64| MARKS[mark(ms, bounds)];
        assert_eq!([of(0.1), of(2.0), of(2.01), of(14.0), of(14.1)], ["A+", "A+", "A", "C-", "D"]);
        let of = |growth: f64| MARKS[mark(growth, &SCALING)];
        assert_eq!([of(-1.0), of(0.05), of(0.25), of(0.9), of(1.0)], ["A+", "A+", "B", "C-", "D"]);
    }

    #[test]
    fn grade_bounds_are_ascending() {
        for subject in &SUBJECTS {
            assert!(subject.bounds_ms.is_sorted(), "{subject:?}");
        }
        assert!(SCALING.is_sorted());
    }
}
