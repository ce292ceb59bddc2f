//! What one of several hosts does for the one that leads.

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::{Blind, Interrupt};
use crate::session::hosts::{Examined, Examining, Opening, Preparing, Starting};
use crate::session::prepare::shared;
use crate::session::reserve;
use crate::session::rig::Rig;
use crate::session::sharing::{Identities, Sharing};
use crate::session::{caveats_of_target, file_systems};
use iogauge_io::pool::WorkerPool;
use iogauge_io::targets::{Cleaned, LeftBecause, Part, PartKind, clean_parts};
use std::path::PathBuf;

/// A target that this host opened because the leading host asked for it.
#[derive(Debug)]
pub struct Member {
    opening: Opening,
    rig: Rig,
    /// How hosts share each part, once that is known.
    sharing: Vec<Sharing>,
}

impl Member {
    /// Identifies the target and lets the guards judge the intent. Changes nothing.
    ///
    /// # Errors
    /// As [`Rig::open`].
    pub fn open(opening: Opening) -> Result<Self, LabError> {
        Ok(Self { rig: Rig::open_here(&opening)?, opening, sharing: Vec::new() })
    }

    /// Returns what identifies each part.
    #[must_use]
    pub fn identities(&self) -> Identities {
        self.rig.identities()
    }

    /// Opens the target again if another host may have changed it. The guards judge it again.
    ///
    /// # Errors
    /// As [`Rig::open`].
    pub fn look_again(self, preparing: &Preparing) -> Result<Self, LabError> {
        let mut parts = self.rig.parts().iter().zip(&preparing.sharing);
        let may_differ = |(part, sharing): (&Part, &Sharing)| {
            part.kind != PartKind::BlockDevice && *sharing == Sharing::Unknown
        };
        if !parts.any(may_differ) {
            return Ok(self);
        }
        let Self { opening, rig, .. } = self;
        // A device is claimed only once.
        drop(rig);
        Self::open(opening)
    }

    /// Writes this host's blocks that are not written yet.
    ///
    /// # Errors
    /// As [`super::prepare::prepare`].
    pub fn prepare(
        &mut self,
        preparing: &Preparing,
        interrupt: &Interrupt,
    ) -> Result<(), LabError> {
        self.sharing.clone_from(&preparing.sharing);
        let mut watch = Watch { observer: &mut Blind, interrupt };
        shared::follow(&mut self.rig, preparing, &mut watch)
    }

    /// Returns what may make results on this host mislead.
    ///
    /// # Errors
    /// A part cannot be inspected.
    pub fn examine(&mut self, examining: &Examining) -> Result<Examined, LabError> {
        self.rig.set_command(examining.command);
        if examining.keeps_devices_fresh {
            self.rig.keep_devices_fresh();
        }
        let caveats = caveats_of_target(&self.rig, &examining.jobs)?;
        Ok(Examined { caveats, file_systems: file_systems(&self.rig) })
    }

    /// Starts workers.
    ///
    /// # Errors
    /// As [`Rig::pool_here`].
    pub fn pool(&self, starting: &Starting) -> Result<Box<dyn WorkerPool>, LabError> {
        self.rig.pool_here(starting)
    }

    /// Starts workers and lets `serve` have them. Sets `interrupt` before a disk has less free space than its reserve;
    /// [`Self::stopped_by`] then returns the reason.
    ///
    /// # Errors
    /// As [`Rig::pool_here`].
    pub fn run<T>(
        &self,
        starting: &Starting,
        interrupt: &Interrupt,
        serve: impl FnOnce(&mut dyn WorkerPool) -> T,
    ) -> Result<T, LabError> {
        let mut pool = self.pool(starting)?;
        pool.hurry_when(interrupt.flag());
        let mut watch = Watch { observer: &mut Blind, interrupt };
        reserve::watched(&self.rig, &mut watch, |_| Ok(serve(pool.as_mut())))
    }

    /// Returns why this host stopped its workers, if not by an order.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&str> {
        self.rig.stopped_by()
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
        let parts = self.rig.parts().iter().enumerate();
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
}
