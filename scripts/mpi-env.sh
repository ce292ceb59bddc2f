# To be sourced: looks for MPI and libclang, which the feature iogauge-hosts/mpi is built with.
#
# Sets mpi_features to the arguments with which cargo builds iogauge-mpi, or to nothing if there is no MPI, and
# mpi_compilers to the compilers of the implementations that are there. MPICC selects one of them for a build.
mpi_features=()
mpi_compilers=()
if ldconfig -p 2>/dev/null | grep -q libclang || compgen -G '/usr/lib/llvm-*/lib/libclang*' >/dev/null; then
    for mpi_compiler in mpicc.openmpi mpicc.mpich; do
        if command -v "$mpi_compiler" >/dev/null; then mpi_compilers+=("$mpi_compiler"); fi
    done
    if ((${#mpi_compilers[@]} == 0)) && command -v mpicc >/dev/null; then mpi_compilers=(mpicc); fi
    unset mpi_compiler
fi
if ((${#mpi_compilers[@]})); then
    mpi_features=(--features iogauge-hosts/mpi)
    export MPICC=${MPICC:-${mpi_compilers[0]}}
fi
