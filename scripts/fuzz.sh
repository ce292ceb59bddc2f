#!/usr/bin/env bash
# Fuzzes each parser for FUZZ_SECONDS (default 60): with libFuzzer if a nightly toolchain and
# cargo-fuzz are installed, else with proptest. In CI, cargo-fuzz is installed if there is a nightly
# toolchain.
#
# usage: scripts/fuzz.sh [TARGET...]
#
# A target is the name of a file in fuzz/fuzz_targets without .rs. The default is all of them.
# libFuzzer keeps interesting inputs in fuzz/corpus, and inputs that failed in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
# No parser takes this long for one input, or this much memory.
limits=(-timeout=10 -rss_limit_mb=2048)
# Leaks are not of interest, and their detection needs ptrace, which sandboxes forbid.
export ASAN_OPTIONS=detect_leaks=0

say() { printf 'fuzz: %s\n' "$*"; }

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
    if [[ -n ${CI:-} ]]; then
        say 'cargo install cargo-fuzz'
        timeout 180 cargo install --quiet --locked cargo-fuzz && return 0
    fi
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

if has_libfuzzer; then
    cargo +nightly fuzz build
    export -f with_libfuzzer seeds say
    export seconds
    printf '%s\n' "${targets[@]}" |
        xargs -P "$(nproc)" -I{} bash -c "set -euo pipefail; limits=(${limits[*]}); with_libfuzzer {}"
else
    say "using proptest instead, $seconds seconds for each target"
    rooms=(-p iogauge-io -p iogauge-db)
    cargo test "${rooms[@]}" --test fuzz --locked --no-run
    for target in "${targets[@]}"; do printf '%s\n' "$target"; done |
        IOGAUGE_FUZZ_SECONDS=$seconds xargs cargo test "${rooms[@]}" --test fuzz --locked -- --exact
fi
