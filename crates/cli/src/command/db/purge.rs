//! `iogauge db purge`: removes what iogauge made.

use crate::args::PurgeArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::LabError;
use iogauge_lab::db;
use iogauge_lab::db::{DbError, open};
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
    let purged = db::purge(database.as_ref()).map_err(|error| match error {
        LabError::Db(DbError::Missing(_)) => {
            let text = "there is no database to remove; hint: check the URL and --name";
            anyhow::Error::from(Usage(format!("{url} {}: {text}", url.name)))
        }
        error => error.into(),
    })?;
    screen::say(&format!("{url} {}: removed, {} free again", url.name, Bytes(purged.freed_bytes)))?;
    for left in purged.left {
        screen::say(&format!("left, since iogauge did not make it: {left}"))?;
    }
    Ok(Exit::Done)
}
