//! `iogauge db reset`: forget the runs on a database.

use crate::args::ResetArgs;
use crate::command::history;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::history::{Filter, RunRef, Running};

/// Runs the command.
///
/// # Errors
/// Where the history cannot be written, or a run is under way.
pub fn run(args: &ResetArgs) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let mut history = history::open(&args.history)?;
    // Settings are the run's, not the database's.
    let place = format!("{}:{}", url.backend, url.place);
    let name = format!(" {}", url.name);
    let rows =
        history.list(&Filter { target_contains: Some(place.clone()), ..Filter::default() })?;
    let is_one = |target: &str| {
        let rest = target.strip_prefix(&place).unwrap_or("x");
        (rest.starts_with('?') || rest.starts_with(' ')) && target.ends_with(&name)
    };
    let runs: Vec<RunRef> = rows
        .iter()
        .filter(|row| is_one(&row.target))
        .map(|row| RunRef::Name(row.id.to_string()))
        .collect();
    let question = format!("remove {} runs on {} from the history?", runs.len(), url.name);
    if runs.is_empty() || !args.yes && !screen::confirmed(&question, "reset --yes")? {
        screen::tell("nothing removed");
        return Ok(Exit::Done);
    }
    let removed = history.rm(&runs, Running::Refuse)?.len();
    let noun = if removed == 1 { "run" } else { "runs" };
    screen::print(&format!("removed {removed} {noun}"))?;
    Ok(Exit::Done)
}
