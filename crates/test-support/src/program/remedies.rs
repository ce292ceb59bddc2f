//! Types the commands that iogauge suggests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// Commands that were already typed by this process.
static TYPED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// Words after which a sentence goes on behind a command.
const ENDS: [&str; 10] =
    [" && ", ";", ", ", "(", ")", " or ", " and ", " to ", " prints", " measures"];

/// Types each command that the hints of a text suggest, with `--help` at its end, so that nothing runs. Fails if
/// iogauge does not have one of its options, or rejects a value.
#[track_caller]
pub fn type_all(program: &Path, text: &str) {
    for command in hints(text).iter().flat_map(|hint| commands(hint)) {
        if !TYPED.lock().unwrap().insert(command.clone()) {
            continue;
        }
        let words = command.split_whitespace().map(|word| word.replace('\'', ""));
        let output = Command::new(program).args(words).arg("--help").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        // Other words behind a command may be those of a sentence.
        let is_wrong =
            ["unexpected argument '-", "must be", "://"].iter().any(|w| said.contains(w));
        assert!(!is_wrong, "the hint iogauge {command}: {said}");
    }
}

/// Returns the hints in messages (`hint: …`) and below caveats (`→ …`), each in one line.
fn hints(text: &str) -> Vec<String> {
    let mut hints: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        let hint = line.strip_prefix("hint: ").or_else(|| line.trim_start().strip_prefix("→ "));
        match (hint, hints.last_mut()) {
            (Some(hint), _) => hints.push(hint.to_owned()),
            (None, Some(last)) if goes_on && line.starts_with("  ") => {
                *last = format!("{last} {}", line.trim());
            }
            _ => {
                goes_on = false;
                continue;
            }
        }
        goes_on = true;
    }
    hints
}

/// Returns the commands in a hint, without the program's name. Those with a placeholder are left out.
fn commands(hint: &str) -> Vec<String> {
    let is_placeholder = |word: &str| {
        let value = word.rsplit('=').next().unwrap_or(word);
        word.contains('…') || (value.len() > 1 && value.chars().all(|c| c.is_ascii_uppercase()))
    };
    let cut = |text: &str| {
        let end = ENDS.iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
        text[..end].trim_end_matches('.').to_owned()
    };
    let found = hint.split("iogauge ").skip(1).map(cut);
    found.filter(|command| !command.is_empty() && !command.split(' ').any(is_placeholder)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_in_hints() {
        let text = "error: no\nhint: run iogauge prepare '/a b' --size=8g, or use --direct=0\n\n\
                    - zero-blocks: x\n  → iogauge clean /f && iogauge\n  prepare /f\nnot iogauge run x\n\
                    → iogauge run TARGET --sync=dsync measures durable writes";
        let found: Vec<String> = hints(text).iter().flat_map(|hint| commands(hint)).collect();
        assert_eq!(found, ["prepare '/a b' --size=8g", "clean /f", "prepare /f"]);
    }
}
