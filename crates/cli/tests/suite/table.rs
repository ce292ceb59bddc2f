//! What all built-in suites have in common.

use crate::common::Place;
use iogauge_lab::suite::{SUITES, SuiteInfo};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Small enough for a quick prefill.
const TARGET: &str = "sim:channels=8,service=100us,size=64m";

/// Returns the target of a suite. A suite that checks data needs a device that keeps it.
fn target(suite: &SuiteInfo) -> String {
    let keeps = if suite.name == "verify" { ",data=keep" } else { "" };
    format!("{TARGET}{keeps}")
}

/// Returns the command line of a trial run.
fn words(suite: &SuiteInfo) -> Vec<String> {
    let option = |(name, value): &(String, String)| match value.as_str() {
        "" => format!("--{name}"),
        value => format!("--{name}={value}"),
    };
    let fixed = ["suite".to_owned(), suite.name.to_owned(), target(suite)];
    fixed.into_iter().chain(suite.head.trial.iter().map(option)).collect()
}

fn run(place: &Place, suite: &SuiteInfo, more: &[&str]) -> crate::common::Done {
    let words = words(suite);
    let arguments: Vec<&str> =
        words.iter().map(String::as_str).chain(more.iter().copied()).collect();
    place.run(&arguments)
}

fn keys(document: &Value) -> Vec<String> {
    let steps = document["steps"].as_array().unwrap();
    steps.iter().map(|step| step["key"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn every_suite_is_listed_and_documented_with_its_options() {
    let place = Place::new();
    let list = place.run(&["suite"]).ends(0).stdout;
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/suites.md");
    let page = std::fs::read_to_string(page).unwrap();
    for suite in SUITES.iter() {
        assert!(list.lines().any(|line| line.starts_with(suite.name)), "{list}");
        let section = page
            .split("\n## ")
            .find(|section| section.lines().next().is_some_and(|title| title == suite.name));
        let section = section.unwrap_or_else(|| panic!("no section {} in the docs", suite.name));
        let help = place.run(&["suite", suite.name, "--help"]).ends(0).stdout;
        for option in &suite.head.options {
            let word = format!("--{}", option.name);
            assert!(section.contains(&format!("`{word}")), "{word} is not documented: {section}");
            assert!(help.contains(&word), "{help}");
        }
    }
}

#[test]
fn plans_list_each_step_once_and_change_nothing() {
    let place = Place::new();
    for suite in SUITES.iter() {
        let plan = run(&place, suite, &["--dry-run", "--json", "--quiet"]).ends(0).json();
        assert_eq!(plan["format"], "iogauge.suite-plan/1");
        let keys = keys(&plan);
        let distinct: BTreeSet<&String> = keys.iter().collect();
        assert!(!keys.is_empty() && distinct.len() == keys.len(), "{}: {keys:?}", suite.name);
        let text = run(&place, suite, &["--dry-run"]).ends(0).stdout;
        assert!(text.contains("Measuring takes"), "{text}");
    }
    assert!(!place.history().exists());
}

#[test]
fn every_suite_runs_its_plan_and_is_stored() {
    let place = Place::new();
    for suite in SUITES.iter() {
        let plan = run(&place, suite, &["--dry-run", "--json", "--quiet"]).ends(0).json();
        let planned = keys(&plan);
        let done = run(&place, suite, &["--json"]).ends(0);
        let document = done.json();
        assert_eq!(document["format"], "iogauge.suite/1");
        let ran = keys(&document);
        let mut rest = planned.iter();
        assert!(ran.iter().all(|key| rest.any(|known| known == key)), "{}: {ran:?}", suite.name);
        assert_eq!(document["steps_left"].as_u64().unwrap() as usize, planned.len() - ran.len());
        let verdict = document["verdict"][0].as_str().unwrap();
        assert!(verdict.ends_with('.'), "{verdict}");
        assert!(!document["tables"].as_array().unwrap().is_empty());
        assert!(document["findings"].is_object(), "{}", document["findings"]);
        let shown = place.run(&["history", "show", "last"]).ends(0).stdout;
        let first: String = verdict.chars().take(30).collect();
        assert!(shown.starts_with(&first), "{shown}");
        assert!(done.stderr.contains(&first), "{}", done.stderr);
        let again = place.run(&["history", "show", "last", "--format=json"]).ends(0).json();
        assert_eq!(again, document, "{}", suite.name);
        for format in ["classic", "r", "csv", "iogauge-csv"] {
            let option = format!("--format={format}");
            let table = place.run(&["history", "show", "last", &option]).ends(0).stdout;
            assert!(table.lines().count() > 1, "{table}");
        }
    }
}

#[test]
fn invalid_suite_arguments_cause_a_one_line_error() {
    let place = Place::new();
    let done = place.run(&["suite", "nosuch", TARGET]).ends(2);
    assert!(
        done.stderr.contains("\"nosuch\" is not a suite")
            && crate::common::is_one_message(&done.stderr)
    );
    for suite in SUITES.iter() {
        let done = run(&place, suite, &["--nosuch=1"]).ends(2);
        crate::common::assert_one_message(&done.stderr);
        let done = place.run(&["suite", suite.name, "/nosuch"]).ends(2);
        assert!(done.stderr.contains("/nosuch"), "{}", done.stderr);
        let done = run(&place, suite, &["--resume"]).ends(2);
        assert!(done.stderr.contains("no run of suite"), "{}", done.stderr);
    }
}
