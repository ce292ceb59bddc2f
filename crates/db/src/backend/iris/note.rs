//! The marker of a database of IRIS, with what purge needs to know. It is the text of the global `^RanIogauge`.

use crate::directory::FORMAT;
use crate::marker::{Marker, MarkerError};
use serde::{Deserialize, Serialize};
use std::time::{SystemTime, UNIX_EPOCH};

/// Size of a block, the default of IRIS.
const BLOCK_BYTES: u64 = 8192;

/// The marker and the place of a database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// Name of the database, as with `--name`.
    pub name: String,
    /// Directory of its file, with a slash at the end.
    pub directory: String,
    pub marker: Marker,
}

impl Note {
    /// Returns the note of a database whose setup begins.
    pub fn new(name: &str, directory: &str) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            name: name.to_owned(),
            directory: directory.to_owned(),
            marker: Marker {
                format: FORMAT.to_owned(),
                backend: super::NAME.to_owned(),
                identity: format!("{:x}-{:x}", since.as_nanos(), std::process::id()),
                block_bytes: BLOCK_BYTES,
                complete: false,
                made_parent: false,
                globals: Vec::new(),
            },
        }
    }

    /// Parses a note. Its marker is valid, and its directory is a path that iogauge would have made.
    ///
    /// # Errors
    /// Fails if it is not a note, or has an impossible value.
    pub fn read(text: &str) -> Result<Self, MarkerError> {
        let note: Self = serde_json::from_str(text).map_err(|_| MarkerError::Other)?;
        let marker = serde_json::to_vec(&note.marker).map_err(|_| MarkerError::Other)?;
        Marker::read(&marker)?;
        let is_path = note.directory.starts_with('/') && note.directory.ends_with('/');
        if !is_path || note.directory.contains(char::is_control) {
            return Err(MarkerError::Damaged("the directory is no path".to_owned()));
        }
        Ok(note)
    }

    /// Returns its text, a line without tabs.
    pub fn text(&self) -> String {
        // The only error would be that of a map whose keys are not text.
        serde_json::to_string(self).unwrap_or_default()
    }
}
