#!/usr/bin/env bash
# Fuzzes the parsers, so many seconds each (FUZZ_SECONDS, 60): with libFuzzer where a nightly
# toolchain and cargo-fuzz are at hand, else through proptest. In CI cargo-fuzz is installed where
# nightly is there.
#
# Arguments are targets, files of fuzz/fuzz_targets without their .rs; all of them without any.
# What libFuzzer found interesting stays in fuzz/corpus, what broke something in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${FUZZ_SECONDS:-60}
# No parser takes so long for one input, or so much memory.
limits=(-timeout=10 -rss_limit_mb=2048)
# Leaks are not what is looked for, and looking takes ptrace, which sandboxes forbid.
export ASAN_OPTIONS=detect_leaks=0

say() { printf 'fuzz: %s\n' "$*"; }

targets=("$@")
if ((${#targets[@]} == 0)); then
    mapfile -t targets < <(cd fuzz/fuzz_targets && printf '%s\n' *.rs | sed 's/\.rs$//')
fi

# Files that a target begins with, beside what it found earlier.
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

# One target to its end; its output only where it breaks.
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
    say "proptest instead, $seconds seconds for each target"
    rooms=(-p iogauge-io -p iogauge-db)
    cargo test "${rooms[@]}" --test fuzz --locked --no-run
    for target in "${targets[@]}"; do printf '%s\n' "$target"; done |
        IOGAUGE_FUZZ_SECONDS=$seconds xargs cargo test "${rooms[@]}" --test fuzz --locked -- --exact
fi
