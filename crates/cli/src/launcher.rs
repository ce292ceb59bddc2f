//! What starts the processes of an MPI job.

use std::env;

/// Returns true if mpirun or a scheduler has started this process, perhaps as the only one.
pub fn is_launched() -> bool {
    // Of Open MPI; of MPICH and what descends from it; of PMIx, such as Slurm's.
    ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"].iter().any(|name| env::var_os(name).is_some())
}
