//! The routines by InterSystems' grammar, and scripted sessions: recorded prompts and errors. Nothing here is a server.

use super::note::Note;
use super::session::{Instance, installation, routines};
use super::{Iris, keeper};
use crate::backend::m::Installation;
use crate::backend::{Database, Global};
use crate::error::DbError;
use crate::url::DbUrl;
use iogauge_test_support::{or_skip, python_with};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const GRAMMAR: &str = r#"
import sys, tree_sitter, tree_sitter_objectscript_routine as routine
parser = tree_sitter.Parser(tree_sitter.Language(routine.language_objectscript_routine()))
text = sys.stdin.buffer.read()
def errors(node):
    if node.is_error or node.is_missing:
        yield f"line {node.start_point[0]}: {text[node.start_byte:node.end_byte][:60]!r}"
    for child in node.children if node.has_error else []:
        yield from errors(child)
print("\n".join(errors(parser.parse(text).root_node)))
"#;

/// Returns the errors that InterSystems' grammar finds in a routine.
fn grammar_errors(python: &Path, name: &str, text: &str) -> String {
    use std::io::Write;
    use std::process::Stdio;
    let mut child = Command::new(python)
        .args(["-c", GRAMMAR])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    write!(input, "ROUTINE {name} [Type=INT]\n{text}").unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn intersystems_grammar_accepts_every_routine() {
    let test = "intersystems_grammar_accepts_every_routine";
    let python = or_skip!(test, python_with("tree-sitter", "tree_sitter_objectscript_routine"));
    for (name, text) in routines() {
        assert_eq!(grammar_errors(&python, name, text), "", "{name}");
    }
    // The grammar finds what IRIS does not know.
    for wrong in [" tstart ():transactionid=\"BATCH\"\n", " set x=$zut\n", " set x=(1\n"] {
        assert_ne!(grammar_errors(&python, "Wrong", &format!("Wrong ;\n{wrong}")), "", "{wrong}");
    }
}

#[test]
fn every_class_in_the_routines_is_cited() {
    let mut classes = 0;
    for (name, text) in routines() {
        for part in text.split("##class(").skip(1) {
            let class = part.split(')').next().unwrap();
            assert!(text.contains(&format!("CLASSNAME={class}")), "{name}: {class}");
            classes += 1;
        }
        for part in text.split("$system.").skip(1) {
            let class = part.split('.').next().unwrap();
            assert!(text.contains(&format!("CLASSNAME=%SYSTEM.{class}")), "{name}: {class}");
        }
    }
    assert!(classes > 20);
}

#[test]
fn installed_text_ends_only_where_its_end_stands() {
    for (name, text) in routines() {
        assert!(text.ends_with('\n') && text.starts_with(&format!("{name} ;")), "{name}");
        assert!(text.lines().all(|line| line != "."), "{name}");
        assert!(installation().contains(&format!("\n{text}.\n")), "{name}");
    }
}

/// Makes a program that plays a session, and returns the database that uses it.
fn scripted(folder: &Path, script: &str) -> Iris {
    let program = folder.join("iris");
    std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    of("iris:INST/USER", program).unwrap()
}

fn of(url: &str, program: PathBuf) -> Result<Iris, DbError> {
    Iris::of(&url.parse::<DbUrl>().unwrap(), program)
}

const BANNER: &str = r"printf '\nNode: host, Instance: INST\n\nUSER>'; read line";

#[test]
fn scripted_session_answers_after_its_banner_and_prompt() {
    let dir = tempfile::tempdir().unwrap();
    let mut note = Note::new("RAN", "/data/ran/");
    note.marker.complete = true;
    note.marker.globals = vec![Global { number: 1, subscripts: 1000, value_bytes: 100 }];
    std::fs::write(dir.path().join("note"), note.text() + "\n.\n").unwrap();
    let script = format!(
        "{BANNER}; echo \"$line\" >{0}/first; printf '\\n. 4711\\n'; read question; cat {0}/note; read more",
        dir.path().display()
    );
    let iris = scripted(dir.path(), &script);
    assert_eq!(iris.globals().unwrap(), note.marker.globals);
    let first = std::fs::read_to_string(dir.path().join("first")).unwrap();
    assert!(first.ends_with(" do ^RanKeeper halt\n") && first.contains("$etrap"), "{first}");
    // A database of another name is another one.
    let url: DbUrl = "iris:INST/USER".parse().unwrap();
    let other = Iris::of(&url.with_name("OTHER").unwrap(), dir.path().join("iris")).unwrap();
    assert!(matches!(other.globals(), Err(DbError::Missing(_))));
}

/// Whether an error is of the right kind.
type IsRight = fn(&DbError) -> bool;

#[test]
fn scripted_errors_have_their_kinds_and_hints() {
    let cases: [(&str, IsRight); 8] = [
        (r"printf '\n! <NOROUTINE> *RanKeeper\n'", |e| matches!(e, DbError::Missing(_))),
        (r"printf '\n! <PROTECT>make+9^RanKeeper\n'", |e| matches!(e, DbError::Denied(_))),
        (r"printf '\n! <FILEFULL>fill+8^RanKeeper\n'", |e| matches!(e, DbError::Full(_))),
        (r"printf '\n! foreign ^RanFiller\n'", |e| matches!(e, DbError::Foreign(_))),
        (r"printf '\n! busy \n'", |e| matches!(e, DbError::Busy(_))),
        (r"printf '\nAccess Denied\n'; exit 1", |e| matches!(e, DbError::Denied(_))),
        (r"echo 'Instance INST is not running'; exit 1", |e| matches!(e, DbError::Unreachable(_))),
        ("exit 3", |e| matches!(e, DbError::Gone(_))),
    ];
    for (script, is_right) in cases {
        let dir = tempfile::tempdir().unwrap();
        let iris = scripted(dir.path(), &format!("{BANNER}; {script}"));
        let error = iris.identity().unwrap_err();
        assert!(is_right(&error), "{script}: {error:?}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn scripted_installation_counts_saved_routines() {
    let dir = tempfile::tempdir().unwrap();
    let iris = scripted(dir.path(), "cat >/dev/null; printf '\nUSER>\n. saved\n\n. saved\n'");
    let error = iris.instance.install_routines().unwrap_err();
    let told = format!("2 of {} routines were saved, and the session said: \"", routines().count());
    assert!(matches!(&error, DbError::Failed(text) if text.contains(&told)), "{error}");
    let noisy = scripted(dir.path(), "cat >/dev/null; yes garbage | head -n 20000");
    let error = noisy.instance.install_routines().unwrap_err().to_string();
    assert!(error.len() < 600 && !error.contains('\n'), "{error}");
    let iris = scripted(dir.path(), "cat >/dev/null; printf '\n! foreign RanWalk\n'");
    assert!(matches!(iris.instance.install_routines(), Err(DbError::Foreign(_))));
}

#[test]
fn urls_name_an_instance_and_a_namespace() {
    let program = || PathBuf::from("iris");
    for url in ["iris:IRIS/USER", "iris:iris-2/MY_NS?durable=no", "iris:I/N?directory=/data/ran"] {
        of(url, program()).unwrap();
    }
    let wrong = [
        "iris:IRIS",
        "iris:IRIS/",
        "iris:/data",
        "iris:IRIS/%SYS",
        "iris:IRIS/A B",
        "iris:IRIS/USER;halt",
        "iris:IRIS/USER/X",
        "iris:I/N?durable=maybe",
        "iris:I/N?directory=data",
        "iris:I/N?directory=/a\"b",
    ];
    for url in wrong {
        let error = of(url, program()).unwrap_err();
        assert!(
            matches!(&error, DbError::Usage(text) if text.contains("hint: ")),
            "{url}: {error}"
        );
    }
    assert_eq!(of("iris:I/N?directory=/d/", program()).unwrap().directory.as_deref(), Some("/d/"));
}

#[test]
fn impossible_notes_and_sizes_are_rejected() {
    let right = Note::new("RAN", "/data/ran/");
    assert_eq!(Note::read(&right.text()).unwrap(), right);
    let wrong = [
        String::new(),
        right.text().replace("/data/ran/", "data/ran/"),
        right.text().replace("/data/ran/", "/data/ran"),
        right.text().replace("8192", "8191"),
        right.text().replace("iogauge.database/1", "other/1"),
    ];
    for text in wrong {
        assert!(Note::read(&text).is_err(), "{text}");
    }
    let file = keeper::data_file("4 8192").unwrap();
    assert_eq!((file.bytes, file.block_bytes), (4 << 20, 8192));
    for text in ["", "4", "x 8192", "4 0", "18446744073709551615 8192"] {
        assert_eq!(keeper::data_file(text), None, "{text}");
    }
}

#[test]
fn sessions_are_asked_to_end() {
    let instance = Instance::new(PathBuf::from("iris"), "IRIS", "USER");
    assert_eq!(instance.end_signal(), rustix::process::Signal::TERM);
}
