//! What depends on the number of hosts that do the I/O.

use super::hosts::led;
use super::{Region, Rig};
use crate::error::LabError;
use iogauge_io::pool::Parts;
use iogauge_io::targets::Part;
use iogauge_model::Limit;
use iogauge_model::load::Load;
use iogauge_model::result::HostPart;
use std::path::PathBuf;

/// Which of the hosts take part.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum HostsUsed {
    #[default]
    All,
    /// This many, from the first one on.
    First(usize),
    /// The one with this index.
    Only(usize),
}

impl Rig {
    /// Returns the number of hosts that do the I/O, at least 1.
    #[must_use]
    pub fn hosts(&self) -> usize {
        let simulated = self.simulated().map_or(1, |spec| spec.hosts as usize);
        led().map_or(simulated, |hosts| hosts.number())
    }

    /// Returns the paths of the files and devices on all hosts.
    #[must_use]
    pub fn paths_on_hosts(&self) -> Vec<PathBuf> {
        let hosts = 1..=self.hosts() as u32;
        let on_hosts = |part: &Part| hosts.clone().map(|number| part.path_on(number)).collect();
        self.parts().iter().flat_map::<Vec<PathBuf>, _>(on_hosts).collect()
    }

    /// Returns the names of the hosts, in their order.
    #[must_use]
    pub fn host_names(&self) -> Vec<String> {
        match led() {
            Some(hosts) => hosts.names(),
            None => (1..=self.hosts()).map(|number| format!("host-{number}")).collect(),
        }
    }

    /// Returns what each host reached alone and its part of the load; empty if the hosts have equal parts.
    #[must_use]
    pub fn host_parts(&self) -> &[HostPart] {
        &self.host_parts
    }

    /// Sets which hosts take part in what is started from now on.
    pub fn use_hosts(&mut self, used: HostsUsed) {
        self.hosts_used = used;
    }

    /// Returns the part of each host in what is started from now on.
    pub(super) fn parts_of_hosts(&self) -> Parts {
        let parts = match self.host_parts.as_slice() {
            [] => Parts::equal(self.hosts()),
            // Thousandths of an I/O per second distinguish the slowest devices.
            parts => Parts::weighted(parts.iter().map(|part| weight(part.alone_iops)).collect()),
        };
        match self.hosts_used {
            HostsUsed::All => parts,
            HostsUsed::First(hosts) => parts.first(hosts),
            HostsUsed::Only(host) => Parts::only(host, self.hosts()),
        }
    }

    /// Checks that there are several hosts.
    ///
    /// # Errors
    /// There is one. The message begins with `what`.
    pub fn check_several_hosts(&self, what: &str) -> Result<(), LabError> {
        if self.hosts() > 1 {
            return Ok(());
        }
        Err(LabError::Mismatch(format!(
            "{what}: there is one host; hint: use --hosts=node[1-8], or a simulated device with hosts=8"
        )))
    }

    /// Checks that there are the hosts that limits bound.
    ///
    /// # Errors
    /// A limit on each of several hosts, and there is only one.
    pub fn check_limits(&self, limits: &[Limit]) -> Result<(), LabError> {
        limits.iter().try_for_each(|limit| Ok(limit.check_hosts(self.hosts())?))
    }

    /// Checks that no other host writes what one of these jobs of this host verifies.
    ///
    /// # Errors
    /// A job writes a file or device that all hosts use.
    pub(crate) fn check_not_overwritten(&self, jobs: &[(Load, Region)]) -> Result<(), LabError> {
        let Some(target) = self.target() else { return Ok(()) };
        let shared = |region: &Region| {
            let parts = region.parts(target).into_iter();
            parts
                .filter(|part| part.shared_by().is_some())
                .map(|part| part.path)
                .collect::<Vec<_>>()
        };
        let verifying = jobs.iter().filter(|(load, _)| load.verify.is_some());
        let verified: Vec<_> = verifying.flat_map(|(_, region)| shared(region)).collect();
        let writing = jobs.iter().filter(|(load, _)| load.writes());
        let written = writing.flat_map(|(_, region)| shared(region));
        match written.into_iter().find(|path| verified.contains(path)) {
            None => Ok(()),
            Some(path) => Err(LabError::Mismatch(format!(
                "verify: all hosts write {}, and overwrite each other's data; hint: use a directory, in which each \
                 host has a file of its own",
                path.display()
            ))),
        }
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

/// Returns the weight of a host that reached this rate alone. A host that reached nothing still takes part.
fn weight(alone_iops: f64) -> u64 {
    ((alone_iops * 1000.0).round() as u64).max(1)
}
