//! Several hosts at once: what a session asks of the other hosts.
//!
//! The process that runs the command leads. It does everything that it does alone, and the other hosts do with the same
//! target what [`Hosts`] asks of them.

use crate::error::LabError;
use crate::observe::Interrupt;
use crate::session::Region;
use crate::session::sharing::{Identities, Sharing};
use iogauge_io::pool::{Parts, WorkerPool};
use iogauge_io::targets::{HostNumber, Intent};
use iogauge_model::Caveat;
use iogauge_model::caveat::Command;
use iogauge_model::load::{Arrivals, Load};
use iogauge_model::result::{Environment, FileSystemFacts};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

/// The target that a host opens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opening {
    /// TARGET as typed.
    pub text: String,
    pub wanted: Wanted,
}

/// What is wanted of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Wanted {
    /// All that the text names.
    All(Intent),
    /// These files and devices.
    Each(Vec<(PathBuf, Intent)>),
}

impl Opening {
    /// Returns the same target for one of several hosts. Numbers start at 1.
    #[must_use]
    pub fn for_host(&self, number: u32, hosts: u32) -> Self {
        let host = Some(HostNumber { number, hosts });
        let mut opening = self.clone();
        match &mut opening.wanted {
            Wanted::All(intent) => intent.host = host,
            Wanted::Each(wanted) => {
                wanted.iter_mut().for_each(|(_, intent)| intent.host = host);
            }
        }
        opening
    }
}

/// The blocks that the other hosts write before anything is measured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preparing {
    /// How hosts share each part.
    pub sharing: Vec<Sharing>,
    /// The usable bytes of each shared part that are to be written, each host its share; `None` if all are written.
    pub ranges: Vec<Option<Range<u64>>>,
    /// True if block devices are not written.
    pub keeps_devices_fresh: bool,
}

/// What is asked about a target before workloads run on it, each on its region.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Examining {
    pub jobs: Vec<(Load, Region)>,
    /// The command that words caveats.
    pub command: Command,
    /// True if the contents of block devices do not matter.
    pub keeps_devices_fresh: bool,
}

/// What a host finds about its target.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Examined {
    pub caveats: Vec<Caveat>,
    /// The file system of each part that is a file.
    pub file_systems: Vec<FileSystemFacts>,
}

/// The workers that a host starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starting {
    pub jobs: Vec<(Load, Region)>,
    /// Queue depth up to which it may rise later.
    pub max_depth: u32,
    /// How hosts share each part.
    pub sharing: Vec<Sharing>,
    /// For each job, the number of streams of the hosts before this one.
    pub first_streams: Vec<u32>,
}

impl Starting {
    /// Returns what one host starts by itself.
    #[must_use]
    pub fn new(jobs: Vec<(Load, Region)>, max_depth: u32, sharing: Vec<Sharing>) -> Self {
        Self { first_streams: vec![0; jobs.len()], jobs, max_depth, sharing }
    }

    /// Returns what each host starts: its part of the queue depth and of the arrival rate of each job, at least one
    /// I/O, and other random numbers. A host without a part starts no jobs.
    #[must_use]
    pub fn shared_out(&self, parts: &Parts) -> Vec<Self> {
        // A host may get one more of a smaller total than of a larger one.
        let share = |most: u32| Self::new(Vec::new(), most + 1, self.sharing.clone());
        let mut all: Vec<Self> = parts.of(self.max_depth).into_iter().map(share).collect();
        for (load, region) in &self.jobs {
            let (numjobs, queue_depths) = (parts.of(load.numjobs), parts.of(load.queue_depth()));
            let mut first_stream = 0;
            for host in parts.active() {
                let own = Load {
                    arrivals: load.arrivals.map(|arrivals| Arrivals {
                        rate_iops: parts.of_rate(arrivals.rate_iops, host),
                        ..arrivals
                    }),
                    // Two hosts with one seed would access the same blocks at the same time.
                    seed: load.seed.wrapping_add((host as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
                    ..of_depth(load, numjobs[host], queue_depths[host])
                };
                all[host].first_streams.push(first_stream);
                first_stream += own.numjobs;
                all[host].jobs.push((own, region.clone()));
            }
        }
        all
    }

    /// Returns the queue depth over all jobs.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        self.jobs.iter().map(|(load, _)| load.queue_depth()).sum()
    }
}

/// Returns a load with at least this queue depth, in as many equal streams.
fn of_depth(load: &Load, numjobs: u32, queue_depth: u32) -> Load {
    let numjobs = numjobs.max(1);
    Load { numjobs, iodepth: queue_depth.div_ceil(numjobs).max(1), ..load.clone() }
}

/// Workers that were started, or why they could not be.
pub type Started = Result<Box<dyn WorkerPool>, LabError>;

/// The other hosts of a run, and how to reach them.
pub trait Hosts: Debug + Send + Sync {
    /// Returns the number of hosts, with this one.
    fn number(&self) -> usize;

    /// Returns the names of all hosts, that of this one first.
    fn names(&self) -> Vec<String>;

    /// Returns the environment of each other host, once the target was opened there.
    fn environments(&self) -> Vec<Environment>;

    /// Opens the target on the other hosts. Returns what identifies its parts on each of them.
    ///
    /// # Errors
    /// If one of them refuses, is lost, or has another version.
    fn open(&self, opening: &Opening) -> Result<Vec<Identities>, LabError>;

    /// Lets the other hosts write blocks of the target that are not written yet.
    fn begin_preparing(&self, preparing: &Preparing);

    /// Waits until they have.
    ///
    /// # Errors
    /// If a host failed or is lost, or the user interrupts.
    fn wait_prepared(&self, interrupt: &Interrupt) -> Result<(), LabError>;

    /// Returns what each other host finds about its target.
    ///
    /// # Errors
    /// If a host fails or is lost.
    fn examine(&self, examining: &Examining) -> Result<Vec<Examined>, LabError>;

    /// Starts workers at the same time on all hosts that take part. `start_own` starts those of this host, which are
    /// none if it takes no part.
    ///
    /// # Errors
    /// If workers cannot be started on a host.
    fn start(
        &self,
        starting: &Starting,
        parts: &Parts,
        start_own: &dyn Fn(&Starting) -> Started,
    ) -> Started;

    /// Returns which host was lost during the run, and why.
    fn lost(&self) -> Option<String>;

    /// Returns which host ended the run by itself, and why: its disk is nearly full.
    fn stopped(&self) -> Option<String>;

    /// Removes test files on the other hosts that those have made: all of the target, or those with these paths. Returns
    /// a line for each. A host that was lost is left out.
    ///
    /// # Errors
    /// If a file cannot be removed.
    fn remove(&self, paths: Option<&[PathBuf]>) -> Result<Vec<String>, LabError>;

    /// Ends the other hosts' part of the run.
    fn end(&self);
}

static JOINED: OnceLock<Box<dyn Hosts>> = OnceLock::new();

/// Lets this process lead other hosts from now on. A process does so once.
pub fn lead(hosts: Box<dyn Hosts>) {
    // Only the first call counts.
    let _ = JOINED.set(hosts);
}

/// Returns the hosts that this process leads; `None` if it measures alone.
#[must_use]
pub fn led() -> Option<&'static dyn Hosts> {
    JOINED.get().map(Box::as_ref)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn each_host_has_room_for_its_share(
            iodepth in 1u32..300,
            numjobs in 1u32..40,
            weights in prop::collection::vec(1u64..1000, 1..20),
        ) {
            let load = Load { iodepth, numjobs, ..Load::default() };
            let starting = Starting::new(vec![(load, Region::All)], iodepth * numjobs, Vec::new());
            let parts = Parts::weighted(weights);
            let wanted = parts.of(iodepth * numjobs);
            for (own, wanted) in starting.shared_out(&parts).iter().zip(wanted) {
                prop_assert!(own.queue_depth() >= wanted.max(1));
                prop_assert!(own.queue_depth() < wanted.max(1) + own.jobs[0].0.numjobs);
                prop_assert!(own.max_depth >= wanted);
            }
        }
    }

    fn arriving() -> Starting {
        let mut load = Load { seed: 7, ..Load::default() };
        load.arrivals =
            Some(Arrivals { rate_iops: 900.0, process: Default::default(), only: None });
        Starting::new(vec![(load, Region::All)], 64, Vec::new())
    }

    #[test]
    fn hosts_have_equal_rates_and_other_seeds() {
        let all = arriving().shared_out(&Parts::equal(3));
        for own in &all {
            assert_eq!(own.jobs[0].0.arrivals.unwrap().rate_iops, 300.0);
        }
        assert_eq!(all[0].jobs[0].0.seed, 7);
        assert_ne!(all[1].jobs[0].0.seed, all[2].jobs[0].0.seed);
    }

    #[test]
    fn host_without_a_part_starts_nothing() {
        let all = arriving().shared_out(&Parts::weighted(vec![2, 1, 5]).first(2));
        let rate = |own: &Starting| own.jobs[0].0.arrivals.unwrap().rate_iops;
        assert_eq!((rate(&all[0]), rate(&all[1])), (600.0, 300.0));
        assert!(all[2].jobs.is_empty());
    }
}
