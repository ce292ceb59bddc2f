//! Checks the parts of `docs/formats.md` that are generated from the tables of options.
//!
//! `UPDATE_DOCS=1 cargo test -p iogauge-fio --test page` regenerates them.
#![allow(clippy::unwrap_used)]

use iogauge_fio::job::{ENGINE_OPTIONS, OptionInfo, Status, Via, options};
use std::path::Path;

const WIDTH: usize = 120;

/// Returns the names of an option, like `` `bs` `blocksize` ``, with the values that request nothing in parentheses.
fn names(row: &OptionInfo) -> String {
    let names: Vec<String> =
        [row.name].iter().chain(row.aliases).map(|name| format!("`{name}`")).collect();
    let off: Vec<&str> = match row.status {
        Status::Unsupported { off, .. } => {
            off.iter().copied().filter(|value| *value != "false").collect()
        }
        _ => Vec::new(),
    };
    let off = if off.is_empty() { String::new() } else { format!(" ({})", off.join(", ")) };
    format!("{}{off}", names.join(" "))
}

/// Wraps a text into lines of at most [`WIDTH`] columns.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(word.to_owned());
        } else {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

/// Returns a table with a row for all options that share a text, in the order of the first option of each row. Options
/// without a text follow as a list.
fn table(head: &str, rest: &str, rows: impl Iterator<Item = (String, String)>) -> String {
    let mut grouped: Vec<(String, Vec<String>)> = Vec::new();
    for (names, text) in rows {
        match grouped.iter_mut().find(|(known, _)| *known == text) {
            Some((_, all)) => all.push(names),
            None => grouped.push((text, vec![names])),
        }
    }
    let (told, untold): (Vec<_>, Vec<_>) =
        grouped.into_iter().partition(|(text, _)| !text.is_empty());
    let rows = told.iter().map(|(text, all)| format!("| {} | {text} |\n", all.join(", ")));
    let table = format!("| option | {head} |\n|---|---|\n{}", rows.collect::<String>());
    let untold = untold.iter().map(|(_, all)| all.join(", ")).collect::<Vec<_>>().join(", ");
    format!("{table}\n{}\n", wrapped(&format!("{rest}{untold}")))
}

/// Returns the hint of a message, without its reason.
fn hint(why: &str) -> String {
    why.split_once("hint: ").map_or_else(String::new, |(_, hint)| hint.to_owned())
}

fn list(is_listed: fn(&OptionInfo) -> bool) -> String {
    let listed = options().filter(|row| is_listed(row));
    wrapped(&listed.map(names).collect::<Vec<_>>().join(", ")) + "\n"
}

fn unsupported() -> String {
    let rows = options().filter_map(|row| match row.status {
        Status::Unsupported { why, .. } => Some((names(row), hint(why))),
        _ => None,
    });
    table("instead", "These have no alternative: ", rows)
}

fn engines() -> String {
    let mut by_engine: Vec<(&str, Vec<String>)> = Vec::new();
    for (engine, _, options) in ENGINE_OPTIONS {
        let names = options.iter().map(|name| format!("`{name}`"));
        match by_engine.iter_mut().find(|(known, _)| known == engine) {
            Some((_, all)) => all.extend(names),
            None => by_engine.push((engine, names.collect())),
        }
    }
    let engines = by_engine.iter().map(|(engine, all)| format!("{engine}: {}", all.join(", ")));
    wrapped(&engines.collect::<Vec<_>>().join("; ")) + "\n"
}

fn through_fio() -> String {
    let of = |via: Via| {
        let names = options().filter(|row| row.via == via).map(|row| format!("`{}`", row.name));
        names.collect::<Vec<_>>().join(", ")
    };
    let fixed = [
        (
            of(Via::Decided),
            "carried out by iogauge: fio gets the resulting files, regions and names",
        ),
        (of(Via::Log), "written in fio's private directory, then moved to the requested place"),
    ];
    let fixed = fixed.map(|(names, text)| (names, text.to_owned()));
    let limited = |via: Via| match via {
        Via::Only { values, why } => {
            let values: Vec<String> = values
                .iter()
                .filter(|value| !matches!(**value, "0" | "false"))
                .map(|value| format!("`{value}`"))
                .collect();
            Some(match (values.as_slice(), hint(why)) {
                ([], hint) if hint.is_empty() => hint,
                ([], hint) => format!("refused; {hint}"),
                (values, _) => format!("only {}", values.join(", ")),
            })
        }
        _ => None,
    };
    let common = options().filter_map(|row| Some((format!("`{}`", row.name), limited(row.via)?)));
    let engines = ENGINE_OPTIONS.iter().filter_map(|(engine, via, options)| {
        let names: Vec<String> =
            options.iter().map(|name| format!("`{name}` ({engine})")).collect();
        // Options of engines that fio does not receive.
        Some((names.join(", "), limited(*via).filter(|text| !text.is_empty())?))
    });
    table(
        "through fio",
        "These are refused unless off: ",
        fixed.into_iter().chain(common).chain(engines),
    )
}

#[test]
fn documentation_lists_match_option_tables() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/formats.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let mut made = page.clone();
    for (name, text) in [
        ("handled", list(|row| matches!(row.status, Status::Handled(_)))),
        ("accepted", list(|row| matches!(row.status, Status::Accepted(_)))),
        ("unsupported", unsupported()),
        ("newer", list(|row| row.is_newer())),
        ("engines", engines()),
        ("through fio", through_fio()),
    ] {
        let (begin, end) = (format!("<!-- made from the options: {name} -->\n"), "<!-- end -->");
        let (before, rest) = made.split_once(&begin).unwrap_or_else(|| panic!("no {begin}"));
        let (_, after) = rest.split_once(end).unwrap();
        made = format!("{before}{begin}\n{text}\n{end}{after}");
    }
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &made).unwrap();
    } else {
        assert!(
            made == page,
            "docs/formats.md is out of date: run UPDATE_DOCS=1 cargo test -p iogauge-fio --test page"
        );
    }
}
