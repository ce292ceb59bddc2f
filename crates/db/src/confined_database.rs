//! A database in a directory of its own, whose library and programs can only write there.
//!
//! Libraries and programs open their files by name, and anyone who can write to the directory can place a symbolic link
//! under any name at any time. So every operation runs on a thread that the kernel confines to the directory. Threads
//! and programs that it starts inherit the confinement. Only this module creates and removes files outside the
//! directory.

use crate::backend::{
    About, Activity, Counts, Cycle, Database, FillPlace, Global, Purged, RunPlan, Size, WorkerPlan,
    Writer,
};
use crate::blocks::Blocks;
use crate::directory::Directory;
use crate::error::DbError;
use crate::exclusive_lock::ExclusiveLock;
use crate::progress::Progress;
use iogauge_io::confine::{ConfineError, Domain};
use std::path::PathBuf;

/// A database whose operations run on confined threads.
#[derive(Debug)]
pub(crate) struct ConfinedDatabase<D> {
    database: D,
    directory: Directory,
    /// Size of the blocks that setup creates, in bytes.
    block_bytes: u64,
}

impl<D: Database> ConfinedDatabase<D> {
    /// Confines a database to its directory. Writes nothing.
    pub(crate) fn new(database: D, directory: Directory, block_bytes: u64) -> Self {
        Self { database, directory, block_bytes }
    }

    fn failed(&self, error: &ConfineError) -> DbError {
        DbError::Failed(format!(
            "{}: the database cannot be held to its directory: {error}",
            self.directory.path().display()
        ))
    }

    /// Returns the permission to write: everything in the directory, if it exists.
    fn domain(&self) -> Result<Domain, DbError> {
        match self.directory.open()? {
            Some(folder) => Domain::reading().directory(&folder).map_err(|e| self.failed(&e)),
            None => Ok(Domain::reading()),
        }
    }

    fn run<T: Send>(
        &self,
        work: impl FnOnce(&D) -> Result<T, DbError> + Send,
    ) -> Result<T, DbError> {
        self.domain()?.run(|| work(&self.database)).map_err(|error| self.failed(&error))?
    }
}

impl<D: Database> Database for ConfinedDatabase<D> {
    fn setup(&self, size_bytes: u64, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.directory.prepare(self.block_bytes)?;
        let made = self.run(|database| database.setup(size_bytes, progress));
        if made.is_err() {
            self.directory.remove_made();
        }
        made
    }

    fn is_there(&self) -> Result<bool, DbError> {
        self.run(D::is_there)
    }

    fn about(&self) -> Result<About, DbError> {
        self.run(D::about)
    }

    fn globals(&self) -> Result<Vec<Global>, DbError> {
        self.run(D::globals)
    }

    fn create_global(&self, global: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
        self.run(|database| database.create_global(global, progress))
    }

    fn drop_globals(&self) -> Result<(), DbError> {
        self.run(D::drop_globals)
    }

    fn fill_places(&self) -> Result<Vec<FillPlace>, DbError> {
        self.directory.check_place()?;
        self.run(D::fill_places)
    }

    fn subscript_bytes(&self, value_bytes: u64) -> u64 {
        self.database.subscript_bytes(value_bytes)
    }

    fn walk(
        &self,
        global: u32,
        see: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
    ) -> Result<(), DbError> {
        self.run(|database| database.walk(global, see))
    }

    fn count_subscripts(&self, global: u32) -> Result<u64, DbError> {
        self.run(|database| database.count_subscripts(global))
    }

    fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
        self.run(D::committed)
    }

    fn size(&self) -> Result<Size, DbError> {
        self.run(D::size)
    }

    fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
        self.run(D::paths)
    }

    fn acknowledged_path(&self) -> Option<PathBuf> {
        self.database.acknowledged_path()
    }

    fn identity(&self) -> Result<String, DbError> {
        self.run(D::identity)
    }

    fn begin(&self, plan: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
        let domain = self.domain()?;
        let begun =
            domain.run(|| self.database.begin(plan)).map_err(|error| self.failed(&error))?;
        let path = self.directory.path().to_owned();
        Ok(Box::new(ConfinedRun { activity: Some(begun?), domain, path }))
    }

    fn hold(&self) -> Result<ExclusiveLock, DbError> {
        self.run(D::hold)
    }

    fn purge(&self) -> Result<Purged, DbError> {
        self.directory.note_made()?;
        let purged = self.run(D::purge)?;
        // A confined thread cannot remove the directory itself, because its entry is in the parent.
        self.directory.remove_made();
        Ok(purged)
    }
}

/// A run whose threads are confined.
struct ConfinedRun {
    /// `None` only while being dropped.
    activity: Option<Box<dyn Activity>>,
    domain: Domain,
    path: PathBuf,
}

impl ConfinedRun {
    fn failed(&self, error: &ConfineError) -> DbError {
        let path = self.path.display();
        DbError::Failed(format!("{path}: a run cannot be held to its directory: {error}"))
    }

    fn activity(&self) -> Result<&dyn Activity, DbError> {
        self.activity.as_deref().ok_or_else(|| DbError::Gone("the run is over".to_owned()))
    }

    fn run<T: Send>(
        &self,
        work: impl FnOnce(&dyn Activity) -> Result<T, DbError> + Send,
    ) -> Result<T, DbError> {
        let activity = self.activity()?;
        self.domain.run(|| work(activity)).map_err(|error| self.failed(&error))?
    }
}

impl Activity for ConfinedRun {
    /// The worker's thread stays confined from here on.
    fn writer(&self, worker: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
        self.domain.confine_thread().map_err(|error| self.failed(&error))?;
        self.activity()?.writer(worker)
    }

    fn blocks(&self) -> Result<Blocks, DbError> {
        self.run(|activity| activity.blocks())
    }

    fn counts(&self) -> Result<Counts, DbError> {
        self.run(|activity| activity.counts())
    }

    fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
        self.run(|activity| activity.cycles())
    }

    fn abandon(&self) {
        // Closing connections and ending processes writes nothing, and must not wait for a thread.
        if let Some(activity) = &self.activity {
            activity.abandon();
        }
    }

    fn drain(&self) -> Result<(), DbError> {
        self.run(|activity| activity.drain())
    }
}

impl Drop for ConfinedRun {
    /// Closing the library writes its remaining data.
    fn drop(&mut self) {
        let activity = self.activity.take();
        let _ = self.domain.run(move || drop(activity));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_io::confine::{Protection, protection};
    use std::path::Path;

    /// A library that opens its files by name and follows symbolic links.
    #[derive(Debug)]
    struct Careless {
        directory: Directory,
    }

    fn overwrite(path: &Path) -> Result<(), DbError> {
        std::fs::write(path, "overwritten").map_err(|e| crate::directory::fault(path, &e))
    }

    impl Careless {
        fn write(&self) -> Result<(), DbError> {
            overwrite(&self.directory.join("own"))?;
            overwrite(&self.directory.join("planted"))
        }
    }

    impl Database for Careless {
        fn setup(&self, _: u64, _: &mut Progress<'_>) -> Result<(), DbError> {
            self.directory.make(8192)?;
            self.write()
        }
        fn is_there(&self) -> Result<bool, DbError> {
            self.write().map(|()| true)
        }
        fn about(&self) -> Result<About, DbError> {
            Err(self.write().unwrap_err())
        }
        fn globals(&self) -> Result<Vec<Global>, DbError> {
            self.write().map(|()| Vec::new())
        }
        fn create_global(&self, _: Global, progress: &mut Progress<'_>) -> Result<(), DbError> {
            progress.done(1, 1)?;
            // Threads that it starts are confined as well.
            std::thread::scope(|scope| scope.spawn(|| self.write()).join().unwrap())
        }
        fn drop_globals(&self) -> Result<(), DbError> {
            self.write()
        }
        fn walk(
            &self,
            _: u32,
            _: &mut (dyn FnMut(u64, &str) -> Result<(), DbError> + Send),
        ) -> Result<(), DbError> {
            // So are programs.
            let planted = self.directory.join("planted");
            let script = format!("echo overwritten > '{}'", planted.display());
            let done = std::process::Command::new("sh").args(["-c", &script]).output().unwrap();
            if done.status.success() { Ok(()) } else { Err(DbError::ReadOnly(String::new())) }
        }
        fn committed(&self) -> Result<Vec<(u32, u64)>, DbError> {
            self.write().map(|()| Vec::new())
        }
        fn size(&self) -> Result<Size, DbError> {
            self.write().map(|()| Size::default())
        }
        fn paths(&self) -> Result<Vec<PathBuf>, DbError> {
            self.write().map(|()| Vec::new())
        }
        fn identity(&self) -> Result<String, DbError> {
            self.write().map(|()| String::new())
        }
        fn begin(&self, _: &RunPlan) -> Result<Box<dyn Activity>, DbError> {
            Ok(Box::new(Careless { directory: self.directory.clone() }))
        }
        fn hold(&self) -> Result<ExclusiveLock, DbError> {
            self.write().map(ExclusiveLock::new)
        }
        fn purge(&self) -> Result<Purged, DbError> {
            self.write().map(|()| Purged::default())
        }
    }

    impl Activity for Careless {
        fn writer(&self, _: WorkerPlan) -> Result<Box<dyn Writer>, DbError> {
            Err(self.write().unwrap_err())
        }
        fn blocks(&self) -> Result<Blocks, DbError> {
            self.write().map(|()| Blocks::Direct(Vec::new(), 1))
        }
        fn counts(&self) -> Result<Counts, DbError> {
            self.write().map(|()| Counts::default())
        }
        fn cycles(&self) -> Result<Vec<Cycle>, DbError> {
            self.write().map(|()| Vec::new())
        }
        fn drain(&self) -> Result<(), DbError> {
            self.write()
        }
    }

    impl Drop for Careless {
        fn drop(&mut self) {
            let _ = overwrite(&self.directory.join("planted"));
        }
    }

    #[test]
    fn symlinks_planted_at_any_time_affect_no_outside_file() {
        if matches!(protection(), Protection::Nothing { .. }) {
            let required = std::env::var_os("IOGAUGE_REQUIRE_ALL").is_some();
            assert!(!required, "nothing confines threads here");
            eprintln!("SKIPPED: nothing confines threads here");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}/d", dir.path().display()).parse().unwrap();
        let directory = Directory::of(&url, "sqlite");
        let canary = dir.path().join("canary");
        std::fs::write(&canary, "precious").unwrap();
        let harmless = || std::fs::read(&canary).unwrap() == b"precious";
        let careless = Careless { directory: directory.clone() };
        // Confined to the directory from outside, as the backends are when they are opened.
        let database = ConfinedDatabase::new(careless, directory.clone(), 8192);
        let (mut tell, stop) = (|_, _| {}, std::sync::atomic::AtomicBool::new(false));
        let progress = &mut Progress::new(&mut tell, &stop);
        database.setup(1, progress).unwrap();
        std::fs::remove_file(directory.join("planted")).unwrap();
        std::os::unix::fs::symlink(&canary, directory.join("planted")).unwrap();
        let refused = |result: Result<(), DbError>, what: &str| {
            assert!(matches!(result, Err(DbError::ReadOnly(_))), "{what}: {result:?}");
            assert!(harmless(), "{what}");
        };
        let global = Global { number: 1, subscripts: 1, value_bytes: 100 };
        refused(database.is_there().map(drop), "is_there");
        refused(database.about().map(drop), "about");
        refused(database.globals().map(drop), "globals");
        refused(database.create_global(global, progress), "create_global");
        refused(database.drop_globals(), "drop_globals");
        refused(database.walk(1, &mut |_, _| Ok(())), "walk");
        refused(database.committed().map(drop), "committed");
        refused(database.size().map(drop), "size");
        refused(database.paths().map(drop), "paths");
        refused(database.identity().map(drop), "identity");
        refused(database.hold().map(drop), "hold");
        refused(database.purge().map(drop), "purge");
        let run = database.begin(&RunPlan { writers: 1, reads: true }).unwrap();
        let worker =
            WorkerPlan { worker: 1, global, sequence: 0, draws_state: 1, transaction_length: 1 };
        let writer = || run.writer(worker).map(drop);
        refused(std::thread::scope(|s| s.spawn(writer).join().unwrap()), "writer");
        refused(run.blocks().map(drop), "blocks");
        refused(run.counts().map(drop), "counts");
        refused(run.cycles().map(drop), "cycles");
        refused(run.drain(), "drain");
        drop(run);
        assert!(harmless());
        // It can write its own files.
        assert_eq!(std::fs::read(directory.join("own")).unwrap(), b"overwritten");
        drop(directory);
        std::mem::forget(database);
    }
}
