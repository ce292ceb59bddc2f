//! `iogauge db create-globals`, `add-globals`, `count-subscripts` and `sizes`.

use super::work::{Unit, with_progress};
use crate::args::{GlobalsArgs, OneArgs};
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::Interrupt;
use iogauge_lab::db::{
    DEFAULT_VALUE_BYTES, Database, DbError, DbUrl, Global, Progress, VALUE_BYTES, check_reserve,
    open,
};
use iogauge_model::units::Count;
use std::time::Instant;

/// Largest number of subscripts from which one can be drawn at random.
const MOST_SUBSCRIPTS: u64 = 2_147_483_646;

/// Makes the first globals.
///
/// # Errors
/// Globals already exist, or there is no room.
pub fn create(args: &GlobalsArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let database = open(&url)?;
    let there = database.globals()?;
    if !there.is_empty() {
        let (n, made) = match there.len() {
            1 => (1, "global has"),
            n => (n, "globals have"),
        };
        let text = format!(
            "{n} {made} been made already; hint: run iogauge db add-globals {} --globals {}",
            url.typed(),
            args.globals
        );
        return Err(Usage(text).into());
    }
    let Some(subscripts) = args.subscripts else {
        let text = "--subscripts is required for the first globals; hint: use --subscripts 1m";
        return Err(Usage(text.to_owned()).into());
    };
    make(args, &url, database.as_ref(), 0, subscripts, DEFAULT_VALUE_BYTES, interrupt)
}

/// Adds globals to existing ones.
///
/// # Errors
/// There is no global yet, or no room.
pub fn add(args: &GlobalsArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let database = open(&url)?;
    let there = database.globals()?;
    let Some(first) = there.first() else {
        let text = format!(
            "there is no global yet; hint: run iogauge db create-globals {} --globals {} --subscripts 1m",
            url.typed(),
            args.globals
        );
        return Err(Usage(text).into());
    };
    let subscripts = args.subscripts.unwrap_or(first.subscripts);
    let (value_bytes, behind) = (first.value_bytes, there.len() as u32);
    make(args, &url, database.as_ref(), behind, subscripts, value_bytes, interrupt)
}

fn make(
    args: &GlobalsArgs,
    url: &DbUrl,
    database: &dyn Database,
    there: u32,
    subscripts: u64,
    value_bytes: usize,
    interrupt: &Interrupt,
) -> anyhow::Result<Exit> {
    let value_bytes = args.value_size.map_or(value_bytes, |bytes| bytes as usize);
    if !VALUE_BYTES.contains(&value_bytes) {
        let (least, most) = VALUE_BYTES.into_inner();
        let text = format!(
            "--value-size must be between {least} and {most} bytes, which values and blocks have \
             room for; hint: use --value-size {least}"
        );
        return Err(Usage(text).into());
    }
    if !(1..=MOST_SUBSCRIPTS).contains(&subscripts) {
        let text = format!(
            "--subscripts must be between 1 and {MOST_SUBSCRIPTS}; hint: use --subscripts 1m"
        );
        return Err(Usage(text).into());
    }
    let all = subscripts * u64::from(args.globals);
    let subscript_bytes = database.subscript_bytes(value_bytes as u64);
    let mut room = check_reserve(database, all.saturating_mul(subscript_bytes), |fits| {
        let fit = fits / subscript_bytes / u64::from(args.globals);
        (fit > 0).then(|| format!("--subscripts {fit} or less"))
    })?;
    let begin = Instant::now();
    with_progress("filling", Unit::Count("subscripts"), args.quiet, None, interrupt, |progress| {
        let mut check = || room.check();
        let progress = &mut progress.watched(&mut check);
        (0..args.globals).try_for_each(|index| {
            let global = Global { number: there + index + 1, subscripts, value_bytes };
            let before = subscripts * u64::from(index);
            create_one(database, global, before, all, progress)
        })
    })?;
    if args.quiet {
        return Ok(Exit::Done);
    }
    let rate = all as f64 / begin.elapsed().as_secs_f64().max(1e-9);
    let globals = if args.globals == 1 { "global" } else { "globals" };
    screen::say(&format!(
        "{} {globals} of {} subscripts, {} a second",
        args.globals,
        Count(subscripts as f64),
        Count(rate.round())
    ))?;
    screen::say(&format!(
        "next: iogauge db run {} --mode write --processes {}",
        url.typed(),
        there + args.globals
    ))?;
    Ok(Exit::Done)
}

/// Makes one of several globals and reports the progress over all of them.
fn create_one(
    database: &dyn Database,
    global: Global,
    before: u64,
    all: u64,
    progress: &mut Progress<'_>,
) -> Result<(), DbError> {
    progress.done(before, all)?;
    progress.within(before, all, |part| database.create_global(global, part))
}

/// Counts the subscripts of each global.
///
/// # Errors
/// The database cannot be read.
pub fn count(args: &OneArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let database = open(&args.url.url()?)?;
    let mut differs = false;
    for global in database.globals()? {
        if interrupt.is_set() {
            return Ok(Exit::Interrupted);
        }
        let count = database.count_subscripts(global.number)?;
        let made = global.subscripts;
        let note = if count == made { String::new() } else { format!(", made with {made}") };
        differs |= count != made;
        screen::say(&format!("global {}: {count} subscripts{note}", global.number))?;
    }
    Ok(if differs { Exit::IoErrors } else { Exit::Done })
}

/// Prints the number of globals and the subscripts of each.
///
/// # Errors
/// The database cannot be read.
pub fn sizes(args: &OneArgs) -> anyhow::Result<Exit> {
    let globals = open(&args.url.url()?)?.globals()?;
    let mut words = vec![globals.len().to_string()];
    words.extend(globals.iter().map(|global| global.subscripts.to_string()));
    screen::print(&words.join(","))?;
    Ok(Exit::Done)
}
