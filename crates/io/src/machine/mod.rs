//! The machine beside the load: which devices lie under a target, what they did, and what
//! processor time and memory it took.

mod cgroup;
mod cpu;
mod devices;
mod diskstats;
mod environment;
mod error;
mod facts;
mod held;
mod kernel_file;
mod memory;
mod paging;
mod physical;
mod queue;
mod reading;
mod run_queue;
mod sampler;
mod series;
mod starvation;
mod tasks;

pub use crate::kernel::Roots;
pub use cgroup::{Bound, GroupLimits};
pub(crate) use cpu::ThreadUse;
pub use cpu::{MachineCpu, MachineShare, ProcessCpu};
pub use devices::{DeviceTree, Layer};
pub use diskstats::{DiskCounters, DiskLine, parse_diskstats};
pub use environment::environment;
pub use error::SystemError;
pub use facts::machine;
pub use held::HeldThread;
pub use memory::{Memory, peak_rss_bytes};
pub use physical::physical_of;
pub use queue::{DeviceQueues, QueueLimit, QueueReading};
pub use reading::{CounterReader, Counters, Logical, SystemTotals};
pub(crate) use run_queue::wait_ns;
pub use sampler::{Sampler, SystemSeries};
pub use series::{MAX_DEVICE_POINTS, MAX_POINTS};
pub use starvation::{Starvation, StarvationReader, Waiting};
