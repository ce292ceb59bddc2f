//! Checks that this version reads documents stored by earlier versions.

#![allow(clippy::unwrap_used)]

mod common;

use common::stored;
use iogauge_model::result::{
    BesideDocument, CrosscheckDocument, DatabaseCheck, DoctorDocument, FindDocument, Head,
    ProfileDocument, RunDocument, SuiteDocument, SuitePlanDocument, TargetFacts, TrendDocument,
    Workload,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Returns the document as this version would print it.
fn again<D: DeserializeOwned + Serialize>(document: &Value) -> Value {
    let typed: D = serde_json::from_value(document.clone()).unwrap();
    serde_json::to_value(typed).unwrap()
}

#[test]
fn stored_documents_round_trip_unchanged() {
    for (path, document) in stored() {
        let printed = match document["format"].as_str().unwrap() {
            "iogauge.run/1" => again::<RunDocument>(&document),
            "iogauge.find/1" => again::<FindDocument>(&document),
            "iogauge.suite/1" => again::<SuiteDocument>(&document),
            "iogauge.suite-plan/1" => again::<SuitePlanDocument>(&document),
            "iogauge.crosscheck/1" => again::<CrosscheckDocument>(&document),
            "iogauge.doctor/1" => again::<DoctorDocument>(&document),
            "iogauge.profile/1" => again::<ProfileDocument>(&document),
            "iogauge.beside/1" => again::<BesideDocument>(&document),
            "iogauge.db-verify/1" => again::<DatabaseCheck>(&document),
            "iogauge.trend/1" => again::<TrendDocument>(&document),
            other => panic!("{}: {other}", path.display()),
        };
        assert_eq!(printed, document, "{}", path.display());
    }
}

#[test]
fn stored_documents_have_known_target_and_load_kinds() {
    let kinds = stored().into_iter().filter_map(|(path, document)| {
        let head: Head = serde_json::from_value(document).ok()?;
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(!matches!(head.target, TargetFacts::Other(_)), "{name}");
        let kind = match head.load {
            Workload::Load(_) => "load",
            Workload::Database(_) => "database",
            Workload::Jobs { .. } => "jobs",
            Workload::Steps { .. } => "steps",
            Workload::Suite { .. } => "suite",
            Workload::Label { .. } => "label",
            Workload::Other(_) => "other",
        };
        Some((name, kind))
    });
    let mut kinds: Vec<_> = kinds.collect();
    kinds.sort();
    let kinds: Vec<_> = kinds.iter().map(|(name, kind)| (name.as_str(), *kind)).collect();
    assert_eq!(
        kinds,
        [
            ("beside", "database"),
            ("crosscheck", "load"),
            ("db-find", "database"),
            ("db-io", "database"),
            ("db-run", "database"),
            ("find", "load"),
            ("find-open", "load"),
            ("import", "label"),
            ("profile", "label"),
            ("run", "load"),
            ("run-jobs", "jobs"),
            ("run-steps", "steps"),
            ("run-via", "label"),
            ("suite", "suite"),
            ("suite-own", "suite"),
            ("trend", "load"),
        ]
    );
}

#[test]
fn heads_with_unknown_kinds_are_still_readable() {
    let head: Head = serde_json::from_value(serde_json::json!({
        "format": "iogauge.run/1", "version": "9.9", "run_id": "", "started": "",
        "target": { "kind": "tape", "name": "/dev/st0" },
        "load": { "what": "unknown" },
    }))
    .unwrap();
    assert_eq!(head.target.name(), "/dev/st0");
    assert!(head.load.jobs_of_steps().is_empty());
    let text = serde_json::to_string(&head).unwrap();
    assert_eq!(serde_json::from_str::<Head>(&text).unwrap(), head);
}
