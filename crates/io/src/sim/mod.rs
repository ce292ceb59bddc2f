//! Simulated devices in virtual time: a queueing model of a storage device.
//!
//! An I/O passes through half of the round trip; the IOPS cap; the write cache if it is a write and there is a cache,
//! otherwise one of the channels; the bus; and the other half of the round trip. With one class of channel and
//! exponential service, this is the machine-repair or M/M/c model, whose results are known in closed form (Kleinrock
//! 1975, vol. 1, ch. 3).

mod device;
mod device_handover;
mod noise;
mod pages;
mod presets;
mod spec;
mod wear;

pub use device::Device;
pub(crate) use device::Request;
pub use device_handover::DeviceSlot;
pub use noise::{LateBursts, Neighbour, Noise};
pub use presets::PRESETS;
pub use spec::{Absence, Service, ServiceWander, SimError, SimSpec};
