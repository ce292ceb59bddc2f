//! Where a simulated device is between the crews that use it.

use super::device::Device;
use super::spec::SimSpec;
use std::sync::{Arc, Mutex, PoisonError};

/// A simulated device that one crew after the other uses: each finds it as the last one left it,
/// its time, cache, credits, wear, arm, data and chance included.
///
/// The device changes hands, so that the lock is taken twice for a crew and never for an I/O.
#[derive(Debug, Clone)]
pub struct DeviceSlot {
    spec: SimSpec,
    /// `None` while a crew has it.
    device: Arc<Mutex<Option<Device>>>,
}

impl DeviceSlot {
    /// A new device at virtual time 0.
    #[must_use]
    pub fn new(spec: SimSpec) -> Self {
        let device = Device::new(spec.clone());
        Self { spec, device: Arc::new(Mutex::new(Some(device))) }
    }

    /// What the device is made of.
    #[must_use]
    pub fn spec(&self) -> &SimSpec {
        &self.spec
    }

    /// Takes the device; `None` where somebody has it.
    pub(crate) fn take(&self) -> Option<Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Puts the device back when what is outstanding is done: nobody is left to be told.
    pub(crate) fn put_back(&self, mut device: Device) {
        device.complete_outstanding();
        *self.device.lock().unwrap_or_else(PoisonError::into_inner) = Some(device);
    }
}
