//! A database that goes, with what was noted of it elsewhere.

use super::target::acknowledged_path;
use crate::error::LabError;
use iogauge_db::Database;
use iogauge_db::acknowledged::Acknowledged;
use iogauge_db::backend::Purged;

/// Removes a database, and what its runs acknowledged where that is noted outside of it.
///
/// # Errors
/// As [`Database::purge`]; where the note cannot be removed.
pub fn purge(database: &dyn Database) -> Result<Purged, LabError> {
    // The identity goes with the database. Of a setup that was cut short nothing is noted.
    let noted = acknowledged_path(database).ok().flatten();
    let purged = database.purge()?;
    if let Some(path) = noted {
        Acknowledged::remove(&path)?;
    }
    Ok(purged)
}
