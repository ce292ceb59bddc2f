//! `iogauge db create-globals`, `add-globals`, `count-subscripts` and `sizes`.

use super::work::{Unit, with_progress};
use crate::args::{AddGlobalsArgs, CreateGlobalsArgs, FillingArgs, OneArgs};
use crate::exit::{Exit, Usage};
use crate::screen;
use iogauge_lab::Interrupt;
use iogauge_lab::db::{
    DEFAULT_VALUE_BYTES, Database, DbError, DbUrl, Global, Progress, VALUE_BYTES, check_reserve,
    drop_globals, open,
};
use iogauge_model::units::Count;
use std::time::Instant;

/// Largest number of subscripts from which one can be drawn at random.
const MOST_SUBSCRIPTS: u64 = 2_147_483_646;

/// Makes the first globals.
///
/// # Errors
/// Globals already exist and are not to be replaced, or there is no room.
pub fn create(args: &CreateGlobalsArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let database = open(&url)?;
    let there = database.globals()?;
    let wanted = Wanted {
        there: 0,
        replaces: args.recreate,
        globals: args.globals,
        subscripts: args.subscripts,
        value_bytes: value_bytes(&args.filling, DEFAULT_VALUE_BYTES)?,
    };
    wanted.check()?;
    if !args.recreate && !there.is_empty() {
        let (n, made) = match there.len() {
            1 => (1, "global has"),
            n => (n, "globals have"),
        };
        let hint = if args.globals as usize > n {
            let total = args.globals;
            format!(
                ", which --recreate replaces; hint: run iogauge db add-globals {} --total {total}",
                url.typed()
            )
        } else {
            "; hint: use --recreate to replace them".to_owned()
        };
        let text = format!("{n} {made} been made already{hint}");
        return Err(Usage(text).into());
    }
    wanted.make(&args.filling, &url, database.as_ref(), interrupt)
}

/// Adds globals to existing ones.
///
/// # Errors
/// There is no global yet, there are as many as wanted, or there is no room.
pub fn add(args: &AddGlobalsArgs, interrupt: &Interrupt) -> anyhow::Result<Exit> {
    let url = args.url.url()?;
    let database = open(&url)?;
    let all = database.globals()?;
    let there = all.len() as u32;
    // The group of the two options has exactly one.
    let globals = args.globals.or(args.total.map(|total| total.saturating_sub(there))).unwrap_or(0);
    let Some(first) = all.first() else {
        let text = format!(
            "there is no global yet; hint: run iogauge db create-globals {} --globals {globals} --subscripts 1m",
            url.typed(),
        );
        return Err(Usage(text).into());
    };
    if globals == 0 {
        let s = if there == 1 { "" } else { "s" };
        screen::say(&format!("{there} global{s} already: none is added"))?;
        return Ok(Exit::Done);
    }
    let wanted = Wanted {
        there,
        replaces: false,
        globals,
        subscripts: args.subscripts.unwrap_or(first.subscripts),
        value_bytes: value_bytes(&args.filling, first.value_bytes)?,
    };
    wanted.check()?;
    wanted.make(&args.filling, &url, database.as_ref(), interrupt)
}

/// Returns the length of values.
fn value_bytes(args: &FillingArgs, preset: usize) -> Result<usize, Usage> {
    let value_bytes = args.value_size.map_or(preset, |bytes| bytes as usize);
    if VALUE_BYTES.contains(&value_bytes) {
        return Ok(value_bytes);
    }
    let (least, most) = VALUE_BYTES.into_inner();
    Err(Usage(format!(
        "--value-size must be between {least} and {most} bytes, which values and blocks have \
         room for; hint: use --value-size {least}"
    )))
}

/// Globals that are to be made.
struct Wanted {
    /// Number of those that exist.
    there: u32,
    /// True if what exists is removed before.
    replaces: bool,
    globals: u32,
    subscripts: u64,
    value_bytes: usize,
}

impl Wanted {
    /// Checks what does not depend on the database.
    fn check(&self) -> Result<(), Usage> {
        if (1..=MOST_SUBSCRIPTS).contains(&self.subscripts) {
            return Ok(());
        }
        Err(Usage(format!(
            "--subscripts must be between 1 and {MOST_SUBSCRIPTS}; hint: use --subscripts 1m"
        )))
    }

    fn make(
        &self,
        args: &FillingArgs,
        url: &DbUrl,
        database: &dyn Database,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Exit> {
        let Self { there, replaces, globals, subscripts, value_bytes } = *self;
        let all = subscripts * u64::from(globals);
        let subscript_bytes = database.subscript_bytes(value_bytes as u64);
        let mut room = check_reserve(database, all.saturating_mul(subscript_bytes), |fits| {
            let fit = fits / subscript_bytes / u64::from(globals);
            (fit > 0).then(|| format!("--subscripts {fit} or less"))
        })?;
        // Not before the check, which may refuse.
        if replaces {
            drop_globals(database)?;
        }
        let begin = Instant::now();
        let unit = Unit::Count("subscripts");
        with_progress("filling", unit, args.quiet, None, interrupt, |progress| {
            let mut check = || room.check();
            let progress = &mut progress.watched(&mut check);
            (0..globals).try_for_each(|index| {
                let global = Global { number: there + index + 1, subscripts, value_bytes };
                let before = subscripts * u64::from(index);
                create_one(database, global, before, all, progress)
            })
        })?;
        if args.quiet {
            return Ok(Exit::Done);
        }
        let rate = all as f64 / begin.elapsed().as_secs_f64().max(1e-9);
        let noun = if globals == 1 { "global" } else { "globals" };
        screen::say(&format!(
            "{globals} {noun} of {} subscripts, {} a second",
            Count(subscripts as f64),
            Count(rate.round())
        ))?;
        screen::say(&format!(
            "next: iogauge db run {} --mode write --processes {}",
            url.typed(),
            there + globals
        ))?;
        Ok(Exit::Done)
    }
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
    let (mut differs, mut sum) = (false, 0);
    let globals = database.globals()?;
    for global in &globals {
        if interrupt.is_set() {
            return Ok(Exit::Interrupted);
        }
        let count = database.count_subscripts(global.number)?;
        let made = global.subscripts;
        let note = if count == made { String::new() } else { format!(", made with {made}") };
        differs |= count != made;
        sum += count;
        screen::say(&format!("global {}: {count} subscripts{note}", global.number))?;
    }
    let s = if globals.len() == 1 { "" } else { "s" };
    screen::say(&format!("{} global{s}: {sum} subscripts", globals.len()))?;
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
