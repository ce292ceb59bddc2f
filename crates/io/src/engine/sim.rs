//! The simulated device as an engine: virtual time, the same results for the same seeds.

use super::{Engine, EngineError, Io, Op};
use crate::sim::{Device, SimSpec};
use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

const PAGE_BYTES: u64 = 4096;

/// A device shared by the workers of a step, with what is due to each of them.
#[derive(Debug)]
pub struct World {
    device: Device,
    due: Vec<VecDeque<(u32, i32)>>,
    /// Data written, by 4 KiB page, where the device keeps it.
    pages: HashMap<(u32, u64), Box<[u8]>>,
}

impl World {
    /// A world around one device, at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Rc<RefCell<Self>> {
        let device = Device::new(spec);
        Rc::new(RefCell::new(Self { device, due: Vec::new(), pages: HashMap::new() }))
    }

    /// Virtual time, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    /// Moves the clock to the next completion, or to `bound_ns` where there is none before, and
    /// deals out what completes then. Returns the workers that have something due, in order.
    pub fn advance(&mut self, bound_ns: u64) -> Vec<u32> {
        let at_ns = self.device.next_completion(bound_ns).unwrap_or(bound_ns);
        self.device.set_now(at_ns);
        let mut owners = Vec::new();
        // Each take may reveal another completion of the same instant behind internal events.
        while self.device.next_completion(at_ns).is_some() {
            let Some(done) = self.device.take() else { break };
            self.due[done.owner as usize].push_back((done.slot, done.result));
            owners.push(done.owner);
        }
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Completions a worker has not taken yet.
    #[must_use]
    pub fn due(&self, owner: u32) -> u32 {
        self.due[owner as usize].len() as u32
    }

    /// Lets time pass while nothing is due before `until_ns`.
    pub fn advance_idle(&mut self, until_ns: u64) {
        if self.device.next_completion(until_ns).is_none() {
            self.device.set_now(until_ns);
        }
    }

    fn keep(&mut self, io: &Io) {
        for (page, within, at, len) in pieces(io) {
            let page = self
                .pages
                .entry((io.file, page))
                .or_insert_with(|| vec![0; PAGE_BYTES as usize].into_boxed_slice());
            // SAFETY: the worker keeps the buffer valid for the I/O's length, and the pieces lie
            // inside it.
            let data = unsafe { std::slice::from_raw_parts(io.buffer.add(at), len) };
            page[within..within + len].copy_from_slice(data);
        }
    }

    fn recall(&self, io: &Io) {
        for (page, within, at, len) in pieces(io) {
            // SAFETY: as in `keep`; no other reference to the buffer exists while the I/O is under
            // way.
            let data = unsafe { std::slice::from_raw_parts_mut(io.buffer.add(at), len) };
            match self.pages.get(&(io.file, page)) {
                Some(page) => data.copy_from_slice(&page[within..within + len]),
                None => data.fill(0),
            }
        }
    }
}

/// Cuts an I/O at page borders: page number, offset in the page, offset in the buffer, length.
fn pieces(io: &Io) -> impl Iterator<Item = (u64, usize, usize, usize)> {
    let (start, end) = (io.offset_bytes, io.offset_bytes + u64::from(io.len));
    let mut at = start;
    std::iter::from_fn(move || {
        (at < end).then(|| {
            let (page, within) = (at / PAGE_BYTES, at % PAGE_BYTES);
            let len = (PAGE_BYTES - within).min(end - at);
            let piece = (page, within as usize, (at - start) as usize, len as usize);
            at += len;
            piece
        })
    })
}

/// One worker's view of the world.
#[derive(Debug)]
pub struct Sim {
    world: Rc<RefCell<World>>,
    owner: u32,
}

impl Sim {
    /// Joins a world.
    #[must_use]
    pub fn new(world: Rc<RefCell<World>>) -> Self {
        let mut inner = world.borrow_mut();
        let owner = inner.due.len() as u32;
        inner.due.push(VecDeque::new());
        drop(inner);
        Self { world, owner }
    }
}

impl Engine for Sim {
    fn queue(&mut self, io: Io) {
        let mut world = self.world.borrow_mut();
        let taken = world.device.submit(crate::sim::Request {
            owner: self.owner,
            slot: io.slot,
            op: io.op,
            offset_bytes: io.offset_bytes,
            len: io.len,
        });
        if taken && world.device.spec().keep_data {
            match io.op {
                Op::Write => world.keep(&io),
                Op::Read => world.recall(&io),
                Op::Sync => {}
            }
        }
    }

    /// Nothing waits here: the crew of virtual time moves the clock.
    fn enter(&mut self, _wait: u32, _timeout_ns: Option<u64>) -> Result<(), EngineError> {
        Ok(())
    }

    fn reap(&mut self, max: u32, mut sink: impl FnMut(u32, i32)) {
        for _ in 0..max {
            let next = self.world.borrow_mut().due[self.owner as usize].pop_front();
            match next {
                Some((slot, result)) => sink(slot, result),
                None => break,
            }
        }
    }

    fn now_ns(&self) -> u64 {
        self.world.borrow().device.now_ns()
    }

    fn grow(&mut self, _slots: u32) {}
}
