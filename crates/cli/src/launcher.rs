//! What starts the processes of an MPI job.

use std::env;

/// Set by Open MPI's mpirun.
const OPEN_MPI: &str = "OMPI_COMM_WORLD_RANK";
/// Set by MPICH's mpirun, and by others that descend from it.
const HYDRA: &str = "PMI_RANK";

/// Returns true if mpirun has started this process, perhaps as the only one.
pub fn is_launched() -> bool {
    [OPEN_MPI, HYDRA].iter().any(|name| env::var_os(name).is_some())
}

/// Returns the number of processes that mpirun has started; `None` if it did not start this one.
pub fn processes() -> Option<u32> {
    let mut names = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"].into_iter();
    names.find_map(|name| env::var(name).ok()?.parse().ok()).filter(|_| is_launched())
}

/// Returns true if the launcher gave this process a terminal of its own, whatever its output goes to.
pub fn gives_terminals() -> bool {
    env::var_os(OPEN_MPI).is_some()
}
