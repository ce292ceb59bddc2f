//! Opens the database with the library: its column families, for writing or for reading only.

use super::fault::fault;
use crate::error::DbError;
use ::rocksdb::{ColumnFamilyDescriptor, DB, DEFAULT_COLUMN_FAMILY_NAME, Options};
use std::path::Path;

/// The column family that setup fills.
pub const FILLER: &str = "filler";

/// Returns the column family of a global.
pub fn family_of(global: u32) -> String {
    format!("global_{global}")
}

/// Returns the key of a subscript. Keys are ordered as their numbers.
pub fn key(subscript: u64) -> [u8; 8] {
    subscript.to_be_bytes()
}

/// Returns the number encoded in a key.
pub fn number(key: &[u8]) -> Option<u64> {
    key.try_into().ok().map(u64::from_be_bytes)
}

fn families<'a>(
    names: impl IntoIterator<Item = &'a str>,
    options: &Options,
) -> Vec<ColumnFamilyDescriptor> {
    let family = |name: &str| ColumnFamilyDescriptor::new(name, options.clone());
    names.into_iter().map(family).collect()
}

/// Creates a database with the column families that every database has.
pub fn create(folder: &Path, options: &Options) -> Result<DB, DbError> {
    let mut options = options.clone();
    options.create_if_missing(true);
    options.set_error_if_exists(true);
    options.create_missing_column_families(true);
    let families = families([DEFAULT_COLUMN_FAMILY_NAME, FILLER], &options);
    DB::open_cf_descriptors(&options, folder, families).map_err(|error| fault(folder, &error))
}

/// Opens a database exclusively. Also returns the names of its column families.
pub fn open(folder: &Path, options: &Options) -> Result<(DB, Vec<String>), DbError> {
    let names = DB::list_cf(options, folder).map_err(|error| fault(folder, &error))?;
    let families = families(names.iter().map(String::as_str), options);
    let db = DB::open_cf_descriptors(options, folder, families);
    Ok((db.map_err(|error| fault(folder, &error))?, names))
}

/// Opens a column family for reading, including the contents of the log. A writing process can continue meanwhile.
pub fn read(folder: &Path, options: &Options, family: &str) -> Result<DB, DbError> {
    let mut names = vec![DEFAULT_COLUMN_FAMILY_NAME];
    names.extend((family != DEFAULT_COLUMN_FAMILY_NAME).then_some(family));
    read_families(folder, options, &names)
}

/// Opens every column family like [`read`].
pub fn read_all(folder: &Path, options: &Options) -> Result<DB, DbError> {
    let names = DB::list_cf(options, folder).map_err(|error| fault(folder, &error))?;
    read_families(folder, options, &names.iter().map(String::as_str).collect::<Vec<_>>())
}

fn read_families(folder: &Path, options: &Options, names: &[&str]) -> Result<DB, DbError> {
    let mut tries = 5;
    loop {
        let families = families(names.iter().copied(), options);
        match DB::open_cf_descriptors_read_only(options, folder, families, false) {
            // A compaction removed files between listing and opening.
            Err(error) if error.as_ref().contains("No such file") && tries > 0 => tries -= 1,
            opened => return opened.map_err(|error| fault(folder, &error)),
        }
    }
}
