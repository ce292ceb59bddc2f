//! The host that runs the command: it orders, and waits for the reports of the others.

use crate::act::wait_until;
use crate::line::{Event, Line};
use crate::message::{HostState, Numbered, Order, Report, decode, encode};
use crate::pool::HostsPool;
use crate::run_end;
use iogauge_io::clock::Clock;
use iogauge_io::machine::boot_id;
use iogauge_io::pool::Parts;
use iogauge_lab::db::DbReport;
use iogauge_lab::error::{LabError, RefusedKind};
use iogauge_lab::observe::Interrupt;
use iogauge_lab::session::Region;
use iogauge_lab::session::hosts::{
    Examined, Examining, HostPlan, Hosts, Opening, Preparing, ReadBack, Started, Starting,
};
use iogauge_lab::session::made_files::MadeFiles;
use iogauge_lab::session::sharing::PartOnHost;
use iogauge_model::Step;
use iogauge_model::result::{Environment, VerifyEnd, VerifyResult};
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time between an order that has to begin on all hosts at once, and that beginning.
pub(crate) const AHEAD_NS: u64 = 30_000_000;
/// Time for an answer to an order that does not wait for storage for long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(8);
/// Time to inspect a target: its extents, and a sample of its blocks.
const EXAMINING: Duration = Duration::from_secs(60);
/// The same if the answer may have to wait for a server that does not respond.
const OPENING: Duration = Duration::from_secs(40);
/// Time for answers once the user wants to end. mpirun may kill all processes a second after it has signalled them.
const AFTER_INTERRUPT: Duration = Duration::from_millis(300);
/// Time between two looks whether the user wants to end.
const LOOK: Duration = Duration::from_millis(50);
/// Time for the clocks to be compared for the first time.
const COMPARING: Duration = Duration::from_secs(8);

/// A host that gives no sign of life, or whose storage does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) host: String,
    pub(crate) reason: String,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {} was lost: {}", self.host, self.reason)
    }
}

impl From<Lost> for LabError {
    fn from(Lost { host, reason }: Lost) -> Self {
        Self::HostLost { host, reason }
    }
}

/// The answers of followers to an order, by rank.
pub(crate) type Answers = BTreeMap<usize, Report>;

/// How long to wait for answers.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// This long. A follower that has not answered by then is lost.
    Time(Duration),
    /// The same, but little longer than until an interrupt. Then answers may be missing.
    TimeOrInterrupt(Duration),
    /// As long as the hosts live, or until an interrupt. Then answers may be missing.
    Interrupt,
}

/// The connection to the followers.
#[derive(Debug)]
pub(crate) struct Followers {
    /// `None` once the run has ended.
    line: Option<Line>,
    /// Names of all hosts, that of the leader first.
    names: Vec<String>,
    /// Number of the last order.
    number: u64,
    /// The last state of each follower that came without an order, by rank.
    pulses: BTreeMap<usize, HostState>,
    lost: Option<Lost>,
    /// Which host stopped its workers by itself, and why.
    stopped: Option<String>,
    /// What database workers of each follower have reported last, in order of the ranks.
    pub(crate) database: Vec<DbReport>,
    /// Environments of the followers, in order of the ranks; empty before they introduced themselves.
    environments: Vec<Environment>,
    /// Whether each follower has the kernel of this host.
    same_kernel: Vec<bool>,
    interrupt: Interrupt,
}

impl Followers {
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns true if a host, by its rank, has the kernel of this one.
    pub(crate) fn has_same_kernel(&self, rank: usize) -> bool {
        rank == 0 || self.same_kernel[rank - 1]
    }

    pub(crate) fn lost(&self) -> Option<&Lost> {
        self.lost.as_ref()
    }

    /// Records a lost host, unless one is lost already.
    pub(crate) fn lose(&mut self, rank: usize, reason: String) -> Lost {
        let host = self.names[rank].clone();
        self.lost.get_or_insert(Lost { host, reason }).clone()
    }

    /// Returns the ranks of all followers.
    pub(crate) fn ranks(&self) -> Vec<usize> {
        (1..self.names.len()).collect()
    }

    /// Returns how long this process was paused so far.
    pub(crate) fn paused(&self) -> Duration {
        self.line.as_ref().map_or(Duration::ZERO, Line::paused)
    }

    /// Sends an order to all followers and returns its number.
    pub(crate) fn order_all(&mut self, order: impl FnMut(usize) -> Order) -> u64 {
        self.order(&self.ranks(), order)
    }

    /// Sends followers of these ranks what to do at a time of this host, and returns the number of the order.
    pub(crate) fn order_at(
        &mut self,
        ranks: &[usize],
        at_ns: u64,
        mut order: impl FnMut(usize, u64) -> Order,
    ) -> u64 {
        let times: Vec<u64> = (0..self.names.len()).map(|rank| self.time_on(rank, at_ns)).collect();
        self.order(ranks, |rank| order(rank, times[rank]))
    }

    /// Sends an order to followers of these ranks and returns its number.
    pub(crate) fn order(&mut self, ranks: &[usize], mut order: impl FnMut(usize) -> Order) -> u64 {
        self.number += 1;
        for rank in ranks.iter().copied() {
            let content = order(rank);
            if let Some(line) = &self.line {
                line.send(rank, encode(&Numbered { number: self.number, content }));
            }
        }
        self.number
    }

    /// Converts a time of this host to that of another one.
    pub(crate) fn time_on(&self, rank: usize, here_ns: u64) -> u64 {
        let offset = self.line.as_ref().and_then(|line| line.offset_of(rank, here_ns));
        let offset = offset.map_or(0, |offset| offset.ns);
        here_ns.wrapping_add_signed(offset)
    }

    /// Returns the largest error of a host's clock against that of this host, in nanoseconds; `None` before all are
    /// compared.
    pub(crate) fn clock_error_ns(&self) -> Option<u64> {
        let mut errors = self.ranks().into_iter().map(|rank| self.clock_error_ns_of(rank));
        errors.try_fold(0, |most: u64, error| Some(most.max(error?)))
    }

    /// Returns the error of a host's clock against that of this host, in nanoseconds; `None` before they are compared.
    pub(crate) fn clock_error_ns_of(&self, rank: usize) -> Option<u64> {
        if rank == 0 {
            return Some(0);
        }
        Some(self.line.as_ref()?.offset_of(rank, Clock::get().now_ns())?.error_ns)
    }

    /// Takes what has arrived within `timeout`: at most one event. Returns the report and its order's number.
    pub(crate) fn take(&mut self, timeout: Duration) -> Option<(usize, Numbered<Report>)> {
        match self.line.as_ref()?.next(timeout)? {
            Event::Silent { rank } => {
                self.lose(rank, "no sign of life for 8 s".to_owned());
                None
            }
            Event::Message { from, bytes } => match decode::<Numbered<Report>>(&bytes) {
                Ok(Numbered { content: Report::Pulse(state), .. }) => {
                    self.note_end(from, &state);
                    self.pulses.insert(from, *state);
                    None
                }
                Ok(report) => Some((from, report)),
                Err(error) => {
                    self.lose(from, error.to_string());
                    None
                }
            },
        }
    }

    /// Interrupts the run if a follower ends by itself.
    pub(crate) fn note_end(&mut self, rank: usize, state: &HostState) {
        if let Some(reason) = &state.stopped_by {
            let host = &self.names[rank];
            self.stopped.get_or_insert_with(|| format!("host {host}: {reason}"));
        }
        if state.was_signalled {
            self.interrupt.set();
        }
    }

    /// Takes the states that have arrived since the last call, by rank. Does not wait.
    pub(crate) fn take_pulses(&mut self) -> BTreeMap<usize, HostState> {
        // Answers to earlier orders come in vain.
        while self.take(Duration::ZERO).is_some() {}
        std::mem::take(&mut self.pulses)
    }

    /// Waits for the answers of followers of these ranks to an order, and returns them by rank.
    pub(crate) fn answers(
        &mut self,
        ranks: &[usize],
        number: u64,
        until: Until,
    ) -> Result<Answers, Lost> {
        let (begin, paused) = (Instant::now(), self.paused());
        let (patience, after_interrupt) = match until {
            Until::Time(patience) => (Some(patience), None),
            Until::TimeOrInterrupt(patience) => (Some(patience), Some(AFTER_INTERRUPT)),
            Until::Interrupt => (None, Some(Duration::ZERO)),
        };
        let mut interrupted: Option<Instant> = None;
        let mut answers = Answers::new();
        while answers.len() < ranks.len() {
            if let Some(lost) = &self.lost {
                return Err(lost.clone());
            }
            match self.take(LOOK) {
                Some((from, report)) if report.number == number => {
                    answers.insert(from, report.content);
                }
                _ => {}
            }
            // While this process was paused, nobody could answer.
            let waited = begin.elapsed().saturating_sub(self.paused().saturating_sub(paused));
            let is_late = patience.is_some_and(|patience| waited >= patience);
            if let (true, Some(rank)) = (is_late, ranks.iter().find(|r| !answers.contains_key(*r)))
            {
                return Err(
                    self.lose(*rank, "it lives, but does not do what was ordered".to_owned())
                );
            }
            if self.interrupt.is_set() {
                let since = interrupted.get_or_insert_with(Instant::now).elapsed();
                if after_interrupt.is_some_and(|most| since >= most) {
                    break;
                }
            }
        }
        Ok(answers)
    }

    /// Returns the error of the first follower that refused.
    pub(crate) fn refusal(&self, answers: &Answers) -> Result<(), LabError> {
        let refused = answers.iter().find_map(|(rank, answer)| match answer {
            Report::Refused { kind, message } => {
                let (host, kind) = (self.names[*rank].clone(), *kind);
                let message = with_way_out(&host, kind, message);
                Some(LabError::OnHost { host, kind, message })
            }
            _ => None,
        });
        refused.map_or(Ok(()), Err)
    }

    /// Gives all followers an order and waits for their answers.
    ///
    /// # Errors
    /// If one refuses or is lost.
    fn ask(
        &mut self,
        order: impl Fn(usize) -> Order,
        patience: Duration,
    ) -> Result<Answers, LabError> {
        let ranks = self.ranks();
        let number = self.order(&ranks, order);
        let answers = self.answers(&ranks, number, Until::Time(patience))?;
        self.refusal(&answers)?;
        Ok(answers)
    }

    /// Waits until the clocks of all hosts are compared.
    fn compare_clocks(&mut self) -> Result<(), Lost> {
        let begin = Instant::now();
        while self.clock_error_ns().is_none() {
            self.take(LOOK / 10);
            if let Some(lost) = &self.lost {
                return Err(lost.clone());
            }
            if begin.elapsed() >= COMPARING {
                return Err(self.lose(1, "its clock cannot be read".to_owned()));
            }
        }
        Ok(())
    }
}

/// The leader of a run over several hosts.
#[derive(Debug, Clone)]
pub struct Leader {
    followers: Arc<Mutex<Followers>>,
}

impl Leader {
    /// Leads the other processes of a line. `name` is that of this host. `interrupt` is set if another host is asked to
    /// end.
    #[must_use]
    pub fn new(line: Line, name: String, interrupt: Interrupt) -> Self {
        let others = (1..line.size()).map(|rank| format!("number {}", rank + 1));
        let names = std::iter::once(name).chain(others).collect();
        let (line, pulses) = (Some(line), BTreeMap::new());
        let followers = Followers {
            line,
            names,
            number: 0,
            pulses,
            lost: None,
            stopped: None,
            database: Vec::new(),
            environments: Vec::new(),
            same_kernel: Vec::new(),
            interrupt,
        };
        Self { followers: Arc::new(Mutex::new(followers)) }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Followers> {
        self.followers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the largest error of a host's clock against that of this host, in nanoseconds; `None` before all are
    /// compared.
    #[must_use]
    pub fn clock_error_ns(&self) -> Option<u64> {
        self.lock().clock_error_ns()
    }

    /// Learns the names of the other hosts, checks their versions, and compares their clocks. Does so once.
    ///
    /// # Errors
    /// If a host is lost, or has another version.
    pub fn introduce(&self) -> Result<(), LabError> {
        let mut followers = self.lock();
        if !followers.environments.is_empty() {
            return Ok(());
        }
        let ranks = followers.ranks();
        let number = followers.order(&ranks, |_| Order::Introduce);
        let answers = followers.answers(&ranks, number, Until::Time(PATIENCE))?;
        let (own, own_boot_id) = (env!("CARGO_PKG_VERSION"), boot_id().ok());
        let mut other = None;
        for (rank, answer) in answers {
            if let Report::Introduced { environment, boot_id } = answer {
                followers.same_kernel.push(boot_id.is_some() && boot_id == own_boot_id);
                followers.names[rank] = environment.host.clone();
                let version = environment.iogauge.clone();
                other = other.or((version != own).then_some((rank, version)));
                followers.environments.push(*environment);
            }
        }
        tell_apart(&mut followers.names);
        if let Some((rank, version)) = other {
            let host = followers.names[rank].clone();
            let message = format!(
                "it has iogauge {version}, and this host {own}; hint: use the same version on all"
            );
            return Err(LabError::OnHost { host, kind: RefusedKind::Usage, message });
        }
        Ok(followers.compare_clocks()?)
    }
}

/// Adds to a refusal that processes of one machine refuse what another one of them uses.
fn with_way_out(host: &str, kind: RefusedKind, message: &str) -> String {
    if kind != RefusedKind::InUse || !host.contains('#') {
        return message.to_owned();
    }
    let joined = if message.contains("; hint: ") { ", or" } else { "; hint:" };
    format!("{message}{joined} start one process on each machine")
}

/// Numbers hosts of the same name.
fn tell_apart(names: &mut [String]) {
    let copy = names.to_vec();
    for (index, name) in names.iter_mut().enumerate() {
        if copy.iter().filter(|other| *other == name).count() > 1 {
            let before = copy[..index].iter().filter(|other| *other == name).count();
            *name = format!("{name}#{}", before + 1);
        }
    }
}

impl Hosts for Leader {
    fn number(&self) -> usize {
        self.lock().names.len()
    }

    fn names(&self) -> Vec<String> {
        self.lock().names.clone()
    }

    fn environments(&self) -> Vec<Environment> {
        self.lock().environments.clone()
    }

    fn open(&self, opening: &Opening) -> Result<Vec<Vec<PartOnHost>>, LabError> {
        self.introduce()?;
        let mut followers = self.lock();
        let hosts = followers.names.len() as u32;
        let order = |rank: usize| Order::Open(opening.for_host(rank as u32 + 1, hosts));
        let answers = followers.ask(order, OPENING)?.into_values();
        let parts = answers.map(|answer| match answer {
            Report::Opened(parts) => parts,
            _ => Vec::new(),
        });
        Ok(parts.collect())
    }

    fn begin_preparing(&self, preparing: &Preparing) {
        self.lock().order_all(|_| Order::Prepare(preparing.clone()));
    }

    fn wait_prepared(&self, interrupt: &Interrupt) -> Result<(), LabError> {
        let mut followers = self.lock();
        let (ranks, number) = (followers.ranks(), followers.number);
        let answers = followers.answers(&ranks, number, Until::Interrupt)?;
        followers.refusal(&answers)?;
        if interrupt.is_set() {
            // Followers stop writing when the run ends.
            return Err(LabError::InterruptedPreparing);
        }
        Ok(())
    }

    fn examine(&self, examining: &Examining) -> Result<Vec<Examined>, LabError> {
        let order = |_| Order::Examine(Box::new(examining.clone()));
        let answers = self.lock().ask(order, EXAMINING)?.into_values();
        let found = answers.map(|answer| match answer {
            Report::Examined(examined) => *examined,
            _ => Examined::default(),
        });
        Ok(found.collect())
    }

    fn start(
        &self,
        starting: &Starting,
        parts: &Parts,
        start_own: &dyn Fn(&Starting) -> Started,
    ) -> Started {
        let mut all = starting.shared_out(parts);
        let begun: u32 = all.iter().map(Starting::queue_depth).sum();
        let ranks: Vec<usize> = parts.active().filter(|rank| *rank > 0).collect();
        let mut followers = self.lock();
        followers.database = vec![DbReport::default(); followers.ranks().len()];
        let at_ns = Clock::get().now_ns() + AHEAD_NS;
        let mut starting_on = |rank: usize| {
            let nothing = Starting::new(Vec::new(), 1, Vec::new());
            std::mem::replace(&mut all[rank], nothing)
        };
        let own = starting_on(0);
        let order =
            |rank: usize, at_ns| Order::Start { starting: Box::new(starting_on(rank)), at_ns };
        let number = followers.order_at(&ranks, at_ns, order);
        wait_until(at_ns);
        let own = start_own(&own);
        let patience = if starting.is_database() { OPENING } else { PATIENCE };
        let answers = followers.answers(&ranks, number, Until::Time(patience))?;
        followers.refusal(&answers)?;
        drop(followers);
        let is_database = starting.is_database();
        let mut pool = HostsPool::new(own?, self.clone(), parts.clone(), answers, is_database);
        if begun != starting.queue_depth() && starting.may_rest() {
            pool.begin_at(starting.queue_depth())?;
        }
        Ok(Box::new(pool))
    }

    fn database_reports(&self) -> Vec<(String, DbReport)> {
        let followers = self.lock();
        followers.names[1..].iter().cloned().zip(followers.database.iter().cloned()).collect()
    }

    fn check(&self, steps: &[(Step, Vec<Region>)]) -> Result<(), LabError> {
        let mut followers = self.lock();
        let plans = HostPlan::of_each(steps, &followers.names);
        let order = |rank: usize| Order::Check(Box::new(plans[rank].clone()));
        followers.ask(order, PATIENCE).map(drop)
    }

    fn read_back(
        &self,
        skipped: Option<VerifyEnd>,
        interrupt: &Interrupt,
        own: ReadBack<'_>,
    ) -> Result<Vec<(String, VerifyResult)>, LabError> {
        run_end::read_back(self, skipped, interrupt, own)
    }

    fn commit(&self, complete: bool) -> MadeFiles {
        run_end::commit(self, complete)
    }

    fn lost(&self) -> Option<String> {
        self.lock().lost().map(Lost::to_string)
    }

    fn stopped(&self) -> Option<String> {
        self.lock().stopped.clone()
    }

    fn remove(&self, paths: Option<&[PathBuf]>) -> Result<Vec<String>, LabError> {
        run_end::remove(self, paths)
    }

    fn end(&self) {
        let mut followers = self.lock();
        followers.order_all(|_| Order::End);
        followers.line = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusal_on_one_machine_names_a_way_out() {
        let message = "/x: refused, iogauge-mpi (pid 7) has it open for writing; hint: stop that";
        let told = with_way_out("a#2", RefusedKind::InUse, message);
        let expected = "; hint: stop that, or start one process on each machine";
        assert!(told.ends_with(expected), "{told}");
        assert_eq!(with_way_out("a", RefusedKind::InUse, message), message);
        assert_eq!(with_way_out("a#2", RefusedKind::Refusal, message), message);
    }

    #[test]
    fn hosts_of_one_name_are_numbered() {
        let mut names = ["a", "b", "a"].map(str::to_owned);
        tell_apart(&mut names);
        assert_eq!(names, ["a#1", "b", "a#2"]);
    }
}
