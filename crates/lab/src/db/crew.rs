//! The workers of a database as a crew: reads of blocks, updates and commits are its reads, writes and
//! flushes, so that steps, searches and statistics are those of devices.

use super::figures;
use super::target::DbLoad;
use iogauge_db::DbError;
use iogauge_db::books::{Books, Sums};
use iogauge_db::crew::Crew as Workers;
use iogauge_io::clock::Clock;
use iogauge_io::crew::{Arrivals, Crew, LiveFigures, WorkerHandle};
use iogauge_io::engine::Op;
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::{Tally, Window, WorkerWindow};
use iogauge_model::result::StepResult;
use std::time::Duration;

/// How long is waited at a time for workers that may have ended.
const LOOK_NS: u64 = 10_000_000;

/// Workers of a database under one hand.
#[derive(Debug)]
pub(super) struct DbCrew {
    workers: Workers,
    load: DbLoad,
    clock: Clock,
    arrivals: Arrivals,
    live: LiveFigures,
    /// What each worker did since the last mark, as far as windows hold it.
    measured: Vec<Sums>,
    /// What all workers did since the begin.
    whole: Sums,
    /// Bytes they updated since then.
    updated_bytes: u64,
    /// Why there are fewer workers than asked.
    refused: Option<DbError>,
}

impl DbCrew {
    /// The load's workers at work.
    pub(super) fn start(mut workers: Workers, load: &DbLoad) -> Result<Self, DbError> {
        workers.connect(load.processes)?;
        let mut crew = Self {
            workers,
            load: *load,
            clock: Clock::get(),
            arrivals: Arrivals::default(),
            live: LiveFigures::default(),
            measured: Vec::new(),
            whole: Sums::default(),
            updated_bytes: 0,
            refused: None,
        };
        crew.workers.set_active(load.processes);
        Ok(crew)
    }

    /// From now on what workers do counts as measured.
    pub(super) fn mark(&mut self) {
        self.measured.clear();
    }

    /// What each worker did since the mark.
    pub(super) fn measured(&self) -> &[Sums] {
        &self.measured
    }

    /// What all workers did since the begin.
    pub(super) fn whole(&self) -> &Sums {
        &self.whole
    }

    /// Bytes that all workers updated since the begin.
    pub(super) fn updated_bytes(&self) -> u64 {
        self.updated_bytes
    }

    pub(super) fn reads_directly(&self) -> bool {
        self.workers.reads_directly()
    }

    /// The first fault, with the worker's number.
    pub(super) fn database_fault(&self) -> Option<(u32, DbError)> {
        self.workers.fault()
    }

    /// Why there are fewer workers than a search asked for.
    pub(super) fn refused(&self) -> Option<&DbError> {
        self.refused.as_ref()
    }

    fn window(&mut self, books: &[Books], counts: bool) -> Window {
        let mut window = Window { ended_ns: self.clock.now_ns(), ..Window::default() };
        let writes = self.workers.plan().mode.writes();
        for books in books {
            add(&mut window.directions[Op::Read as usize], &books.reads, books.read_bytes);
            add(&mut window.directions[Op::Write as usize], &books.updates, books.update_bytes);
            add(&mut window.directions[Op::Sync as usize], &books.commits, 0);
            let failed = if writes { Op::Write } else { Op::Read };
            window.directions[failed as usize].errors += books.errors;
            window.workers.push(WorkerWindow {
                job: 0,
                ios: books.operations(),
                bytes: books.read_bytes + books.update_bytes,
                errors: books.errors,
                elapsed_ns: books.elapsed_ns,
                depth_integral: u128::from(books.busy_ns),
            });
        }
        if counts {
            self.measured.resize(self.measured.len().max(books.len()), Sums::default());
            self.measured.iter_mut().zip(books).for_each(|(sums, books)| sums.add(books));
        }
        books.iter().for_each(|books| self.whole.add(books));
        self.updated_bytes += books.iter().map(|books| books.update_bytes).sum::<u64>();
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

impl Crew for DbCrew {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        let end_ns = self.clock.now_ns().saturating_add(ns);
        while !self.workers.finished() {
            let left_ns = end_ns.saturating_sub(self.clock.now_ns());
            if left_ns == 0 {
                break;
            }
            std::thread::sleep(Duration::from_nanos(left_ns.min(LOOK_NS)));
        }
        Ok(())
    }

    fn cut(&mut self) -> Result<Window, WorkerError> {
        let books = self.workers.cut();
        Ok(self.window(&books, true))
    }

    /// A depth is a number of processes. Where the database gives no more connections, those that are
    /// there go on.
    fn set_depth(&mut self, depth: u32) -> Result<Window, WorkerError> {
        let window = self.cut()?;
        let depth = self.most_depth().map_or(depth, |most| most.min(depth));
        if let Err(error) = self.workers.connect(depth) {
            self.refused.get_or_insert(error);
        }
        self.workers.set_active(depth);
        Ok(window)
    }

    fn most_depth(&self) -> Option<u32> {
        self.refused.as_ref().map(|_| self.workers.connected())
    }

    /// Transactions have no schedule: the rate stays what the database makes of it.
    fn set_rate(&mut self, _rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        self.cut()
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        let books = self.workers.stop();
        Ok(self.window(&books, false))
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

    fn is_virtual(&self) -> bool {
        false
    }

    fn is_only_client(&self) -> bool {
        false
    }

    fn tells_workers_apart(&self) -> bool {
        true
    }

    /// A worker that is to rest ends the transaction it is in, whose operations count like any other.
    fn drained(&self) -> bool {
        true
    }

    fn finished(&self) -> bool {
        self.workers.finished()
    }

    fn live(&self) -> LiveFigures {
        self.live
    }

    fn complete(&self, result: &mut StepResult) {
        result.database = Some(Box::new(figures::of(&self.load, self, result)));
    }
}
