//! The workers of all hosts as one pool.

mod other;

use crate::act::Action;
use crate::leader::{AHEAD_NS, Answers, Leader, Lost, PATIENCE, Until};
use crate::line::SILENCE;
use crate::message::{HostState, Order, Report};
use iogauge_io::clock::Clock;
use iogauge_io::logs::LogWaits;
use iogauge_io::machine::{DeviceQueues, ProcessCpu, QueueLimit, QueueReading, Starvation};
use iogauge_io::pool::{Arrivals, LiveFigures, Parts, Paused, WorkerHandle, WorkerPool};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::{HostWindow, Window};
use iogauge_io::worker::control::IoFault;
use iogauge_io::worker::transactions::TransactionSums;
use iogauge_model::result::StepResult;
use other::{Client, Other, Progress};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time for the workers of all hosts to end. A host gives up on its own workers after a minute.
const ENDING: Duration = Duration::from_secs(70);
/// The same once the user wants to end.
const ENDING_IN_HURRY: Duration = Duration::from_secs(6);

/// A worker pool over several hosts.
pub struct HostsPool {
    /// The workers of this host: none if it takes no part.
    own: Box<dyn WorkerPool>,
    own_progress: Progress,
    /// How long this process was paused until the progress of the hosts was looked at last.
    own_paused: Duration,
    own_client: Client,
    leader: Leader,
    parts: Parts,
    /// The other hosts that take part, by rank.
    others: BTreeMap<usize, Other>,
    /// Names of the hosts that take part, in order of the ranks.
    names: Vec<String>,
    /// Pauses of the other hosts.
    paused: Paused,
    /// What ends the next window that is asked for.
    next_window: Action,
    /// What was done since the last window that was asked for.
    before: Option<Window>,
    losses: Vec<String>,
    left_behind: Vec<String>,
    hurry: Option<Arc<AtomicBool>>,
    is_stopped: bool,
    /// True for workers of a database, which all hosts share: a server that does not answer is no loss of a host, and
    /// workers end by themselves only after a fault, which ends the run.
    is_database: bool,
    /// What all workers of a database have done.
    transactions: TransactionSums,
}

impl std::fmt::Debug for HostsPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostsPool").field("names", &self.names).finish_non_exhaustive()
    }
}

impl HostsPool {
    /// Takes over the workers of this host, and those that the followers have just started, with their answers.
    pub(crate) fn new(
        own: Box<dyn WorkerPool>,
        leader: Leader,
        parts: Parts,
        mut answers: Answers,
        is_database: bool,
    ) -> Self {
        let (all, own_paused) = {
            let followers = leader.lock();
            (followers.names().to_vec(), followers.paused())
        };
        let other = |rank| {
            let state = match answers.remove(&rank) {
                Some(Report::Window { state, .. }) => *state,
                _ => HostState::default(),
            };
            let (client, progress) = (Client::of(&state), Progress::begin());
            (rank, Other { state, progress, client })
        };
        Self {
            own_client: Client::here(own.as_ref()),
            own,
            own_progress: Progress::begin(),
            own_paused,
            leader,
            others: parts.active().filter(|rank| *rank > 0).map(other).collect(),
            names: parts.active().map(|rank| all[rank].clone()).collect(),
            parts,
            paused: Paused::default(),
            next_window: Action::default(),
            before: None,
            losses: Vec::new(),
            left_behind: Vec::new(),
            hurry: None,
            is_stopped: false,
            is_database,
            transactions: TransactionSums::default(),
        }
    }

    /// Sets the queue depth with which the first window begins.
    ///
    /// # Errors
    /// If an engine failed.
    pub(crate) fn begin_at(&mut self, queue_depth: u32) -> Result<(), WorkerError> {
        let window = self.set_queue_depth(queue_depth)?;
        self.before = Some(window);
        Ok(())
    }

    fn ranks(&self) -> Vec<usize> {
        self.others.keys().copied().collect()
    }

    /// True if this host takes part.
    fn takes_part(&self) -> bool {
        self.parts.active().next() == Some(0)
    }

    fn states(&self) -> impl Iterator<Item = &HostState> {
        self.others.values().map(|other| &other.state)
    }

    /// Does the same on all hosts at the same time. `action` takes the rank of a host. Returns the windows that end
    /// with it, or `None` if a host was lost, or did not answer before the user wanted to end.
    fn act(
        &mut self,
        action: impl Fn(usize) -> Action,
    ) -> Result<Option<Vec<Option<Window>>>, WorkerError> {
        if !self.losses.is_empty() {
            return Ok(None);
        }
        let at_ns = Clock::get().now_ns() + AHEAD_NS;
        let order = |rank: usize, at_ns| Order::Act { action: action(rank), at_ns };
        let number = self.leader.lock().order_at(&self.ranks(), at_ns, order);
        self.own.advance(at_ns.saturating_sub(Clock::get().now_ns()))?;
        let own = match self.takes_part() {
            true => Some(action(0).apply(self.own.as_mut())?),
            false => None,
        };
        self.gather(own, number, Until::TimeOrInterrupt(PATIENCE))
    }

    /// Waits for the windows of the other hosts, and puts that of this host first.
    fn gather(
        &mut self,
        own: Option<Option<Window>>,
        number: u64,
        until: Until,
    ) -> Result<Option<Vec<Option<Window>>>, WorkerError> {
        self.own_progress.note(self.own.live());
        let answers = self.leader.lock().answers(&self.ranks(), number, until);
        let answers = match answers {
            Ok(answers) => answers,
            Err(lost) => {
                self.lose(&lost);
                return Ok(None);
            }
        };
        let is_complete = answers.len() == self.others.len();
        let mut windows: Vec<Option<Window>> = own.into_iter().collect();
        for (rank, answer) in answers {
            match answer {
                Report::Window { window, state } => {
                    windows.push(window.map(|window| *window));
                    self.take_state(rank, *state);
                }
                Report::Refused { message, .. } => {
                    let host = self.leader.lock().names()[rank].clone();
                    return Err(WorkerError::OnHost { host, message });
                }
                _ => windows.push(None),
            }
        }
        self.notice_silent_storage();
        Ok((is_complete && self.losses.is_empty()).then_some(windows))
    }

    /// Sets the queue depth over all hosts.
    fn share_out(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let parts = self.parts.of(queue_depth);
        let windows = self.act(|rank| Action::SetQueueDepth(parts[rank]))?;
        Ok(self.joined(windows))
    }

    fn lose(&mut self, lost: &Lost) {
        self.losses.push(lost.to_string());
    }

    /// Takes the state of another host.
    fn take_state(&mut self, rank: usize, state: HostState) {
        // A host that takes no part may have reported the end of its last workers.
        let Some(other) = self.others.get_mut(&rank) else { return };
        self.leader.lock().note_end(rank, &state);
        self.paused.add(state.paused);
        other.progress.note(state.live);
        if self.is_database {
            self.leader.lock().database[rank - 1].clone_from(&state.database);
        }
        other.state = state;
    }

    /// Returns the live figures of each host, this one first.
    fn each_live(&self) -> impl Iterator<Item = LiveFigures> {
        std::iter::once(self.own.live()).chain(self.states().map(|state| state.live))
    }

    /// Takes what the other hosts report by themselves.
    fn take_pulses(&mut self) {
        let mut followers = self.leader.lock();
        let pulses = followers.take_pulses();
        let lost = followers.lost().cloned();
        drop(followers);
        for (rank, state) in pulses {
            self.take_state(rank, state);
        }
        self.own_progress.note(self.own.live());
        match lost {
            Some(lost) if self.losses.is_empty() => self.lose(&lost),
            _ => self.notice_silent_storage(),
        }
    }

    /// While this process was paused, no host could be heard. After a long pause, the others have ended.
    fn forgive_own_pause(&mut self) {
        let paused = self.leader.lock().paused();
        let gap = paused.saturating_sub(std::mem::replace(&mut self.own_paused, paused));
        self.own_progress.forgive(gap);
        self.others.values_mut().for_each(|other| other.progress.forgive(gap));
        if gap >= SILENCE && self.losses.is_empty() {
            let seconds = gap.as_secs_f64();
            let reason = format!("it was paused for {seconds:.1} s, and the others have ended");
            let lost = self.leader.lock().lose(0, reason);
            self.lose(&lost);
        }
    }

    /// Loses a host whose outstanding I/Os do not end.
    fn notice_silent_storage(&mut self) {
        self.forgive_own_pause();
        if self.is_database {
            return;
        }
        let own = (0, self.own_progress, self.own.live());
        let others = self.others.iter();
        let others = others.map(|(rank, other)| (*rank, other.progress, other.state.live));
        let mut each = std::iter::once(own).chain(others);
        let silent = each.find(|(_, progress, _)| progress.is_silent());
        if let (true, Some((rank, _, live))) = (self.losses.is_empty(), silent) {
            let outstanding = live.outstanding;
            let reason = format!("its storage has completed none of {outstanding} I/Os for 8 s");
            let lost = self.leader.lock().lose(rank, reason);
            self.lose(&lost);
        }
    }

    /// Joins the windows of all hosts to one.
    fn joined(&mut self, windows: Option<Vec<Option<Window>>>) -> Window {
        // What some hosts did while another was lost was not done by all.
        let Some(windows) = windows else { return Window::default() };
        let mut joined = join(windows.into_iter().map(Option::unwrap_or_default));
        joined.ended_ns = self.own.now_ns();
        self.describe(&mut joined.hosts);
        joined.transactions.iter().for_each(|sums| self.transactions.add(sums));
        match self.before.take() {
            None => joined,
            Some(mut before) => {
                before.append(&joined);
                before
            }
        }
    }

    /// Adds to the windows of the hosts that take part what their workers do not know.
    fn describe(&mut self, windows: &mut [HostWindow]) {
        let own = self.takes_part().then(|| Client::here(self.own.as_ref()));
        let own = own.map(|now| (0, now, &mut self.own_client));
        let others = self.others.iter_mut();
        let others =
            others.map(|(rank, other)| (*rank, Client::of(&other.state), &mut other.client));
        let followers = self.leader.lock();
        for (window, (rank, now, before)) in windows.iter_mut().zip(own.into_iter().chain(others)) {
            window.cpu_ns = now.worked_ns(before);
            window.processors = now.processors;
            window.clock_error_ns = followers.clock_error_ns_of(rank).unwrap_or_default();
            window.same_kernel = followers.has_same_kernel(rank);
            *before = now;
        }
    }
}

/// Joins the windows that hosts took at the same time. Counts and histograms are summed bucket by bucket.
fn join(windows: impl Iterator<Item = Window>) -> Window {
    let mut joined = Window::default();
    let (mut workers, mut transactions) = (Vec::new(), Vec::new());
    for mut window in windows {
        let of_host = std::mem::take(&mut window.workers);
        transactions.push(std::mem::take(&mut window.transactions));
        joined.join(&window);
        joined.hosts.push(HostWindow::of(window.directions, &of_host));
        workers.push(of_host);
    }
    joined.workers = in_turns(&workers);
    joined.transactions = in_turns(&transactions);
    joined
}

/// Returns the first worker of each host, then the second of each, and so on. In this order, a worker keeps its place
/// when each host adds one, and that of a database has the place of its number. Hosts with fewer workers leave gaps.
fn in_turns<T: Copy + Default>(hosts: &[Vec<T>]) -> Vec<T> {
    let most = hosts.iter().map(Vec::len).max().unwrap_or(0);
    let nth = |n: usize| hosts.iter().map(move |host| host.get(n).copied());
    let all: Vec<Option<T>> = (0..most).flat_map(nth).collect();
    let end = all.iter().rposition(Option::is_some).map_or(0, |last| last + 1);
    all.into_iter().take(end).map(Option::unwrap_or_default).collect()
}

impl WorkerPool for HostsPool {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        let end_ns = self.own.now_ns().saturating_add(ns);
        self.own.advance(ns)?;
        self.take_pulses();
        // Workers of other hosts may have more to do.
        let left_ns = end_ns.saturating_sub(self.own.now_ns());
        if left_ns > 0 && !self.finished() {
            std::thread::sleep(Duration::from_nanos(left_ns));
            self.take_pulses();
        }
        Ok(())
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        let action = std::mem::take(&mut self.next_window);
        let windows = self.act(|_| action)?;
        Ok(self.joined(windows))
    }

    fn window_delay_ns(&self) -> u64 {
        AHEAD_NS
    }

    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let mut window = self.share_out(queue_depth)?;
        // A host that cannot do its part limits the others, too.
        if let Some(most) = self.most_depth().filter(|most| *most < queue_depth) {
            window.append(&self.share_out(most)?);
        }
        Ok(window)
    }

    fn most_depth(&self) -> Option<u32> {
        // Hosts keep their proportions, so the one that can do least of its part limits all.
        let others = self.others.iter().map(|(rank, other)| (*rank, other.state.most_depth));
        let each = std::iter::once((0, self.own.most_depth())).chain(others);
        each.filter_map(|(rank, most)| Some(self.parts.largest_total(rank, most?))).min()
    }

    fn could_add_worker(&self) -> bool {
        self.own.could_add_worker() || self.states().any(|state| state.could_add_worker)
    }

    fn add_worker(&mut self) -> Result<Option<Window>, WorkerError> {
        let windows = self.act(|_| Action::AddWorker)?;
        let has_helped = windows.iter().flatten().any(Option::is_some);
        if !has_helped {
            return Ok(None);
        }
        // The next windows of hosts without another worker begin where their last ones ended.
        Ok(Some(self.joined(windows)))
    }

    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        let parts = self.parts.clone();
        let of_host = |rank| rate_iops.map(|rate| parts.of_rate(rate, rank));
        let windows = self.act(|rank| Action::SetRate(of_host(rank)))?;
        Ok(self.joined(windows))
    }

    fn hurry_when(&mut self, wanted: Arc<AtomicBool>) {
        self.own.hurry_when(wanted.clone());
        self.hurry = Some(wanted);
    }

    fn left_behind(&self) -> &[String] {
        &self.left_behind
    }

    fn take_pauses(&mut self) -> Paused {
        let mut paused = std::mem::take(&mut self.paused);
        paused.add(self.own.take_pauses());
        paused
    }

    fn starvation(&self) -> Option<Starvation> {
        // The host that lacked the most of each kind stands for all: a search waits until none lacks any.
        let others = self.states().filter_map(|state| state.starvation);
        let each = self.own.starvation().into_iter().chain(others);
        each.reduce(|a, b| Starvation {
            wait_ns: a.wait_ns.max(b.wait_ns),
            others_ns: a.others_ns.max(b.others_ns),
            steal_ns: a.steal_ns.max(b.steal_ns),
            throttled_ns: a.throttled_ns.max(b.throttled_ns),
        })
    }

    fn watch_queues(&mut self, queues: DeviceQueues) {
        self.own.watch_queues(queues);
    }

    fn queue(&self) -> Option<(QueueReading, QueueLimit)> {
        self.own.queue()
    }

    fn hold_back_arrivals(&mut self, holds: bool) {
        // A failure shows at the window that follows.
        let _ = self.act(|_| Action::HoldBackArrivals(holds));
    }

    fn begin_logs(&mut self) {
        self.next_window = Action::BeginLogs;
    }

    fn end_logs(&mut self) {
        self.next_window = Action::EndLogs;
    }

    fn found_fatal(&self) -> bool {
        self.own.found_fatal() || self.states().any(|state| state.found_fatal)
    }

    fn finish_logs(&mut self) -> LogWaits {
        let own = self.own.finish_logs();
        self.states().fold(own, |sum, HostState { log_waits, .. }| LogWaits {
            times: sum.times + log_waits.times,
            ns: sum.ns + log_waits.ns,
        })
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        if std::mem::replace(&mut self.is_stopped, true) {
            return self.own.stop();
        }
        if !self.losses.is_empty() {
            // Their windows do not count, but what they verify and log does.
            self.leader.lock().order(&self.ranks(), |_| Order::Stop { in_hurry: true });
            return self.own.stop();
        }
        let hurries = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        let in_hurry = self.hurry.as_ref().is_some_and(hurries);
        let number = self.leader.lock().order(&self.ranks(), |_| Order::Stop { in_hurry });
        let own = self.own.stop()?;
        let own = self.takes_part().then_some(Some(own));
        let patience = if in_hurry { ENDING_IN_HURRY } else { ENDING };
        let windows = self.gather(own, number, Until::Time(patience))?;
        let own = self.takes_part().then(|| self.own.left_behind());
        let others = self.states().map(|state| &state.left_behind[..]);
        let each = own.into_iter().chain(others).zip(&self.names);
        self.left_behind = each
            .flat_map(|(told, host)| told.iter().map(move |line| format!("{host}: {line}")))
            .collect();
        Ok(self.joined(windows))
    }

    fn controls(&self) -> &[WorkerHandle] {
        &[]
    }

    fn host_names(&self) -> &[String] {
        &self.names
    }

    fn workers(&self) -> usize {
        self.own.workers() + self.states().map(|state| state.workers).sum::<usize>()
    }

    fn arrivals(&self) -> &Arrivals {
        self.own.arrivals()
    }

    fn now_ns(&self) -> u64 {
        self.own.now_ns()
    }

    fn fallbacks(&self) -> Vec<String> {
        let mut all = self.own.fallbacks();
        all.extend(self.states().flat_map(|state| state.fallbacks.iter().cloned()));
        all.sort();
        all.dedup();
        all
    }

    fn losses(&self) -> Vec<String> {
        self.losses.clone()
    }

    fn cpu(&self) -> Option<ProcessCpu> {
        if self.others.is_empty() {
            return self.own.cpu();
        }
        let sum = |a: ProcessCpu, b: ProcessCpu| ProcessCpu {
            user_ns: a.user_ns + b.user_ns,
            system_ns: a.system_ns + b.system_ns,
        };
        let own = self.own.cpu().unwrap_or_else(ProcessCpu::now);
        Some(self.states().map(|state| state.cpu).fold(own, sum))
    }

    fn tells_workers_apart(&self) -> bool {
        true
    }

    fn is_only_client(&self) -> bool {
        // Otherwise, the processor time is that of several machines.
        self.others.is_empty() && self.own.is_only_client()
    }

    fn drained(&self) -> bool {
        let others = || self.states().all(|state| state.is_drained);
        !self.losses.is_empty() || self.own.drained() && others()
    }

    fn finished(&self) -> bool {
        let own = std::iter::once(self.own.finished());
        let mut hosts = own.chain(self.states().map(|state| state.is_finished));
        let are_finished = if self.is_database {
            hosts.any(|is_finished| is_finished)
        } else {
            hosts.all(|is_finished| is_finished)
        };
        !self.losses.is_empty() || self.found_fatal() || are_finished
    }

    fn live(&self) -> LiveFigures {
        self.each_live().fold(LiveFigures::default(), |sum, live| LiveFigures {
            ios: sum.ios + live.ios,
            bytes: sum.bytes + live.bytes,
            latency_ns: sum.latency_ns + live.latency_ns,
            outstanding: sum.outstanding + live.outstanding,
            backlog: sum.backlog + live.backlog,
            polled_ns: sum.polled_ns + live.polled_ns,
        })
    }

    fn complete(&self, total: &Window, result: &mut StepResult) {
        self.own.complete(total, result);
    }

    fn transactions(&self) -> TransactionSums {
        self.transactions
    }

    fn fault(&self) -> Option<(u32, IoFault)> {
        let of_other = |(rank, other): (&usize, &Other)| {
            let (job, fault) = other.state.fault?;
            Some((job, IoFault { host: *rank as u32, ..fault }))
        };
        self.own.fault().or_else(|| self.others.iter().find_map(of_other))
    }
}

impl Drop for HostsPool {
    /// Ends the workers of the other hosts, whatever ended the measurement.
    fn drop(&mut self) {
        if !self.is_stopped {
            self.leader.lock().order(&self.ranks(), |_| Order::Stop { in_hurry: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_io::worker::accounting::WorkerWindow;
    use std::time::Instant;

    /// The window of a host whose I/Os take some microseconds.
    fn window(ios: u64, micros: u64) -> Window {
        let mut window = Window::default();
        window.directions[0].service.record_n(micros * 1000, ios);
        let worker = WorkerWindow { ios, elapsed_ns: 100_000_000, ..WorkerWindow::default() };
        window.workers.push(worker);
        window
    }

    #[test]
    fn counts_of_hosts_are_summed_and_their_latencies_pooled() {
        let joined = join([window(990, 100), window(10, 9_000)].into_iter());
        assert_eq!(joined.ios(), 1000);
        assert_eq!(joined.hosts.iter().map(HostWindow::ios).collect::<Vec<_>>(), [990, 10]);
        assert!((joined.iops() - 10_000.0).abs() < 1e-6, "{}", joined.iops());
        let service = joined.service();
        // The mean of both 99th percentiles would be 4.5 ms.
        assert!(service.percentile_ns(99.0).abs_diff(100_000) < 1000);
        assert_eq!(service.max_ns(), 9_000_000);
        assert_eq!(service.sum_ns(), 990 * 100_000 + 10 * 9_000_000);
    }

    #[test]
    fn workers_of_hosts_are_in_turns() {
        assert_eq!(in_turns(&[vec![1, 4], vec![2, 5], vec![3]]), [1, 2, 3, 4, 5]);
        assert_eq!(in_turns(&[vec![1, 4], vec![], vec![3]]), [1, 0, 3, 4]);
        assert!(in_turns::<u8>(&[vec![], vec![]]).is_empty());
    }

    #[test]
    fn ten_thousand_hosts_are_joined_fast() {
        let messages: Vec<Vec<u8>> = (0..10_000u64)
            .map(|host| {
                let mut window = window(0, 1);
                (0..1000).for_each(|n| window.directions[0].service.record(50_000 + n * n + host));
                crate::message::encode(&window)
            })
            .collect();
        let begin = Instant::now();
        let windows = messages.iter().map(|bytes| crate::message::decode(bytes).unwrap());
        let joined = join(windows);
        assert_eq!(joined.ios(), 10_000_000);
        println!("10,000 hosts joined in {:?}", begin.elapsed());
    }
}
