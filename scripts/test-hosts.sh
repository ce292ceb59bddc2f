#!/usr/bin/env bash
# Runs the tests of several hosts by MPI: with each implementation that is installed, on hosts of this machine.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/mpi-env.sh

if ((${#mpi_features[@]} == 0)); then
    echo 'tests of several hosts need MPI (Open MPI or MPICH) and libclang' >&2
    exit 1
fi
status=0
for compiler in "${mpi_compilers[@]}"; do
    printf '\n== %s\n' "$compiler"
    # The build of the bindings does not notice another compiler.
    cargo clean -q -p mpi-sys
    MPICC=$compiler cargo test -p iogauge-hosts "${mpi_features[@]}" --test mpi -- --nocapture || status=$?
done
exit "$status"
