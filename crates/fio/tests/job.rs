//! Compares the table of options with fio itself, its example job files, and `docs/formats.md`.
#![allow(clippy::unwrap_used)]

use iogauge_fio::job::{self, Fault, JobFile, MemorySource, Status};
use iogauge_model::load::options::{OnLine, ROWS};
use iogauge_test_support::skip;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of Debian's package of fio's example job files.
const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// Returns a source with this file, and with values for the variables that the examples leave to the user.
fn source(path: &Path) -> MemorySource {
    let text = String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned();
    let names = text.match_indices("${").filter_map(|(at, _)| text[at + 2..].split('}').next());
    let value = |name: &str| match name {
        "FIO_RW" => "randread",
        "FIO_IODEPTH" => "4",
        "FIO_BS" => "4k",
        _ => "x",
    };
    let source = MemorySource::default().file(path, &text);
    names.fold(source, |source, name| source.variable(name, value(name)))
}

/// Returns the names that `fio --cmdhelp=all` lists, with underscores; `None` if fio is not installed.
fn fio_names() -> Option<BTreeSet<String>> {
    let output = Command::new("fio").arg("--cmdhelp=all").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    Some(names.map(|name| name.replace('-', "_")).collect())
}

#[test]
fn option_table_covers_every_fio_option() {
    const TEST: &str = "option_table_covers_every_fio_option";
    let Some(names) = fio_names() else { return skip(TEST, "fio is not installed") };
    assert!(names.len() > 150, "{names:?}");
    let unknown: Vec<&String> =
        names.iter().filter(|name| job::find(name).is_none_or(|row| row.name != **name)).collect();
    assert!(unknown.is_empty(), "fio has options that the table lacks: {unknown:?}");
}

#[test]
fn option_aliases_match_fio() {
    const TEST: &str = "option_aliases_match_fio";
    if fio_names().is_none() {
        return skip(TEST, "fio is not installed");
    }
    for row in job::options().filter(|row| !row.is_newer() && !row.aliases.is_empty()) {
        let output = Command::new("fio").arg(format!("--cmdhelp={}", row.name)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let aliases = text.lines().filter_map(|line| line.trim().strip_prefix("alias:"));
        let aliases: Vec<&str> = aliases.map(str::trim).collect();
        assert_eq!(row.aliases, aliases, "{}", row.name);
    }
}

/// Returns true if the error is about an option or value that the table lists as unsupported.
fn is_listed(fault: &Fault) -> bool {
    match fault {
        Fault::Unsupported { option, .. } => {
            job::find(option).is_none_or(|row| matches!(row.status, Status::Unsupported { .. }))
        }
        Fault::UnsupportedValue { option, .. } => {
            job::find(option).is_some_and(|row| matches!(row.status, Status::Handled(_)))
        }
        Fault::Form(_)
        | Fault::UnknownOption { .. }
        | Fault::Value { .. }
        | Fault::RefusedVia { .. } => false,
    }
}

#[test]
fn fio_examples_are_planned_or_rejected_by_option_name() {
    const TEST: &str = "fio_examples_are_planned_or_rejected_by_option_name";
    let Ok(entries) = std::fs::read_dir(EXAMPLES) else {
        return skip(TEST, &format!("{EXAMPLES} is not there (package fio-examples)"));
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "fio"))
        .collect();
    files.sort();
    let (mut run, mut refused) = (Vec::new(), Vec::new());
    for path in &files {
        let error = match JobFile::read(path, &source(path)) {
            Err(error) => error,
            Ok(file) => match (file.unsupported.first(), file.plan()) {
                (Some(error), _) => error.clone(),
                (None, Err(error)) => error,
                (None, Ok(groups)) => {
                    assert!(!groups.is_empty());
                    run.push(path.file_name().unwrap().to_str().unwrap().to_owned());
                    continue;
                }
            },
        };
        assert!(is_listed(&error.fault), "{error}");
        assert!(error.to_string().contains(error.option().unwrap()), "{error}");
        assert!(error.place.line > 0, "{error}");
        refused.push(error.to_string());
    }
    eprintln!("{} run: {run:?}\n{} are refused:\n{}", run.len(), refused.len(), refused.join("\n"));
    for known in ["aio-read.fio", "fio-rand-RW.fio", "ssd-test.fio", "zipf.fio", "null.fio"] {
        assert!(run.iter().any(|name| name == known), "{known} does not run");
    }
}

/// Workload options that fio lacks.
const OWN: &[&str] = &["dependent"];

#[test]
fn load_options_match_fio_options() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(page).unwrap();
    for row in ROWS {
        let in_fio = job::find(row.name);
        assert_ne!(in_fio.is_some(), OWN.contains(&row.name), "{}", row.name);
        for alias in row.aliases {
            assert!(job::find(alias).is_some_and(|found| found.name == in_fio.unwrap().name));
        }
        // The page has what the help leaves out.
        let is_told = row.on_line == OnLine::Shown || page.contains(&format!("`{}`", row.name));
        assert!(is_told, "{} is not there", row.name);
    }
}
