//! The storage data plane: engines, the worker loop, offsets, pacing, buffers, targets, and what
//! the devices and the machine did meanwhile.

pub mod buffers;
mod child;
pub mod clock;
pub mod crew;
pub mod engine;
pub mod kernel;
pub mod offsets;
pub mod sim;
pub mod system;
pub mod target;
pub mod trace;
pub mod verify;
pub mod worker;
