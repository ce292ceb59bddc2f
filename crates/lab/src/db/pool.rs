//! The workers of a database as a worker pool. Block reads, updates and commits count as reads,
//! writes and flushes, so that steps, searches and statistics work as for devices.

use super::database_result;
use super::reserve::DbReserveWatch;
use crate::observe::Interrupt;
use crate::transactions::DbReport;
use iogauge_db::DbError;
use iogauge_db::counts::WorkerCounts;
use iogauge_db::pool::{DbPool, DbPoolPlan};
use iogauge_io::clock::Clock;
use iogauge_io::engine::Op;
use iogauge_io::machine::{Roots, Starvation, StarvationReader, Waiting};
use iogauge_io::pool::{Arrivals, Heartbeat, LiveFigures, Paused, Room, WorkerHandle, WorkerPool};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::{Tally, Window, WorkerWindow};
use iogauge_io::worker::transactions::TransactionSums;
use iogauge_model::result::StepResult;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval for checking whether workers have ended.
const LOOK_NS: u64 = 10_000_000;

/// A [`DbPool`] with the interface of a [`WorkerPool`].
#[derive(Debug)]
pub(super) struct DatabasePool {
    workers: DbPool,
    clock: Clock,
    arrivals: Arrivals,
    live: LiveFigures,
    /// `None` if the system refuses a thread for it; pauses then go unnoticed.
    heartbeat: Option<Heartbeat>,
    starvation: StarvationReader,
    /// What all workers have done since they started.
    transactions: TransactionSums,
    /// What the pool's owner reads beside it.
    report: Arc<Mutex<DbReport>>,
    /// Checks that the disks keep their reserve, if the workload writes.
    room: Option<DbReserveWatch>,
    /// Ends a search, which does not notice itself that its workers have ended.
    search: Option<Interrupt>,
}

impl DatabasePool {
    /// Starts a pool with `active` workers.
    ///
    /// # Errors
    /// There are not enough threads, or a worker cannot be connected.
    pub(super) fn start(
        mut workers: DbPool,
        active: u32,
        room: Option<DbReserveWatch>,
        report: Arc<Mutex<DbReport>>,
    ) -> Result<Self, DbError> {
        let most = Room::here().workers;
        if u64::from(active) > most {
            return Err(DbError::Usage(format!(
                "{active} processes take a thread each, and this system has room for {most}; hint: use \
                 fewer of them"
            )));
        }
        workers.connect(active)?;
        workers.set_active(active);
        // A pool on this host may have reported before.
        *lock(&report) = DbReport::default();
        Ok(Self {
            workers,
            clock: Clock::get(),
            arrivals: Arrivals::default(),
            live: LiveFigures::default(),
            heartbeat: Heartbeat::start().ok(),
            starvation: StarvationReader::new(Roots::real()),
            transactions: TransactionSums::default(),
            report,
            room,
            search: None,
        })
    }

    /// Sets the interrupt that ends the search when the workers have ended.
    pub(super) fn begin_search(&mut self, interrupt: &Interrupt) {
        self.search = Some(interrupt.clone());
    }

    /// Ends all workers if a disk has reached its free-space reserve.
    fn look_at_room(&mut self) {
        let is_over = lock(&self.report).no_room.is_some();
        if !is_over && let Some(Err(error)) = self.room.as_mut().map(DbReserveWatch::check) {
            self.workers.end();
            lock(&self.report).no_room = Some(error);
            if let Some(search) = &self.search {
                search.set();
            }
        }
    }

    fn window(&mut self, workers: &[WorkerCounts]) -> Window {
        let mut window = Window { ended_ns: self.clock.now_ns(), ..Window::default() };
        let DbPoolPlan { mode, numbers, .. } = *self.workers.plan();
        for (index, workers) in (0..).zip(workers) {
            add(&mut window.directions[Op::Read as usize], &workers.reads, workers.read_bytes);
            add(&mut window.directions[Op::Write as usize], &workers.updates, workers.update_bytes);
            add(&mut window.directions[Op::Sync as usize], &workers.commits, 0);
            let writes = mode.read_percent(numbers.of(index)) < 100;
            let failed = if writes { Op::Write } else { Op::Read };
            window.directions[failed as usize].errors += workers.errors;
            window.workers.push(WorkerWindow {
                job: 0,
                ios: workers.operations(),
                bytes: workers.read_bytes + workers.update_bytes,
                errors: workers.errors,
                elapsed_ns: workers.elapsed_ns,
                queue_depth_integral: u128::from(workers.busy_ns),
            });
            window.transactions.push(workers.sums());
        }
        window.transactions.iter().for_each(|sums| self.transactions.add(sums));
        self.live.ios += window.ios();
        self.live.bytes += window.bytes();
        self.live.outstanding = self.workers.active();
        lock(&self.report).fault = self.workers.fault();
        window
    }
}

fn add(tally: &mut Tally, latencies: &iogauge_model::Histogram, bytes: u64) {
    tally.service.merge(latencies);
    tally.bytes += bytes;
}

impl WorkerPool for DatabasePool {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        let end_ns = self.clock.now_ns().saturating_add(ns);
        while !self.workers.finished() {
            self.look_at_room();
            let left_ns = end_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left_ns.min(LOOK_NS)));
        }
        Ok(())
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        let workers = self.workers.take_window();
        Ok(self.window(&workers))
    }

    /// Sets the number of processes. If the database refuses more connections, the existing ones
    /// continue.
    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let window = self.take_window()?;
        let queue_depth = self.most_depth().map_or(queue_depth, |most| most.min(queue_depth));
        if let Err(error) = self.workers.connect(queue_depth) {
            lock(&self.report).refused.get_or_insert(error);
        }
        self.workers.set_active(queue_depth);
        Ok(window)
    }

    fn most_depth(&self) -> Option<u32> {
        lock(&self.report).refused.as_ref().map(|_| self.workers.connected())
    }

    /// Only takes a window: transactions have no schedule, so the database determines the rate.
    fn set_rate(&mut self, _rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        self.take_window()
    }

    fn take_pauses(&mut self) -> Paused {
        self.heartbeat.as_mut().map(Heartbeat::take).unwrap_or_default()
    }

    /// Processes that wait for a processor may be waiting for the database, which is what is
    /// measured, so their waiting is ignored.
    fn starvation(&self) -> Option<Starvation> {
        Some(self.starvation.read(Waiting::Ignored))
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        let workers = self.workers.stop();
        lock(&self.report).acknowledged = self.workers.acknowledged();
        Ok(self.window(&workers))
    }

    fn controls(&self) -> &[WorkerHandle] {
        &[]
    }

    fn workers(&self) -> usize {
        self.workers.active() as usize
    }

    fn arrivals(&self) -> &Arrivals {
        &self.arrivals
    }

    fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn is_only_client(&self) -> bool {
        false
    }

    fn tells_workers_apart(&self) -> bool {
        true
    }

    fn drained(&self) -> bool {
        self.workers.is_settled()
    }

    fn finished(&self) -> bool {
        self.workers.finished()
    }

    fn live(&self) -> LiveFigures {
        self.live
    }

    fn complete(&self, total: &Window, result: &mut StepResult) {
        let mode = self.workers.plan().mode;
        let direct = mode.reads().then(|| self.workers.reads_directly());
        result.database =
            Some(Box::new(database_result::of(mode, &total.transactions, direct, result)));
    }

    fn transactions(&self) -> TransactionSums {
        self.transactions
    }
}

fn lock(report: &Mutex<DbReport>) -> MutexGuard<'_, DbReport> {
    report.lock().unwrap_or_else(PoisonError::into_inner)
}
