//! Verdicts of a check for CI systems.
#![allow(clippy::unwrap_used)]

mod common;

use common::{caveats, environment, estimate, head, named};
use iogauge_model::result::{
    Cell, CheckEnd, CheckFindings, CheckResult, CheckVerdict, CheckedLimit, CheckedRate,
    CheckedRequirement, Conclusion, LimitValue, SUITE_FORMAT, SuiteAsked, SuiteDocument,
    SuiteTable, Table,
};
use iogauge_model::{Impact, RequiredRate};
use iogauge_report::ci::{junit, markdown};
use proptest::prelude::*;
use resvg::usvg::roxmltree::{Document, Node};
use std::collections::BTreeMap;

/// Elements of JUnit XML as Jenkins reads it, each with its attributes and children (xUnit plugin, junit-10.xsd).
const ELEMENTS: [(&str, &[&str], &[&str]); 7] = [
    ("testsuites", &["name", "time", "tests", "failures", "disabled", "errors"], &["testsuite"]),
    (
        "testsuite",
        &["name", "tests", "failures", "errors", "time", "skipped", "timestamp", "hostname"],
        &["testcase", "system-out"],
    ),
    ("testcase", &["name", "time", "classname"], &["skipped", "error", "failure"]),
    ("skipped", &["type", "message"], &[]),
    ("error", &["type", "message"], &[]),
    ("failure", &["type", "message"], &[]),
    ("system-out", &[], &[]),
];

fn assert_valid(node: Node<'_, '_>) {
    let name = node.tag_name().name();
    let (_, attributes, children) = ELEMENTS.iter().find(|(known, ..)| *known == name).unwrap();
    for attribute in node.attributes() {
        assert!(attributes.contains(&attribute.name()), "{name}: {}", attribute.name());
    }
    for child in node.children().filter(Node::is_element) {
        assert!(children.contains(&child.tag_name().name()), "{name}: {:?}", child.tag_name());
        assert_valid(child);
    }
}

fn check(verdict: CheckVerdict, ended_by: CheckEnd) -> CheckResult {
    let value = LimitValue {
        limit: "p99<=5ms".parse().unwrap(),
        value_ns: Some(7e6),
        ci95_ns: Some([6.5e6, 7.5e6]),
        n: 1000,
    };
    CheckResult {
        verdict,
        ended_by,
        rate: CheckedRate {
            required: RequiredRate::Iops(5000.0),
            required_iops: 5000.0,
            iops: estimate(5000.0, 50.0),
            served: None,
            verdict: CheckVerdict::Pass,
        },
        limits: vec![CheckedLimit { value, verdict, varies_over_seconds: None }],
        seconds: 2.5,
        budget_seconds: 60.0,
        needed_seconds: None,
    }
}

fn document(checks: Vec<(&str, Option<CheckResult>)>, text: &str) -> SuiteDocument {
    let requirement = |(name, check): (&str, Option<CheckResult>)| CheckedRequirement {
        name: name.to_owned(),
        source: None,
        check,
    };
    let requirements = checks.into_iter().map(requirement).collect();
    let findings = CheckFindings { check: CheckVerdict::Fail, requirements, baseline: None };
    let mut table = Table::new("", &["#requirement", "required"]);
    table.row([Cell::Text(text.to_owned()), Cell::Iops(5000.0)]);
    SuiteDocument {
        head: head(SUITE_FORMAT, named(text)),
        suite: SuiteAsked { name: SuiteAsked::CHECK.to_owned(), options: BTreeMap::new() },
        subjects: Vec::new(),
        setups: Vec::new(),
        steps: Vec::new(),
        conclusion: Conclusion {
            verdict: vec![text.to_owned()],
            tables: vec![SuiteTable::Own(table)],
            findings: serde_json::to_value(findings).unwrap(),
        },
        steps_left: 0,
        resumed: 0,
        interrupted: false,
        caveats: caveats(),
        environment: environment(),
    }
}

#[test]
fn each_requirement_is_a_test_case_with_its_verdict() {
    use CheckVerdict::{Fail, Pass, Undecided};
    let document = document(
        vec![
            ("a", Some(check(Pass, CheckEnd::Proven))),
            ("b", Some(check(Fail, CheckEnd::Proven))),
            ("c", Some(check(Undecided, CheckEnd::Budget))),
            ("d", Some(check(Undecided, CheckEnd::Errors))),
            ("e", Some(check(Undecided, CheckEnd::Interrupted))),
            ("f", None),
        ],
        "Fail.",
    );
    let text = junit(&document);
    let parsed = Document::parse(&text).unwrap();
    assert_valid(parsed.root_element());
    let of = |name: &str| {
        let case = parsed.descendants().find(|node| node.attribute("name") == Some(name)).unwrap();
        let inner = case.children().find(Node::is_element)?;
        Some((inner.tag_name().name(), inner.attribute("type").unwrap()))
    };
    assert_eq!(of("a"), None);
    assert_eq!(of("b"), Some(("failure", "fail")));
    assert_eq!(of("c"), Some(("error", "undecided")));
    assert_eq!(of("d"), Some(("error", "io-errors")));
    assert_eq!(of("e"), Some(("skipped", "interrupted")));
    assert_eq!(of("f"), Some(("skipped", "skipped")));
    let suite = parsed.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    let counts =
        ["tests", "failures", "errors", "skipped"].map(|name| suite.attribute(name).unwrap());
    assert_eq!(counts, ["6", "1", "2", "2"]);
    let failure = parsed.descendants().find(|node| node.has_tag_name("failure")).unwrap();
    let message = failure.attribute("message").unwrap();
    assert_eq!(message, "p99 is 7.00 ms (6.50 ms to 7.50 ms), over 5 ms");
}

#[test]
fn text_stays_text_in_both_formats() {
    let hostile = "a|b <c> & \"d\" *e*";
    let mut document =
        document(vec![(hostile, Some(check(CheckVerdict::Fail, CheckEnd::Proven)))], hostile);
    document.caveats[0].impact = Impact::Note;
    let xml = junit(&document);
    let parsed = Document::parse(&xml).unwrap();
    let case = parsed.descendants().find(|node| node.has_tag_name("testcase")).unwrap();
    assert_eq!(case.attribute("name"), Some(hostile));
    let page = markdown(&document);
    assert!(page.contains(r#"**a\|b &lt;c&gt; &amp; "d" \*e\***"#), "{page}");
    assert_eq!(page.matches("Caveat: ").count(), document.caveats.len() - 1, "{page}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_valid_xml_and_one_table_row(text in any::<String>()) {
        let document = document(vec![(&text, Some(check(CheckVerdict::Fail, CheckEnd::Proven)))], &text);
        let xml = junit(&document);
        let parsed = Document::parse(&xml).map_err(|error| TestCaseError::fail(format!("{error}: {xml}")))?;
        assert_valid(parsed.root_element());
        let page = markdown(&document);
        let rows = page.lines().filter(|line| line.starts_with("| ")).count();
        prop_assert_eq!(rows, 3, "{}", page);
        prop_assert!(!page.contains("<script"));
    }
}
