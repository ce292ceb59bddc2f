//! The verdicts of `iogauge check` for CI systems: JUnit XML and Markdown.
//!
//! JUnit XML has no standard. This follows the schema of Jenkins' xUnit plugin (`junit-10.xsd`), which GitLab and others
//! read as well.

use crate::terminal::cell_text;
use iogauge_model::plain_text::{shown, shown_in_line};
use iogauge_model::result::{
    CheckEnd, CheckFindings, CheckVerdict, CheckedRequirement, SuiteDocument, SuiteTable, Table,
};
use serde::Deserialize;
use std::fmt::Write;

/// Formats the document of a check as JUnit XML: a test case for each requirement. A requirement that is not met is a
/// failure; one that is undecided, or whose I/Os failed, is an error; one that was not checked is skipped.
#[must_use]
pub fn junit(document: &SuiteDocument) -> String {
    let requirements = requirements(document);
    let cases: Vec<Case> = requirements.iter().map(Case::of).collect();
    let count = |kind: Kind| cases.iter().filter(|case| case.kind == kind).count();
    let seconds: f64 = cases.iter().map(|case| case.seconds).sum();
    let totals = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" time=\"{seconds:.3}\"",
        cases.len(),
        count(Kind::Failure),
        count(Kind::Error)
    );
    let head = &document.head;
    let mut text =
        String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- Generator: iogauge -->\n");
    let _ = writeln!(text, "<testsuites name=\"iogauge check\" {totals}>");
    let _ = writeln!(
        text,
        "  <testsuite name=\"{}\" {totals} skipped=\"{}\" timestamp=\"{}\" hostname=\"{}\">",
        escaped(head.target.name()),
        count(Kind::Skipped),
        escaped(head.started.trim_end_matches('Z')),
        escaped(&document.environment.host)
    );
    for case in &cases {
        case.write(head.target.name(), &mut text);
    }
    let _ = writeln!(text, "    <system-out>{}</system-out>", escaped(&told(document)));
    text.push_str("  </testsuite>\n</testsuites>\n");
    text
}

/// Formats the document of a check as Markdown: the verdict, and its tables.
#[must_use]
pub fn markdown(document: &SuiteDocument) -> String {
    let mut text = String::from("<!-- Generator: iogauge -->\n");
    let mut sentences = document.conclusion.verdict.iter();
    if let Some(first) = sentences.next() {
        let _ = writeln!(text, "**{}**", literal(first));
    }
    for sentence in sentences {
        let _ = writeln!(text, "\n{}", literal(sentence));
    }
    for table in &document.conclusion.tables {
        if let SuiteTable::Own(table) = table {
            write_table(table, &mut text);
        }
    }
    let doubts = document.caveats.iter().filter(|caveat| caveat.is_doubt());
    for caveat in doubts {
        let _ = writeln!(text, "\nCaveat: {}", literal(&caveat.message));
    }
    let (head, environment) = (&document.head, &document.environment);
    let _ = writeln!(
        text,
        "\n{} on {}, iogauge {}, run {}",
        literal(head.target.name()),
        literal(&environment.host),
        literal(&head.version),
        literal(&head.run_id)
    );
    text
}

fn requirements(document: &SuiteDocument) -> Vec<CheckedRequirement> {
    let findings = CheckFindings::deserialize(&document.conclusion.findings);
    findings.map(|findings| findings.requirements).unwrap_or_default()
}

/// Returns the verdict and the caveats, a line each.
fn told(document: &SuiteDocument) -> String {
    let caveats = document.caveats.iter().map(|caveat| format!("caveat: {}", caveat.message));
    let lines: Vec<String> = document.conclusion.verdict.iter().cloned().chain(caveats).collect();
    lines.join("\n")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Passed,
    Failure,
    Error,
    Skipped,
}

/// A test case.
struct Case<'a> {
    name: &'a str,
    kind: Kind,
    /// A word for the reason.
    word: &'static str,
    message: String,
    seconds: f64,
}

impl<'a> Case<'a> {
    fn of(requirement: &'a CheckedRequirement) -> Self {
        let name = &requirement.name;
        let Some(check) = &requirement.check else {
            let message = "not checked".to_owned();
            return Self { name, kind: Kind::Skipped, word: "skipped", message, seconds: 0.0 };
        };
        let (kind, word) = match (check.verdict, check.ended_by) {
            (CheckVerdict::Pass, _) => (Kind::Passed, "pass"),
            (CheckVerdict::Fail, _) => (Kind::Failure, "fail"),
            (CheckVerdict::Undecided, CheckEnd::Errors) => (Kind::Error, "io-errors"),
            (CheckVerdict::Undecided, CheckEnd::Interrupted) => (Kind::Skipped, "interrupted"),
            (CheckVerdict::Undecided, _) => (Kind::Error, "undecided"),
        };
        Self { name, kind, word, message: check.reason(), seconds: check.seconds }
    }

    fn write(&self, target: &str, text: &mut String) {
        let Self { kind, word, seconds, .. } = self;
        let _ = write!(
            text,
            "    <testcase name=\"{}\" classname=\"{}\" time=\"{seconds:.3}\"",
            escaped(self.name),
            escaped(target)
        );
        let element = match kind {
            Kind::Passed => {
                text.push_str("/>\n");
                return;
            }
            Kind::Failure => "failure",
            Kind::Error => "error",
            Kind::Skipped => "skipped",
        };
        let message = escaped(&self.message);
        let _ = writeln!(
            text,
            ">\n      <{element} message=\"{message}\" type=\"{word}\"/>\n    </testcase>"
        );
    }
}

/// Escapes text for XML 1.0, without characters that it does not allow.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in shown(text).chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' => escaped.push('\n'),
            '\u{fffe}' | '\u{ffff}' => escaped.push(' '),
            c => escaped.push(c),
        }
    }
    escaped
}

/// Escapes text so that Markdown shows it as it is, in one line.
fn literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len());
    for c in shown_in_line(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                literal.push('\\');
                literal.push(c);
            }
            '<' => literal.push_str("&lt;"),
            '>' => literal.push_str("&gt;"),
            '&' => literal.push_str("&amp;"),
            c => literal.push(c),
        }
    }
    literal
}

fn write_table(table: &Table, text: &mut String) {
    let titles = table.columns.iter().map(|column| literal(&column.title));
    let rules = table.columns.iter().map(|column| if column.words { "---" } else { "---:" });
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text.push('\n');
    text.push_str(&line(titles.collect()));
    text.push_str(&line(rules.map(str::to_owned).collect()));
    for row in &table.rows {
        text.push_str(&line(row.iter().map(|cell| literal(&cell_text(cell))).collect()));
    }
    for note in &table.notes {
        let _ = writeln!(text, "\n{}", literal(note));
    }
}
