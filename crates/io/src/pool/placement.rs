//! Processors and priority of a worker thread: fio's `cpus_allowed` and `nice`.

use crate::worker::WorkerError;
use iogauge_model::load::{CpuPolicy, Load};
use rustix::process::nice;
use rustix::thread::{CpuSet, sched_setaffinity};

/// Applies the processors and the priority of a load to the calling thread, the worker of this number.
///
/// # Errors
/// If none of the processors may be used, or this user may not set the priority.
pub(crate) fn place(load: &Load, worker: u32) -> Result<(), WorkerError> {
    if let Some(cpus) = &load.cpus {
        let numbers = match load.cpu_policy {
            CpuPolicy::Shared => cpus.numbers(),
            CpuPolicy::Split => cpus.of_worker(worker),
        };
        let mut set = CpuSet::new();
        numbers.iter().for_each(|number| set.set(*number as usize));
        sched_setaffinity(None, &set).map_err(|source| WorkerError::Placement {
            option: "cpus_allowed",
            value: cpus.to_string(),
            source: source.into(),
        })?;
    }
    if load.nice != 0 {
        nice(load.nice).map_err(|source| WorkerError::Placement {
            option: "nice",
            value: load.nice.to_string(),
            source: source.into(),
        })?;
    }
    Ok(())
}
