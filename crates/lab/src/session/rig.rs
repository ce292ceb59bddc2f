//! A target with everything needed to run workloads on it.

use crate::caveats::surroundings;
use crate::error::LabError;
use crate::session::fio_pool;
use crate::session::host_number::HostsUsed;
use crate::session::hosts::{self, Jobs, Opening, Starting, Work};
use crate::session::profile::CADENCE;
use crate::session::region::Region;
use crate::session::sharing::{self, PartOnHost, Sharing};
use iogauge_io::engine::{self, Files};
use iogauge_io::logs::LogWriter;
use iogauge_io::machine::{DeviceTree, GroupLimits, Memory, SystemError};
use iogauge_io::offsets::Extent;
use iogauge_io::pool::fio::{FioBinary, FioPool, FioWork, ForeignJob, Span};
use iogauge_io::pool::{PoolJob, ThreadPool, VirtualPool, WorkerPool};
use iogauge_io::sim::{DeviceSlot, SimSpec};
use iogauge_io::targets::{
    Intent, OpenMode, Part, Roots, Target, TargetError, advise, device_facts, device_facts_of,
};
use iogauge_io::verify::JobVerify;
use iogauge_model::caveat::{BlockFact, Command, Fact, MachineFact, TargetFact};
use iogauge_model::load::{EngineKind, Load, SyncMode};
use iogauge_model::result::{HostPart, RealTarget, SimulatedTarget, TargetFacts};
use iogauge_model::{Caveat, Limit, Step};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A simulated device with at least this service time represents a rotating disk.
const SERVICE_OF_DISKS_NS: u64 = 2_000_000;

/// What workloads run on.
#[derive(Debug)]
pub(super) enum Medium {
    Real(Target),
    /// A device in virtual time. Each pool continues with the state that the last one left.
    Simulated(DeviceSlot),
}

/// A target that passed the guards, ready to be prepared and measured.
#[derive(Debug)]
pub struct Rig {
    /// TARGET as typed.
    text: String,
    medium: Medium,
    intent: Intent,
    roots: Roots,
    /// Does the I/O instead of workers of this process.
    via: Option<FioBinary>,
    /// A job that fio runs instead of the given workloads.
    foreign: Option<ForeignJob>,
    /// True if block devices are measured without a prefill.
    fresh_devices: bool,
    /// Time between two samples of the machine during a load.
    cadence: Duration,
    /// Why a measurement was stopped.
    stopped: Arc<OnceLock<String>>,
    /// The command whose result has the caveats.
    command: Command,
    /// What was opened on several hosts.
    opening: Option<Opening>,
    /// How several hosts share each part.
    sharing: Vec<Sharing>,
    /// What each host reached alone, which decides its part; empty if the hosts have equal parts.
    pub(super) host_parts: Vec<HostPart>,
    pub(super) hosts_used: HostsUsed,
}

impl Rig {
    pub(super) fn of(text: &str, medium: Medium, intent: Intent, roots: Roots) -> Self {
        let text = text.to_owned();
        let (via, foreign, fresh_devices, cadence) = (None, None, false, CADENCE);
        let stopped = Arc::default();
        let (command, hosts_used) = (Command::default(), HostsUsed::All);
        let (opening, sharing, host_parts) = (None, Vec::new(), Vec::new());
        Self {
            text,
            medium,
            intent,
            roots,
            via,
            foreign,
            fresh_devices,
            cadence,
            stopped,
            command,
            opening,
            sharing,
            host_parts,
            hosts_used,
        }
    }

    /// Compares the parts of this host with those of the other hosts, on which the same was opened. `names` are those
    /// of all hosts.
    ///
    /// # Errors
    /// A part is a directory on one host and not on another one, or similar.
    pub(super) fn compare(
        &mut self,
        opening: Opening,
        names: &[String],
        others: &[Vec<PartOnHost>],
    ) -> Result<(), LabError> {
        let own = self.parts_on_host();
        if let Some((host, own, other)) = sharing::unlike(&own, others) {
            return Err(LabError::Mismatch(format!(
                "{} is {} on {}, and {} on {}; hint: use a path that leads to the same kind of target on all hosts",
                self.text,
                own.words(),
                names[0],
                other.words(),
                names[host + 1]
            )));
        }
        self.sharing = sharing::compared(self.parts(), &own, others);
        self.opening = Some(opening);
        Ok(())
    }

    /// Returns what was opened on several hosts; `None` if this host is the only one.
    pub(super) fn opening(&self) -> Option<&Opening> {
        self.opening.as_ref()
    }

    /// Returns how several hosts share each part.
    pub(super) fn sharing(&self) -> &[Sharing] {
        &self.sharing
    }

    /// Returns each part as it is compared with those of other hosts.
    #[must_use]
    pub fn parts_on_host(&self) -> Vec<PartOnHost> {
        self.parts().iter().map(|part| PartOnHost::of(part, &self.roots)).collect()
    }

    /// Sets the cadence at which the machine is sampled during loads on a real target.
    pub fn sample_every(&mut self, cadence: Duration) {
        self.cadence = cadence;
    }

    /// Returns why a measurement was stopped, if not by the user.
    pub(crate) fn stopped_by(&self) -> Option<&str> {
        self.stopped.get().map(String::as_str)
    }

    /// Returns the place of the reason.
    pub(crate) fn stopped(&self) -> Arc<OnceLock<String>> {
        self.stopped.clone()
    }

    /// Returns the time between two samples of the machine.
    #[must_use]
    pub fn cadence(&self) -> Duration {
        self.cadence
    }

    /// Turns off the prefill of block devices and the caveats about their contents: the caller
    /// writes them before it measures.
    pub fn keep_devices_fresh(&mut self) {
        self.fresh_devices = true;
    }

    /// Returns true if block devices are not prefilled.
    pub(crate) fn keeps_devices_fresh(&self) -> bool {
        self.fresh_devices
    }

    /// Returns TARGET as typed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the intent with which the target was opened.
    #[must_use]
    pub fn intent(&self) -> &Intent {
        &self.intent
    }

    /// Returns true if the target is a simulated device.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        matches!(self.medium, Medium::Simulated(_))
    }

    /// Restarts a simulated device, as [`DeviceSlot::restarted`] does. Changes nothing on a real target.
    pub fn restart(&mut self, restarts: u64) {
        if let Medium::Simulated(slot) = &mut self.medium {
            *slot = slot.restarted(restarts);
        }
    }

    pub(crate) fn target_mut(&mut self) -> Option<(&mut Target, &Roots)> {
        match &mut self.medium {
            Medium::Real(target) => Some((target, &self.roots)),
            Medium::Simulated(_) => None,
        }
    }

    /// Returns the target, unless it is simulated.
    #[must_use]
    pub fn target(&self) -> Option<&Target> {
        match &self.medium {
            Medium::Real(target) => Some(target),
            Medium::Simulated(_) => None,
        }
    }

    /// Returns the files and devices; none for a simulated target.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        self.target().map_or(&[], |target| &target.parts)
    }

    /// Returns the paths of the files and devices; empty for a simulated target.
    #[must_use]
    pub fn paths(&self) -> Vec<PathBuf> {
        self.parts().iter().map(|part| part.path.clone()).collect()
    }

    /// Returns the usable bytes over all parts.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        match &self.medium {
            Medium::Real(target) => target.parts.iter().map(|p| p.size_bytes).sum(),
            Medium::Simulated(slot) => slot.spec().size_bytes,
        }
    }

    /// Returns the engine to use: the requested one, or the default of this target and kernel. If
    /// the usual default is not available, also returns a fact.
    ///
    /// # Errors
    /// The requested engine does not fit the target or the kernel.
    pub fn engine(
        &self,
        asked: Option<EngineKind>,
    ) -> Result<(EngineKind, Option<Fact>), LabError> {
        match (asked, self.is_simulated()) {
            (None | Some(EngineKind::Sim), true) => return Ok((EngineKind::Sim, None)),
            (Some(other), true) => {
                return Err(LabError::Mismatch(format!(
                    "ioengine {} cannot reach the simulated device {}; hint: use no \
                     --ioengine",
                    engine::info(other).name,
                    self.text
                )));
            }
            (Some(EngineKind::Sim), false) => {
                return Err(LabError::Mismatch(format!(
                    "ioengine sim simulates a device and cannot reach {}; hint: use the \
                     target sim:…",
                    self.text
                )));
            }
            _ => {}
        }
        let Some(kind) = asked else { return Ok(default_engine()) };
        match engine::probe(kind) {
            Ok(()) => Ok((kind, None)),
            Err(source) => {
                let engine = engine::info(kind).name;
                let instead = engine::info(default_engine().0).name;
                Err(LabError::EngineRefused { engine, source, instead })
            }
        }
    }

    /// Lets fio do the I/O from now on.
    ///
    /// # Errors
    /// fio cannot reach the target.
    pub fn go_via(&mut self, fio: FioBinary) -> Result<(), LabError> {
        if self.is_simulated() {
            return Err(LabError::Mismatch(format!(
                "--via fio: fio cannot reach the simulated device {}; hint: use a directory, \
                 a file or a block device",
                self.text
            )));
        }
        if hosts::led().is_some() {
            let reason = "--via fio: fio runs on one host; hint: use one host";
            return Err(LabError::Mismatch(reason.to_owned()));
        }
        self.via = Some(fio);
        Ok(())
    }

    /// Lets fio do the I/O from now on, with a job of its own. Workloads then only set the queue
    /// depth.
    ///
    /// # Errors
    /// As [`Self::go_via`].
    pub fn go_via_job(&mut self, fio: FioBinary, job: ForeignJob) -> Result<(), LabError> {
        self.go_via(fio)?;
        self.foreign = Some(job);
        Ok(())
    }

    /// Returns the job that fio runs whatever the workload, if there is one.
    #[must_use]
    pub fn foreign(&self) -> Option<&ForeignJob> {
        self.foreign.as_ref()
    }

    /// Lets workers of this process do the I/O from now on.
    pub fn go_alone(&mut self) {
        self.via = None;
    }

    /// Returns the fio that does the I/O, if there is one.
    #[must_use]
    pub fn via(&self) -> Option<&FioBinary> {
        self.via.as_ref()
    }

    /// Starts the worker pool for a workload. The queue depth may later rise to `max_depth`.
    ///
    /// # Errors
    /// A workload does not fit the target, a file cannot be opened, or a worker cannot be started.
    pub fn pool(&self, load: &Load, max_depth: u32) -> Result<Box<dyn WorkerPool>, LabError> {
        if let (Some(fio), Some(job)) = (&self.via, &self.foreign) {
            let handed = fio_pool::handed_to_job(self.parts(), &job.jobs, &job.paths)?;
            let work = FioWork::Foreign(job.clone());
            return Ok(Box::new(FioPool::start(fio.clone(), work, Span::Open, handed)?));
        }
        if let (Some(fio), Medium::Real(target)) = (&self.via, &self.medium) {
            let step = Step::single(load.clone(), 0, 0);
            return fio_pool::pool(target, fio, &step, &[], Span::Open);
        }
        self.pool_on(&[(load.clone(), Region::All)], max_depth)
    }

    /// Starts the worker pool for a step, each job on its own region.
    ///
    /// # Errors
    /// As [`Self::pool`].
    pub fn pool_of(
        &self,
        step: &Step,
        regions: &[Region],
    ) -> Result<Box<dyn WorkerPool>, LabError> {
        if let (Some(fio), Medium::Real(target)) = (&self.via, &self.medium) {
            return fio_pool::pool(target, fio, step, regions, Span::Own);
        }
        self.pool_on(&Region::of_jobs(step, regions), step.queue_depth())
    }

    /// Starts workers, each job on its own region. A simulated target is one region for all.
    ///
    /// # Errors
    /// As [`Self::pool`].
    fn pool_on(
        &self,
        jobs: &[(Load, Region)],
        max_depth: u32,
    ) -> Result<Box<dyn WorkerPool>, LabError> {
        let starting = Starting::new(jobs.to_vec(), max_depth, self.sharing.clone());
        match hosts::led() {
            None => self.start_here(&starting),
            Some(hosts) => {
                hosts.start(&starting, &self.parts_of_hosts(), &|own| self.start_here(own))
            }
        }
    }

    /// Starts this host's part of the workers.
    ///
    /// # Errors
    /// As [`Self::pool`].
    pub(crate) fn start_here(&self, starting: &Starting) -> Result<Box<dyn WorkerPool>, LabError> {
        self.start_recording(starting, &vec![None; starting.jobs().len()], None)
    }

    /// As [`Self::start_here`], for jobs some of which verify or write logs.
    pub(crate) fn start_recording(
        &self,
        starting: &Starting,
        verify: &[Option<Arc<JobVerify>>],
        logs: Option<LogWriter>,
    ) -> Result<Box<dyn WorkerPool>, LabError> {
        let Work::Jobs(Jobs { jobs, sharing, first_streams, .. }) = &starting.work else {
            return Err(hosts::other_target());
        };
        let max_depth = starting.max_depth;
        let target = match &self.medium {
            Medium::Real(target) => target,
            Medium::Simulated(slot) => {
                let jobs = jobs.iter().zip(verify);
                let jobs =
                    jobs.map(|((load, _), verify)| (self.simulated_job(load), verify.clone()));
                let (jobs, parts) = (jobs.collect(), self.parts_of_hosts());
                let pool = VirtualPool::start_verified(jobs, logs, slot, parts, max_depth)?;
                return Ok(Box::new(pool));
            }
        };
        let jobs = jobs.iter().zip(first_streams).zip(verify);
        let jobs = jobs.map(|(((load, region), first_stream), verify)| {
            // What is verified is known by its place in the whole region.
            let job = match verify {
                Some(_) => job(target, load, region),
                None => job_of_host(target, load, region, sharing, *first_stream),
            };
            Ok((job?, verify.clone()))
        });
        let jobs = jobs.collect::<Result<Vec<_>, LabError>>()?;
        Ok(Box::new(ThreadPool::start_verified(jobs, logs, max_depth)?))
    }

    /// Returns a workload on the whole simulated device.
    fn simulated_job(&self, load: &Load) -> PoolJob {
        let extents = vec![Extent { base_bytes: 0, size_bytes: self.size_bytes() }];
        PoolJob { load: load.clone(), files: Files::default(), extents }
    }

    /// Returns the specification of a simulated target.
    pub(super) fn simulated(&self) -> Option<&SimSpec> {
        match &self.medium {
            Medium::Simulated(slot) => Some(slot.spec()),
            Medium::Real(_) => None,
        }
    }

    /// Returns the number and usable extent of each part of a region. A simulated target is one
    /// part.
    pub(crate) fn extents_on(&self, region: &Region) -> Vec<(u32, Extent)> {
        let Medium::Real(target) = &self.medium else {
            return vec![(0, Extent { base_bytes: 0, size_bytes: self.size_bytes() })];
        };
        let parts = region.parts(target).into_iter().enumerate();
        parts.map(|(index, part)| (region.number_of(index as u32), extent(&part))).collect()
    }

    /// Opens the files of a workload read-only.
    pub(crate) fn files_to_read(&self, load: &Load, region: &Region) -> Result<Files, LabError> {
        let Medium::Real(target) = &self.medium else { return Ok(Files::default()) };
        let mode = OpenMode::reading(engine::is_direct(load));
        let parts = region.parts(target);
        let files = parts.iter().map(|part| Ok(part.open(mode)?.fd));
        Ok(Arc::new(files.collect::<Result<Vec<_>, LabError>>()?))
    }

    /// Returns the devices under the target; empty for simulated and memory-backed ones, and if
    /// sysfs does not show them.
    ///
    /// # Errors
    /// The kernel's device tree cannot be read.
    pub fn devices(&self) -> Result<DeviceTree, LabError> {
        // A test file that does not exist yet will be on the devices of its directory.
        let there = self.paths().into_iter().map(|path| match path.parent() {
            Some(parent) if !path.exists() => parent.to_owned(),
            _ => path,
        });
        match DeviceTree::under_all(there) {
            // The result then has no device counters, which is better than no result.
            Err(SystemError::UnknownDevice { .. }) => Ok(DeviceTree::default()),
            tree => Ok(tree?),
        }
    }

    /// Returns the default limit of a search on this target: that for disks if a disk under it
    /// rotates. A virtual disk is not trusted to report this, whatever its queue attributes say.
    #[must_use]
    pub fn usual_limit(&self) -> Limit {
        let turns = |name: &str| {
            device_facts_of(name, &self.roots)
                .is_some_and(|facts| facts.rotational == Some(true) && !facts.is_virtual())
        };
        let is_disk = match &self.medium {
            Medium::Simulated(slot) => {
                slot.spec().seek_ns > 0 || slot.spec().service_ns >= SERVICE_OF_DISKS_NS
            }
            Medium::Real(_) => {
                self.devices().is_ok_and(|tree| tree.leaves().into_iter().any(turns))
            }
        };
        if is_disk { Limit::USUAL_OF_DISKS } else { Limit::USUAL }
    }

    /// Returns the facts that are known before a run on a region.
    ///
    /// # Errors
    /// A part cannot be inspected.
    pub fn facts_on(&self, load: &Load, region: &Region) -> Result<Vec<Fact>, LabError> {
        let mut facts = match &self.medium {
            Medium::Simulated(_) => vec![TargetFact::Simulated.into()],
            Medium::Real(_) if load.engine == EngineKind::Null => vec![TargetFact::NoIo.into()],
            Medium::Real(target) => {
                facts_before(&region.parts(target), load, &self.devices()?, &self.roots)?
            }
        };
        if self.fresh_devices {
            let of_contents = |fact: &Fact| {
                use BlockFact::{Compressible, Zeros};
                matches!(fact, Fact::Target(TargetFact::Blocks(Zeros | Compressible, _)))
            };
            facts.retain(|fact| !of_contents(fact));
        }
        Ok(facts)
    }

    /// Sets the command that caveats refer to.
    pub fn set_command(&mut self, command: Command) {
        self.command = command;
    }

    /// Returns the command whose result has the caveats.
    #[must_use]
    pub fn command(&self) -> Command {
        self.command
    }

    /// Turns facts into caveats, worded for the command.
    #[must_use]
    pub fn caveats(&self, facts: impl IntoIterator<Item = Fact>) -> Vec<Caveat> {
        self.command.caveats(facts)
    }

    /// Returns the target for a document.
    #[must_use]
    pub fn describe(&self) -> TargetFacts {
        let name = self.text.clone();
        match &self.medium {
            Medium::Simulated(slot) => {
                let SimSpec { size_bytes, channels, service_ns, seed, .. } = *slot.spec();
                let target = SimulatedTarget { name, size_bytes, channels, service_ns, seed };
                TargetFacts::Simulated(target)
            }
            Medium::Real(target) => {
                let facts = |part: &Part| device_facts(part.device?, &self.roots);
                TargetFacts::Real(RealTarget {
                    name,
                    size_bytes: self.size_bytes(),
                    parts: target.parts.iter().map(Part::describe).collect(),
                    devices: target.parts.iter().filter_map(facts).collect(),
                    chain: self.devices().map(|tree| tree.chain()).unwrap_or_default(),
                })
            }
        }
    }
}

/// Returns the default engine, with a fact if it is only the second choice.
pub(crate) fn default_engine() -> (EngineKind, Option<Fact>) {
    let Err(source) = engine::probe(EngineKind::IoUring) else {
        return (EngineKind::IoUring, None);
    };
    let libaio = engine::probe(EngineKind::Libaio).is_ok();
    let instead = if libaio { EngineKind::Libaio } else { EngineKind::Psync };
    let (reason, engine) = (source.to_string(), engine::info(instead).name);
    (instead, Some(MachineFact::EngineRefused { reason, engine }.into()))
}

/// Returns the facts that are known before a workload runs on parts on these devices.
pub(crate) fn facts_before(
    parts: &[Part],
    load: &Load,
    devices: &DeviceTree,
    roots: &Roots,
) -> Result<Vec<Fact>, LabError> {
    let direct = engine::is_direct(load);
    let mut facts: Vec<Fact> = Vec::new();
    for part in parts {
        facts.extend(updates_access_time(part, direct)?.then(|| MachineFact::AccessTime.into()));
        let of_part = iogauge_io::targets::facts(part, load, roots)?;
        facts.extend(of_part.into_iter().map(Fact::from));
    }
    let memory_bytes = Memory::read(roots).unwrap_or_default().total_bytes;
    let groups = GroupLimits::read(roots);
    let around = surroundings::facts(load, &groups, devices, memory_bytes, roots);
    facts.extend(around.into_iter().map(Fact::from));
    Ok(facts)
}

/// Returns true if reads update the file's access time, because the file belongs to another user.
fn updates_access_time(part: &Part, direct: bool) -> Result<bool, LabError> {
    match part.open(OpenMode::reading(direct)) {
        Ok(opened) => Ok(opened.atime_fallback),
        Err(TargetError::NotPrepared { .. }) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn job(target: &Target, load: &Load, region: &Region) -> Result<PoolJob, LabError> {
    let parts = region.parts(target);
    let files =
        if load.engine == EngineKind::Null { Files::default() } else { open_parts(&parts, load)? };
    let extents = match region {
        Region::Nothing { size_bytes } => {
            vec![Extent { base_bytes: 0, size_bytes: *size_bytes }]
        }
        Region::All | Region::Parts(_) => parts.iter().map(extent).collect(),
    };
    Ok(PoolJob { load: load.clone(), files, extents })
}

/// As [`job`], on the part of the region that this host uses.
fn job_of_host(
    target: &Target,
    load: &Load,
    region: &Region,
    sharing: &[Sharing],
    first_stream: u32,
) -> Result<PoolJob, LabError> {
    let whole = job(target, load, region)?;
    let numbers = region.numbers(target).into_iter();
    let sharing = numbers.map(|number| sharing.get(number).copied().unwrap_or_default());
    let parts: Vec<_> = region.parts(target).into_iter().zip(sharing).collect();
    if parts.is_empty() {
        return Ok(whole);
    }
    let (load, extents) = sharing::region(load, &parts, first_stream);
    Ok(PoolJob { load, extents, ..whole })
}

fn extent(part: &Part) -> Extent {
    Extent { base_bytes: part.base_bytes, size_bytes: part.size_bytes }
}

/// Opens one descriptor for each part, as the workload needs it.
fn open_parts(parts: &[Part], load: &Load) -> Result<Files, LabError> {
    let mode = OpenMode {
        write: load.writes(),
        direct: engine::is_direct(load),
        sync: if load.writes() { load.sync } else { SyncMode::None },
    };
    let mut files = Vec::new();
    for part in parts {
        let fd = part.open(mode)?.fd;
        if !mode.direct {
            advise(&fd, load.advised_random(), load.invalidate);
        }
        files.push(fd);
    }
    Ok(Arc::new(files))
}
