//! Verifies that a database holds what it acknowledged: checks the values themselves, and whether
//! they are where the random choices of the last run put them.

use super::target::{DbTarget, acknowledged_path};
use crate::error::LabError;
use iogauge_db::acknowledged::{Acknowledged, Remembered};
use iogauge_db::backend::{self, Global};
use iogauge_db::subscript_stream::SubscriptStream;
use iogauge_db::value::Stamp;
use iogauge_db::{DbError, DbUrl};
use iogauge_model::result::{DB_VERIFY_FORMAT, DatabaseCheck, WorkerCheck};
use std::collections::BTreeMap;

/// Number of wrong values that are named.
const MOST_NAMED: usize = 10;
/// Random choices in a transaction between two progress reports.
const BETWEEN_WORDS: u32 = 1 << 20;

/// Records a wrong value.
fn note(checked: &mut DatabaseCheck, words: impl FnOnce() -> String) {
    checked.wrong += 1;
    if checked.named.len() < MOST_NAMED {
        checked.named.push(words());
    }
}

/// Reads every value of a database, which no run can use in the meantime. Costs a scan of the whole
/// database, and eight bytes of memory for each subscript of one global. `tell` receives the number
/// of values done, and may end the check.
///
/// # Errors
/// [`DbError::Busy`] if a run uses the database, or it cannot be read.
pub fn check(
    url: DbUrl,
    tell: &mut (dyn FnMut(u64, u64) -> Result<(), DbError> + Send),
) -> Result<DatabaseCheck, LabError> {
    let _held = backend::open(&url)?.hold()?;
    let target = &DbTarget::open(url)?;
    let database = target.database();
    let committed: BTreeMap<u32, u64> = database.committed()?.into_iter().collect();
    let identity = database.identity()?;
    let remembered =
        acknowledged_path(database)?.map(|path| Acknowledged::read(&path)).transpose()?;
    let remembered = remembered.flatten().filter(|known| known.run.database == identity);
    let mut checked = DatabaseCheck {
        format: DB_VERIFY_FORMAT.to_owned(),
        acknowledged_known: remembered.is_some(),
        may_lose: match remembered.as_ref().and_then(Remembered::may_lose) {
            Some(of_run) => of_run.map(str::to_owned),
            None => target.about.may_lose.clone(),
        },
        ..DatabaseCheck::default()
    };
    let of = |worker: u32| committed.get(&worker).copied().unwrap_or(0);
    if let Some(known) = &remembered {
        for (worker, (first, last)) in (1u32..).zip(&known.workers) {
            let lost = last.saturating_sub(of(worker));
            checked.acknowledged += last - first;
            checked.lost += lost;
            let (acknowledged, committed) = (*last, of(worker));
            checked.workers.push(WorkerCheck { worker, acknowledged, committed, lost });
        }
    }
    let all = target.globals.iter().map(|global| global.subscripts).sum();
    for global in &target.globals {
        let newest = of(global.number);
        let expected = remembered
            .as_ref()
            .map(|known| expected(known, global, newest, tell, all))
            .transpose()?;
        check_global(
            target,
            global,
            newest,
            &expected.unwrap_or_default(),
            &mut checked,
            &mut |n| tell(n, all),
        )?;
    }
    Ok(checked)
}

/// Returns the last acknowledged transaction of the last run for each subscript, from 1; 0 for
/// none. Transactions that were lost with an unsynchronized log are already counted, and not
/// expected.
fn expected(
    known: &Remembered,
    global: &Global,
    committed: u64,
    tell: &mut (dyn FnMut(u64, u64) -> Result<(), DbError> + Send),
    all: u64,
) -> Result<Vec<u64>, DbError> {
    let Some((first, last)) = known.workers.get(global.number as usize - 1).copied() else {
        return Ok(Vec::new());
    };
    let mut sequences = vec![0; global.subscripts as usize + 1];
    let mut draws = SubscriptStream::new(known.run.seed, global.number);
    for sequence in first + 1..=last.min(committed) {
        for draw in 0..known.run.transaction_length {
            sequences[draws.subscript(global.subscripts) as usize] = sequence;
            if draw.is_multiple_of(BETWEEN_WORDS) && sequence.is_multiple_of(1024) {
                // The user can end the check here, too.
                tell(0, all)?;
            }
        }
    }
    Ok(sequences)
}

fn check_global(
    target: &DbTarget,
    global: &Global,
    newest: u64,
    expected: &[u64],
    checked: &mut DatabaseCheck,
    tell: &mut (dyn FnMut(u64) -> Result<(), DbError> + Send),
) -> Result<(), LabError> {
    let (number, mut next) = (global.number, 1);
    target.database().walk(number, &mut |subscript, value| {
        let place = || format!("global {number}, subscript {subscript}");
        if subscript != next {
            note(checked, || format!("global {number}: subscript {next} is not there"));
        }
        next = subscript + 1;
        checked.values += 1;
        if checked.values.is_multiple_of(1 << 16) {
            tell(checked.values)?;
        }
        let wanted = expected.get(subscript as usize).copied().unwrap_or(0);
        match Stamp::read(number, subscript, value) {
            Err(wrong) => note(checked, || format!("{}: {wrong}", place())),
            Ok(stamp) if stamp.worker != 0 && stamp.worker != number => {
                note(checked, || format!("{}: worker {} wrote it", place(), stamp.worker));
            }
            Ok(stamp) if stamp.sequence > newest => note(checked, || {
                let sequence = stamp.sequence;
                format!("{}: it is of transaction {sequence}, which never committed", place())
            }),
            Ok(stamp) if stamp.sequence < wanted => note(checked, || {
                let sequence = stamp.sequence;
                format!(
                    "{}: it is of transaction {sequence}, and {wanted} was acknowledged",
                    place()
                )
            }),
            Ok(_) => {}
        }
        Ok(())
    })?;
    if next <= global.subscripts {
        note(checked, || format!("global {number}: subscripts from {next} on are not there"));
    }
    Ok(())
}
