//! The queueing model: processes each I/O in order of virtual time.

use super::noise::{LateState, NoiseState, normal};
use super::pages::Pages;
use super::spec::{Service, SimSpec};
use crate::engine::Op;
use crate::machine::QueueReading;
use crate::offsets::unit;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Number of requests among which a device with seeks chooses the nearest (native command queueing, SATA 3).
const REORDER_WINDOW: usize = 32;

/// One I/O, as submitted to the device.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Request {
    /// Worker that submitted it.
    pub(crate) owner: u32,
    /// Slot of that worker.
    pub(crate) slot: u32,
    pub(crate) op: Op,
    pub(crate) offset_bytes: u64,
    pub(crate) len: u32,
    /// Number of its host, from 0.
    pub(crate) host: u32,
    /// Further time on the way back to its host.
    pub(crate) return_ns: u64,
}

/// A completed I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Done {
    pub(crate) owner: u32,
    pub(crate) slot: u32,
    pub(crate) result: i32,
}

/// Something that happens at a point of virtual time.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// An I/O reaches the queue of a device with seeks.
    Arrival(Request),
    /// A channel of a device with seeks becomes free; its I/O continues to the bus.
    ChannelFree(Request),
    /// An I/O reaches the bus.
    Bus(Request),
    /// An I/O reaches the link of its host.
    Link(Request),
    /// An I/O arrives back at the host.
    Complete(Done),
}

#[derive(Debug)]
struct Scheduled {
    at_ns: u64,
    /// Breaks ties by the order of scheduling, so that runs are reproducible.
    sequence: u64,
    event: Event,
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        (self.at_ns, self.sequence) == (other.at_ns, other.sequence)
    }
}
impl Eq for Scheduled {}
impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.sequence).cmp(&(other.at_ns, other.sequence))
    }
}

/// A simulated device with its clock.
#[derive(Debug)]
pub struct Device {
    spec: SimSpec,
    now_ns: u64,
    sequence: u64,
    events: BinaryHeap<Reverse<Scheduled>>,
    /// Times at which the channels become free (devices without seeks).
    channels: BinaryHeap<Reverse<u64>>,
    /// Queue of a device with seeks.
    waiting: Vec<Request>,
    idle_channels: u32,
    head_bytes: u64,
    bus_free_ns: u64,
    /// Times at which the links of the hosts become free.
    links_free_ns: Vec<u64>,
    /// Theoretical arrival time of the cap's leaky bucket (GCRA, ITU-T I.371), in nanoseconds.
    cap_time_ns: f64,
    dirty_bytes: f64,
    dirty_at_ns: u64,
    /// Bytes of all accepted writes so far.
    written_bytes: u64,
    /// Written data, if the specification says to keep it.
    pub(crate) pages: Pages,
    random: Xoshiro256PlusPlus,
    noise: NoiseState,
    late: Option<LateState>,
    /// I/Os that have not arrived back at the host.
    outstanding: u32,
    /// Load of the queue until `queue_ns`.
    queue: QueueReading,
    queue_ns: u64,
}

/// Returns the time that the data of an I/O takes at this bandwidth.
fn transfer_ns(request: Request, bytes_per_sec: Option<u64>) -> u64 {
    u64::from(request.len) * 1_000_000_000 / bytes_per_sec.unwrap_or(u64::MAX).max(1)
}

impl Device {
    /// Creates a device at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Self {
        Self {
            now_ns: 0,
            sequence: 0,
            events: BinaryHeap::new(),
            channels: (0..spec.channels).map(|_| Reverse(0)).collect(),
            waiting: Vec::new(),
            idle_channels: spec.channels,
            head_bytes: 0,
            bus_free_ns: 0,
            links_free_ns: vec![0; spec.hosts as usize],
            cap_time_ns: f64::NEG_INFINITY,
            dirty_bytes: 0.0,
            dirty_at_ns: 0,
            written_bytes: 0,
            pages: Pages::default(),
            random: Xoshiro256PlusPlus::seed_from_u64(spec.seed),
            noise: NoiseState::new(&spec.noise, spec.neighbour, spec.seed),
            late: spec.late.map(|bursts| LateState::new(bursts, spec.seed)),
            outstanding: 0,
            queue: QueueReading::default(),
            queue_ns: 0,
            spec,
        }
    }

    /// Returns the specification of the device.
    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.spec
    }

    /// Returns the virtual time, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Advances the clock, at most to the next completion.
    pub(crate) fn set_now(&mut self, now_ns: u64) {
        self.now_ns = self.now_ns.max(now_ns);
    }

    /// Returns the load of the queue so far.
    pub(crate) fn queue(&self) -> QueueReading {
        let most = self.spec.queue.unwrap_or(u32::MAX);
        let held = u64::from(self.outstanding.min(most));
        let in_flight_ns = self.queue.in_flight_ns + held * (self.now_ns - self.queue_ns);
        QueueReading { in_flight_ns, ..self.queue }
    }

    /// Accepts an I/O at the current time. Returns false if it will fail.
    pub(crate) fn submit(&mut self, request: Request) -> bool {
        (self.queue, self.queue_ns) = (self.queue(), self.now_ns);
        self.outstanding += 1;
        let arrival = self.admit(self.now_ns + self.spec.rtt_ns / 2);
        if let Some(errno) = self.refusal(&request) {
            self.complete(arrival, request, -errno);
            return false;
        }
        match request.op {
            Op::Sync => {
                let rate = self.spec.destage(self.written_bytes, arrival);
                let flushed = arrival + self.drain_ns(arrival, rate);
                self.complete(flushed, request, 0);
            }
            Op::Write if self.spec.cache_bytes > 0 => {
                let taken = self.cache(arrival, request.len) + self.spec.cache_service_ns;
                self.leave_channel(taken, request);
            }
            _ if self.spec.seek_ns > 0 => self.schedule(arrival, Event::Arrival(request)),
            _ => {
                let free = self.channels.pop().map_or(0, |Reverse(at)| at);
                let start = arrival.max(free);
                let service = self.service_ns(request.op, start);
                let end = self.through_stalls(start, service);
                self.channels.push(Reverse(end));
                self.leave_channel(end, request);
            }
        }
        if request.op == Op::Write {
            self.written_bytes += u64::from(request.len);
        }
        true
    }

    /// Runs until nothing is outstanding, and discards the completions.
    pub(crate) fn complete_outstanding(&mut self) {
        while let Some(at_ns) = self.next_completion(u64::MAX) {
            self.set_now(at_ns);
            let _ = self.take();
        }
    }

    /// Runs the model until the next completion and returns its time, or `None` if there is none up to `bound_ns`.
    /// [`Self::take`] returns the completion.
    pub(crate) fn next_completion(&mut self, bound_ns: u64) -> Option<u64> {
        while let Some(Reverse(next)) = self.events.peek() {
            if next.at_ns > bound_ns {
                return None;
            }
            if matches!(next.event, Event::Complete(_)) {
                return Some(next.at_ns);
            }
            if let Some(Reverse(next)) = self.events.pop() {
                self.happen(next.at_ns, next.event);
            }
        }
        None
    }

    /// Takes a completion that is due now, if there is one.
    pub(crate) fn take(&mut self) -> Option<Done> {
        let Reverse(next) = self.events.peek()?;
        match next.event {
            Event::Complete(done) if next.at_ns <= self.now_ns => {
                self.events.pop();
                (self.queue, self.queue_ns) = (self.queue(), self.now_ns);
                self.queue.requests += 1;
                self.outstanding -= 1;
                Some(done)
            }
            _ => None,
        }
    }

    fn happen(&mut self, at_ns: u64, event: Event) {
        match event {
            Event::Arrival(request) => {
                self.waiting.push(request);
                self.start_nearest(at_ns);
            }
            Event::ChannelFree(request) => {
                self.idle_channels += 1;
                self.leave_channel(at_ns, request);
                self.start_nearest(at_ns);
            }
            Event::Bus(request) => {
                let transfer = transfer_ns(request, self.spec.bus_bytes_per_sec);
                self.bus_free_ns = self.bus_free_ns.max(at_ns) + transfer;
                self.leave_bus(self.bus_free_ns, request);
            }
            Event::Link(request) => {
                let transfer = transfer_ns(request, self.spec.host_link_bytes_per_sec);
                let free_ns = &mut self.links_free_ns[request.host as usize];
                *free_ns = at_ns.max(*free_ns) + transfer;
                let at_ns = *free_ns;
                self.complete(at_ns, request, request.len as i32);
            }
            Event::Complete(_) => {}
        }
    }

    fn schedule(&mut self, at_ns: u64, event: Event) {
        self.sequence += 1;
        self.events.push(Reverse(Scheduled { at_ns, sequence: self.sequence, event }));
    }

    fn leave_channel(&mut self, at_ns: u64, request: Request) {
        let at_ns = at_ns + self.late.as_mut().map_or(0, |late| late.late_ns(at_ns));
        if self.spec.bus_bytes_per_sec.is_some() {
            self.schedule(at_ns, Event::Bus(request));
        } else {
            self.leave_bus(at_ns, request);
        }
    }

    fn leave_bus(&mut self, at_ns: u64, request: Request) {
        if self.spec.host_link_bytes_per_sec.is_some() {
            self.schedule(at_ns, Event::Link(request));
        } else {
            self.complete(at_ns, request, request.len as i32);
        }
    }

    fn complete(&mut self, at_ns: u64, request: Request, result: i32) {
        let done = Done { owner: request.owner, slot: request.slot, result };
        let at_ns = at_ns + self.spec.rtt_ns.div_ceil(2) + request.return_ns;
        self.schedule(at_ns, Event::Complete(done));
    }

    /// Returns the errno with which an I/O fails, if it does.
    fn refusal(&mut self, request: &Request) -> Option<i32> {
        if self.spec.eio_percent > 0.0 && unit(&mut self.random) * 100.0 < self.spec.eio_percent {
            return Some(libc::EIO);
        }
        let end = request.offset_bytes + u64::from(request.len);
        let full = request.op == Op::Write && self.spec.space_bytes.is_some_and(|s| end > s);
        full.then_some(libc::ENOSPC)
    }

    /// Returns when the IOPS cap admits an I/O that arrives at `at_ns`. The cap is a leaky bucket that starts full of
    /// credits.
    fn admit(&mut self, at_ns: u64) -> u64 {
        let Some(cap) = self.spec.iops_cap else { return at_ns };
        let interval = 1e9 / cap as f64;
        let credit = interval * self.spec.burst_ios as f64;
        let at = (at_ns as f64).max(self.cap_time_ns - credit);
        self.cap_time_ns = self.cap_time_ns.max(at) + interval;
        at as u64
    }

    /// Updates the fill level of the cache to `at_ns` and returns how long it takes from then until the cache is empty.
    fn drain_ns(&mut self, at_ns: u64, rate: u64) -> u64 {
        let gone = at_ns.saturating_sub(self.dirty_at_ns) as f64 * rate as f64 / 1e9;
        self.dirty_bytes = (self.dirty_bytes - gone).max(0.0);
        self.dirty_at_ns = self.dirty_at_ns.max(at_ns);
        (self.dirty_bytes / rate as f64 * 1e9) as u64
    }

    /// Puts `len` bytes that arrive at `at_ns` into the write cache. Returns when there is room for them.
    fn cache(&mut self, at_ns: u64, len: u32) -> u64 {
        // A full cache accepts writes one after the other.
        let at_ns = at_ns.max(self.dirty_at_ns);
        let rate = self.spec.destage(self.written_bytes, at_ns);
        self.drain_ns(at_ns, rate);
        let over = self.dirty_bytes + f64::from(len) - self.spec.cache_bytes as f64;
        let room_at = at_ns + (over.max(0.0) / rate as f64 * 1e9) as u64;
        self.drain_ns(room_at, rate);
        self.dirty_bytes += f64::from(len);
        room_at
    }

    /// Draws the time of a service that starts at `start_ns`.
    fn service_ns(&mut self, op: Op, start_ns: u64) -> u64 {
        let at_first = match op {
            Op::Write => self.spec.write_ns(self.written_bytes),
            _ => self.spec.service_ns as f64,
        };
        let faded = at_first * (1.0 + self.spec.fade_percent / 100.0 * (start_ns as f64 / 1e9));
        // I/Os that take no time would keep virtual time from passing.
        let mean = (faded * self.spec.wander(start_ns) * self.noise.factor(start_ns)).max(1.0);
        let factor = match self.spec.dist {
            Service::Constant => 1.0,
            Service::Exponential => -(1.0 - unit(&mut self.random)).ln(),
            Service::Lognormal(sigma) => {
                // The mean of e^(σz) is e^(σ²/2).
                (sigma * normal(&mut self.random) - sigma * sigma / 2.0).exp()
            }
        };
        (mean * factor).round() as u64
    }

    /// Returns when `work_ns` of service that starts at `start_ns` ends, with the garbage collection stalls in between.
    fn through_stalls(&self, mut start_ns: u64, mut work_ns: u64) -> u64 {
        let (every, stall) = (self.spec.gc_every_ns, self.spec.gc_stall_ns);
        if every == 0 {
            return start_ns + work_ns;
        }
        loop {
            // A stall is at the end of each period.
            let period_start = start_ns - start_ns % every;
            let (stall_start, stall_end) = (period_start + every - stall, period_start + every);
            if start_ns >= stall_start {
                start_ns = stall_end;
            } else if start_ns + work_ns <= stall_start {
                return start_ns + work_ns;
            } else {
                work_ns -= stall_start - start_ns;
                start_ns = stall_end;
            }
        }
    }

    /// Starts I/Os that wait on a device with seeks, the nearest first.
    fn start_nearest(&mut self, at_ns: u64) {
        while self.idle_channels > 0 && !self.waiting.is_empty() {
            let head = self.head_bytes;
            let nearest = self
                .waiting
                .iter()
                .take(REORDER_WINDOW)
                .enumerate()
                .min_by_key(|(_, r)| r.offset_bytes.abs_diff(head))
                .map_or(0, |(index, _)| index);
            let request = self.waiting.remove(nearest);
            let share =
                request.offset_bytes.abs_diff(head) as f64 / self.spec.size_bytes.max(1) as f64;
            let seek = (self.spec.seek_ns as f64 * share.min(1.0).sqrt()) as u64;
            // A block directly after the last one needs neither seek nor rotation, only its transfer.
            let streams = share == 0.0 && self.spec.bus_bytes_per_sec.is_some();
            let service = if streams { 0 } else { self.service_ns(request.op, at_ns) };
            self.head_bytes = request.offset_bytes + u64::from(request.len);
            self.idle_channels -= 1;
            let end = self.through_stalls(at_ns, seek + service);
            self.schedule(end, Event::ChannelFree(request));
        }
    }
}

#[cfg(test)]
mod tests;
