//! fio, programs that pretend to be fio, and the documents of runs through them.

use super::{Sandbox, skip};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns true if fio is installed; otherwise reports that the test is skipped.
pub fn fio(test: &str) -> bool {
    let there = Command::new("fio").arg("--version").output().is_ok();
    if !there {
        skip(test, "fio is not installed");
    }
    there
}

/// Writes the job file `a.fio`; returns its path.
pub fn job_file(place: &Sandbox, text: &str) -> PathBuf {
    let path = place.work().join("a.fio");
    std::fs::write(&path, text).unwrap();
    path
}

/// Writes a shell script to a directory.
pub fn program(directory: &Path, name: &str, script: &str) -> PathBuf {
    let path = directory.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// Returns a value for `--via`: a program that prints a fio version when asked for it, and otherwise runs a
/// script.
pub fn fake(place: &Sandbox, script: &str) -> String {
    let version = "if [ \"$1\" = --version ]; then echo fio-3.99; exit 0; fi";
    let path = program(&place.work(), "fake", &format!("{version}\n{script}"));
    format!("fio={}", path.display())
}

/// Returns fio's document for a job that has read this many I/Os of 1 ms, in `runtime_ms` milliseconds.
pub fn document(reads: u64, runtime_ms: u64, more: &str) -> String {
    let bytes = reads * 4096;
    format!(
        "{{\n  \"fio version\" : \"fio-3.99\",\n  \"jobs\" : [\n    {{ \"jobname\" : \"a\", {more}\
         \"usr_cpu\" : 10, \"sys_cpu\" : 20,\n      \"read\" : {{ \"io_bytes\" : {bytes}, \
         \"io_kbytes\" : 1, \"total_ios\" : {reads}, \"runtime\" : {runtime_ms},\n        \
         \"lat_ns\" : {{ \"min\" : 900000, \"max\" : 1100000, \"mean\" : 1000000, \"stddev\" : 1, \
         \"N\" : {reads}, \"bins\" : {{ \"1003520\" : {reads} }} }} }} }}\n  ]\n}}\n"
    )
}

/// Returns a number in a document.
pub fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// Returns the codes and messages of a document's caveats.
pub fn caveats(document: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let all = document["caveats"].as_array().unwrap().iter();
    all.map(|caveat| (text(&caveat["code"]), text(&caveat["message"]))).collect()
}

/// Returns the codes of a document's caveats.
pub fn codes(document: &Value) -> Vec<String> {
    caveats(document).into_iter().map(|(code, _)| code).collect()
}

/// Returns the message of a caveat; `None` if the document does not have it.
pub fn told(document: &Value, code: &str) -> Option<String> {
    caveats(document).into_iter().find(|(own, _)| own == code).map(|(_, message)| message)
}
