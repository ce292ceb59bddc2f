//! Every caveat provoked for real: each test has the name of its code and shows that the code is
//! there with its cause, and not there without.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod figures;
mod machine;
mod target;

use common::{Done, Place};
use iogauge_model::{CaveatCode, ImpactRule};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A short run whose document is printed.
pub const SHORT: [&str; 5] =
    ["--runtime=300ms", "--ramp-time=0", "--json", "--quiet", "--history=none"];

/// The line of a short run on a target.
pub fn short<'a>(target: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["run", target], options, &SHORT].concat()
}

/// A file's path as an argument.
pub fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// A file in the place, of so many bytes that repeat nowhere.
pub fn noise(place: &Place, name: &str, size_bytes: u64) -> PathBuf {
    let path = place.work().join(name);
    File::create(&path).unwrap();
    iogauge_test_support::fill(&path, size_bytes);
    path
}

/// The caveats of one code in the document a command printed.
pub fn of_code(done: &Done, code: &str) -> Vec<Value> {
    let document = done.json();
    let caveats = document["caveats"].as_array().expect("a list of caveats");
    caveats.iter().filter(|caveat| caveat["code"] == code).cloned().collect()
}

/// Asserts that a document has a code, with a hint and this impact.
#[track_caller]
pub fn assert_raised(done: &Done, code: &str, impact: &str) {
    let found = of_code(done, code);
    assert!(!found.is_empty(), "{code} is not in {}", done.json()["caveats"]);
    for caveat in &found {
        assert_eq!(caveat["impact"], impact, "{caveat}");
        assert_ne!(caveat["remedy"], "", "{caveat}");
    }
}

/// Asserts that a document does not have a code.
#[track_caller]
pub fn assert_silent(done: &Done, code: &str) {
    let found = of_code(done, code);
    assert!(found.is_empty(), "{code} without its cause: {found:?}");
}

/// Runs two lines: the first has the cause and the second has not.
#[track_caller]
pub fn assert_provoked(place: &Place, code: &str, impact: &str, with: &[&str], without: &[&str]) {
    let done = place.run(with);
    assert!([Some(0), Some(4)].contains(&done.code), "{with:?}: {}", done.stderr);
    assert_raised(&done, code, impact);
    assert_silent(&place.run(without).ends(0), code);
}

/// Where the tests stand.
const SOURCES: [&str; 3] =
    [include_str!("figures.rs"), include_str!("machine.rs"), include_str!("target.rs")];

/// Codes that a test elsewhere provokes: its source and its name.
const ELSEWHERE: [(CaveatCode, &str, &str); 12] = [
    (
        CaveatCode::WorkerHeld,
        include_str!("../front.rs"),
        "a_worker_in_a_frozen_file_system_is_named",
    ),
    (CaveatCode::NotTraced, include_str!("../trace.rs"), "not_traced"),
    (CaveatCode::Traced, include_str!("../trace.rs"), "traced"),
    (CaveatCode::TraceDiffers, include_str!("../trace.rs"), "trace_differs"),
    (CaveatCode::UnflushedWrites, include_str!("../db/run.rs"), "what_is_written_later_is_told"),
    (
        CaveatCode::AcknowledgedLost,
        include_str!("../db/crash.rs"),
        "a_run_tells_what_the_one_before_lost",
    ),
    (CaveatCode::DevicesUnknown, include_str!("../db/server.rs"), "devices_nobody_sees_are_told"),
    (CaveatCode::Resumed, include_str!("../suite/resume.rs"), "an_interrupted_suite_goes_on"),
    (
        CaveatCode::EngineFallback,
        include_str!("../fallback.rs"),
        "the_default_engine_gives_way_with_a_caveat",
    ),
    (
        CaveatCode::ViaFio,
        include_str!("../via_fio.rs"),
        "a_run_through_fio_is_a_run_like_any_other",
    ),
    (
        CaveatCode::ClientStarved,
        include_str!("../../../lab/tests/search/starvation.rs"),
        "client_starved",
    ),
    // Steal time cannot be provoked from within a machine: it is read from a made-up /proc.
    (CaveatCode::StealTime, include_str!("../../../lab/tests/caveats.rs"), "steal_time"),
];

fn has_test(source: &str, name: &str) -> bool {
    source.contains(&format!("#[test]\nfn {name}()"))
}

#[test]
fn each_code_has_its_test() {
    for code in CaveatCode::ALL {
        let here = code.as_str().replace('-', "_");
        let elsewhere = ELSEWHERE.iter().filter(|(other, ..)| other == code);
        let proofs = SOURCES.iter().filter(|source| has_test(source, &here)).count()
            + elsewhere.filter(|(_, source, name)| has_test(source, name)).count();
        assert_eq!(proofs, 1, "{}: one test, named after it", code.as_str());
    }
}

/// Text with its white space made alike and without the marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_code_has_its_section() {
    let page = include_str!("../../../../docs/caveats.md");
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    let code_of = |section: &&str| section.lines().next().unwrap().to_owned();
    let codes: Vec<String> = sections.iter().map(code_of).collect();
    for code in CaveatCode::ALL {
        let word = code.as_str();
        assert_eq!(codes.iter().filter(|c| *c == word).count(), 1, "one section of {word}");
        let section = plain(sections[codes.iter().position(|c| c == word).unwrap()]);
        let rule = match code.rule() {
            ImpactRule::Note => "A note.",
            ImpactRule::Doubt => "A doubt.",
            ImpactRule::Share => "A doubt beyond a tenth, a note below.",
        };
        let title = code.title();
        for wanted in [&format!("{word} {}. {rule}", capital(title)), &plain(code.hint())] {
            assert!(section.contains(wanted.as_str()), "{word}: \"{wanted}\" is not in {section}");
        }
    }
    assert_eq!(codes.len(), CaveatCode::ALL.len(), "a section of no code: {codes:?}");
}

fn capital(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}
