//! The workers of a database as a worker pool. Block reads, updates and commits count as reads,
//! writes and flushes, so that steps, searches and statistics work as for devices.

use super::database_result;
use super::reserve::DbReserveWatch;
use crate::observe::Interrupt;
use iogauge_db::DbError;
use iogauge_db::counts::{Sums, WorkerCounts};
use iogauge_db::pool::{DbPool, Mode};
use iogauge_io::clock::Clock;
use iogauge_io::engine::Op;
use iogauge_io::machine::{Roots, Starvation, StarvationReader, Waiting};
use iogauge_io::pool::{Arrivals, Heartbeat, LiveFigures, Paused, Room, WorkerHandle, WorkerPool};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::{Tally, Window, WorkerWindow};
use iogauge_model::result::StepResult;
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
    /// Counts of each worker since the last mark, as far as windows contain them.
    measured: Vec<Sums>,
    /// Counts of all workers since the beginning.
    whole: Sums,
    /// Bytes that they updated since then.
    updated_bytes: u64,
    /// Why there are fewer workers than requested.
    refused: Option<DbError>,
    /// Checks that the disks keep their reserve, if the workload writes.
    room: Option<DbReserveWatch>,
    /// Why all workers were ended early.
    no_room: Option<DbError>,
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
    ) -> Result<Self, DbError> {
        let most = Room::here().workers;
        if u64::from(active) > most {
            return Err(DbError::Usage(format!(
                "{active} processes take a thread each, and this system has room for {most}; hint: use \
                 fewer --processes"
            )));
        }
        workers.connect(active)?;
        let mut pool = Self {
            workers,
            clock: Clock::get(),
            arrivals: Arrivals::default(),
            live: LiveFigures::default(),
            heartbeat: Heartbeat::start().ok(),
            starvation: StarvationReader::new(Roots::real()),
            measured: Vec::new(),
            whole: Sums::default(),
            updated_bytes: 0,
            refused: None,
            room,
            no_room: None,
            search: None,
        };
        pool.workers.set_active(active);
        Ok(pool)
    }

    /// Counts operations as measured from now on.
    pub(super) fn mark(&mut self) {
        self.measured.clear();
    }

    /// Returns the counts of each worker since the mark.
    pub(super) fn measured(&self) -> &[Sums] {
        &self.measured
    }

    /// Returns the counts of all workers since the beginning.
    pub(super) fn whole(&self) -> &Sums {
        &self.whole
    }

    /// Returns the bytes that all workers updated since the beginning.
    pub(super) fn updated_bytes(&self) -> u64 {
        self.updated_bytes
    }

    /// Returns the kind of work of each worker.
    pub(super) fn mode(&self) -> Mode {
        self.workers.plan().mode
    }

    pub(super) fn reads_directly(&self) -> bool {
        self.workers.reads_directly()
    }

    /// Returns the first fault, with the worker's number.
    pub(super) fn database_fault(&self) -> Option<(u32, DbError)> {
        self.workers.fault()
    }

    /// Returns why there are fewer workers than a search requested.
    pub(super) fn refused(&self) -> Option<&DbError> {
        self.refused.as_ref()
    }

    /// Sets the interrupt that ends the search when the workers have ended.
    pub(super) fn begin_search(&mut self, interrupt: &Interrupt) {
        self.search = Some(interrupt.clone());
    }

    /// Returns why all workers were ended early: a disk has reached its free-space reserve.
    pub(super) fn no_room(&self) -> Option<&DbError> {
        self.no_room.as_ref()
    }

    /// Ends all workers if a disk has reached its free-space reserve.
    fn look_at_room(&mut self) {
        if self.no_room.is_none()
            && let Some(Err(error)) = self.room.as_mut().map(DbReserveWatch::check)
        {
            self.workers.end();
            self.no_room = Some(error);
            if let Some(search) = &self.search {
                search.set();
            }
        }
    }

    fn window(&mut self, workers: &[WorkerCounts], counts: bool) -> Window {
        let mut window = Window { ended_ns: self.clock.now_ns(), ..Window::default() };
        let writes = self.mode().writes();
        for workers in workers {
            add(&mut window.directions[Op::Read as usize], &workers.reads, workers.read_bytes);
            add(&mut window.directions[Op::Write as usize], &workers.updates, workers.update_bytes);
            add(&mut window.directions[Op::Sync as usize], &workers.commits, 0);
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
        }
        if counts {
            self.measured.resize(self.measured.len().max(workers.len()), Sums::default());
            self.measured.iter_mut().zip(workers).for_each(|(sums, workers)| sums.add(workers));
        }
        workers.iter().for_each(|workers| self.whole.add(workers));
        self.updated_bytes += workers.iter().map(|workers| workers.update_bytes).sum::<u64>();
        self.live.ios += window.ios();
        self.live.bytes += window.bytes();
        self.live.outstanding = self.workers.active();
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
        Ok(self.window(&workers, true))
    }

    /// Sets the number of processes. If the database refuses more connections, the existing ones
    /// continue.
    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        let window = self.take_window()?;
        let queue_depth = self.most_depth().map_or(queue_depth, |most| most.min(queue_depth));
        if let Err(error) = self.workers.connect(queue_depth) {
            self.refused.get_or_insert(error);
        }
        self.workers.set_active(queue_depth);
        Ok(window)
    }

    fn most_depth(&self) -> Option<u32> {
        self.refused.as_ref().map(|_| self.workers.connected())
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
        Ok(self.window(&workers, false))
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

    fn complete(&self, result: &mut StepResult) {
        let mode = self.mode();
        let direct = mode.reads().then(|| self.reads_directly());
        result.database =
            Some(Box::new(database_result::of(mode, self.measured(), direct, result)));
    }
}
