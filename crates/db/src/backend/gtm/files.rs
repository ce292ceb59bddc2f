//! The files of a database: their creation, recovery after a crash, and limits on their sizes.

use super::settings::Settings;
use super::tools::Tools;
use crate::backend::m;
use crate::directory::{disk_bytes, fault};
use crate::error::DbError;
use crate::folder::{Folder, FolderEntry};
use std::time::Duration;

/// The global directory.
pub const DIRECTORY: &str = "mumps.gld";
/// The data file.
pub const DATA: &str = "mumps.dat";
/// The journal. Earlier journals have a time as suffix.
pub const JOURNAL: &str = "mumps.mjl";
/// Directory of iogauge's routines and their compiled objects.
pub const ROUTINES: &str = "r";
/// Exists while a global is created without a journal; contains the boot identifier of the machine.
const LOADING: &str = "loading";
/// Its temporary name.
const LOADING_PARTIAL: &str = "loading.new";
/// Exists while there is no journal: globals were created, and no run has begun since.
const UNJOURNALED: &str = "unjournaled";
/// Locked during recovery.
const RECOVERY: &str = "recovery";
/// A sample extract written by this GT.M.
pub const SAMPLE: &str = "sample.bin";

/// GT.M's own routines, with the names of their files.
const OWN_ROUTINES: [(&str, &str); 2] = [
    ("RanDialect", include_str!("routines/RanDialect.m")),
    ("RanKeeper", include_str!("routines/RanKeeper.m")),
];

/// Returns every routine with the name of its file.
fn routines() -> impl Iterator<Item = (&'static str, &'static str)> {
    OWN_ROUTINES.into_iter().chain(m::ROUTINES)
}

/// Maximum size of iogauge's routines and notes, in bytes.
const MOST_ROUTINE_BYTES: u64 = 1 << 20;
const MOST_NOTE_BYTES: u64 = 4096;
/// Size at which a journal file is followed by the next one, and the size by which it grows, in units of 512 bytes.
const JOURNAL_LIMIT: u64 = 524_288;
const JOURNAL_STEP: u64 = 32_768;
/// Minimum time for which an earlier journal is kept.
const JOURNAL_KEPT: Duration = Duration::from_secs(5);
/// Blocks by which the data file grows.
const EXTENSION: u64 = 2_500;

/// Returns true for names in the folder that only iogauge and GT.M create.
pub fn is_ours(name: &str) -> bool {
    [DIRECTORY, DATA, JOURNAL, LOADING, LOADING_PARTIAL, UNJOURNALED, SAMPLE, RECOVERY]
        .contains(&name)
        || name.strip_prefix("mumps.mjl_").is_some_and(is_time)
        || name.starts_with("GTM_FATAL_ERROR.ZSHOW_DMP_")
        || name.strip_prefix("core.").is_some_and(is_time)
        || is_of_recovery(name)
}

/// Returns true for files into which a recovery writes parts of transactions that never committed, and for journals
/// that it sets aside. GT.M renames existing ones with a time as suffix.
fn is_of_recovery(name: &str) -> bool {
    let begins = |begin: &str| name.strip_prefix(begin).is_some_and(is_time);
    ["mumps.broken", "mumps.lost"].into_iter().any(begins)
        || ["forw_phase_", "rolled_bak_"]
            .iter()
            .filter_map(|aside| name.strip_prefix(aside)?.strip_prefix(JOURNAL))
            .any(is_time)
}

/// Returns true for the suffix that GT.M gives to earlier files, and for no suffix. The suffix is a time, followed by
/// another number for the second file of one second.
fn is_time(rest: &str) -> bool {
    rest.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

/// Removes the routines and their compiled objects. A folder with other contents is kept.
///
/// # Errors
/// Fails if one cannot be removed.
pub fn remove_routines(folder: &Folder) -> Result<(), DbError> {
    let FolderEntry::Folder(place) = folder.find(ROUTINES)? else { return Ok(()) };
    for (name, _) in routines() {
        for name in [format!("{name}.m"), format!("{name}.o"), format!("{name}.new")] {
            remove(&place, &name)?;
        }
    }
    folder.remove_empty(ROUTINES);
    Ok(())
}

/// Removes files that a recovery has written.
fn forget_unfinished(folder: &Folder) {
    let names = folder.names().unwrap_or_default();
    for name in names.iter().filter(|name| is_of_recovery(name)) {
        // A file that cannot be removed now is removed by the next recovery, or with the database.
        let _ = remove(folder, name);
    }
}

/// Writes missing or changed routines and compiles them. Otherwise processes that start together would compile them at
/// the same time.
///
/// # Errors
/// Fails if they cannot be written.
pub fn write_routines(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    let place = folder.subfolder(ROUTINES)?;
    for (name, text) in routines() {
        let (source, object) = (format!("{name}.m"), format!("{name}.o"));
        let there = place.read(&source, MOST_ROUTINE_BYTES).ok().flatten();
        if matches!(place.find(&object)?, FolderEntry::File(_))
            && there.as_deref() == Some(text.as_bytes())
        {
            continue;
        }
        // Removed first, because GT.M would write its object through a symbolic link.
        remove(&place, &object)?;
        if !matches!(place.find(&object)?, FolderEntry::Nothing) {
            return Err(place.foreign(&object));
        }
        place.replace(&source, &format!("{name}.new"), text.as_bytes(), false)?;
        let object = format!("-object={ROUTINES}/{name}.o");
        tools.run("mumps", &[&object, &format!("{ROUTINES}/{name}.m")], "")?;
    }
    Ok(())
}

/// Creates the global directory and a data file of `blocks` blocks.
///
/// # Errors
/// Errors of GT.M.
pub fn create(tools: &Tools, settings: &Settings, blocks: u64) -> Result<(), DbError> {
    let input = format!(
        "change -segment DEFAULT -file_name=\"{DATA}\"\n\
         change -segment DEFAULT -block_size={} -allocation={blocks} -extension_count={EXTENSION} \
         -global_buffer_count={} -nodefer_allocate -access_method=BG\n\
         change -region DEFAULT -record_size={} -key_size=255 -stdnull\nexit\n",
        super::BLOCK_BYTES,
        settings.buffers,
        super::fill::RECORD_BYTES,
    );
    tools.run("mumps", &["-run", "GDE"], &input)?;
    tools.run("mupip", &["create"], "").map(|_| ())
}

/// Recovers the database after a crash. Cheap if there is nothing to do.
///
/// # Errors
/// Returns [`DbError::Busy`] if a process has the database open or is about to close it. Also fails if recovery fails.
pub fn recover(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    let lock = folder.open_or_create(RECOVERY)?;
    lock.lock().map_err(|error| fault(&folder.path().join(RECOVERY), &error))?;
    let done = match tools.rundown(&[]) {
        Ok(_) => Ok(()),
        Err(DbError::Failed(text)) if text.contains("MUUSERECOV") || text.contains("REQRECOV") => {
            forget_memory(tools);
            let done = tools.run("mupip", &["journal", "-recover", "-backward", JOURNAL], "");
            done.map(|_| forget_unfinished(folder))
        }
        Err(error) => Err(error),
    };
    let done = match done {
        Ok(()) | Err(DbError::Busy(_)) => check_load(tools, folder).and(done),
        failed => failed,
    };
    let _ = lock.unlock();
    done
}

/// Checks the blocks if the machine stopped while a global was being loaded: loading uses no journal, so blocks may be
/// damaged.
fn check_load(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    let boot = folder.read(LOADING, MOST_NOTE_BYTES)?;
    if boot.is_none_or(|boot| boot == boot_id().as_bytes()) {
        return Ok(());
    }
    tools.run("mupip", &["integ", "-fast", "-region", "DEFAULT"], "").map_err(|error| {
        DbError::Failed(format!(
            "{error}: the machine stopped while a global was created, which is done without journal; \
             hint: run purge, then setup"
        ))
    })?;
    note_load(folder)
}

/// Records that a global is being created, with the boot identifier.
fn note_load(folder: &Folder) -> Result<(), DbError> {
    folder.replace(LOADING, LOADING_PARTIAL, boot_id().as_bytes(), false).map(drop)
}

/// Returns true if a load was interrupted and its remains have not been removed yet.
pub fn was_cut_short(folder: &Folder) -> bool {
    matches!(folder.find(LOADING), Ok(FolderEntry::File(_)))
}

/// Removes the shared memory of killed processes. They may have held locks in it, for which a recovery would wait a
/// minute. The journal contains everything acknowledged and is sufficient, as after a crash of the machine.
fn forget_memory(tools: &Tools) {
    let Ok(said) = tools.run("mupip", &["ftok", DATA], "") else { return };
    let line = said.lines().find(|line| line.trim_start().starts_with(DATA)).unwrap_or_default();
    let id = line.split("::").nth(2).and_then(|part| part.split_whitespace().next());
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    // Columns: key, ID, permissions, bytes, creator, last process, number of attached processes.
    let orphan = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        columns.next() == id && columns.nth(4) == Some("0")
    };
    if let (Some(id), true) = (id, table.lines().any(orphan)) {
        // If this fails, recovery takes longer.
        let _ = std::process::Command::new("ipcrm").args(["-m", id]).output();
    }
}

/// Releases the shared memory of a database that is about to be removed.
///
/// # Errors
/// Returns [`DbError::Busy`] if processes have it open.
pub fn forget(tools: &Tools) -> Result<(), DbError> {
    forget_memory(tools);
    match tools.rundown(&["-override"]) {
        Err(DbError::Busy(reason)) => Err(DbError::Busy(reason)),
        // A file that GT.M does not recognise has no shared memory.
        _ => Ok(()),
    }
}

/// Applies settings to a database that no process has open, and starts a new journal.
///
/// # Errors
/// Returns [`DbError::Busy`] if a process has it open.
pub fn apply(tools: &Tools, folder: &Folder, settings: &Settings) -> Result<(), DbError> {
    let buffers = format!("-global_buffers={}", settings.buffers);
    let asyncio = if settings.asyncio { "-asyncio" } else { "-noasyncio" };
    tools.run("mupip", &["set", "-region", "DEFAULT", &buffers, asyncio], "")?;
    begin_journal(tools, folder, settings)
}

/// Starts a new journal.
///
/// # Errors
/// As [`apply`].
pub fn begin_journal(tools: &Tools, folder: &Folder, settings: &Settings) -> Result<(), DbError> {
    let journal = format!(
        "-journal=enable,on,before,file={JOURNAL},autoswitchlimit={JOURNAL_LIMIT},\
         allocation={JOURNAL_STEP},extension={JOURNAL_STEP},epoch_interval={}",
        settings.epoch_s
    );
    tools.run("mupip", &["set", &journal, "-region", "DEFAULT"], "")?;
    remove(folder, UNJOURNALED)?;
    remove(folder, LOADING)?;
    prune(folder);
    Ok(())
}

/// Starts a bulk load. Disables journaling until [`begin_journal`], which every run calls; otherwise the data would be
/// written twice.
///
/// # Errors
/// Returns [`DbError::Busy`] if a process has the database open.
pub fn begin_load(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    note_load(folder)?;
    if matches!(folder.find(UNJOURNALED)?, FolderEntry::Nothing) {
        tools.run("mupip", &["set", "-journal=off", "-region", "DEFAULT"], "")?;
        folder.create(UNJOURNALED)?;
    }
    Ok(())
}

/// Waits until the data of a load is on the device, and ends the load.
///
/// # Errors
/// Fails if the data cannot be written.
pub fn end_load(folder: &Folder) -> Result<(), DbError> {
    sync(folder)?;
    remove(folder, LOADING)
}

/// Waits until the whole data file is on the device, whichever process wrote it. GT.M leaves write-back to the system.
///
/// # Errors
/// Fails if it cannot be written.
pub fn sync(folder: &Folder) -> Result<(), DbError> {
    let FolderEntry::File(data) = folder.find(DATA)? else { return Err(folder.foreign(DATA)) };
    data.sync_all().map_err(|error| fault(&folder.path().join(DATA), &error))
}

/// Removes a regular file, if it exists.
fn remove(folder: &Folder, name: &str) -> Result<(), DbError> {
    match folder.find(name)? {
        FolderEntry::File(file) => folder.remove(name, &file).map(drop),
        _ => Ok(()),
    }
}

/// Frees space on a full disk while there is no journal, because removing a global also needs a block. The journals
/// belong to a closed database, and the next run starts a new one.
///
/// # Errors
/// Errors of GT.M.
pub fn make_room(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    for name in journals(folder) {
        remove(folder, &name)?;
    }
    tools.run("mupip", &["extend", "DEFAULT", "-blocks=64"], "").map(|_| ())
}

/// Removes earlier journals, except the last one and those of the last few seconds. Each journal begins with an epoch,
/// and a recovery goes back to an epoch that is at least a second old.
pub fn prune(folder: &Folder) {
    let age = |name: &String| {
        let Ok(FolderEntry::File(file)) = folder.find(name) else { return Duration::ZERO };
        let changed = file.metadata().and_then(|about| about.modified());
        changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
    };
    let earlier = journals(folder).into_iter().filter(|name| name != JOURNAL);
    let mut earlier: Vec<_> = earlier.map(|name| (age(&name), name)).collect();
    earlier.sort();
    for (_, name) in earlier.iter().skip(1).filter(|(age, _)| *age > JOURNAL_KEPT) {
        // The removal is tried again later if it fails.
        let _ = remove(folder, name);
    }
}

/// Returns the total size of all journals, in bytes.
pub fn journal_bytes(folder: &Folder) -> u64 {
    journals(folder).iter().map(|name| disk_bytes(&folder.path().join(name))).sum()
}

fn journals(folder: &Folder) -> Vec<String> {
    let names = folder.names().unwrap_or_default();
    let is_journal =
        |name: &String| name == JOURNAL || name.strip_prefix("mumps.mjl_").is_some_and(is_time);
    names.into_iter().filter(is_journal).collect()
}

/// Returns the boot identifier of the machine.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
