//! `iogauge db purge`: removes what iogauge made.

use crate::args::PurgeArgs;
use crate::exit::Exit;
use crate::screen;
use iogauge_lab::db;
use iogauge_lab::db::open;
use iogauge_model::units::Bytes;

/// Runs the command.
///
/// # Errors
/// iogauge did not make the database, or a run uses it.
pub fn run(args: &PurgeArgs) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let database = open(&url)?;
    let question = format!("remove the database {} at {url}?", url.name);
    if !args.yes && !screen::confirmed(&question, "--yes")? {
        screen::tell("nothing removed");
        return Ok(Exit::Done);
    }
    let purged = db::purge(database.as_ref())?;
    screen::say(&format!("{url} {}: removed, {} free again", url.name, Bytes(purged.freed_bytes)))?;
    for left in purged.left {
        screen::say(&format!("left, since iogauge did not make it: {left}"))?;
    }
    Ok(Exit::Done)
}
