//! A database that goes, with what was noted of it elsewhere.

use super::target::acknowledged_path;
use crate::error::LabError;
use iogauge_db::backend::Purged;
use iogauge_db::{Database, DbError};
use std::io::ErrorKind;

/// Removes a database, and what its runs acknowledged where that is noted outside of it.
///
/// # Errors
/// As [`Database::purge`]; where the note cannot be removed.
pub fn purge(database: &dyn Database) -> Result<Purged, LabError> {
    // The identity goes with the database. Of a setup that was cut short nothing is noted.
    let noted = acknowledged_path(database).ok().flatten();
    let purged = database.purge()?;
    for path in noted.into_iter().flat_map(|path| [path.with_extension("new"), path]) {
        match std::fs::remove_file(&path) {
            Err(error)
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                return Err(DbError::Failed(format!("{}: {error}", path.display())).into());
            }
            _ => {}
        }
    }
    Ok(purged)
}
