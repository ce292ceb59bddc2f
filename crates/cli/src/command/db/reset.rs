//! `iogauge db reset`: removes the runs on a database from the history.

use crate::args::ResetArgs;
use crate::command::history;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::db::{DbUrl, place};
use iogauge_lab::history::{Filter, History, HistoryError, RunRef, Running};
use iogauge_model::result::Head;
use serde::Deserialize;

/// Runs the command.
///
/// # Errors
/// The history cannot be written, or a run is under way.
pub fn run(args: &ResetArgs) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let mut history = history::open(&args.history)?;
    let runs = runs_on(&history, &url)?;
    let question = format!("remove {} runs on {} from the history?", runs.len(), url.name);
    if runs.is_empty() || !args.yes && !screen::confirmed(&question, "--yes")? {
        screen::tell("nothing removed");
        return Ok(Exit::Done);
    }
    let removed = history.rm(&runs, Running::Refuse)?.len();
    let noun = if removed == 1 { "run" } else { "runs" };
    screen::say(&format!("removed {removed} {noun}"))?;
    Ok(Exit::Done)
}

/// Returns the runs on a database, whichever way its URL was typed. Settings in the URL belong to a
/// run, not to the database, and are ignored.
fn runs_on(history: &History, url: &DbUrl) -> Result<Vec<RunRef>, HistoryError> {
    let (backend, name) = (format!("{}:", url.backend), format!(" {}", url.name));
    let rows =
        history.list(&Filter { target_contains: Some(backend.clone()), ..Filter::default() })?;
    let wanted = place(url);
    let mut runs = Vec::new();
    for row in rows.iter().filter(|row| row.target.starts_with(&backend)) {
        let Some(typed) = row.target.strip_suffix(&name) else { continue };
        let run = RunRef::Name(row.id.to_string());
        let head = Head::deserialize(&history.head(&run)?).ok();
        let kept = head.and_then(|head| head.target.database()?.place.clone());
        if kept.or_else(|| place_of(typed)).is_some_and(|place| place == wanted) {
            runs.push(run);
        }
    }
    Ok(runs)
}

/// Returns the place of a run whose head has none, as written by earlier versions. `None` if the
/// path was relative, because the working directory was not recorded.
fn place_of(typed: &str) -> Option<String> {
    let url: DbUrl = typed.parse().ok()?;
    url.place.starts_with('/').then(|| place(&url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_is_derived_from_an_absolute_database_url() {
        assert_eq!(place_of("sqlite:/gone/./d/?cache=1m").as_deref(), Some("/gone/d"));
        assert_eq!(place_of("postgres://me@host/x").as_deref(), Some("//me@host/x"));
        assert_eq!(place_of("sqlite:d"), None);
    }
}
