//! A queue depth that does not fit into the queue in front of the target does not count.

use crate::close;
use crate::closed::find;
use iogauge_io::engine::Files;
use iogauge_io::offsets::Extent;
use iogauge_io::pool::{Arrivals, PoolJob, VirtualPool, WorkerHandle, WorkerPool};
use iogauge_io::worker::WorkerError;
use iogauge_io::worker::accounting::Window;
use iogauge_lab::Interrupt;
use iogauge_lab::measure::Watch;
use iogauge_lab::observe::Blind;
use iogauge_lab::search::{self, SearchPlan};
use iogauge_model::Load;
use iogauge_model::load::EngineKind;
use iogauge_model::result::{QueueBound, StoppedBy};

#[test]
fn search_ends_when_the_device_queue_is_full() {
    for (queue, limits) in [(64, "p99<=20ms"), (100, "mean<=5s"), (8, "p99<=20ms")] {
        let device = format!("channels=8,service=100us,queue={queue}");
        let searched = find(&device, &[limits], |_| {});
        let answer = &searched.outcome.search.answer;
        assert_eq!((answer.met, answer.stopped_by), (true, StoppedBy::QueueFull), "{answer:?}");
        assert_eq!(answer.queue_depth, queue);
        close(answer.iops.mean, 80_000.0, 3.0);
        let told_by = vec![format!("queue={queue}")];
        assert_eq!(answer.queue, Some(QueueBound { requests: u64::from(queue), told_by }));
        for point in &searched.outcome.search.curve {
            assert!(point.queue_depth <= queue, "depth {} of {queue}", point.queue_depth);
            close(point.queue_depth_achieved, f64::from(point.queue_depth), 2.0);
        }
    }
}

#[test]
fn limit_broken_before_queue_is_full_ends_search() {
    let searched = find("channels=8,service=100us,queue=64", &["p99<=600us"], |_| {});
    let answer = &searched.outcome.search.answer;
    assert_eq!((answer.stopped_by, answer.queue.clone()), (StoppedBy::Limit, None));
    let without = find("channels=8,service=100us", &["p99<=600us"], |_| {}).outcome.search.answer;
    assert_eq!(*answer, without, "a queue that is never full changes nothing");
}

/// A pool whose target takes at most `most` I/Os at a time without reporting this.
struct Bounded {
    pool: VirtualPool,
    most: u32,
}

impl WorkerPool for Bounded {
    fn advance(&mut self, ns: u64) -> Result<(), WorkerError> {
        self.pool.advance(ns)
    }

    fn take_window(&mut self) -> Result<Window, WorkerError> {
        self.pool.take_window()
    }

    fn set_queue_depth(&mut self, queue_depth: u32) -> Result<Window, WorkerError> {
        self.pool.set_queue_depth(queue_depth.min(self.most))
    }

    fn set_rate(&mut self, rate_iops: Option<f64>) -> Result<Window, WorkerError> {
        self.pool.set_rate(rate_iops)
    }

    fn stop(&mut self) -> Result<Window, WorkerError> {
        self.pool.stop()
    }

    fn controls(&self) -> &[WorkerHandle] {
        self.pool.controls()
    }

    fn arrivals(&self) -> &Arrivals {
        self.pool.arrivals()
    }

    fn now_ns(&self) -> u64 {
        self.pool.now_ns()
    }

    fn is_virtual(&self) -> bool {
        true
    }
}

#[test]
fn full_queue_is_detected_by_outstanding_io_count() {
    let load = Load { engine: EngineKind::Sim, iodepth: 1, ..Load::default() };
    let extents = vec![Extent { base_bytes: 0, size_bytes: 1 << 30 }];
    let job = PoolJob { load, files: Files::default(), extents };
    let spec = "channels=8,service=100us".parse().unwrap();
    let pool = VirtualPool::start(vec![job], spec, 16_384).unwrap();
    let mut pool = Bounded { pool, most: 679 };
    let limits = vec!["p99<=1s".parse().unwrap()];
    let plan = SearchPlan { limits, ..SearchPlan::default() };
    let watch = &mut Watch { observer: &mut Blind, interrupt: &Interrupt::default() };
    let found = search::find(&mut pool, &plan, watch).unwrap();
    assert_eq!(found.search.answer.stopped_by, StoppedBy::QueueFull, "{:?}", found.search.answer);
    assert_eq!(found.search.answer.queue, Some(QueueBound { requests: 679, told_by: Vec::new() }));
    close(f64::from(found.search.answer.queue_depth), 679.0, 0.2);
    for point in &found.search.curve {
        close(point.queue_depth_achieved, f64::from(point.queue_depth), 2.0);
    }
}
