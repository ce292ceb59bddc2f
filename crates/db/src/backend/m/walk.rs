//! Walks over globals, each by a process of its own.

use super::Installation;
use super::process::Process;
use crate::backend::Global;
use crate::error::DbError;
use std::sync::Arc;

/// Starts an entry of the routine RanWalk and gives it its number.
fn walker(
    installation: &Arc<dyn Installation>,
    entry: &str,
    number: u32,
) -> Result<Process, DbError> {
    let mut process = Process::start(installation, &format!("{entry}^RanWalk"))?;
    process.tell(format_args!("{number}"))?;
    Ok(process)
}

/// Walks a global in order and calls `see` with each subscript and its value.
///
/// # Errors
/// Returns errors of the database or of `see`.
pub fn values(
    installation: &Arc<dyn Installation>,
    global: u32,
    see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
) -> Result<(), DbError> {
    let strange = |line: &str| DbError::Failed(format!("^RanWriteGlobal{global} has {line}"));
    let mut walker = walker(installation, "values", global)?;
    let walked = walker.hear(|line| {
        let (subscript, value) = line.split_once(' ').ok_or_else(|| strange(line))?;
        see(subscript.parse().map_err(|_| strange(line))?, value)
    });
    walked.map(|_| ())
}

/// Walks a global and counts its subscripts.
///
/// # Errors
/// Returns errors of the database.
pub fn count(installation: &Arc<dyn Installation>, global: u32) -> Result<u64, DbError> {
    let mut walker = walker(installation, "count", global)?;
    let count = walker.hear(|_| Ok(()))?;
    count.parse().map_err(|_| {
        DbError::Failed(format!("{} counts \"{count}\" subscripts", installation.name()))
    })
}

/// Returns the last committed transaction of each worker up to a number, ordered by worker.
///
/// # Errors
/// Returns errors of the database.
pub fn committed(
    installation: &Arc<dyn Installation>,
    workers: u32,
) -> Result<Vec<(u32, u64)>, DbError> {
    let mut committed = Vec::new();
    walker(installation, "committed", workers)?.hear(|line| {
        let numbers = line.split_once(' ').map(|(worker, last)| (worker.parse(), last.parse()));
        let Some((Ok(worker), Ok(last))) = numbers else {
            return Err(DbError::Failed(format!("a worker's record says \"{line}\"")));
        };
        committed.push((worker, last));
        Ok(())
    })?;
    Ok(committed)
}

/// Records the size of a new global in the nodes where the reference suite looks for it: `^RanWriteGlobal1("Size")` and
/// the number of globals, `^RanWriteGlobalCount`.
///
/// # Errors
/// Returns errors of the database.
pub fn note_size(installation: &Arc<dyn Installation>, global: Global) -> Result<(), DbError> {
    let mut process = Process::start(installation, "size^RanWalk")?;
    process.tell(format_args!("{} {}", global.number, global.subscripts))?;
    process.hear(|_| Ok(())).map(|_| ())
}

/// Removes a global and the record of its worker.
///
/// # Errors
/// Returns errors of the database.
pub fn drop_global(installation: &Arc<dyn Installation>, global: u32) -> Result<(), DbError> {
    walker(installation, "drop", global)?.hear(|_| Ok(())).map(|_| ())
}
