//! Several hosts at once: what a session asks of the other hosts.
//!
//! The process that runs the command leads. It does everything that it does alone, and the other hosts do with the same
//! target what [`Hosts`] asks of them.

use crate::caveats::TargetOnHost;
use crate::error::LabError;
use crate::observe::Interrupt;
use crate::session::Region;
use crate::session::made_files::MadeFiles;
use crate::session::sharing::{PartOnHost, Sharing};
use crate::transactions::{DbLoad, DbReport};
use iogauge_db::DbUrl;
use iogauge_db::pool::WorkerNumbers;
use iogauge_io::pool::{Parts, WorkerPool};
use iogauge_io::targets::{HostNumber, Intent};
use iogauge_model::caveat::Command;
use iogauge_model::load::{Arrivals, Load};
use iogauge_model::plan::Job;
use iogauge_model::result::{Environment, VerifyEnd, VerifyResult};
use iogauge_model::{Caveat, Step};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
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
    /// The database of a URL. It has this identity on the leading host.
    Database { url: Box<DbUrl>, identity: String },
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
            // All hosts use one.
            Wanted::Database { .. } => {}
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
    pub target: TargetOnHost,
}

/// The workers that a host starts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starting {
    pub work: Work,
    /// Queue depth up to which it may rise later.
    pub max_depth: u32,
}

/// What workers do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Work {
    /// I/O on files and devices.
    Jobs(Jobs),
    /// Transactions on a database, by workers with these numbers.
    Database(DbLoad, WorkerNumbers),
}

/// I/O on files and devices.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Jobs {
    pub jobs: Vec<(Load, Region)>,
    /// How hosts share each part.
    pub sharing: Vec<Sharing>,
    /// For each job, the number of streams of the hosts before this one.
    pub first_streams: Vec<u32>,
    /// Number of the step in the plan, from 0, if its workers may write logs or verify states.
    pub step: Option<usize>,
}

impl Jobs {
    fn new(jobs: Vec<(Load, Region)>, sharing: Vec<Sharing>) -> Self {
        Self { first_streams: vec![0; jobs.len()], jobs, sharing, step: None }
    }

    fn shared_out(&self, parts: &Parts) -> Vec<Self> {
        let none = Self { step: self.step, ..Self::new(Vec::new(), self.sharing.clone()) };
        let mut all = vec![none; parts.hosts()];
        for (load, region) in &self.jobs {
            let mut first_stream = 0;
            for (host, own) in of_each_host(load, parts) {
                all[host].first_streams.push(first_stream);
                first_stream += own.numjobs;
                all[host].jobs.push((own, region.clone()));
            }
        }
        all
    }
}

/// Returns the part of a load for each host that has one, with the index of the host.
fn of_each_host<'a>(load: &'a Load, parts: &'a Parts) -> impl Iterator<Item = (usize, Load)> + 'a {
    let (numjobs, queue_depths) = (parts.of(load.numjobs), parts.of(load.queue_depth()));
    parts.active().map(move |host| {
        let own = Load {
            arrivals: load.arrivals.map(|arrivals| Arrivals {
                rate_iops: parts.of_rate(arrivals.rate_iops, host),
                ..arrivals
            }),
            // Two hosts with one seed would access the same blocks at the same time.
            seed: load.seed.wrapping_add((host as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)),
            ..of_depth(load, numjobs[host], queue_depths[host])
        };
        (host, own)
    })
}

impl Starting {
    /// Returns the jobs that one host starts by itself.
    #[must_use]
    pub fn new(jobs: Vec<(Load, Region)>, max_depth: u32, sharing: Vec<Sharing>) -> Self {
        Self { work: Work::Jobs(Jobs::new(jobs, sharing)), max_depth }
    }

    /// Returns what each host starts.
    ///
    /// Of jobs, it is its part of the queue depth and of the arrival rate of each, at least one I/O, with other random
    /// numbers. A host without a part starts none. Of a database, it is its part of the workers, which may be none. The
    /// hosts number their workers in turns, so that with equal parts those that are active have the numbers from 1 on.
    #[must_use]
    pub fn shared_out(&self, parts: &Parts) -> Vec<Self> {
        let most = parts.of(self.max_depth);
        match &self.work {
            Work::Jobs(jobs) => {
                let each = jobs.shared_out(parts).into_iter().zip(most);
                // A host may get one more of a smaller total than of a larger one.
                each.map(|(jobs, most)| Self { work: Work::Jobs(jobs), max_depth: most + 1 })
                    .collect()
            }
            Work::Database(load, _) => {
                let step = parts.active().count() as u32;
                let each = parts.of(load.processes).into_iter().zip(most).zip(1..);
                each.map(|((processes, max_depth), first)| {
                    let load = DbLoad { processes, ..*load };
                    let work = Work::Database(load, WorkerNumbers { first, step });
                    Self { work, max_depth }
                })
                .collect()
            }
        }
    }

    /// Returns the queue depth over all jobs: for a database, the number of its active workers.
    #[must_use]
    pub fn queue_depth(&self) -> u32 {
        match &self.work {
            Work::Jobs(jobs) => jobs.jobs.iter().map(|(load, _)| load.queue_depth()).sum(),
            Work::Database(load, _) => load.processes,
        }
    }

    /// Returns the jobs; none for a database.
    #[must_use]
    pub fn jobs(&self) -> &[(Load, Region)] {
        match &self.work {
            Work::Jobs(jobs) => &jobs.jobs,
            Work::Database(..) => &[],
        }
    }

    /// Returns the same workers as those of a step, by its number in the plan, from 0.
    #[must_use]
    pub fn of_step(mut self, step: Option<usize>) -> Self {
        if let Work::Jobs(jobs) = &mut self.work {
            jobs.step = step;
        }
        self
    }

    /// Returns the number of the step whose workers these are, if they may write logs or verify states.
    pub(crate) fn step(&self) -> Option<usize> {
        match &self.work {
            Work::Jobs(jobs) => jobs.step,
            Work::Database(..) => None,
        }
    }

    /// Returns true if a host may do nothing for a while: the load is that of one job, which does not end by itself and has
    /// no arrival rate, of which each host has a part.
    #[must_use]
    pub fn may_rest(&self) -> bool {
        match &self.work {
            Work::Jobs(jobs) => {
                matches!(&jobs.jobs[..], [(load, _)] if !load.is_counted() && load.arrivals.is_none())
            }
            Work::Database(..) => false,
        }
    }

    /// Returns true for transactions on a database.
    #[must_use]
    pub fn is_database(&self) -> bool {
        matches!(self.work, Work::Database(..))
    }
}

/// Returns a load with at least this queue depth, in as many equal streams.
fn of_depth(load: &Load, numjobs: u32, queue_depth: u32) -> Load {
    let numjobs = numjobs.max(1);
    Load { numjobs, iodepth: queue_depth.div_ceil(numjobs).max(1), ..load.clone() }
}

/// One of the hosts of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostId {
    /// Its number, from 1.
    pub number: u32,
    /// Its name, which no other host has.
    pub name: String,
    /// Number of hosts of the run.
    pub hosts: u32,
}

/// The part of a plan that a host carries out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostPlan {
    pub host: HostId,
    /// Each with the region of each job.
    pub steps: Vec<(Step, Vec<Region>)>,
}

impl HostPlan {
    /// Returns the part of each of the hosts with these names, in their order. The hosts have equal parts.
    #[must_use]
    pub fn of_each(steps: &[(Step, Vec<Region>)], names: &[String]) -> Vec<Self> {
        let parts = Parts::equal(names.len());
        let of_host = |(number, name): (u32, &String)| Self {
            host: HostId { number, name: name.clone(), hosts: names.len() as u32 },
            steps: Vec::new(),
        };
        let mut all: Vec<Self> = (1..).zip(names).map(of_host).collect();
        for (step, regions) in steps {
            for plan in &mut all {
                plan.steps.push((Step { jobs: Vec::new(), ..step.clone() }, regions.clone()));
            }
            for job in &step.jobs {
                for (host, load) in of_each_host(&job.load, &parts) {
                    let own = all[host].steps.last_mut().map(|(step, _)| &mut step.jobs);
                    own.into_iter().for_each(|jobs| {
                        jobs.push(Job { name: job.name.clone(), load: load.clone() });
                    });
                }
            }
        }
        all
    }
}

/// What verifies this host's data, and may be ended by the interrupt.
pub type ReadBack<'a> = Box<dyn FnOnce(&Interrupt) -> Result<VerifyResult, LabError> + 'a>;

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
    fn open(&self, opening: &Opening) -> Result<Vec<Vec<PartOnHost>>, LabError>;

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

    /// Returns what the database workers of the other hosts have reported in addition to their windows, with the hosts'
    /// names.
    fn database_reports(&self) -> Vec<(String, DbReport)>;

    /// Lets the other hosts check their part of a plan whose jobs verify or write logs. They change nothing.
    ///
    /// # Errors
    /// If one of them refuses or is lost.
    fn check(&self, steps: &[(Step, Vec<Region>)]) -> Result<(), LabError>;

    /// Lets all hosts read back what the workers of a step have written, at the same time; `own` does so here. They
    /// read nothing if the verification has ended as `skipped`, and stop if one of them is interrupted, is lost, or
    /// has found wrong data that ends the verification. Returns the results of the hosts that are not lost, by name.
    ///
    /// # Errors
    /// If a host cannot read back.
    fn read_back(
        &self,
        skipped: Option<VerifyEnd>,
        interrupt: &Interrupt,
        own: ReadBack<'_>,
    ) -> Result<Vec<(String, VerifyResult)>, LabError>;

    /// Lets the other hosts give their logs their names, as [`super::files::RunFiles::commit`]. Returns the files of
    /// all that are not lost.
    fn commit(&self, complete: bool) -> MadeFiles;

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

/// Returns the error of an order for another kind of target than the one that is open.
pub(crate) fn other_target() -> LabError {
    LabError::Mismatch("the open target is of another kind".to_owned())
}

static JOINED: OnceLock<Box<dyn Hosts>> = OnceLock::new();

/// Lets this process lead other hosts from now on. A process does so once.
pub fn lead(hosts: Box<dyn Hosts>) {
    // Only the first call counts.
    let _ = JOINED.set(hosts);
}

/// Returns this host's part of the workers that are to be started: all of them if this process measures alone.
pub(crate) fn own_share<'a>(starting: &'a Starting, parts: &Parts) -> Cow<'a, Starting> {
    match led() {
        None => Cow::Borrowed(starting),
        Some(_) => Cow::Owned(starting.shared_out(parts).swap_remove(0)),
    }
}

/// Returns the number of hosts that measure, with this one.
#[must_use]
pub fn number() -> usize {
    led().map_or(1, |hosts| hosts.number())
}

/// Returns the hosts that this process leads; `None` if it measures alone.
#[must_use]
pub fn led() -> Option<&'static dyn Hosts> {
    JOINED.get().map(Box::as_ref)
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_db::pool::Mode;
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
                prop_assert!(own.queue_depth() < wanted.max(1) + own.jobs()[0].0.numjobs);
                prop_assert!(own.max_depth >= wanted);
            }
        }

        #[test]
        fn active_workers_of_a_database_have_the_first_numbers(
            processes in 0u32..300, more in 0u32..300, hosts in 1u32..20,
        ) {
            let load = DbLoad { mode: Mode::Write, processes, transaction_length: 1, hang_ns: 0, seed: 7 };
            let work = Work::Database(load, WorkerNumbers::ALONE);
            let starting = Starting { work, max_depth: processes + more };
            let parts = starting.shared_out(&Parts::equal(hosts as usize));
            let numbers = |workers: fn(&Starting) -> u32| {
                let of = |part: &Starting| match part.work {
                    Work::Database(_, numbers) => (0..workers(part)).map(move |n| numbers.of(n)),
                    Work::Jobs(_) => unreachable!("another kind of work"),
                };
                let mut all: Vec<u32> = parts.iter().flat_map(of).collect();
                all.sort_unstable();
                all
            };
            prop_assert_eq!(numbers(Starting::queue_depth), (1..=processes).collect::<Vec<_>>());
            prop_assert_eq!(numbers(|part| part.max_depth), (1..=processes + more).collect::<Vec<_>>());
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
            assert_eq!(own.jobs()[0].0.arrivals.unwrap().rate_iops, 300.0);
        }
        assert_eq!(all[0].jobs()[0].0.seed, 7);
        assert_ne!(all[1].jobs()[0].0.seed, all[2].jobs()[0].0.seed);
    }

    #[test]
    fn host_without_a_part_starts_nothing() {
        let all = arriving().shared_out(&Parts::weighted(vec![2, 1, 5]).first(2));
        let rate = |own: &Starting| own.jobs()[0].0.arrivals.unwrap().rate_iops;
        assert_eq!((rate(&all[0]), rate(&all[1])), (600.0, 300.0));
        assert!(all[2].jobs().is_empty());
    }
}
