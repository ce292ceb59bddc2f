//! Table and verdict of a comparison.

use super::judge::{LEAST_RUNS, MOST_BLOCKS};
use crate::suite::{Column, NOTHING, counted, table, why_no_capacity, words};
use iogauge_model::result::{
    Cell, CompareFindings, CompareVerdict, Compared, ComparedFigure, ComparedRuns, Conclusion,
    Figure, SuiteOutcome, SuiteStepResult, SuiteTable, Table,
};

/// Number of characters up to which the description of a subject is written out.
const LONGEST_ABOUT: usize = 40;

/// Concludes from findings. `about` describes a subject by its letter; `left_out` are turns that lack the figure that
/// decides, one of each block that does not count.
pub(super) fn conclusion(
    about: &dyn Fn(&str) -> String,
    findings: &CompareFindings,
    left_out: &[&SuiteStepResult],
) -> Conclusion {
    let why = left_out.first().map(|turn| lacking(turn, findings.metric));
    let verdict = match (findings.blocks, why) {
        (0, None) => vec![NOTHING.to_owned()],
        (0, Some(why)) => vec![format!("Undecided: {why}.")],
        (_, None) => sentences(findings, about),
        (blocks, Some(why)) => {
            let of = counted(blocks + findings.blocks_left_out, "block");
            let mut verdict = sentences(findings, about);
            let are = if findings.blocks_left_out == 1 { "is" } else { "are" };
            verdict.push(format!("{} of {of} {are} left out: {why}.", findings.blocks_left_out));
            verdict
        }
    };
    let note = format!(
        "Geometric means of {}, each with two turns of every subject; differences are those within a block.",
        counted(findings.blocks, "block")
    );
    concluded(verdict, findings, about, &note)
}

/// Concludes from saved runs, of which each side has at least `fewest`.
pub(super) fn of_runs(
    subjects: &[ComparedRuns],
    findings: &CompareFindings,
    fewest: usize,
) -> Conclusion {
    let about = |name: &str| {
        let subject = subjects.iter().find(|subject| subject.name == name);
        subject.map_or_else(|| name.to_owned(), |s| named(&s.name, &s.about))
    };
    let mut verdict = verdicts(findings, &about);
    if verdict.is_empty() {
        verdict.push(format!("Undecided: a run has no {}.", findings.metric.word()));
    }
    if fewest == 1 {
        let text = "With one run on a side, the variation between runs was not measured.";
        verdict.push(text.to_owned());
    } else if fewest < LEAST_RUNS {
        verdict.push(format!("A verdict needs at least {LEAST_RUNS} runs on each side."));
    }
    let runs: Vec<String> = subjects.iter().map(|subject| subject.runs.len().to_string()).collect();
    let numbers = runs.join(" and ");
    let note = match fewest {
        1 => format!("Numbers of runs: {numbers}. They were not measured in turns."),
        _ => format!("Geometric means of {numbers} runs, which were not measured in turns."),
    };
    concluded(verdict, findings, &about, &note)
}

/// Returns a letter with what it stands for, as far as there is room.
pub(super) fn named(letter: &str, about: &str) -> String {
    let is_long = about.chars().count() > LONGEST_ABOUT;
    let cut: String = about.chars().take(LONGEST_ABOUT).collect();
    format!("{letter} ({cut}{})", if is_long { "…" } else { "" })
}

fn concluded(
    verdict: Vec<String>,
    findings: &CompareFindings,
    about: &dyn Fn(&str) -> String,
    note: &str,
) -> Conclusion {
    let shown = findings.compared.iter().filter(|compared| !compared.figures.is_empty());
    let table = |compared| {
        let mut table = table_of(findings, compared, about);
        table.notes.push(note.to_owned());
        SuiteTable::Own(table)
    };
    Conclusion {
        verdict,
        tables: shown.map(table).collect(),
        findings: serde_json::to_value(findings).unwrap_or_default(),
    }
}

/// Returns the verdict on each subject that has the figure that decides.
fn verdicts(findings: &CompareFindings, about: &dyn Fn(&str) -> String) -> Vec<String> {
    let one = |compared: &Compared| {
        Some(verdict(findings, compared, compared.figure(findings.metric)?, about))
    };
    findings.compared.iter().filter_map(one).collect()
}

/// Returns why a turn lacks the figure that decides.
fn lacking(turn: &SuiteStepResult, metric: Figure) -> String {
    let key = &turn.place.key;
    match &turn.result {
        SuiteOutcome::Search(search) if !search.answer.is_given() => {
            let why = why_no_capacity(Some(search.answer.stopped_by));
            format!("the search in {key} {why}")
        }
        SuiteOutcome::Step(step) if step.errors() > 0 => format!("I/Os failed in {key}"),
        _ => format!("{key} has too few I/Os for {}; increase --runtime", metric.word()),
    }
}

fn sentences(findings: &CompareFindings, about: &dyn Fn(&str) -> String) -> Vec<String> {
    let mut sentences = verdicts(findings, about);
    let wanted = findings.compared.iter().filter_map(|compared| compared.blocks_wanted).max();
    let complete = findings.blocks + findings.blocks_left_out;
    let has_too_few = CompareFindings::leaves_out_too_many(findings.blocks_left_out, complete);
    let is_open = findings.compared.iter().any(|c| c.verdict == CompareVerdict::Undecided);
    let advice = |more| {
        if complete + more > MOST_BLOCKS {
            format!(", but a comparison ends after {MOST_BLOCKS}")
        } else if complete >= findings.blocks_most {
            ": measure again with a larger --budget".to_owned()
        } else {
            // Before the maximum it needs no larger budget.
            String::new()
        }
    };
    match wanted {
        _ if has_too_few => {
            sentences.push("With more than a third of the blocks left out, there is no verdict.".to_owned());
        }
        Some(more) => sentences.push(format!(
            "About {} would decide if the ratio and its variation stay the same{}.",
            counted(more, "more block"),
            advice(more)
        )),
        None if is_open && findings.blocks > 1 => sentences.push(
            "More than 1,000 blocks would be needed to decide if the ratio and its variation stay the same."
                .to_owned(),
        ),
        None => {}
    }
    let smallest: Option<Vec<f64>> =
        findings.compared.iter().map(|compared| compared.smallest_difference).collect();
    if let Some(smallest) = smallest.and_then(|all| all.into_iter().reduce(f64::max)) {
        let beyond = match findings.margin {
            0.0 => String::new(),
            _ => " beyond the margin".to_owned(),
        };
        sentences.push(format!(
            "A comparison of {} with this variation detects a difference of {}{beyond} in 4 of 5 cases.",
            counted(findings.blocks, "block"),
            percent(smallest)
        ));
    }
    sentences
}

fn verdict(
    findings: &CompareFindings,
    compared: &Compared,
    figure: &ComparedFigure,
    about: &dyn Fn(&str) -> String,
) -> String {
    let (subject, baseline) = (about(&compared.subject), about(&findings.baseline));
    let difference = difference(figure);
    let margin = percent(findings.margin);
    match compared.verdict {
        CompareVerdict::Better => format!("{subject} is better than {baseline}: {difference}."),
        CompareVerdict::Worse => format!("{subject} is worse than {baseline}: {difference}."),
        CompareVerdict::Equivalent => {
            format!("{subject} and {baseline} are equivalent within {margin}: {difference}.")
        }
        CompareVerdict::Undecided if findings.margin == 0.0 => {
            format!("Undecided whether {subject} differs from {baseline}: {difference}.")
        }
        CompareVerdict::Undecided => format!(
            "Undecided whether {subject} differs from {baseline} by more than {margin}: {difference}."
        ),
    }
}

/// Example: `4.8 % more IOPS (4.1 % to 5.6 %)`.
fn difference(figure: &ComparedFigure) -> String {
    let ratio = figure.ratio;
    let (more, less) =
        if figure.figure == Figure::Iops { ("more", "fewer") } else { ("higher", "lower") };
    let interval_of = |ends: [f64; 2]| match ratio.n {
        0 | 1 => String::new(),
        _ => format!(" ({} to {})", percent(ends[0]), percent(ends[1])),
    };
    let ends = ratio.ci95.map(|end| end - 1.0);
    if percent((ratio.mean - 1.0).abs()) == percent(0.0) {
        return format!("no difference in {}{}", figure.figure.word(), interval_of(ends));
    }
    let way = if ratio.mean < 1.0 { less } else { more };
    let share = (ratio.mean - 1.0).abs();
    let [low, high] = ends;
    // "9 % fewer (6 % to 12 %)": an interval below 0 has no minus signs either. One that contains 0 keeps its signs.
    let interval = match ratio.mean < 1.0 {
        true if high < 0.0 => interval_of([-high, -low]),
        _ => interval_of(ends),
    };
    format!("{} {way} {}{interval}", percent(share), figure.figure.word())
}

fn table_of(
    findings: &CompareFindings,
    compared: &Compared,
    about: &dyn Fn(&str) -> String,
) -> Table {
    let share = |ratio: f64| Cell::Percent((ratio - 1.0) * 100.0);
    let end = |figure: &ComparedFigure, end: usize| match figure.ratio.n {
        0 | 1 => Cell::Empty,
        _ => share(figure.ratio.ci95[end]),
    };
    let value = |figure: &ComparedFigure, value: f64| match figure.figure {
        Figure::Iops => Cell::Iops(value),
        _ => Cell::LatencyNs(value),
    };
    let (baseline, subject) = (findings.baseline.as_str(), compared.subject.as_str());
    let columns: [Column<'_, &ComparedFigure>; 7] = [
        ("#", &|figure| words(figure.figure.word())),
        (baseline, &|figure| value(figure, figure.baseline)),
        (subject, &|figure| value(figure, figure.subject)),
        ("difference", &|figure| share(figure.ratio.mean)),
        ("95 % from", &|figure| end(figure, 0)),
        ("to", &|figure| end(figure, 1)),
        ("#", &|figure| words(if figure.figure == findings.metric { "decides" } else { "" })),
    ];
    let title = format!("{} against {}", about(subject), about(baseline));
    table(title, &compared.figures, &columns)
}

/// Returns a share in percent, with two significant digits below 10 %.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let digits = if percent.abs() < 0.095 { 2 } else { usize::from(percent.abs() < 9.95) };
    let text = format!("{percent:.digits$}");
    let text = text.strip_suffix(".0").unwrap_or(&text);
    let is_zero = text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.');
    let text = if is_zero { "0" } else { text };
    format!("{} %", text.replace('-', "−"))
}
