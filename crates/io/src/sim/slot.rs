//! Where a simulated device is between the pools that use it.

use super::device::Device;
use super::spec::SimSpec;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A simulated device that one pool after the other uses: each finds it as the last one left it,
/// its time, cache, credits, wear, arm, data and chance included.
///
/// The device changes hands, so that the lock is taken twice for a pool and never for an I/O.
#[derive(Debug, Clone)]
pub struct DeviceSlot(Arc<Slot>);

#[derive(Debug)]
struct Slot {
    spec: SimSpec,
    /// `None` while a pool has it.
    device: Mutex<Option<Device>>,
}

impl DeviceSlot {
    /// A new device at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Self {
        let device = Mutex::new(Some(Device::new(spec.clone())));
        Self(Arc::new(Slot { spec, device }))
    }

    /// What the device is made of.
    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.0.spec
    }

    /// Takes the device; `None` where somebody has it.
    pub(crate) fn take(&self) -> Option<Device> {
        self.lock().take()
    }

    /// Puts the device back when what is outstanding is done: nobody is left to be told.
    pub(crate) fn put_back(&self, mut device: Device) {
        device.complete_outstanding();
        *self.lock() = Some(device);
    }

    fn lock(&self) -> MutexGuard<'_, Option<Device>> {
        // No assignment of an `Option` is ever half done.
        self.0.device.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
