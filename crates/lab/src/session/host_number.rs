//! What depends on the number of hosts that do the I/O.

use super::Rig;
use super::hosts::led;
use crate::error::LabError;
use iogauge_model::Limit;

impl Rig {
    /// Returns the number of hosts that do the I/O, at least 1.
    #[must_use]
    pub fn hosts(&self) -> usize {
        let simulated = self.simulated().map_or(1, |spec| spec.hosts as usize);
        led().map_or(simulated, |hosts| hosts.number())
    }

    /// Checks that there are the hosts that limits bound.
    ///
    /// # Errors
    /// A limit on each of several hosts, and there is only one.
    pub fn check_limits(&self, limits: &[Limit]) -> Result<(), LabError> {
        limits.iter().try_for_each(|limit| Ok(limit.check_hosts(self.hosts())?))
    }

    /// Checks that the target keeps written data, of one host.
    ///
    /// # Errors
    /// A simulated device that does not, with a hint.
    pub(crate) fn check_keeps_data(&self) -> Result<(), LabError> {
        let fault = match self.simulated() {
            Some(spec) if !spec.keep_data => {
                "carries no data; hint: use data=keep in it, or a file"
            }
            Some(spec) if spec.hosts > 1 => {
                "has several hosts, which overwrite each other's data; hint: leave out hosts="
            }
            _ => return Ok(()),
        };
        Err(LabError::Mismatch(format!("verify: the simulated device {} {fault}", self.text())))
    }
}
