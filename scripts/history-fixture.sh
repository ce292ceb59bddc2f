#!/usr/bin/env bash
# Writes a history with a few short runs of each command, for tests that later versions can read it.
#
# usage: scripts/history-fixture.sh PATH_OF_IOGAUGE OUT.sqlite3
#
# Needs root, fio and sqlite3. Commands see the host name "host", the directory /mnt and a fixed boot ID, so that the
# file names neither this machine nor its directories. It does name the kernel, the processor and the disk below /tmp.
set -euo pipefail

if [[ ${1:-} != --in-namespace ]]; then
    binary=$(realpath "${1:?usage: history-fixture.sh PATH_OF_IOGAUGE OUT.sqlite3}")
    out=$(realpath "${2:?usage: history-fixture.sh PATH_OF_IOGAUGE OUT.sqlite3}")
    cd "$(dirname "$0")/.."
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir "$work/data"
    cp "$binary" "$work/iogauge"
    cp crates/fio/tests/data/fio-3.33-randrw.json "$work"
    echo 00000000-0000-4000-8000-000000000000 >"$work/boot_id"
    unshare --uts --mount --pid --fork --mount-proc bash scripts/history-fixture.sh --in-namespace "$work"
    # One file without a log. Small pages waste less space.
    sqlite3 "$work/history.db" 'PRAGMA journal_mode = delete; PRAGMA page_size = 1024; VACUUM' >/dev/null
    cp "$work/history.db" "$out"
    ls -l "$out"
    exit
fi

work=$2
hostname host
mount --bind "$work/boot_id" /proc/sys/kernel/random/boot_id
mount --bind "$work" /mnt
cd /mnt
export PATH=/mnt:/usr/bin:/bin HOME=/mnt LC_ALL=C.UTF-8
unset XDG_DATA_HOME

# Runs a command, and fails if its exit code is another one.
gives() {
    local expected=$1 code=0
    shift
    "$@" >log 2>&1 </dev/null || code=$?
    [[ $code =~ ^$expected$ ]] && return
    echo "exit code $code instead of $expected: $*" >&2
    cat log >&2
    return 1
}
measured() {
    local expected=$1
    shift
    gives "$expected" iogauge "$@" --quiet --history history.db
}

device=sim:channels=4,service=100us,dist=exp,seed=1
# Equal latencies make short results.
even=sim:channels=4,service=100us,dist=const,seed=1
load=(--randseed=1)
short=(--runtime=20ms --ramp-time=0 "${load[@]}")
measured 0 find "$device" --limit 'p99<=2ms' --budget=1s --max-depth=4 "${load[@]}"
measured 0 find "$even" --open-loop --limit 'p99<=2ms' --budget=1s "${load[@]}"
measured 0 run "$device" --rw=randrw "${short[@]}"
for iodepth in 4 4 8; do
    measured 0 run "$even" --iodepth=$iodepth "${short[@]}"
done
printf '[%s]\nrw=%s\nbs=%s\ndirectory=data\nsize=1m\nnumber_ios=8\nrandseed=1\n' reader randread 4k log write 8k >jobs.fio
measured 0 run jobs.fio
measured 0 run data --size=1m --rw=randwrite --number_ios=64 --ramp-time=0 --rm "${load[@]}"
# Version 1 of the tables is older than this command.
if iogauge check --help >log 2>&1; then
    measured 0 check "$even" --require=10k --limit 'p99<=2ms' --budget=1s "${load[@]}"
fi
measured 0 hosts-curve "$even,hosts=2" --budget=1s --max-depth=2 "${load[@]}"
measured 0 suite blocksize "$even" --bs=4k,64k --seconds=1
measured 6 compare "$even" sim:channels=4,service=200us,dist=const,seed=1 --iodepth=4 "${short[@]}"
# The verdict depends on the machine.
measured '[067]' crosscheck data --size=1m --rate_iops=100 --rounds=2 --runtime=200ms --ramp-time=0 --rm "${load[@]}"
measured 0 profile data --for=300ms --every=100ms
gives 0 iogauge db setup sqlite:data --size=1m --quiet
gives 0 iogauge db create-globals sqlite:data --globals 2 --subscripts 100 --value-size 100 --quiet
measured 0 db run sqlite:data --mode=write --transaction-length=5 --processes=2 "${short[@]}"
measured 0 import fio-3.33-randrw.json --system old-disk

# With failed I/Os, failed, interrupted, and killed with a part of the result.
measured 4 run sim:channels=4,service=100us,eio=100,seed=1 "${short[@]}"
printf '#!/bin/sh\n[ "$1" = --version ] && echo fio-3.33\n' >broken-fio
chmod +x broken-fio
measured 2 run data --size=1m --via=fio=./broken-fio --rm "${short[@]}"
measured 1 compare "$even" "$even" --iodepth=4 --setup-b=false "${short[@]}"
for signal in INT KILL; do
    long=(--rate_iops=20 --runtime=1h --ramp-time=0 --sample-interval=2s)
    iogauge run data --size=1m "${long[@]}" --quiet --history history.db "${load[@]}" >log 2>&1 &
    sleep 1
    if [[ $signal == KILL ]]; then
        # The result so far is kept after 5 s.
        sleep 6
        kill -KILL $(pgrep --parent $!)
    fi
    kill -$signal $!
    wait || true
done 2>log
