//! What one of several hosts does for the one that leads.

use crate::error::LabError;
use crate::measure::Watch;
use crate::observe::{Blind, Interrupt};
use crate::session::hosts::{Opening, Starting};
use crate::session::prepare::prepare_here;
use crate::session::reserve;
use crate::session::rig::Rig;
use iogauge_io::pool::WorkerPool;

/// A target that this host opened because the leading host asked for it.
#[derive(Debug)]
pub struct Member {
    opening: Opening,
    rig: Rig,
}

impl Member {
    /// Identifies the target and lets the guards judge the intent. Changes nothing.
    ///
    /// # Errors
    /// As [`Rig::open`].
    pub fn open(opening: Opening) -> Result<Self, LabError> {
        Ok(Self { rig: Rig::open_here(&opening)?, opening })
    }

    /// Writes the blocks that are not written yet. What another host has written of a shared file counts.
    ///
    /// # Errors
    /// As [`prepare_here`].
    pub fn prepare(&mut self, interrupt: &Interrupt) -> Result<(), LabError> {
        // Another host may have made the file since.
        self.rig = Rig::open_here(&self.opening)?;
        prepare_here(&mut self.rig, &mut Watch { observer: &mut Blind, interrupt }).map(drop)
    }

    /// Starts workers.
    ///
    /// # Errors
    /// As [`Rig::pool_here`].
    pub fn pool(&self, starting: &Starting) -> Result<Box<dyn WorkerPool>, LabError> {
        self.rig.pool_here(&starting.jobs, starting.max_depth)
    }

    /// Starts workers and lets `serve` have them. Sets `interrupt` before a disk has less free space than its reserve.
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
}
