#!/usr/bin/env bash
# Runs the tests of several hosts by MPI, on hosts of this machine.
#
# Without arguments, runs all of them with each MPI that is installed. Otherwise, the first argument is the compiler of
# one of them, and others are parts of the names of the tests to run.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/rocksdb-env.sh
source scripts/mpi-env.sh

if ((${#mpi_features[@]} == 0)); then
    echo 'tests of several hosts need MPI (Open MPI or MPICH) and libclang' >&2
    exit 1
fi
if (($#)); then compilers=("$1"); else compilers=("${mpi_compilers[@]}"); fi
tests=("${@:2}")

# The build of the bindings does not notice another compiler.
forget_compiler() { cargo clean -q -p mpi-sys; }
trap forget_compiler EXIT

status=0
for compiler in "${compilers[@]}"; do
    printf '\n== %s\n' "$compiler"
    forget_compiler
    # With the packages and features of all tests, nothing else is built again.
    MPICC=$compiler cargo test --no-fail-fast --workspace "${rocksdb_features[@]}" "${mpi_features[@]}" \
        --test mpi -- --show-output "${tests[@]}" || status=$?
done
exit "$status"
