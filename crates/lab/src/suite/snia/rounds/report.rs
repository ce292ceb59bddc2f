//! The report of all tests in rounds: verdict, rounds, and findings.

use super::{Access, Figures, PRECONDITION, Progress, Rounds, mix};
use crate::suite::Site;
use crate::suite::kit::{counted, listed, words};
use crate::suite::snia::PRECONDITION_PASSES;
use crate::suite::snia::conformance::Conformance;
use crate::suite::snia::settings::Settings;
use crate::suite::snia::window::{MOST_ROUNDS, Window, line};
use iogauge_model::Caveat;
use iogauge_model::caveat::{Command, Fact, SteadinessFact, StepTime};
use iogauge_model::result::{
    Cell, Conclusion, RoundsFindings, RoundsWindow, SuiteStepResult, SuiteTable, Table,
    TrackedRounds,
};
use iogauge_model::units::Bytes;
use serde_json::{Value, json};

/// The results of a test in rounds.
#[derive(Debug)]
pub(in crate::suite::snia) struct Report<'a> {
    pub test: &'a Rounds,
    pub progress: Progress,
    /// Each access in the rounds that count.
    pub figures: Vec<Figures>,
    conformance: Conformance,
}

impl<'a> Report<'a> {
    pub fn of(test: &'a Rounds, site: &Site, steps: &[SuiteStepResult]) -> Self {
        let progress = Progress::of(test, site, steps);
        let figures =
            progress.window.map_or_else(Vec::new, |window| Figures::of(test, window, steps));
        let conformance = conformance(test, site, steps, &progress);
        Self { test, progress, figures, conformance }
    }

    /// Returns the figures of an access.
    pub fn figures_of(&self, read_percent: u32, block_bytes: u64) -> Option<&Figures> {
        let access = Access { read_percent, block_bytes };
        self.figures.iter().find(|figures| figures.access == access)
    }

    /// Returns the conclusion and the caveats. `headline` has the figures for the first sentence,
    /// `table` those of the window.
    pub fn conclude(&self, headline: &str, table: Table) -> (Conclusion, Vec<Caveat>) {
        let mut tables = Vec::new();
        if !table.rows.is_empty() {
            tables.push(SuiteTable::Own(table));
        }
        tables.push(SuiteTable::Own(self.rounds_table()));
        tables
            .extend(self.progress.window.map(|window| SuiteTable::Own(self.window_table(window))));
        let conclusion = Conclusion {
            verdict: vec![self.first_sentence(headline), self.conformance.sentence()],
            tables,
            findings: self.findings(),
        };
        (conclusion, self.not_steady().into_iter().collect())
    }

    fn first_sentence(&self, headline: &str) -> String {
        let rounds = self.progress.rounds;
        match self.progress.window {
            Some(Window { first, last, steady: true }) => {
                format!("Steady in rounds {first} to {last}: {headline}.")
            }
            Some(Window { first, last, .. }) if rounds == MOST_ROUNDS => {
                format!("Not steady within {rounds} rounds; rounds {first} to {last}: {headline}.")
            }
            Some(Window { first, last, .. }) => format!(
                "Ended after {rounds} rounds and not steady yet; rounds {first} to {last}: \
                 {headline}."
            ),
            None => {
                let rounds = counted(rounds, "complete round");
                format!("Ended after {rounds}; the rule needs five.")
            }
        }
    }

    /// Returns the caveat of figures that are not steady.
    fn not_steady(&self) -> Option<Caveat> {
        let window = self.progress.window.filter(|window| !window.steady)?;
        let moves = self.progress.tracked.iter().filter_map(|(access, values)| {
            let check = window.check(values).filter(|check| !check.is_steady())?;
            let (range, rise) = (check.range * 100.0, check.rise.abs() * 100.0);
            let moved = if check.rise < 0.0 { "fell" } else { "rose" };
            Some(format!(
                "{access} ranged over {range:.0} % of its mean and {moved} by {rise:.0} % of it"
            ))
        });
        let Window { first, last, .. } = window;
        let moves: Vec<String> = moves.collect();
        let fact = SteadinessFact::Rounds { first, last, moves: moves.join("; ") };
        Some(Fact::from(fact).caveat(Command::Suite(StepTime::Scale)))
    }

    /// Returns the table with the tracked figures of each round.
    fn rounds_table(&self) -> Table {
        let tracked = &self.progress.tracked;
        let titles: Vec<String> = tracked.iter().map(|(access, _)| access.to_string()).collect();
        let headings = titles.iter().map(String::as_str);
        let headings: Vec<&str> =
            ["#round"].into_iter().chain(headings).chain(["#counts"]).collect();
        let mut table = Table::new("Rounds", &headings);
        for round in 1..=self.progress.rounds {
            let value = |(_, values): &(Access, Vec<f64>)| {
                self.test.measure.cell(values[round as usize - 1])
            };
            let counts = self.progress.window.is_some_and(|window| window.contains(round));
            let counts = if counts { words("yes") } else { Cell::Empty };
            table.row(
                [words(round.to_string())]
                    .into_iter()
                    .chain(tracked.iter().map(value))
                    .chain([counts]),
            );
        }
        table.notes.push(
            "Rounds end when five in a row differ by no more than 20 % of their mean, and the line \
             through them rises or falls by no more than 10 % of it, in each column."
                .to_owned(),
        );
        table
    }

    /// Returns the table with the result of the rule for the rounds that count.
    fn window_table(&self, window: Window) -> Table {
        let mut headings = vec![format!("#rounds {} to {}", window.first, window.last)];
        let found = self.progress.tracked.iter().filter_map(|(access, values)| {
            headings.push(access.to_string());
            window.check(values)
        });
        let checks: Vec<_> = found.collect();
        let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
        let mut table = Table::new("Steady state", &headings);
        let cell = |value| self.test.measure.cell(value);
        let lines: Vec<[f64; 2]> = checks.iter().map(line).collect();
        let percent = |share: f64| Cell::Percent(share * 100.0);
        let mut row = |title: &str, cells: Vec<Cell>| {
            table.row(std::iter::once(words(title)).chain(cells));
        };
        row("mean", checks.iter().map(|c| cell(c.mean)).collect());
        row("90 % of it", checks.iter().map(|c| cell(c.mean * 0.9)).collect());
        row("110 % of it", checks.iter().map(|c| cell(c.mean * 1.1)).collect());
        row("line begins at", lines.iter().map(|line| cell(line[0])).collect());
        row("line ends at", lines.iter().map(|line| cell(line[1])).collect());
        row("range", checks.iter().map(|c| percent(c.range)).collect());
        row("rise", checks.iter().map(|c| percent(c.rise)).collect());
        let steady = |steady: bool| words(if steady { "yes" } else { "no" });
        row("steady", checks.iter().map(|c| steady(c.is_steady())).collect());
        table
    }

    /// Returns the tracked figures with the result of the rule.
    fn rounds(&self) -> RoundsFindings {
        let window = self.progress.window;
        let tracked = self.progress.tracked.iter().map(|(access, values)| {
            let check = window.and_then(|window| window.check(values));
            let percent = |share: f64| share.is_finite().then_some(share * 100.0);
            TrackedRounds {
                read_percent: access.read_percent,
                block_bytes: access.block_bytes,
                unit: self.test.measure.unit(),
                rounds: values.clone(),
                mean: check.map(|c| c.mean),
                range_percent: check.and_then(|c| percent(c.range)),
                rise_percent: check.and_then(|c| percent(c.rise)),
                line: check.map(|c| line(&c)).filter(|ends| ends.iter().all(|end| end.is_finite())),
                steady: check.map(|c| c.is_steady()),
            }
        });
        RoundsFindings {
            rounds: self.progress.rounds,
            steady: self.progress.is_steady(),
            window: window.map(|w| RoundsWindow { first_round: w.first, last_round: w.last }),
            tracked: tracked.collect(),
        }
    }

    fn findings(&self) -> Value {
        let mut findings = json!(self.rounds());
        findings["conforms"] = json!(self.conformance.reasons.is_empty());
        findings["reasons"] = json!(self.conformance.reasons);
        findings["settings"] = of_settings(&self.test.settings);
        findings["cells"] = json!(self.figures);
        findings
    }
}

/// Returns the settings for the findings.
pub(in crate::suite::snia) fn of_settings(settings: &Settings) -> Value {
    json!({
        "purged": settings.purged,
        "scale": settings.scale,
        "minute_seconds": settings.minute_ns() as f64 / 1e9,
        "threads": settings.threads,
        "iodepth": settings.iodepth,
    })
}

/// Example: `4 threads with 32 I/Os outstanding each`.
pub(in crate::suite::snia) fn outstanding(settings: &Settings) -> String {
    let (threads, queue_depth) =
        (counted(settings.threads, "thread"), counted(settings.iodepth, "I/O"));
    let each = if settings.threads == 1 { "" } else { " each" };
    format!("{threads} with {queue_depth} outstanding{each}")
}

fn conformance(
    test: &Rounds,
    site: &Site,
    steps: &[SuiteStepResult],
    progress: &Progress,
) -> Conformance {
    let mut found = Conformance::of(&test.settings, site, steps);
    let wanted_bytes = PRECONDITION_PASSES * site.size_bytes();
    let preconditioned = steps
        .iter()
        .filter(|step| step.place.phase == PRECONDITION && !step.interrupted)
        .filter_map(|step| step.step()?.write.as_ref())
        .any(|write| write.bytes >= wanted_bytes);
    if !preconditioned {
        found.because("the capacity was not written twice first");
    }
    let left_out = test.left_out(site);
    if !left_out.is_empty() {
        let sizes = listed(left_out.into_iter().map(Bytes), " and ");
        let smallest = Bytes(u64::from(site.block_bytes));
        found.because(format!("{sizes} was left out: the target accepts multiples of {smallest}"));
    }
    if !progress.is_steady() {
        let rounds = progress.rounds;
        found.because(if rounds == MOST_ROUNDS {
            format!("it was not steady within {rounds} rounds")
        } else {
            format!("it ended after {rounds} rounds, before it was steady")
        });
    }
    found
}

/// Makes a table with a row for each block size and a column for each mix, as in the specification.
pub(in crate::suite::snia) fn matrix(
    title: &str,
    report: &Report<'_>,
    cell: impl Fn(&Figures) -> Cell,
) -> Table {
    let distinct = |figure: fn(&Access) -> u64| {
        let mut seen: Vec<u64> = Vec::new();
        for access in &report.test.accesses {
            if !seen.contains(&figure(access)) {
                seen.push(figure(access));
            }
        }
        seen
    };
    let mixes = distinct(|access| u64::from(access.read_percent));
    let titles: Vec<String> = mixes.iter().map(|percent| mix(*percent as u32)).collect();
    let headings: Vec<&str> =
        ["block"].into_iter().chain(titles.iter().map(String::as_str)).collect();
    let mut table = Table::new(title, &headings);
    let mut sizes = distinct(|access| access.block_bytes);
    sizes.sort_unstable();
    for block_bytes in sizes {
        let of = |read_percent: &u64| {
            report.figures_of(*read_percent as u32, block_bytes).map_or(Cell::Empty, &cell)
        };
        let cells: Vec<Cell> = mixes.iter().map(of).collect();
        if cells.iter().any(|cell| *cell != Cell::Empty) {
            table.row(std::iter::once(Cell::SizeBytes(block_bytes)).chain(cells));
        }
    }
    table
}
