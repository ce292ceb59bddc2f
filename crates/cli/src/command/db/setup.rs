//! `iogauge db setup`: makes a database whose blocks hold data.

use super::work::{Unit, with_progress};
use crate::args::SetupArgs;
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::Interrupt;
use iogauge_lab::db::{DbReserveWatch, check_reserve, of_size, open, size_beyond_memory};
use iogauge_model::Caveat;
use iogauge_model::caveat::Command;
use iogauge_model::units::{Bandwidth, Bytes};
use std::time::Instant;

/// Runs the command.
///
/// # Errors
/// A database already exists, or there is no room.
pub fn run(args: &SetupArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    if args.size == Some(0) {
        return Err(Usage("--size must be above 0; hint: use --size 64g".to_owned()).into());
    }
    let url = args.url.url()?;
    let database = open(&url)?;
    let Some(size_bytes) = args.size.or_else(size_beyond_memory) else {
        let text = "the memory of this machine is not known; hint: use --size 64g";
        return Err(Usage(text.to_owned()).into());
    };
    // An existing database is the first error to report, so it is left to `setup`.
    let mut room = if database.is_there()? {
        DbReserveWatch::begin(database.as_ref())?
    } else {
        check_reserve(database.as_ref(), size_bytes, |fits| {
            (fits > 0).then(|| format!("--size {}m or less", fits >> 20))
        })?
    };
    let doubt = of_size(size_bytes).map(|fact| {
        let Caveat { message, hint, .. } = fact.caveat(Command::DbSetup);
        format!("{message}; hint: {hint}")
    });
    if args.size.is_none() && !args.quiet {
        screen::tell(&format!(
            "setup  {}, twice this machine's memory; --size sets another size",
            Bytes(size_bytes)
        ));
    }
    let begin = Instant::now();
    with_progress("setup", Unit::Bytes, args.quiet, doubt, interrupt, |progress| {
        database.setup(size_bytes, &mut progress.watched(&mut || room.check()))
    })?;
    if args.quiet {
        return Ok(Exit::Done);
    }
    let (size, about) = (database.size()?, database.about()?);
    let speed = size.data_bytes as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    screen::say(&format!(
        "{url} {}: {} in blocks of {}, {}, written at {}",
        url.name,
        Bytes(size.data_bytes),
        Bytes(about.block_bytes),
        about.software,
        Bandwidth(speed)
    ))?;
    screen::say(&format!(
        "next: iogauge db create-globals {} --globals 8 --subscripts 1m",
        url.typed()
    ))?;
    Ok(Exit::Done)
}
