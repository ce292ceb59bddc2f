//! Every caveat, provoked. Each test has the name of its caveat's code, and shows that the caveat is raised with its
//! cause and not without it.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod figures;
mod hosts;
mod machine;
mod target;

use common::{Done, Place};
use iogauge_model::caveat::{Command, Fact, SteadinessFact, StepTime, TargetFact};
use iogauge_model::{CaveatCode, ImpactRule};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Options of a short run that prints its document.
pub const SHORT: [&str; 5] =
    ["--runtime=300ms", "--ramp-time=0", "--json", "--quiet", "--history=none"];

/// Returns the command line of a short run on a target.
pub fn short<'a>(target: &'a str, options: &[&'a str]) -> Vec<&'a str> {
    [&["run", target], options, &SHORT].concat()
}

/// Returns a file's path as an argument.
pub fn word(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// Makes a file of this size in the working directory. Its data do not repeat.
pub fn noise(place: &Place, name: &str, size_bytes: u64) -> PathBuf {
    let path = place.work().join(name);
    File::create(&path).unwrap();
    iogauge_test_support::fill(&path, size_bytes);
    path
}

/// Returns the caveats with this code in the document that a command printed.
pub fn of_code(done: &Done, code: &str) -> Vec<Value> {
    let document = done.json();
    let caveats = document["caveats"].as_array().expect("a list of caveats");
    caveats.iter().filter(|caveat| caveat["code"] == code).cloned().collect()
}

/// Asserts that a document has a caveat with this code and impact, and with a hint.
#[track_caller]
pub fn assert_raised(done: &Done, code: &str, impact: &str) {
    let found = of_code(done, code);
    assert!(!found.is_empty(), "{code} is not in {}", done.json()["caveats"]);
    for caveat in &found {
        assert_eq!(caveat["impact"], impact, "{caveat}");
        assert_ne!(caveat["remedy"], "", "{caveat}");
    }
}

/// Asserts that a document has no caveat with this code.
#[track_caller]
pub fn assert_silent(done: &Done, code: &str) {
    let found = of_code(done, code);
    assert!(found.is_empty(), "{code} without its cause: {found:?}");
}

/// Runs two command lines, the first with the cause and the second without it.
#[track_caller]
pub fn assert_provoked(place: &Place, code: &str, impact: &str, with: &[&str], without: &[&str]) {
    let done = place.run(with);
    assert!([Some(0), Some(4)].contains(&done.code), "{with:?}: {}", done.stderr);
    assert_raised(&done, code, impact);
    assert_silent(&place.run(without).ends(0), code);
}

/// The files with the tests.
const SOURCES: [&str; 4] = [
    include_str!("figures.rs"),
    include_str!("hosts.rs"),
    include_str!("machine.rs"),
    include_str!("target.rs"),
];

/// Codes that a test in another file provokes, with its source and its name.
const ELSEWHERE: [(CaveatCode, &str, &str); 17] = [
    (
        CaveatCode::SetupFailed,
        include_str!("../compare.rs"),
        "setup_runs_before_each_turn_and_its_failure_keeps_the_result",
    ),
    (
        CaveatCode::NotInterleaved,
        include_str!("../compare.rs"),
        "saved_runs_are_compared_with_their_differences",
    ),
    (CaveatCode::CorrelatedRuns, include_str!("../trend.rs"), "correlated_runs_raise_a_caveat"),
    (
        CaveatCode::WorkerHeld,
        include_str!("../front.rs"),
        "worker_blocked_by_a_frozen_file_system_is_reported",
    ),
    (CaveatCode::NotTraced, include_str!("../trace.rs"), "not_traced"),
    (CaveatCode::Traced, include_str!("../trace.rs"), "traced"),
    (CaveatCode::TraceDiffers, include_str!("../trace.rs"), "trace_differs"),
    (
        CaveatCode::UnflushedWrites,
        include_str!("../db/run.rs"),
        "unflushed_writes_raise_a_caveat_without_drain",
    ),
    (
        CaveatCode::AcknowledgedLost,
        include_str!("../db/crash.rs"),
        "next_write_run_reports_losses_of_the_previous_run",
    ),
    (
        CaveatCode::DevicesUnknown,
        include_str!("../db/server.rs"),
        "unknown_server_devices_raise_a_caveat",
    ),
    (CaveatCode::Resumed, include_str!("../suite/resume.rs"), "interrupted_suite_can_be_resumed"),
    (
        CaveatCode::EngineFallback,
        include_str!("../fallback.rs"),
        "default_engine_falls_back_with_a_caveat",
    ),
    (CaveatCode::ViaFio, include_str!("../via_fio.rs"), "run_through_fio_gives_a_complete_result"),
    (
        CaveatCode::ClientStarved,
        include_str!("../../../lab/tests/search/starvation.rs"),
        "starved_client_windows_are_excluded_with_a_caveat",
    ),
    (
        CaveatCode::HostLost,
        include_str!("../../../hosts/tests/mpi/main.rs"),
        "frozen_host_ends_the_run_and_keeps_the_result",
    ),
    (
        CaveatCode::HostsDiffer,
        include_str!("../../../hosts/tests/mpi/main.rs"),
        "hosts_with_other_processors_are_named",
    ),
    // Steal time cannot be provoked from inside a machine. The test reads it from a simulated /proc.
    (CaveatCode::StealTime, include_str!("../../../lab/tests/caveats.rs"), "steal_time"),
];

fn has_test(source: &str, name: &str) -> bool {
    source.contains(&format!("#[test]\nfn {name}()"))
}

#[test]
fn every_caveat_code_has_exactly_one_test() {
    for code in CaveatCode::ALL {
        let here = code.as_str().replace('-', "_");
        let elsewhere = ELSEWHERE.iter().filter(|(other, ..)| other == code);
        let proofs = SOURCES.iter().filter(|source| has_test(source, &here)).count()
            + elsewhere.filter(|(_, source, name)| has_test(source, name)).count();
        assert_eq!(proofs, 1, "{}: one test, named after it", code.as_str());
    }
}

/// Returns the words of a command; for `suite`, those of suites that cover all kinds of options.
fn words_of(command: Command) -> &'static [&'static [&'static str]] {
    match command {
        Command::Run | Command::RunFile => &[&["run"]],
        Command::Find | Command::FindFile => &[&["find"]],
        Command::Check => &[&["check"]],
        Command::Suite(StepTime::SecondsOfFiles) => &[&["suite", "iometer"]],
        Command::Suite(_) => {
            &[&["suite", "best-worst"], &["suite", "ladder"], &["suite", "snia-iops"]]
        }
        Command::Crosscheck => &[&["crosscheck"]],
        Command::Compare => &[&["compare"]],
        Command::Profile => &[&["profile"]],
        Command::Doctor => &[&["doctor"]],
        Command::DbSetup => &[&["db", "setup"]],
        Command::DbRun => &[&["db", "run"]],
        Command::DbFind => &[&["db", "find"]],
        Command::DbBeside | Command::DbBesideDevice => &[&["db", "beside"]],
        Command::Trend => &[&["history", "trend"]],
    }
}

/// Returns true if the command can raise the fact.
fn raises(command: Command, fact: &Fact) -> bool {
    let of_suites = matches!(
        fact,
        Fact::Target(TargetFact::SmallForWorst { .. })
            | Fact::Steadiness(SteadinessFact::NeverSteady { .. })
    );
    if command == Command::Trend || matches!(fact, Fact::Trend(_)) {
        return command == Command::Trend && matches!(fact, Fact::Trend(_));
    }
    match command {
        // Those of the suites best-worst and of SNIA.
        Command::Suite(StepTime::SecondsOfFiles) if of_suites => false,
        Command::Suite(_) => !matches!(fact, Fact::Database(_) | Fact::Tool(_)),
        _ if of_suites => false,
        Command::Doctor => matches!(fact, Fact::Target(_) | Fact::Machine(_)),
        Command::Profile | Command::DbSetup | Command::Trend => false,
        Command::DbRun | Command::DbFind | Command::DbBeside => {
            !matches!(fact, Fact::Target(_) | Fact::Tool(_))
        }
        Command::Check | Command::Compare | Command::Crosscheck | Command::DbBesideDevice => {
            !matches!(fact, Fact::Database(_) | Fact::Tool(_))
        }
        _ => !matches!(fact, Fact::Database(_)),
    }
}

/// Returns the command that a hint names after `iogauge`, if any.
fn named_in(hint: &str) -> Option<Vec<&str>> {
    let (_, rest) = hint.split_once("iogauge ")?;
    let words = rest.split_whitespace().take(2);
    let words: Vec<&str> = words.take_while(|word| word.starts_with(char::is_lowercase)).collect();
    match words.as_slice() {
        ["db", action, ..] => Some(vec!["db", action]),
        [command, ..] if ["run", "find", "prepare", "clean", "crosscheck"].contains(command) => {
            Some(vec![command])
        }
        _ => None,
    }
}

#[test]
fn caveat_hints_name_only_options_of_their_command() {
    let place = Place::new();
    let help = |words: &[&str]| place.run(&[words, &["--help"]].concat()).ends(0).stdout;
    // Options of losetup and taskset.
    let foreign = ["--direct-io", "--cpu-list"];
    for command in Command::ALL {
        let own: String = words_of(command).iter().map(|words| help(words)).collect();
        for fact in Fact::examples().iter().filter(|fact| raises(command, fact)) {
            let hint = fact.caveat(command).hint;
            let named = named_in(&hint);
            let page = named.map_or_else(|| own.clone(), |words| help(&words));
            let options = hint.split(|c: char| !(c.is_ascii_alphabetic() || "_-".contains(c)));
            for option in options.filter(|word| word.starts_with("--")) {
                let known = page.replace('_', "-").contains(&option.replace('_', "-"));
                assert!(known || foreign.contains(&option), "{command:?}: {option} in {hint:?}");
            }
        }
    }
}

/// Returns a text without code marks, and with each run of white space replaced by one space.
fn plain(text: &str) -> String {
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn every_caveat_code_has_a_documentation_section() {
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
