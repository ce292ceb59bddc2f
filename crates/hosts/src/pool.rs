//! The workers of all hosts as one pool.

use crate::act::{Action, processors_of};
use crate::leader::{AHEAD_NS, Leader, Lost, PATIENCE};
use crate::message::{HostState, Order, Report};
use iogauge_io::clock::Clock;
use iogauge_io::machine::{DeviceQueues, ProcessCpu, QueueLimit, QueueReading, Starvation};
use iogauge_io::pool::{Arrivals, LiveFigures, Paused, WorkerHandle, WorkerPool, share};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::{HostWindow, Window};
use iogauge_io::worker::control::IoFault;
use iogauge_lab::session::hosts::Starting;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time for the workers of all hosts to end. A host gives up on its own workers after a minute.
const ENDING: Duration = Duration::from_secs(70);
/// The same once the user wants to end.
const ENDING_IN_HURRY: Duration = Duration::from_secs(6);
/// A host whose outstanding I/Os do not end for this long has lost its storage.
const STORAGE_SILENCE: Duration = Duration::from_secs(8);

/// When a host last completed an I/O.
#[derive(Debug, Clone, Copy)]
struct Progress {
    ios: u64,
    at: Instant,
}

/// The process of a host that does the I/O.
#[derive(Debug, Clone, Copy)]
struct Client {
    /// Processor time used since it began.
    cpu_ns: u64,
    /// Of that, polling for arrivals.
    polled_ns: u64,
    /// Processors that its workers can use at once; 0 if unknown.
    processors: u32,
}

impl Client {
    fn of(state: &HostState) -> Self {
        let (cpu_ns, polled_ns) = (state.cpu.total_ns(), state.live.polled_ns);
        Self { cpu_ns, polled_ns, processors: state.processors }
    }

    /// Returns the processor time used since an earlier state, without that spent polling.
    fn worked_ns(&self, before: &Self) -> u64 {
        let polled_ns = self.polled_ns.saturating_sub(before.polled_ns);
        self.cpu_ns.saturating_sub(before.cpu_ns).saturating_sub(polled_ns)
    }
}

/// A worker pool over several hosts.
pub struct HostsPool {
    own: Box<dyn WorkerPool>,
    leader: Leader,
    names: Vec<String>,
    /// The last state of each other host, by its rank less 1. This host is asked itself.
    states: Vec<HostState>,
    /// By rank, this host first.
    progress: Vec<Progress>,
    /// By rank, at the end of the last window.
    clients: Vec<Client>,
    /// Pauses of the other hosts.
    paused: Paused,
    /// What was done since the last window that was asked for.
    before: Option<Window>,
    losses: Vec<String>,
    left_behind: Vec<String>,
    hurry: Option<Arc<AtomicBool>>,
    is_stopped: bool,
}

impl std::fmt::Debug for HostsPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostsPool").field("names", &self.names).finish_non_exhaustive()
    }
}

impl HostsPool {
    /// Takes over the workers of this host, and those that the followers have just started, with their answers.
    pub(crate) fn start(
        own: Box<dyn WorkerPool>,
        leader: Leader,
        starting: &Starting,
        answers: Vec<Report>,
    ) -> Result<Self, WorkerError> {
        let names = leader.lock().names().to_vec();
        let hosts = names.len() as u32;
        let progress = Progress { ios: 0, at: Instant::now() };
        let states = answers.into_iter().map(|answer| match answer {
            Report::Window { state, .. } => *state,
            _ => HostState::default(),
        });
        let states: Vec<HostState> = states.collect();
        let mut pool = Self {
            own,
            leader,
            progress: vec![progress; names.len()],
            clients: Vec::new(),
            states,
            names,
            paused: Paused::default(),
            before: None,
            losses: Vec::new(),
            left_behind: Vec::new(),
            hurry: None,
            is_stopped: false,
        };
        let begun: u32 = (0..hosts).map(|index| starting.share(index, hosts).queue_depth()).sum();
        pool.clients = pool.clients_now();
        if begun != starting.queue_depth() && starting.jobs.len() == 1 {
            let window = pool.set_queue_depth(starting.queue_depth())?;
            pool.before = Some(window);
        }
        Ok(pool)
    }

    /// Does the same on all hosts at the same time. `action` takes the index of a host. Returns the windows that end
    /// with it, or `None` if a host was lost.
    fn act(
        &mut self,
        action: impl Fn(u32) -> Action,
    ) -> Result<Option<Vec<Option<Window>>>, WorkerError> {
        if !self.losses.is_empty() {
            return Ok(None);
        }
        let at_ns = Clock::get().now_ns() + AHEAD_NS;
        let order = |rank: usize, at_ns| Order::Act { action: action(rank as u32), at_ns };
        let number = self.leader.lock().order_at(at_ns, order);
        self.own.advance(at_ns.saturating_sub(Clock::get().now_ns()))?;
        let own = action(0).apply(self.own.as_mut())?;
        self.gather(own, number, PATIENCE)
    }

    /// Waits for the windows of the other hosts, and puts that of this host first.
    fn gather(
        &mut self,
        own: Option<Window>,
        number: u64,
        patience: Duration,
    ) -> Result<Option<Vec<Option<Window>>>, WorkerError> {
        self.note_progress(0, self.own.live());
        let answers = self.leader.lock().answers(number, Some(patience));
        let answers = match answers {
            Ok(answers) => answers,
            Err(lost) => {
                self.lose(&lost);
                return Ok(None);
            }
        };
        let mut windows = vec![own];
        for (rank, answer) in answers {
            match answer {
                Report::Window { window, state } => {
                    windows.push(window.map(|window| *window));
                    self.take_state(rank, *state);
                }
                Report::Refused { message, .. } => {
                    return Err(WorkerError::OnHost { host: self.names[rank].clone(), message });
                }
                _ => windows.push(None),
            }
        }
        self.notice_silent_storage();
        Ok(self.losses.is_empty().then_some(windows))
    }

    fn lose(&mut self, lost: &Lost) {
        self.losses.push(lost.to_string());
    }

    /// Takes the state of another host.
    fn take_state(&mut self, rank: usize, state: HostState) {
        self.leader.lock().note_end(rank, &state);
        self.paused.add(state.paused);
        self.note_progress(rank, state.live);
        self.states[rank - 1] = state;
    }

    fn note_progress(&mut self, rank: usize, live: LiveFigures) {
        if live.ios != self.progress[rank].ios || live.outstanding == 0 {
            self.progress[rank] = Progress { ios: live.ios, at: Instant::now() };
        }
    }

    /// Returns the live figures of each host, this one first.
    fn each_live(&self) -> impl Iterator<Item = LiveFigures> {
        std::iter::once(self.own.live()).chain(self.states.iter().map(|state| state.live))
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
        self.note_progress(0, self.own.live());
        match lost {
            Some(lost) if self.losses.is_empty() => self.lose(&lost),
            _ => self.notice_silent_storage(),
        }
    }

    /// Loses a host whose outstanding I/Os do not end.
    fn notice_silent_storage(&mut self) {
        let silent = |progress: &Progress| progress.at.elapsed() >= STORAGE_SILENCE;
        if let (true, Some(rank)) = (self.losses.is_empty(), self.progress.iter().position(silent))
        {
            let outstanding = self.each_live().nth(rank).map_or(0, |live| live.outstanding);
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
        match self.before.take() {
            None => joined,
            Some(mut before) => {
                before.append(&joined);
                before
            }
        }
    }
}

impl HostsPool {
    /// Returns the processes of the hosts as they are, by rank.
    fn clients_now(&mut self) -> Vec<Client> {
        let own = Client {
            cpu_ns: self.own.cpu().unwrap_or_else(ProcessCpu::now).total_ns(),
            polled_ns: self.own.live().polled_ns,
            processors: processors_of(self.own.as_ref()),
        };
        std::iter::once(own).chain(self.states.iter().map(Client::of)).collect()
    }

    /// Adds to the windows of hosts what their workers do not know.
    fn describe(&mut self, windows: &mut [HostWindow]) {
        let now = self.clients_now();
        let followers = self.leader.lock();
        let clients = now.iter().zip(&self.clients);
        for (rank, (window, (client, before))) in windows.iter_mut().zip(clients).enumerate() {
            window.cpu_ns = client.worked_ns(before);
            window.processors = client.processors;
            window.clock_error_ns = followers.clock_error_ns_of(rank).unwrap_or_default();
            window.same_kernel = followers.has_same_kernel(rank);
        }
        drop(followers);
        self.clients = now;
    }
}

/// Joins the windows that hosts took at the same time. Counts and histograms are summed bucket by bucket.
fn join(windows: impl Iterator<Item = Window>) -> Window {
    let mut joined = Window::default();
    let mut workers = Vec::new();
    for mut window in windows {
        let of_host = std::mem::take(&mut window.workers);
        joined.join(&window);
        joined.hosts.push(HostWindow::of(window.directions, &of_host));
        workers.push(of_host);
    }
    // In this order, a worker keeps its place when each host adds one.
    let most = workers.iter().map(Vec::len).max().unwrap_or(0);
    let nth =
        |n: usize| workers.iter().map(move |of_host| of_host.get(n).copied().unwrap_or_default());
    joined.workers = (0..most).flat_map(nth).collect();
    joined
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
        let windows = self.act(|_| Action::TakeWindow)?;
        Ok(self.joined(windows))
    }

    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let hosts = self.names.len() as u32;
        let windows = self.act(|rank| Action::SetQueueDepth(share(queue_depth, hosts, rank)))?;
        Ok(self.joined(windows))
    }

    fn most_depth(&self) -> Option<u32> {
        // Hosts have equal parts, so the one that can do least limits all.
        let others = self.states.iter().filter_map(|state| state.most_depth);
        let least = self.own.most_depth().into_iter().chain(others).min()?;
        Some(least.saturating_mul(self.names.len() as u32))
    }

    fn could_add_worker(&self) -> bool {
        self.own.could_add_worker() || self.states.iter().any(|state| state.could_add_worker)
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
        let hosts = self.names.len() as f64;
        let windows = self.act(|_| Action::SetRate(rate_iops.map(|rate| rate / hosts)))?;
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
        let others = self.states.iter().filter_map(|state| state.starvation);
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

    fn stop(&mut self) -> Result<Window, WorkerError> {
        if std::mem::replace(&mut self.is_stopped, true) || !self.losses.is_empty() {
            return self.own.stop();
        }
        let hurries = |flag: &Arc<AtomicBool>| flag.load(Ordering::Relaxed);
        let in_hurry = self.hurry.as_ref().is_some_and(hurries);
        let number = self.leader.lock().order(|_| Order::Stop { in_hurry });
        let own = self.own.stop()?;
        let patience = if in_hurry { ENDING_IN_HURRY } else { ENDING };
        let windows = self.gather(Some(own), number, patience)?;
        let others = self.states.iter().map(|state| &state.left_behind[..]);
        let each = std::iter::once(self.own.left_behind()).chain(others).zip(&self.names);
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
        self.own.workers() + self.states.iter().map(|state| state.workers).sum::<usize>()
    }

    fn arrivals(&self) -> &Arrivals {
        self.own.arrivals()
    }

    fn now_ns(&self) -> u64 {
        self.own.now_ns()
    }

    fn fallbacks(&self) -> Vec<String> {
        let mut all = self.own.fallbacks();
        all.extend(self.states.iter().flat_map(|state| state.fallbacks.iter().cloned()));
        all.sort();
        all.dedup();
        all
    }

    fn losses(&self) -> Vec<String> {
        self.losses.clone()
    }

    fn cpu(&self) -> Option<ProcessCpu> {
        let sum = |a: ProcessCpu, b: ProcessCpu| ProcessCpu {
            user_ns: a.user_ns + b.user_ns,
            system_ns: a.system_ns + b.system_ns,
        };
        let own = self.own.cpu().unwrap_or_else(ProcessCpu::now);
        Some(self.states.iter().map(|state| state.cpu).fold(own, sum))
    }

    fn tells_workers_apart(&self) -> bool {
        true
    }

    fn is_only_client(&self) -> bool {
        // The processor time is that of several machines.
        false
    }

    fn drained(&self) -> bool {
        let others = || self.states.iter().all(|state| state.is_drained);
        !self.losses.is_empty() || self.own.drained() && others()
    }

    fn finished(&self) -> bool {
        let others = || self.states.iter().all(|state| state.is_finished);
        !self.losses.is_empty() || self.own.finished() && others()
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

    fn fault(&self) -> Option<(u32, IoFault)> {
        let of_other = |(host, state): (u32, &HostState)| {
            state.fault.map(|(job, fault)| (job, IoFault { host, ..fault }))
        };
        self.own.fault().or_else(|| (1..).zip(&self.states).find_map(of_other))
    }
}

impl Drop for HostsPool {
    /// Ends the workers of the other hosts, whatever ended the measurement.
    fn drop(&mut self) {
        if !self.is_stopped {
            self.leader.lock().order(|_| Order::Stop { in_hurry: true });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_io::worker::accounting::WorkerWindow;

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
