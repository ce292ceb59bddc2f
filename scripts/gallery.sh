#!/usr/bin/env bash
# Regenerates the pictures of README.md and docs/gallery.md from real runs, in about a quarter of an hour.
#
# usage: scripts/gallery.sh IOGAUGE DIRECTORY
#
# The directory is on the storage to be shown and needs 8 GiB of free space. All files created there are removed again.
# The picture of the block layer needs root and bpftrace.
set -euo pipefail

iogauge=$(realpath "$1")
gallery=$(realpath "$(dirname "$0")/../docs")/gallery
mkdir -p "$gallery"
cd "$2"
# Pictures show the target's name, which must not reveal the mount points of this machine.
place=iogauge-gallery
mkdir "$place"
trap 'rm -rf "$place"' EXIT
history=$place/history.sqlite3
pictures=$place/pictures

# draw PANEL NAME COMMAND…: draws a panel with a command, and keeps its first picture under a name.
draw() {
    local panel=$1 name=$2
    shift 2
    rm -rf "$pictures"
    "$iogauge" "$@" --history "$history" --svg "$pictures" >/dev/null
    cp "$pictures/$panel-1.svg" "$gallery/$name.svg"
}
# keep PANEL [NAME]: draws a panel of the last run.
keep() { draw "$1" "${2:-$1}" report --panel "$1"; }
run() { "$iogauge" "$@" -q --history "$history"; }

run find sim:sata-ssd --bs=8k --limit 'p99<=2ms'
keep capacity-curve landing
run find "$place" --size=2g --limit 'mean<=2ms' --budget=40s
keep capacity-curve
keep over-time
keep system
run hosts-curve sim:array,hosts=16,host_link=400MB/s --bs=64k --limit 'p99<=20ms'
keep hosts-curve
run compare sim:channels=8,service=100us,noise=5%:1s,seed=1 sim:channels=8,service=97us,noise=5%:1s,seed=2 \
    --iodepth=8 --margin 0 --randseed=1
keep compare
run run "$place" --size=2g --rw=randrw --rwmixread=70 --iodepth=16 --runtime=20
keep distribution
run run "$place" --size=2g --iodepth=8 --runtime=15 --trace
keep block-layer || echo 'no picture of the block layer: it needs root and bpftrace' >&2
run suite blocksize "$place" --size=2g --seconds=2
keep block-size-map
run suite oltp "$place" --size=2g --seconds=3
keep grades
keep latency-by-load
run suite snia-iops "$place" --size=512m --scale=300
keep mix-map
keep rounds
for night in {1..60}; do
    service=$((night > 40 ? 1030 : 1000))
    run run "sim:channels=8,service=${service}us,seed=$night" --iodepth=8 --runtime=5 --ramp-time=0 --label=nightly
done
draw trend trend history trend label:nightly
