//! The simulated device as an engine: virtual time, and the same results for the same seeds.

use super::{Engine, EngineError, Io, Op};
use crate::machine::QueueReading;
use crate::sim::{Device, DeviceSlot, SimSpec};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// A device shared by the workers of a step, with the completions due to each of them.
#[derive(Debug)]
pub struct World {
    device: Device,
    /// Where the device is put back.
    slot: Option<DeviceSlot>,
    due: Vec<VecDeque<(u32, i32)>>,
}

impl World {
    /// Creates a world around a new device, at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Rc<RefCell<Self>> {
        Self::around(Device::new(spec), None)
    }

    /// Creates a world around the device of a slot and puts it back when the world is dropped. Returns `None` if
    /// another world has the device.
    #[must_use]
    pub fn of(slot: &DeviceSlot) -> Option<Rc<RefCell<Self>>> {
        slot.take().map(|device| Self::around(device, Some(slot.clone())))
    }

    fn around(device: Device, slot: Option<DeviceSlot>) -> Rc<RefCell<Self>> {
        Rc::new(RefCell::new(Self { device, slot, due: Vec::new() }))
    }

    /// Returns the virtual time, in nanoseconds.
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        self.device.now_ns()
    }

    /// Returns how full the device's queue has been, and its size; `None` if the queue is unlimited.
    #[must_use]
    pub fn queue(&self) -> Option<(QueueReading, u32)> {
        Some((self.device.queue(), self.device.spec().queue?))
    }

    /// Moves the clock to the next completion, or to `bound_ns` if there is none before it, and hands out the
    /// completions of that instant. Returns the workers that got some, in order.
    pub fn advance(&mut self, bound_ns: u64) -> Vec<u32> {
        let at_ns = self.device.next_completion(bound_ns).unwrap_or(bound_ns);
        self.device.set_now(at_ns);
        let mut owners = Vec::new();
        // Taking a completion may reveal another one at the same instant, behind internal events.
        while self.device.next_completion(at_ns).is_some() {
            let Some(done) = self.device.take() else { break };
            self.due[done.owner as usize].push_back((done.slot, done.result));
            owners.push(done.owner);
        }
        owners.sort_unstable();
        owners.dedup();
        owners
    }

    /// Returns the number of completions that a worker has not taken yet.
    #[must_use]
    pub fn due(&self, owner: u32) -> u32 {
        self.due[owner as usize].len() as u32
    }

    /// Moves the clock to `until_ns`, if nothing completes before.
    pub fn advance_idle(&mut self, until_ns: u64) {
        if self.device.next_completion(until_ns).is_none() {
            self.device.set_now(until_ns);
        }
    }

    fn keep(&mut self, io: &Io) {
        // SAFETY: the worker keeps the buffer valid for the I/O's length.
        let data = unsafe { std::slice::from_raw_parts(io.buffer, io.len as usize) };
        self.device.pages.write(io.file, io.offset_bytes, data);
    }

    fn recall(&self, io: &Io) {
        // SAFETY: as in `keep`; no other reference to the buffer exists while the I/O is outstanding.
        let data = unsafe { std::slice::from_raw_parts_mut(io.buffer, io.len as usize) };
        self.device.pages.read(io.file, io.offset_bytes, data);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(slot) = &self.slot {
            let stand_in = Device::new(slot.spec().clone());
            slot.put_back(std::mem::replace(&mut self.device, stand_in));
        }
    }
}

/// One worker's view of the world.
#[derive(Debug)]
pub struct Sim {
    world: Rc<RefCell<World>>,
    owner: u32,
    /// Number of its host, from 0.
    host: u32,
    return_ns: u64,
}

impl Sim {
    /// Joins a world as its next worker.
    #[must_use]
    pub fn new(world: Rc<RefCell<World>>) -> Self {
        Self::on_host(world, 0, 0)
    }

    /// As [`Self::new`], for a worker on the host of this number, whose I/Os take this much longer to return.
    pub(crate) fn on_host(world: Rc<RefCell<World>>, host: u32, return_ns: u64) -> Self {
        let mut inner = world.borrow_mut();
        let owner = inner.due.len() as u32;
        inner.due.push(VecDeque::new());
        drop(inner);
        Self { world, owner, host, return_ns }
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
            host: self.host,
            return_ns: self.return_ns,
        });
        if taken && world.device.spec().keep_data {
            match io.op {
                Op::Write => world.keep(&io),
                Op::Read => world.recall(&io),
                Op::Sync => {}
            }
        }
    }

    /// Does not wait: the worker pool for virtual time moves the clock.
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
