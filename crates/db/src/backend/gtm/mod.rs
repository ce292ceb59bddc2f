//! GT.M: an M database. Its globals are named `^RanWriteGlobal1(n)`, and processes that run M routines update them.
//!
//! The folder of a database contains one region: a global directory, a data file with blocks of 8 KiB and access method
//! BG, a before-image journal, and the routines. Worker processes execute complete transactions in M and only receive
//! the number of transactions, so that M code is measured. They end when this process ends. The cache is shared memory
//! of the processes that have the database open. It is removed with the last of them, so each run starts with a cold
//! cache.

mod activity;
mod extract;
mod files;
mod fill;
mod install;
mod rounds;
mod settings;
mod stats;
#[cfg(test)]
mod tests;
mod tools;

use crate::backend::m::counts::{NamedCounts, WorkerTally};
use crate::backend::m::process::{Family, Process};
use crate::backend::m::{self, walk};
use crate::backend::{About, Activity, BackendInfo, Database, Global, Purged, RunPlan, Size};
use crate::blocks::BlockFile;
use crate::confined_database::ConfinedDatabase;
use crate::directory::{Directory, Marker, disk_bytes};
use crate::error::DbError;
use crate::exclusive_lock::{ExclusiveLock, retry_until_free};
use crate::folder::FolderEntry;
use crate::incompressible::IncompressibleText;
use crate::progress::Progress;
use crate::read_run::ReadRun;
use crate::url::DbUrl;
use crate::value::Stamp;
use activity::{ANSWER, GtmActivity, used_blocks};
use fill::RunningLoad;
use settings::Settings;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tools::Tools;

/// Name of the backend.
const NAME: &str = "gtm";
/// Size of a block in bytes.
const BLOCK_BYTES: u64 = 8192;
/// Index and bitmap blocks: one block in this many, plus a fixed number.
const INDEX_SHARE: u64 = 200;
const INDEX_LEAST: u64 = 8;

/// The row of this backend.
pub const INFO: BackendInfo = BackendInfo {
    name: NAME,
    url: "gtm:DIR",
    about: "GT.M: globals of an M database, updated by M processes, with a before-image journal",
    is_server: false,
    is_directory: true,
    settings: settings::SETTINGS,
    absent: install::absent,
    open,
};

fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    let settings = Settings::of(url)?;
    let directory = Directory::of(url, NAME);
    check_path(directory.path())?;
    let dist =
        install::find().ok_or_else(|| DbError::Absent(install::absent().unwrap_or_default()))?;
    let tools = Tools::new(dist, directory.path());
    let gtm = Gtm { directory: directory.clone(), settings, tools };
    Ok(Box::new(ConfinedDatabase::new(gtm, directory, BLOCK_BYTES)))
}

/// Parses a line of a process with every parser.
pub(crate) fn read_untrusted(line: &str) {
    m::writer::read_untrusted(line);
    let _ = activity::used_blocks(line);
    let counts = NamedCounts::read(line);
    let _ = stats::counts(&counts, &WorkerTally::new(stats::updates_and_commits));
    let _ = tools::message(line);
    let _ = extract::head(line.as_bytes(), fill::FILLER);
}

/// Refuses a path with characters that would end it in GT.M's commands and lists.
fn check_path(path: &Path) -> Result<(), DbError> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let takes = |c: char| !c.is_control() && !"\"'`$*?,;=()[]{}<>|&\\".contains(c);
    if path.to_str().is_some_and(|path| path.chars().all(takes)) {
        return Ok(());
    }
    Err(DbError::Usage(format!(
        "{}: GT.M takes no quotes, signs of a shell, or control characters in a path; hint: use a \
         directory named by letters, digits, spaces and - . _ + @ % : ~ #",
        path.display().to_string().escape_debug()
    )))
}

/// A database of GT.M in a folder.
#[derive(Debug, Clone)]
struct Gtm {
    directory: Directory,
    settings: Settings,
    tools: Tools,
}

impl Gtm {
    /// Creates everything except the final marker.
    fn make(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let folder = &self.directory.there()?;
        let blocks = size_bytes.div_ceil(BLOCK_BYTES).max(64);
        files::write_routines(&self.tools, folder)?;
        progress.done(0, size_bytes)?;
        files::create(&self.tools, &self.settings, blocks)?;
        fill::make_sample(&self.tools)?;
        let records = blocks - blocks / INDEX_SHARE - INDEX_LEAST;
        let mut load = RunningLoad::begin(&self.tools, folder, fill::FILLER)?;
        let mut filler = IncompressibleText::new(size_bytes);
        let mut row = vec![0; fill::FILLER_BYTES];
        for record in 1..=records {
            filler.text(&mut row);
            if load.push(record, &row)? {
                progress.done(size_bytes.min(record * BLOCK_BYTES), size_bytes)?;
            }
        }
        load.end()?;
        files::begin_journal(&self.tools, folder, &self.settings)?;
        progress.done(size_bytes, size_bytes)
    }

    fn fill(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let Global { number, subscripts, value_bytes } = global;
        let name = format!("RanWriteGlobal{number}");
        let mut load = RunningLoad::begin(&self.tools, &self.directory.there()?, &name)?;
        let mut value = String::with_capacity(value_bytes);
        for subscript in 1..=subscripts {
            Stamp::initial(number, subscript).write(value_bytes, &mut value);
            if load.push(subscript, value.as_bytes())? {
                progress.done(subscript, subscripts)?;
            }
        }
        load.end()?;
        progress.done(subscripts, subscripts)
    }

    /// Removes a global and the record of its worker.
    fn remove(&self, global: u32) -> Result<(), DbError> {
        walk::drop_global(&self.tools.installation(), global)
    }

    /// Recovers an existing database and returns its marker.
    fn ready(&self) -> Result<Marker, DbError> {
        let marker = self.directory.marker()?;
        let folder = &self.directory.there()?;
        folder.check_files(files::is_ours)?;
        files::write_routines(&self.tools, folder)?;
        match files::recover(&self.tools, folder) {
            // The process that has it open has recovered it.
            Ok(()) | Err(DbError::Busy(_)) => Ok(marker),
            Err(error) => Err(error),
        }
    }

    /// Like [`Self::ready`], with the lock held. Waits for processes of a killed run, which end on their own.
    fn deserted(&self) -> Result<Marker, DbError> {
        let folder = &self.directory.there()?;
        folder.check_files(files::is_ours)?;
        retry_until_free(|| files::recover(&self.tools, folder))?;
        self.ready()
    }

    /// Starts the process that keeps the database open, as one of `family`.
    fn keeper(&self, family: &Arc<Family>) -> Result<Process, DbError> {
        let mut process = Process::start_in(&self.tools.installation(), family, "^RanKeeper")?;
        process.hear(|_| Ok(()))?;
        Ok(process)
    }

    /// Returns the blocks of the data file, as the keeper knows them.
    fn block_file(&self, keeper: &mut Process) -> Result<BlockFile, DbError> {
        let path = self.directory.join(files::DATA);
        let answer = keeper.ask("file", Some(ANSWER))?;
        match used_blocks(&answer) {
            Some((base_bytes, blocks)) => Ok(BlockFile { path, base_bytes, blocks }),
            None => {
                Err(DbError::Failed(format!("{}: GT.M says of it \"{answer}\"", path.display())))
            }
        }
    }

    fn known(&self, global: u32) -> Result<(), DbError> {
        if self.ready()?.globals.iter().any(|known| known.number == global) {
            return Ok(());
        }
        Err(DbError::Missing(format!(
            "{}: there is no global {global}; hint: run iogauge db add-globals",
            self.directory.path().display()
        )))
    }

    /// Returns some settings as the database reports them.
    fn own_settings(&self) -> Result<Vec<(String, String)>, DbError> {
        let said = self.tools.run("mupip", &["dumpfhead", "-region", "DEFAULT"], "")?;
        let fields = [
            ("global_buffers", "sgmnt_data.n_bts"),
            ("asyncio", "sgmnt_data.asyncio"),
            ("epoch_interval_s", "sgmnt_data.epoch_interval"),
            ("before_images", "sgmnt_data.jnl_before_image"),
            ("flush_trigger_blocks", "sgmnt_data.flush_trigger"),
        ];
        let found = fields.iter().filter_map(|(name, field)| {
            let line = said.lines().find(|line| line.contains(&format!("\"{field}\"")))?;
            let value = line.split_once('=')?.1.trim().trim_matches('"');
            Some(((*name).to_owned(), value.to_owned()))
        });
        let durable = if self.settings.durable { "yes" } else { "batch" };
        Ok(found.chain([("durable".to_owned(), durable.to_owned())]).collect())
    }
}

impl Database for Gtm {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let mut marker = self.directory.make(BLOCK_BYTES)?;
        let made = self.directory.lock().and_then(|held| {
            self.make(size_bytes, progress)?;
            marker.complete = true;
            self.directory.write(&marker)?;
            drop(held);
            Ok(())
        });
        if made.is_err() {
            // Purge removes files that cannot be removed now.
            let _ = self.purge();
        }
        made
    }

    fn is_there(&self) -> Result<bool, DbError> {
        Ok(self.directory.read()?.is_some_and(|marker| marker.complete))
    }

    fn about(&self) -> Result<About, DbError> {
        let marker = self.directory.marker()?;
        let software = self.tools.run("mumps", &["-run", "%XCMD", "write $zversion"], "")?;
        let may_lose = "the commits since the journal was last written, which happens at the latest when \
                        its buffer is full or a second has passed";
        Ok(About {
            software: software.trim().to_owned(),
            block_bytes: marker.block_bytes,
            may_lose: (!self.settings.durable).then(|| may_lose.to_owned()),
            settings: self.own_settings()?,
        })
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        Ok(self.directory.marker()?.globals)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.directory.marker()?;
        let held = self.directory.lock()?;
        let mut marker = self.ready()?;
        let folder = &self.directory.there()?;
        files::begin_load(&self.tools, folder)?;
        // What an interrupted call may have left, of a load or of a removal.
        self.remove(global.number)?;
        let filled = self.fill(global, progress);
        let filled = filled.and_then(|()| walk::note_size(&self.tools.installation(), global));
        if filled.is_err() && self.remove(global.number).is_err() {
            files::make_room(&self.tools, folder)?;
            self.remove(global.number)?;
        }
        files::end_load(folder)?;
        filled?;
        marker.globals.push(global);
        self.directory.write(&marker)?;
        drop(held);
        Ok(())
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        self.directory.marker()?;
        let held = self.directory.lock_alone()?;
        let mut marker = self.deserted()?;
        let globals = std::mem::take(&mut marker.globals);
        self.directory.write(&marker)?;
        globals.iter().rev().try_for_each(|global| self.remove(global.number))?;
        drop(held);
        Ok(())
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        self.known(global)?;
        walk::values(&self.tools.installation(), global, see)
    }

    fn count_subscripts(&self, global: u32) -> Result<u64, DbError> {
        self.known(global)?;
        walk::count(&self.tools.installation(), global)
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        let globals = self.ready()?.globals.len() as u32;
        walk::committed(&self.tools.installation(), globals)
    }

    fn size(&self) -> Result<Size, DbError> {
        self.directory.marker()?;
        let data_bytes = disk_bytes(&self.directory.join(files::DATA));
        Ok(Size { data_bytes, log_bytes: files::journal_bytes(&self.directory.there()?) })
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        self.directory.marker()?;
        Ok(vec![self.directory.path().to_owned()])
    }

    fn acknowledged_path(&self) -> Option<PathBuf> {
        Some(self.directory.acknowledged())
    }

    fn identity(&self) -> Result<String, DbError> {
        Ok(self.directory.marker()?.identity)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        self.directory.marker()?;
        if plan.writers == 0 {
            let lock = self.directory.lock_to_read()?;
            self.ready()?;
            let mut keeper = self.keeper(&Arc::default())?;
            let files = vec![self.block_file(&mut keeper)?];
            // A run that begins to write must find nobody there.
            keeper.leave();
            return Ok(Box::new(ReadRun::new(files, BLOCK_BYTES, lock)));
        }
        let held = self.directory.lock()?;
        let marker = self.deserted()?;
        if files::was_cut_short(&self.directory.there()?) {
            self.remove(marker.globals.len() as u32 + 1)?;
        }
        Ok(Box::new(GtmActivity::begin(self.clone(), held)?))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        let held = self.directory.hold()?;
        self.deserted()?;
        Ok(ExclusiveLock::new(held))
    }

    fn purge(&self) -> Result<Purged, DbError> {
        if self.directory.read()?.is_some() {
            let _held = self.directory.lock_alone()?;
            let folder = &self.directory.there()?;
            // GT.M opens files by name. A symbolic link would lead it to another database's memory.
            if matches!(folder.find(files::DATA)?, FolderEntry::File(_))
                && folder.check_files(files::is_ours).is_ok()
            {
                files::forget(&self.tools)?;
            }
            files::remove_routines(folder)?;
        }
        self.directory.purge(|_, name, _| files::is_ours(name))
    }
}
