//! The storage data plane: engines, the worker loop, offsets, pacing, buffers and targets, and what the devices and the
//! machine did during a measurement.

pub mod buffers;
mod child;
pub mod clock;
pub mod confine;
pub mod engine;
mod fork;
mod guard;
mod heap;
pub mod kernel;
pub mod logs;
pub mod machine;
pub mod offsets;
pub mod output;
pub mod pool;
pub mod shell;
pub mod sim;
pub mod sqlite_calls;
pub mod sqlite_file;
pub mod targets;
pub mod trace;
pub mod verify;
pub mod worker;

pub use fork::fork;
pub use heap::share_one_heap;
