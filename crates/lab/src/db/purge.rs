//! Removes a database or its globals, and the records of its runs kept elsewhere.

use super::target::acknowledged_path;
use crate::error::LabError;
use iogauge_db::Database;
use iogauge_db::acknowledged::Acknowledged;
use iogauge_db::backend::Purged;

/// Removes a database, and its record of acknowledged transactions if that is outside of it.
///
/// # Errors
/// As [`Database::purge`], or the record cannot be removed.
pub fn purge(database: &dyn Database) -> Result<Purged, LabError> {
    // The identity is removed with the database. An interrupted setup has no record.
    let noted = acknowledged_path(database).ok().flatten();
    let purged = database.purge()?;
    if let Some(path) = noted {
        Acknowledged::remove(&path)?;
    }
    Ok(purged)
}

/// Removes all globals of a database, and its record of acknowledged transactions.
///
/// # Errors
/// As [`Database::drop_globals`], or the record cannot be removed.
pub fn drop_globals(database: &dyn Database) -> Result<(), LabError> {
    let noted = acknowledged_path(database)?;
    database.drop_globals()?;
    if let Some(path) = noted {
        Acknowledged::remove(&path)?;
    }
    Ok(())
}
