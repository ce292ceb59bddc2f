//! Passes a simulated device from one worker pool to the next.

use super::device::Device;
use super::spec::SimSpec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// 2⁶⁴ divided by the golden ratio, which is odd: its multiples differ and are far apart.
const GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;

/// A simulated device that worker pools use one after the other. Each finds it as the last one left it: its time,
/// cache, credits, wear, head position, data and random state.
///
/// A pool takes the device out and puts it back. So it takes the lock twice in all, and never for an I/O.
#[derive(Debug, Clone)]
pub struct DeviceSlot(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    spec: SimSpec,
    /// `None` while a pool has it.
    device: Mutex<Option<Device>>,
}

impl DeviceSlot {
    /// Creates a new device at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Self {
        let device = Mutex::new(Some(Device::new(spec.clone())));
        Self(Arc::new(Slot { spec, device }))
    }

    /// Returns a new device with the same specification and other random numbers, as after this many restarts of the
    /// machine; after none, they are the same.
    #[must_use]
    pub fn restarted(&self, restarts: u64) -> Self {
        let spec = self.spec().clone();
        // Not the seed of another device, which often is the next number.
        let seed = spec.seed.wrapping_add(restarts.wrapping_mul(GOLDEN_RATIO));
        let device = Mutex::new(Some(Device::new(SimSpec { seed, ..spec.clone() })));
        Self(Arc::new(Slot { spec, device }))
    }

    /// Returns the specification of the device.
    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.0.spec
    }

    /// Takes the device; `None` if another pool has it.
    pub(crate) fn take(&self) -> Option<Device> {
        self.lock().take()
    }

    /// Puts the device back after its outstanding I/Os have completed, which nobody is waiting for.
    pub(crate) fn put_back(&self, mut device: Device) {
        device.complete_outstanding();
        *self.lock() = Some(device);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Device>> {
        // A panic cannot leave the assignment of an `Option` half done.
        self.0.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
