//! Recognizes the files of this backend by their names and contents.

use super::fill::{FILLER_TABLE, GLOBAL_TABLE};
use crate::error::DbError;
use crate::folder::{Folder, FolderEntry};
use iogauge_io::sqlite_file::{self, application_id, logged_pages};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The file that setup fills.
pub(super) const FILLER: &str = "filler.db";
/// Suffixes that SQLite gives to a file's log, the log's index and its journal.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];
/// The application ID of iogauge's files: "ioga".
pub(super) const APPLICATION_ID: i32 = 0x696f_6761;
/// Maximum page size, in bytes.
const MOST_PAGE_BYTES: usize = 65_536;

/// Returns the file of a global.
pub(super) fn global_file(number: u32) -> String {
    format!("global{number}.db")
}

/// Returns the names of a global's files. The file of the global itself is last.
pub(super) fn files_of_global(number: u32) -> [String; 4] {
    let file = global_file(number);
    let [wal, shm, journal] = BESIDE.map(|suffix| format!("{file}{suffix}"));
    [wal, shm, journal, file]
}

/// Returns the database file that a name belongs to: the file itself, or the file whose log, index or journal it is.
/// Returns `None` for other names.
fn main_file(name: &str) -> Option<&str> {
    let file = BESIDE.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let number = file.strip_prefix("global").and_then(|rest| rest.strip_suffix(".db"));
    let is_global = number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
    (file == FILLER || is_global).then_some(file)
}

/// Returns true for names of this backend's files.
pub(super) fn is_named_so(name: &str) -> bool {
    main_file(name).is_some()
}

/// Returns true for a file that iogauge made: one with its application ID or tables, or a log, index or journal of such
/// a file. An empty file also counts. It may be left by a killed process, and contains nothing that could be lost.
pub(super) fn is_ours(folder: &Folder, name: &str, file: &File) -> bool {
    let Some(main) = main_file(name) else { return false };
    if is_empty(file) {
        return true;
    }
    if main == name {
        return is_filled(main, file);
    }
    // The log of a foreign database contains committed data.
    matches!(folder.find(main), Ok(FolderEntry::File(main_file)) if is_filled(main, &main_file))
}

/// Checks that files named as logs and journals are logs and journals, and that no log belongs to a foreign database.
/// SQLite discards a log that it does not recognize, and applies any other. There are no locks on either kind, so they
/// can be opened and closed while connections are open.
///
/// # Errors
/// Returns [`DbError::Foreign`] for the first file that is not, or errors of the system.
pub(super) fn check_logs(folder: &Folder) -> Result<(), DbError> {
    for name in folder.names()?.into_iter().filter(|name| main_file(name).is_some()) {
        let is_right: fn(&str, &File) -> bool = match () {
            () if name.ends_with("-wal") => is_own_log,
            () if name.ends_with("-journal") => |_, file| is_journal(file),
            () => continue,
        };
        let FolderEntry::File(file) = folder.find(&name)? else { continue };
        if !is_empty(&file) && !is_right(&name, &file) {
            let main = main_file(&name).filter(|main| {
                matches!(folder.find(main), Ok(FolderEntry::File(file)) if !is_ours(folder, main, &file))
            });
            return Err(folder.foreign(main.unwrap_or(&name)));
        }
    }
    Ok(())
}

/// Returns true unless the log contains the first page of a foreign database.
fn is_own_log(name: &str, log: &File) -> bool {
    let Ok(mut pages) = logged_pages(log) else { return false };
    let main = main_file(name).unwrap_or(name);
    pages.find(|page| page.number == 1).is_none_or(|page| is_marked(main, &page.head))
}

/// Returns true for a journal. Its header is zero until the journal is on the device.
fn is_journal(file: &File) -> bool {
    let mut head = [0; 8];
    let bytes = file.read_at(&mut head, 0).unwrap_or(0);
    sqlite_file::is_journal(&head) || head[..bytes].iter().all(|byte| *byte == 0)
}

fn is_empty(file: &File) -> bool {
    file.metadata().is_ok_and(|about| about.len() == 0)
}

/// Returns true for a file with iogauge's application ID, or with iogauge's table in files of earlier versions.
fn is_filled(name: &str, file: &File) -> bool {
    let mut page = vec![0; MOST_PAGE_BYTES];
    file.read_at(&mut page, 0).is_ok_and(|bytes| is_marked(name, &page[..bytes]))
}

/// Like [`is_filled`], for the first page or the available part of it.
fn is_marked(name: &str, page: &[u8]) -> bool {
    let table = if name == FILLER { FILLER_TABLE } else { GLOBAL_TABLE };
    application_id(page).is_some_and(|id| id == APPLICATION_ID || contains(page, table.as_bytes()))
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::Directory;
    use std::path::Path;

    #[test]
    fn only_file_names_of_the_sqlite_backend_are_recognized() {
        for name in
            ["filler.db", "filler.db-journal", "global1.db", "global12.db-wal", "global3.db-shm"]
        {
            assert!(is_named_so(name), "{name}");
        }
        for name in [
            "global.db",
            "globals.db",
            "global1.db.bak",
            "my.db",
            "filler.db-",
            "-wal",
            "global1x.db",
        ] {
            assert!(!is_named_so(name), "{name}");
        }
    }

    /// Creates an SQLite file with a table and an application ID.
    fn database(path: &Path, table: &str, id: i32) {
        let connection = rusqlite::Connection::open(path).unwrap();
        let sql = format!("PRAGMA application_id = {id}; {table}; INSERT INTO t VALUES (1)");
        connection.execute_batch(&sql).unwrap();
    }

    #[test]
    fn purge_keeps_foreign_files_with_matching_names() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", dir.path().display()).parse().unwrap();
        let directory = Directory::of(&url, "sqlite");
        let mut marker = directory.make(8192).unwrap();
        marker.complete = true;
        directory.write(&marker).unwrap();
        let foreign_table = "CREATE TABLE t (a)";
        database(&directory.join("global1.db"), foreign_table, 0);
        std::fs::write(directory.join("global1.db-wal"), "commits of a foreign database").unwrap();
        std::fs::write(directory.join("global2.db"), "a thesis").unwrap();
        std::fs::create_dir(directory.join("global9.db")).unwrap();
        std::fs::write(directory.join("global9.db/thesis"), "precious").unwrap();
        let canary = dir.path().join("canary");
        database(&canary, foreign_table, APPLICATION_ID);
        std::os::unix::fs::symlink(&canary, directory.join("global3.db")).unwrap();
        // These are its own: by the application ID, by the table alone, and one left empty by a killed process.
        database(&directory.join("global4.db"), foreign_table, APPLICATION_ID);
        std::fs::write(directory.join("global4.db-wal"), "commits").unwrap();
        let own = format!("{GLOBAL_TABLE}; CREATE TABLE t (a)");
        database(&directory.join("global5.db"), &own, 0);
        std::fs::write(directory.join("global6.db"), "").unwrap();
        let mut left = directory.purge(is_ours).unwrap().left;
        left.iter_mut().for_each(|path| *path = path.rsplit('/').next().unwrap().to_owned());
        let foreign = ["global1.db", "global1.db-wal", "global2.db", "global3.db", "global9.db"];
        assert_eq!(left, foreign);
        let there = directory.there().unwrap();
        assert_eq!(there.names().unwrap(), foreign);
        assert_eq!(std::fs::read(directory.join("global9.db/thesis")).unwrap(), b"precious");
        assert!(canary.exists());
        assert!(matches!(directory.purge(is_ours), Err(DbError::Missing(_))));
    }
}
