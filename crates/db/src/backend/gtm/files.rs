//! The files of a database: made, put in order after a crash, kept within bounds.

use super::settings::Settings;
use super::tools::Tools;
use crate::directory::{disk_bytes, fault};
use crate::error::DbError;
use crate::folder::{Entry, Folder};
use std::time::Duration;

/// Where each global is kept.
pub const DIRECTORY: &str = "mumps.gld";
/// The blocks.
pub const DATA: &str = "mumps.dat";
/// The journal; earlier ones have their time behind it.
pub const JOURNAL: &str = "mumps.mjl";
/// Our routines, and what GT.M compiles out of them.
pub const ROUTINES: &str = "r";
/// Says that a global is being created without journal, and since which start of the machine.
const LOADING: &str = "loading";
/// The same while it is written.
const LOADING_PARTIAL: &str = "loading.new";
/// Says that there is no journal at present: globals were created, and no run has begun since.
const UNJOURNALED: &str = "unjournaled";
/// Locked while a database is put in order.
const RECOVERY: &str = "recovery";
/// An extract as this GT.M writes it.
pub const SAMPLE: &str = "sample.bin";

/// Every routine, by the name of its file.
const SOURCES: [(&str, &str); 3] = [
    ("RanKeeper", include_str!("routines/RanKeeper.m")),
    ("RanWalk", include_str!("routines/RanWalk.m")),
    ("RanWorker", include_str!("routines/RanWorker.m")),
];

/// No routine of ours is longer, and no note of ours.
const MOST_ROUTINE_BYTES: u64 = 1 << 20;
const MOST_NOTE_BYTES: u64 = 4096;
/// Units of 512 bytes in a journal file, when the next one begins; and by which it grows.
const JOURNAL_LIMIT: u64 = 524_288;
const JOURNAL_STEP: u64 = 32_768;
/// How long an earlier one is kept at least.
const JOURNAL_KEPT: Duration = Duration::from_secs(5);
/// Blocks by which the data file grows.
const EXTENSION: u64 = 2_500;

/// True for names in the folder that only we and GT.M make.
pub fn is_ours(name: &str) -> bool {
    [DIRECTORY, DATA, JOURNAL, LOADING, LOADING_PARTIAL, UNJOURNALED, SAMPLE, RECOVERY]
        .contains(&name)
        || name.strip_prefix("mumps.mjl_").is_some_and(is_time)
        || name.starts_with("GTM_FATAL_ERROR.ZSHOW_DMP_")
        || name.strip_prefix("core.").is_some_and(is_time)
        || is_of_recovery(name)
}

/// True for files into which a recovery writes the parts of transactions that never committed, and for
/// journals that one puts aside; GT.M keeps what lies there by giving it a time.
fn is_of_recovery(name: &str) -> bool {
    let begins = |begin: &str| name.strip_prefix(begin).is_some_and(is_time);
    ["mumps.broken", "mumps.lost"].into_iter().any(begins)
        || ["forw_phase_", "rolled_bak_"]
            .iter()
            .filter_map(|aside| name.strip_prefix(aside)?.strip_prefix(JOURNAL))
            .any(is_time)
}

/// True for what GT.M puts behind the name of an earlier file, and for nothing: a time, and for the second one of
/// a second one more number.
fn is_time(rest: &str) -> bool {
    rest.bytes().all(|b| b.is_ascii_digit() || b == b'_')
}

/// Removes the routines and what GT.M compiled out of them. A folder with anything else in it stays.
///
/// # Errors
/// Where one cannot be removed.
pub fn remove_routines(folder: &Folder) -> Result<(), DbError> {
    let Entry::Folder(routines) = folder.find(ROUTINES)? else { return Ok(()) };
    for (name, _) in SOURCES {
        for name in [format!("{name}.m"), format!("{name}.o"), format!("{name}.new")] {
            remove(&routines, &name)?;
        }
    }
    folder.remove_empty(ROUTINES);
    Ok(())
}

/// Removes what a recovery wrote of transactions that never committed.
fn forget_unfinished(folder: &Folder) {
    let names = folder.names().unwrap_or_default();
    for name in names.iter().filter(|name| is_of_recovery(name)) {
        // One that stays goes with the next, or with the database.
        let _ = remove(folder, name);
    }
}

/// Writes the routines that are not there as they should be, and compiles them: processes that start
/// together would compile them at the same time.
///
/// # Errors
/// Where they cannot be written.
pub fn write_routines(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    let place = folder.subfolder(ROUTINES)?;
    for (name, text) in SOURCES {
        let (source, object) = (format!("{name}.m"), format!("{name}.o"));
        let there = place.read(&source, MOST_ROUTINE_BYTES).ok().flatten();
        if matches!(place.find(&object)?, Entry::File(_))
            && there.as_deref() == Some(text.as_bytes())
        {
            continue;
        }
        // GT.M writes its object through a link.
        remove(&place, &object)?;
        if !matches!(place.find(&object)?, Entry::Nothing) {
            return Err(place.foreign(&object));
        }
        place.replace(&source, &format!("{name}.new"), text.as_bytes(), false)?;
        let object = format!("-object={ROUTINES}/{name}.o");
        tools.run("mumps", &[&object, &format!("{ROUTINES}/{name}.m")], "")?;
    }
    Ok(())
}

/// Makes the global directory and a data file of so many blocks.
///
/// # Errors
/// What GT.M says.
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

/// Puts what a crash left in order. Cheap where there is nothing to do.
///
/// # Errors
/// [`DbError::Busy`] where somebody has the database open, or is about to leave it; where it cannot be done.
pub fn recover(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    let lock = folder.open_or_create(RECOVERY)?;
    lock.lock().map_err(|error| fault(&folder.path().join(RECOVERY), &error))?;
    let done = match tools.run("mupip", &["rundown", "-region", "DEFAULT"], "") {
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

/// A machine that stops while a global is loaded, which is done without journal, may damage blocks.
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

/// Notes that a global is being created, since which start of the machine.
fn note_load(folder: &Folder) -> Result<(), DbError> {
    folder.replace(LOADING, LOADING_PARTIAL, boot_id().as_bytes(), false).map(drop)
}

/// True where a load was cut short and what it left was not removed yet.
pub fn was_cut_short(folder: &Folder) -> bool {
    matches!(folder.find(LOADING), Ok(Entry::File(_)))
}

/// Removes the shared memory that killed processes left. They may have left it while they held what a
/// recovery then waits a minute for; everything acknowledged is in the journal, which is enough, as it is
/// after a stop of the machine.
fn forget_memory(tools: &Tools) {
    let Ok(said) = tools.run("mupip", &["ftok", DATA], "") else { return };
    let line = said.lines().find(|line| line.trim_start().starts_with(DATA)).unwrap_or_default();
    let id = line.split("::").nth(2).and_then(|part| part.split_whitespace().next());
    let table = std::fs::read_to_string("/proc/sysvipc/shm").unwrap_or_default();
    // Columns: key, id, permissions, bytes, creator, last process, processes that are attached.
    let orphan = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        columns.next() == id && columns.nth(4) == Some("0")
    };
    if let (Some(id), true) = (id, table.lines().any(orphan)) {
        // Without it recovery takes longer.
        let _ = std::process::Command::new("ipcrm").args(["-m", id]).output();
    }
}

/// Gives back the shared memory of a database that is about to go.
///
/// # Errors
/// [`DbError::Busy`] where processes have it open.
pub fn forget(tools: &Tools) -> Result<(), DbError> {
    forget_memory(tools);
    match tools.run("mupip", &["rundown", "-region", "DEFAULT", "-override"], "") {
        Err(DbError::Busy(reason)) => Err(DbError::Busy(reason)),
        // A file that GT.M does not take for a database has none.
        _ => Ok(()),
    }
}

/// Gives a database that nobody has open these settings, and a new journal.
///
/// # Errors
/// [`DbError::Busy`] where somebody has.
pub fn apply(tools: &Tools, folder: &Folder, settings: &Settings) -> Result<(), DbError> {
    let buffers = format!("-global_buffers={}", settings.buffers);
    let asyncio = if settings.asyncio { "-asyncio" } else { "-noasyncio" };
    tools.run("mupip", &["set", "-region", "DEFAULT", &buffers, asyncio], "")?;
    begin_journal(tools, folder, settings)
}

/// Begins a new journal.
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

/// Begins a load. The journal ends until [`begin_journal`], which every run calls: what is loaded in bulk
/// would go through it a second time. True where a load before this one was cut short.
///
/// # Errors
/// [`DbError::Busy`] where somebody has the database open.
pub fn begin_load(tools: &Tools, folder: &Folder) -> Result<bool, DbError> {
    let cut_short = was_cut_short(folder);
    note_load(folder)?;
    if matches!(folder.find(UNJOURNALED)?, Entry::Nothing) {
        tools.run("mupip", &["set", "-journal=off", "-region", "DEFAULT"], "")?;
        folder.create(UNJOURNALED)?;
    }
    Ok(cut_short)
}

/// Ends a load: what it left is on the device.
///
/// # Errors
/// Where it cannot be brought there.
pub fn end_load(folder: &Folder) -> Result<(), DbError> {
    sync(folder)?;
    remove(folder, LOADING)
}

/// Waits until all of the data file is on the device, whoever wrote it: GT.M leaves to the system when that
/// happens.
///
/// # Errors
/// Where it cannot be brought there.
pub fn sync(folder: &Folder) -> Result<(), DbError> {
    let Entry::File(data) = folder.find(DATA)? else { return Err(folder.foreign(DATA)) };
    data.sync_all().map_err(|error| fault(&folder.path().join(DATA), &error))
}

/// Removes a regular file that may not be there.
fn remove(folder: &Folder, name: &str) -> Result<(), DbError> {
    match folder.find(name)? {
        Entry::File(file) => folder.remove(name, &file).map(drop),
        _ => Ok(()),
    }
}

/// Makes room on a full disk while there is no journal: removing a global takes a block, too. The journals
/// are of a database that was closed, and the next one begins anew.
///
/// # Errors
/// What GT.M says.
pub fn make_room(tools: &Tools, folder: &Folder) -> Result<(), DbError> {
    for name in journals(folder) {
        remove(folder, &name)?;
    }
    tools.run("mupip", &["extend", "DEFAULT", "-blocks=64"], "").map(|_| ())
}

/// Removes earlier journals: all but the last, and those of the last seconds. Each begins with an epoch,
/// and a recovery goes back to one that is at least a second old.
pub fn prune(folder: &Folder) {
    let age = |name: &String| {
        let Ok(Entry::File(file)) = folder.find(name) else { return Duration::ZERO };
        let changed = file.metadata().and_then(|about| about.modified());
        changed.ok().and_then(|changed| changed.elapsed().ok()).unwrap_or_default()
    };
    let earlier = journals(folder).into_iter().filter(|name| name != JOURNAL);
    let mut earlier: Vec<_> = earlier.map(|name| (age(&name), name)).collect();
    earlier.sort();
    for (_, name) in earlier.iter().skip(1).filter(|(age, _)| *age > JOURNAL_KEPT) {
        // One that stays is tried again.
        let _ = remove(folder, name);
    }
}

/// Bytes of all journals.
pub fn journal_bytes(folder: &Folder) -> u64 {
    journals(folder).iter().map(|name| disk_bytes(&folder.path().join(name))).sum()
}

fn journals(folder: &Folder) -> Vec<String> {
    let names = folder.names().unwrap_or_default();
    let is_journal =
        |name: &String| name == JOURNAL || name.strip_prefix("mumps.mjl_").is_some_and(is_time);
    names.into_iter().filter(is_journal).collect()
}

/// What tells this start of the machine from others.
fn boot_id() -> String {
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default()
}
