//! What one of several hosts does for the one that leads.

use crate::db::{DbReport, DbTarget};
use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::{Blind, Interrupt};
use crate::session::files::RunFiles;
use crate::session::hosts::{
    Examined, Examining, HostPlan, Opening, Preparing, Starting, Wanted, other_target,
};
use crate::session::made_files::MadeFiles;
use crate::session::prepare::shared;
use crate::session::records::{Records, Verified};
use crate::session::reserve;
use crate::session::rig::Rig;
use crate::session::sharing::{PartOnHost, Sharing};
use crate::session::{caveats_of_target, target_on_host};
use iogauge_io::pool::WorkerPool;
use iogauge_io::targets::{Cleaned, LeftBecause, Part, PartKind, clean_parts};
use iogauge_model::result::{VerifyEnd, VerifyResult};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// A target that this host opened because the leading host asked for it.
#[derive(Debug)]
pub struct Member {
    opening: Opening,
    target: Opened,
    /// How hosts share each part, once that is known.
    sharing: Vec<Sharing>,
    /// The files of the run, once they are checked.
    files: Option<RunFiles>,
    /// What the workers record that were begun last.
    records: Records,
    /// What the workers of a database report.
    report: Arc<Mutex<DbReport>>,
}

#[derive(Debug)]
enum Opened {
    Rig(Box<Rig>),
    Database(Box<DbTarget>),
}

impl Opened {
    fn open(opening: &Opening) -> Result<Self, LabError> {
        match &opening.wanted {
            Wanted::Database { url, identity } => {
                Ok(Self::Database(Box::new(DbTarget::open_same(url, identity)?)))
            }
            Wanted::All(_) | Wanted::Each(_) => Ok(Self::Rig(Box::new(Rig::open_here(opening)?))),
        }
    }

    fn rig(&self) -> Option<&Rig> {
        match self {
            Self::Rig(rig) => Some(rig),
            Self::Database(_) => None,
        }
    }

    fn rig_mut(&mut self) -> Result<&mut Rig, LabError> {
        match self {
            Self::Rig(rig) => Ok(rig),
            Self::Database(_) => Err(other_target()),
        }
    }
}

impl Member {
    /// Identifies the target and lets the guards judge the intent. Changes nothing.
    ///
    /// # Errors
    /// As [`Rig::open`] or [`DbTarget::open`]; or the host reaches another database.
    pub fn open(opening: Opening) -> Result<Self, LabError> {
        let (target, report) = (Opened::open(&opening)?, Arc::default());
        let (sharing, files, records) = (Vec::new(), None, Records::default());
        Ok(Self { opening, target, sharing, files, records, report })
    }

    /// Returns each part as it is compared with those of other hosts; none of a database.
    #[must_use]
    pub fn parts_on_host(&self) -> Vec<PartOnHost> {
        self.target.rig().map(Rig::parts_on_host).unwrap_or_default()
    }

    /// Opens the target again if another host may have changed it. The guards judge it again.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn look_again(self, preparing: &Preparing) -> Result<Self, LabError> {
        let parts = self.target.rig().map_or(&[][..], Rig::parts);
        let may_differ = |(part, sharing): (&Part, &Sharing)| {
            part.kind != PartKind::BlockDevice && *sharing == Sharing::Unknown
        };
        if !parts.iter().zip(&preparing.sharing).any(may_differ) {
            return Ok(self);
        }
        let Self { opening, target, files, .. } = self;
        // A device is claimed only once.
        drop(target);
        Ok(Self { files, ..Self::open(opening)? })
    }

    /// Writes this host's blocks that are not written yet.
    ///
    /// # Errors
    /// As [`crate::session::prepare::prepare`].
    pub fn prepare(
        &mut self,
        preparing: &Preparing,
        interrupt: &Interrupt,
    ) -> Result<(), LabError> {
        self.sharing.clone_from(&preparing.sharing);
        let mut watch = Watch { observer: &mut Blind, interrupt };
        shared::follow(self.target.rig_mut()?, preparing, &mut watch)
    }

    /// Returns what may make results on this host mislead.
    ///
    /// # Errors
    /// A part cannot be inspected.
    pub fn examine(&mut self, examining: &Examining) -> Result<Examined, LabError> {
        let rig = self.target.rig_mut()?;
        rig.set_command(examining.command);
        if examining.keeps_devices_fresh {
            rig.keep_devices_fresh();
        }
        let caveats = caveats_of_target(rig, &examining.jobs)?;
        Ok(Examined { caveats, target: target_on_host(rig) })
    }

    /// Checks this host's part of a plan whose jobs verify or write logs. Changes nothing.
    ///
    /// # Errors
    /// As [`RunFiles::check`], or a job verifies a file that does not exist yet.
    pub fn check(&mut self, plan: &HostPlan) -> Result<(), LabError> {
        self.files =
            Some(RunFiles::check_here(self.target.rig_mut()?, &plan.steps, Some(&plan.host))?);
        Ok(())
    }

    /// Readies what workers will record, before they are started.
    ///
    /// # Errors
    /// If jobs cannot verify together.
    pub fn begin(&mut self, starting: &Starting) -> Result<(), LabError> {
        if let Some(rig) = self.target.rig() {
            let files = self.files.as_mut().zip(starting.step());
            let files = files.map(|(files, step)| files.of_step(step));
            self.records = Records::of(rig, starting, files.unwrap_or_default())?;
        }
        Ok(())
    }

    /// Starts workers.
    ///
    /// # Errors
    /// They do not fit the target, or one cannot be started.
    pub fn pool(&self, starting: &Starting) -> Result<Box<dyn WorkerPool>, LabError> {
        match &self.target {
            Opened::Rig(rig) => self.records.start_here(rig, starting),
            Opened::Database(target) => target.start_joining(starting, self.report.clone()),
        }
    }

    /// Saves the verify states of workers that have ended, and reads back what they have written, unless they have
    /// ended as `skipped`. `None` if they do not verify.
    ///
    /// # Errors
    /// The data cannot be read back.
    pub fn read_back(
        &mut self,
        skipped: Option<VerifyEnd>,
        interrupt: &Interrupt,
    ) -> Result<Option<VerifyResult>, LabError> {
        let mut watch = Watch { observer: &mut Blind, interrupt };
        let records = std::mem::take(&mut self.records);
        let Some(verified) = records.verify_here(self.target.rig_mut()?, skipped, &mut watch)?
        else {
            return Ok(None);
        };
        let Verified { result, states } = verified;
        if let Some(files) = &mut self.files {
            files.saved(states);
        }
        Ok(Some(result))
    }

    /// Gives the logs of the run their names; see [`RunFiles::commit`].
    pub fn commit(&mut self, complete: bool) -> MadeFiles {
        self.files.take().map(|files| files.commit_here(complete)).unwrap_or_default()
    }

    /// Starts workers and lets `serve` have them. Sets `interrupt` before a disk has less free space than its reserve;
    /// [`Self::stopped_by`] then returns the reason.
    ///
    /// # Errors
    /// As [`Self::pool`].
    pub fn run<T>(
        &self,
        starting: &Starting,
        interrupt: &Interrupt,
        serve: impl FnOnce(Box<dyn WorkerPool>) -> T,
    ) -> Result<T, LabError> {
        let mut pool = self.pool(starting)?;
        pool.hurry_when(interrupt.flag());
        match &self.target {
            Opened::Rig(rig) => {
                let mut watch = Watch { observer: &mut Blind, interrupt };
                reserve::watched(rig, &mut watch, |_| Ok(serve(pool)))
            }
            // Its workers watch the disks themselves.
            Opened::Database(_) => Ok(serve(pool)),
        }
    }

    /// Returns why this host stopped its workers, if not by an order.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&str> {
        self.target.rig()?.stopped_by()
    }

    /// Removes the test files that this host has made: all of the target, or those with these paths. The leading host
    /// removes those that hosts share. Returns a line for each.
    ///
    /// # Errors
    /// If a file that iogauge made cannot be examined or removed.
    pub fn remove(&self, paths: Option<&[PathBuf]>) -> Result<Vec<String>, LabError> {
        let is_shared = |index: usize| self.sharing.get(index) == Some(&Sharing::Shared);
        let is_wanted = |part: &Part| {
            part.kind != PartKind::BlockDevice
                && paths.is_none_or(|paths| paths.contains(&part.path))
        };
        let parts = self.target.rig().map_or(&[][..], Rig::parts).iter().enumerate();
        let parts = parts.filter(|(index, part)| !is_shared(*index) && is_wanted(part));
        let parts: Vec<Part> = parts.map(|(_, part)| part.clone()).collect();
        let cleaned = clean_parts(&parts)?;
        // The leading host may have removed it, if hosts share it.
        let is_gone = |cleaned: &Cleaned| {
            let because = match cleaned {
                Cleaned::Left { because, .. } => because,
                Cleaned::Removed { .. } => return false,
            };
            matches!(because, LeftBecause::NotThere | LeftBecause::InUse)
        };
        let told = cleaned.iter().filter(|cleaned| !is_gone(cleaned));
        Ok(told.map(ToString::to_string).collect())
    }

    /// Returns what the workers of a database report in addition to their windows.
    #[must_use]
    pub fn database_report(&self) -> DbReport {
        self.report.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
