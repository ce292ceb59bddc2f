//! Types the commands and options that iogauge suggests.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;

/// Commands that were already typed by this process.
static TYPED: Mutex<BTreeSet<Vec<String>>> = Mutex::new(BTreeSet::new());

/// Words after which a sentence goes on behind a command.
const ENDS: [&str; 10] =
    [" && ", ";", ", ", "(", ")", " or ", " and ", " to ", " prints", " measures"];

/// Other programs that hints suggest. An option behind them is theirs.
const PROGRAMS: [&str; 2] = ["taskset", "losetup"];

/// Placeholders in hints, with what a reader may type instead.
const PLACEHOLDERS: [(&str, &str); 12] = [
    ("SIZE", "1g"),
    ("TARGET", "t"),
    ("FILE", "f"),
    ("FILE.fio", "f.fio"),
    ("FILE,FILE", "f,g"),
    ("DIRECTORY", "d"),
    ("DIR", "d"),
    ("NAME", "n"),
    ("PATH", "/p"),
    ("RUN", "last"),
    ("DEVICE", "/dev/loop0"),
    ("N", "2"),
];

/// Types what the hints of a text suggest, with `--help` at its end, so that nothing runs: each command, and each
/// option with the command that printed the text. Fails if iogauge does not have an option, or rejects a value.
#[track_caller]
pub fn type_all(program: &Path, typed: &[&str], text: &str) {
    for hint in hints(text) {
        let commands = commands(&hint).into_iter().chain(with_options(typed, &hint));
        for words in commands {
            if !TYPED.lock().unwrap().insert(words.clone()) {
                continue;
            }
            let output = Command::new(program).args(&words).arg("--help").output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            // Other words behind a command may be those of a sentence.
            let is_wrong =
                ["unexpected argument '-", "must be", "://"].iter().any(|w| said.contains(w));
            assert!(!is_wrong, "the hint \"{hint}\": iogauge {}: {said}", words.join(" "));
        }
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

/// Returns the commands in a hint, without the program's name, and the text around them.
fn split(hint: &str) -> (Vec<&str>, Vec<&str>) {
    let mut parts = hint.split("iogauge ");
    let mut around = vec![parts.next().unwrap_or_default()];
    let mut commands = Vec::new();
    for part in parts {
        let end = ENDS.iter().filter_map(|end| part.find(end)).min().unwrap_or(part.len());
        let (command, rest) = part.split_at(end);
        commands.push(command);
        around.push(rest);
    }
    (commands, around)
}

/// Returns the words of the commands in a hint.
fn commands(hint: &str) -> Vec<Vec<String>> {
    let words = |command: &str| -> Vec<String> {
        let words = command.trim_end_matches('.').split_whitespace();
        words.take_while(|word| !word.contains('…')).map(typed_word).collect()
    };
    split(hint).0.into_iter().map(words).filter(|words| !words.is_empty()).collect()
}

/// Returns the command typed before, once with each option that a hint suggests outside of commands.
fn with_options(typed: &[&str], hint: &str) -> Vec<Vec<String>> {
    let is_name = |word: &&&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let names: Vec<String> = typed.iter().take_while(is_name).map(|w| (*w).to_owned()).collect();
    if names == ["suite"] {
        // The options of a suite's file depend on the file.
        return Vec::new();
    }
    let words: Vec<&str> = split(hint).1.into_iter().flat_map(str::split_whitespace).collect();
    let pairs = std::iter::once("").chain(words.iter().copied()).zip(&words);
    pairs
        .filter(|(before, word)| word.starts_with("--") && !PROGRAMS.contains(before))
        .map(|(_, option)| {
            let option = option.trim_end_matches([',', ';', '.', ':', ')', '"']);
            names.iter().cloned().chain([typed_word(option)]).collect()
        })
        .collect()
}

/// Returns what a reader types for a word: without quotes, and with a value for a placeholder.
fn typed_word(word: &str) -> String {
    let word = word.replace('\'', "");
    let (option, value) =
        word.rsplit_once('=').map_or(("", &*word), |(option, value)| (option, value));
    match PLACEHOLDERS.iter().find(|(placeholder, _)| *placeholder == value) {
        Some((_, value)) if option.is_empty() => (*value).to_owned(),
        Some((_, value)) => format!("{option}={value}"),
        None => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_options_are_found_in_hints() {
        let text = "error: no\nhint: run iogauge prepare '/a b' --size=SIZE, or use --direct=0\n\n\
                    - zero-blocks: x\n  → iogauge clean /f && iogauge\n  prepare /f\nnot iogauge run x\n\
                    → use --size=SIZE, --history FILE or iogauge run TARGET --sync=dsync measures x";
        let hints = hints(text);
        let found = |words: Vec<Vec<String>>| -> Vec<String> {
            words.iter().map(|words| words.join(" ")).collect()
        };
        let commands = hints.iter().flat_map(|hint| commands(hint)).collect();
        let expected = ["prepare /a b --size=1g", "clean /f", "prepare /f", "run t --sync=dsync"];
        assert_eq!(found(commands), expected);
        let typed = ["suite", "oltp", "/t", "--x"];
        let options = hints.iter().flat_map(|hint| with_options(&typed, hint)).collect();
        assert_eq!(
            found(options),
            ["suite oltp --direct=0", "suite oltp --size=1g", "suite oltp --history",]
        );
    }
}
