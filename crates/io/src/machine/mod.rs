//! The machine beside the load: which devices lie under a target, what they did, and what
//! processor time and memory it took.

mod cgroup;
mod counters;
mod cpu;
mod devices;
mod diskstats;
mod environment;
mod error;
mod facts;
mod kernel_file;
mod memory;
mod paging;
mod physical_io;
mod queue;
mod run_queue;
mod sample_series;
mod sampler;
mod scheduler;
mod starvation;
mod uninterruptible;

pub use crate::kernel::Roots;
pub use cgroup::{CgroupBound, GroupLimits};
pub use counters::{CounterReader, Counters, Logical, SystemTotals};
pub(crate) use cpu::ThreadUse;
pub use cpu::{MachineCpu, MachineShare, ProcessCpu};
pub use devices::{DeviceTree, Layer};
pub use diskstats::{DiskCounters, DiskLine, parse_diskstats};
pub use environment::environment;
pub use error::SystemError;
pub use facts::machine;
pub use memory::{Memory, peak_rss_bytes};
pub use physical_io::physical_of;
pub use queue::{DeviceQueues, QueueLimit, QueueReading};
pub(crate) use run_queue::wait_ns;
pub use sample_series::{MAX_DEVICE_POINTS, MAX_POINTS};
pub use sampler::{Sampler, SystemSeries};
pub use starvation::{Starvation, StarvationReader, Waiting};
pub use uninterruptible::UninterruptibleThread;
