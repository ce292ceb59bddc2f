#!/usr/bin/env bash
# Fuzzes each parser for FUZZ_SECONDS (default 60): with libFuzzer if a nightly toolchain and
# cargo-fuzz are installed, else with proptest.
#
# usage: scripts/fuzz.sh [--proptest] [TARGET...]
#
# --proptest: use proptest, whose tests are built with the others.
# A target is the name of a file in fuzz/fuzz_targets without .rs. The default is all of them.
# libFuzzer keeps interesting inputs in fuzz/corpus, and inputs that failed in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/rocksdb-env.sh
source scripts/mpi-env.sh

seconds=${FUZZ_SECONDS:-60}
# No parser takes this long for one input, or this much memory.
limits=(-timeout=10 -rss_limit_mb=2048)
# Leaks are not of interest, and their detection needs ptrace, which sandboxes forbid.
export ASAN_OPTIONS=detect_leaks=0

say() { printf 'fuzz: %s\n' "$*"; }

proptest=
if [[ ${1:-} == --proptest ]]; then
    proptest=1
    shift
fi
targets=("$@")
if ((${#targets[@]} == 0)); then
    mapfile -t targets < <(cd fuzz/fuzz_targets && printf '%s\n' *.rs | sed 's/\.rs$//')
fi

# Prints the directory of a target's initial inputs, which are used beside those found earlier.
seeds() {
    case $1 in
        fio_job) echo /usr/share/doc/fio/examples ;;
        fio_results) echo crates/fio/tests/data/fio ;;
    esac
}

has_libfuzzer() {
    cargo +nightly --version >/dev/null 2>&1 || { say 'no nightly toolchain'; return 1; }
    cargo fuzz --version >/dev/null 2>&1 && return 0
    say 'no cargo-fuzz (cargo install cargo-fuzz)'
    return 1
}

# Runs one target to its end. Prints its output only if it fails.
with_libfuzzer() {
    local target=$1 seed folders=("fuzz/corpus/$1") log
    mkdir -p "fuzz/corpus/$target"
    for seed in $(seeds "$target"); do
        if [[ -d $seed ]]; then folders+=("$seed"); fi
    done
    log=$(mktemp)
    if ! cargo +nightly fuzz run "$target" "${folders[@]}" -- \
        -max_total_time="$seconds" "${limits[@]}" >"$log" 2>&1; then
        say "$target failed"
        tail -n 60 "$log"
        rm -f "$log"
        return 1
    fi
    say "$target: $(grep -E '^Done ' "$log" | tail -n 1)"
    rm -f "$log"
}

if [[ -z $proptest ]] && has_libfuzzer; then
    cargo +nightly fuzz build
    export -f with_libfuzzer seeds say
    export seconds
    printf '%s\n' "${targets[@]}" |
        xargs -P "$(nproc)" -I{} bash -c "set -euo pipefail; limits=(${limits[*]}); with_libfuzzer {}"
else
    say "proptest, $seconds seconds for each target"
    # The features are those of scripts/test.sh, so that nothing is built for this alone.
    tests=(cargo test --workspace "${rocksdb_features[@]}" "${mpi_features[@]}" --test fuzz --locked --)
    listed=$("${tests[@]}" --list)
    for target in "${targets[@]}"; do
        grep -qx "$target: test" <<<"$listed" || { say "there is no test $target"; exit 1; }
    done
    IOGAUGE_FUZZ_SECONDS=$seconds "${tests[@]}" --exact "${targets[@]}"
fi
