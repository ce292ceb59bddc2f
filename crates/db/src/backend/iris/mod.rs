//! InterSystems IRIS: an M database, an instance on this machine. Sessions of the instance run iogauge's routines in a
//! namespace, and its globals are mapped to a database file of their own.
//!
//! **This has not been run on an instance yet.** The routines are those of GT.M but for `RanDialect` and `RanKeeper`, whose
//! calls are taken from InterSystems' documentation.
//!
//! The marker is the global `^RanIogauge`. Like the other globals, it is stored in the database file. The process that
//! holds its lock has the database to itself.

mod activity;
mod keeper;
mod note;
mod reads;
mod session;
#[cfg(test)]
mod tests;

use crate::backend::m::process::{Family, Process};
use crate::backend::m::{Installation, walk};
use crate::backend::{
    About, Activity, BackendInfo, Database, FillPlace, Global, Purged, RunPlan, Setting, Size,
};
use crate::error::DbError;
use crate::exclusive_lock::{ExclusiveLock, retry_until_free};
use crate::progress::Progress;
use crate::url::DbUrl;
use activity::IrisActivity;
use keeper::{Keeper, Lock};
use note::Note;
use session::Instance;
use std::path::PathBuf;
use std::sync::Arc;

/// Name of the backend.
const NAME: &str = "iris";
/// Maximum length of the note, which a session reads as one line. A READ takes 32,767 characters (KEY=RCOS_cread).
const MOST_NOTE_BYTES: usize = 32_000;

const SETTINGS: &[Setting] = &[
    Setting {
        key: "directory",
        default: "iogauge-NAME in the namespace's own directory",
        help: "directory of the database file, which setup makes",
    },
    Setting {
        key: "durable",
        default: "yes",
        help: "yes: a commit waits until the journal is on the device; no: it does not",
    },
];

/// The row of this backend.
pub const INFO: BackendInfo = BackendInfo {
    name: NAME,
    url: "iris:INSTANCE/NAMESPACE",
    about: "InterSystems IRIS on this machine: globals of a namespace, in a database file of their own. Not yet run \
            on a server",
    is_server: false,
    is_directory: false,
    settings: SETTINGS,
    absent: session::absent,
    open,
};

fn open(url: &DbUrl) -> Result<Box<dyn Database>, DbError> {
    Ok(Box::new(Iris::of(url, session::find()?)?))
}

/// A database in a namespace of an instance.
#[derive(Debug, Clone)]
struct Iris {
    instance: Arc<Instance>,
    /// Name of the database, as with `--name`.
    name: String,
    /// The directory that was asked for, with a slash at its end.
    directory: Option<String>,
    durable: bool,
}

impl Iris {
    /// Checks a URL. `program` is the program `iris`.
    fn of(url: &DbUrl, program: PathBuf) -> Result<Self, DbError> {
        let wrong = |what: &str, right: &str| {
            Err(DbError::Usage(format!("{}: {what}; hint: use {right}", url.typed())))
        };
        let plain = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
        };
        let (instance, namespace) = match url.place.split_once('/') {
            Some((instance, namespace)) if plain(instance) && plain(namespace) => {
                (instance, namespace)
            }
            _ => return wrong("this names no instance and namespace", "iris:INSTANCE/NAMESPACE"),
        };
        let directory =
            url.settings.get("directory").map(|text| format!("{}/", text.trim_end_matches('/')));
        let takes = |c: char| !c.is_control() && !"\"*?^|".contains(c);
        if directory.as_ref().is_some_and(|path| !path.starts_with('/') || !path.chars().all(takes))
        {
            return wrong("IRIS cannot use this directory", "an absolute path without quotes");
        }
        let durable = match url.settings.get("durable").map_or("yes", String::as_str) {
            "yes" => true,
            "no" => false,
            _ => return wrong("durable has no such value", "durable=yes or durable=no"),
        };
        let instance = Arc::new(Instance::new(program, instance, namespace));
        Ok(Self { instance, name: url.name.clone(), directory, durable })
    }

    fn installation(&self) -> Arc<dyn Installation> {
        self.instance.clone()
    }

    fn keeper(&self) -> Result<Keeper, DbError> {
        Keeper::start(&self.installation(), &Arc::default())
    }

    /// Name of the database in the instance's configuration, where all names are in capital letters.
    fn configured_name(&self) -> String {
        format!("IOGAUGE_{}", self.name.to_ascii_uppercase())
    }

    /// Returns the note of a complete database.
    fn note(&self, keeper: &mut Keeper) -> Result<Note, DbError> {
        match self.any_note(keeper)? {
            Some(note) if note.marker.complete => Ok(note),
            Some(_) => Err(DbError::Missing(format!(
                "{}: a setup was cut short here; hint: run iogauge db purge, then setup",
                self.instance
            ))),
            None => Err(DbError::Missing(format!(
                "{}: there is no database {}; hint: run iogauge db setup first",
                self.instance, self.name
            ))),
        }
    }

    /// Returns the note of a database of this name, even of an incomplete one.
    fn any_note(&self, keeper: &mut Keeper) -> Result<Option<Note>, DbError> {
        let text = keeper.ask(&["marker"])?.concat();
        if text.is_empty() {
            return Ok(None);
        }
        let note = Note::read(&text).map_err(|why| {
            DbError::Foreign(format!("{}: ^RanIogauge is not of iogauge: {why}", self.instance))
        })?;
        Ok((note.name == self.name).then_some(note))
    }

    /// Returns the directory of a database that is to be made.
    fn directory(&self, keeper: &mut Keeper) -> Result<String, DbError> {
        match &self.directory {
            Some(directory) => Ok(directory.clone()),
            None => Ok(format!("{}iogauge-{}/", keeper.ask(&["place"])?.concat(), self.name)),
        }
    }

    fn fill(
        &self,
        keeper: &mut Keeper,
        note: &mut Note,
        size_bytes: u64,
        progress: &mut Progress<'_>,
    ) -> Result<(), DbError> {
        keeper.mark(note)?;
        progress.done(0, size_bytes)?;
        let directory = note.directory.clone();
        keeper.ask_each(&["fill", &directory], &mut |line| {
            let free_bytes = line.parse::<f64>().unwrap_or(0.0) * f64::from(1 << 20);
            progress.done(size_bytes.saturating_sub(free_bytes as u64), size_bytes)
        })?;
        keeper.ask(&["drain"])?;
        note.marker.complete = true;
        keeper.mark(note)?;
        progress.done(size_bytes, size_bytes)
    }

    /// Sets every subscript of a global to its initial value.
    fn fill_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let Global { number, subscripts, value_bytes } = global;
        let mut process = Process::start(&self.installation(), "fill^RanWorker")?;
        process.tell(format_args!("{number} {subscripts} {value_bytes}"))?;
        let filled = process.hear(|line| match line.parse() {
            Ok(done) => progress.done(done, subscripts),
            Err(_) => Ok(()),
        });
        filled.map(|_| ())
    }

    fn known(&self, global: u32) -> Result<(), DbError> {
        if self.globals()?.iter().any(|known| known.number == global) {
            return Ok(());
        }
        Err(DbError::Missing(format!(
            "{}: there is no global {global}; hint: run iogauge db add-globals",
            self.instance
        )))
    }

    /// Locks the database until the keeper is dropped, and returns its note. The keeper is a process of `family`.
    fn lock(&self, family: &Arc<Family>) -> Result<(Keeper, Note), DbError> {
        let mut keeper = Keeper::start(&self.installation(), family)?;
        keeper.lock(Lock::Write, &self.instance)?;
        let note = self.note(&mut keeper)?;
        Ok((keeper, note))
    }
}

impl Database for Iris {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.instance.install_routines()?;
        let mut keeper = self.keeper()?;
        if !keeper.ask(&["marker"])?.concat().is_empty() {
            return Err(DbError::Foreign(format!(
                "{}: the namespace has a database of iogauge already; hint: use another namespace, or run \
                 iogauge db purge first",
                self.instance
            )));
        }
        let directory = self.directory(&mut keeper)?;
        let name = self.configured_name();
        let megabytes = size_bytes.div_ceil(1 << 20).max(4).to_string();
        let mut note = Note::new(&self.name, &directory);
        let made = keeper.ask(&["make", &name, &directory, &megabytes]);
        let made = match made {
            // Nothing was made, and what is there is not ours.
            Err(error @ DbError::Foreign(_)) => return Err(error),
            Err(error) => Err(error),
            Ok(_) => self.fill(&mut keeper, &mut note, size_bytes, progress),
        };
        drop(keeper);
        if made.is_err() {
            // Purge removes what cannot be removed now.
            let _ = self.keeper().and_then(|mut keeper| keeper.ask(&["remove", &name, &directory]));
        }
        made
    }

    fn is_there(&self) -> Result<bool, DbError> {
        if !self.instance.has_routines()? {
            return Ok(false);
        }
        let note = self.any_note(&mut self.keeper()?)?;
        Ok(note.is_some_and(|note| note.marker.complete))
    }

    fn about(&self) -> Result<About, DbError> {
        let mut keeper = self.keeper()?;
        let note = self.note(&mut keeper)?;
        let facts = keeper.ask(&["about"])?;
        let [software, buffers, journal, _] = &facts[..] else {
            return Err(DbError::Failed(format!("{} says of itself {facts:?}", self.instance)));
        };
        let may_lose = if journal != "Enabled" {
            Some(format!(
                "everything since the last write to the data file: the journal is {journal}"
            ))
        } else if self.durable {
            None
        } else {
            Some("the commits whose journal data is not on the device yet".to_owned())
        };
        let durable = if self.durable { "yes" } else { "no" };
        Ok(About {
            software: software.clone(),
            block_bytes: note.marker.block_bytes,
            may_lose,
            settings: vec![
                ("global_buffers_8k".to_owned(), buffers.clone()),
                ("journal".to_owned(), journal.clone()),
                ("durable".to_owned(), durable.to_owned()),
            ],
        })
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        Ok(self.note(&mut self.keeper()?)?.marker.globals)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        let (mut keeper, mut note) = self.lock(&Arc::default())?;
        note.marker.globals.push(global);
        if note.text().len() > MOST_NOTE_BYTES {
            return Err(DbError::Usage(format!(
                "{}: it has no room for more globals than {}; hint: use a namespace for each group of them",
                self.instance,
                global.number - 1
            )));
        }
        let installation = self.installation();
        // What an interrupted call may have left.
        walk::drop_global(&installation, global.number)?;
        if let Err(error) = self.fill_global(global, progress) {
            walk::drop_global(&installation, global.number)?;
            return Err(error);
        }
        keeper.ask(&["drain"])?;
        walk::note_size(&installation, global)?;
        keeper.mark(&note)
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        let (mut keeper, mut note) = self.lock(&Arc::default())?;
        keeper.lock(Lock::Alone, &self.instance)?;
        let globals = std::mem::take(&mut note.marker.globals);
        keeper.mark(&note)?;
        let installation = self.installation();
        globals.iter().rev().try_for_each(|global| walk::drop_global(&installation, global.number))
    }

    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        self.instance.install_routines()?;
        let path = self.directory(&mut self.keeper()?)?.into();
        Ok(vec![FillPlace { path, most_bytes: None }])
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        self.known(global)?;
        walk::values(&self.installation(), global, see)
    }

    fn count_subscripts(&self, global: u32) -> Result<u64, DbError> {
        self.known(global)?;
        walk::count(&self.installation(), global)
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        walk::committed(&self.installation(), self.globals()?.len() as u32)
    }

    fn size(&self) -> Result<Size, DbError> {
        let mut keeper = self.keeper()?;
        let note = self.note(&mut keeper)?;
        Ok(Size { data_bytes: keeper.file(&note.directory)?.bytes, log_bytes: 0 })
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        Ok(vec![self.note(&mut self.keeper()?)?.directory.into()])
    }

    fn identity(&self) -> Result<String, DbError> {
        Ok(self.note(&mut self.keeper()?)?.marker.identity)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        let family = Arc::default();
        let (keeper, note) = if plan.writers == 0 {
            let mut keeper = Keeper::start(&self.installation(), &family)?;
            keeper.lock(Lock::Read, &self.instance)?;
            let note = self.note(&mut keeper)?;
            (keeper, note)
        } else {
            self.lock(&family)?
        };
        Ok(Box::new(IrisActivity::begin(self.clone(), family, keeper, note.directory)?))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        Ok(ExclusiveLock::new(retry_until_free(|| self.lock(&Arc::default()))?))
    }

    fn purge(&self) -> Result<Purged, DbError> {
        let mut keeper = self.keeper()?;
        let Some(note) = self.any_note(&mut keeper)? else {
            return self.note(&mut keeper).map(|_| Purged::default());
        };
        keeper.lock(Lock::Write, &self.instance)?;
        keeper.lock(Lock::Alone, &self.instance)?;
        let freed_bytes = keeper.file(&note.directory)?.bytes;
        let left = keeper.ask(&["remove", &self.configured_name(), &note.directory])?;
        drop(keeper);
        self.instance.remove_routines()?;
        Ok(Purged { freed_bytes, left })
    }
}
