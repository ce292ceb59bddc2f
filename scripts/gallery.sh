#!/usr/bin/env bash
# Regenerates the pictures of docs/gallery.md from real runs, in about a quarter of an hour.
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

# Draws a panel of the last run, and keeps its first picture under the panel's name.
keep() {
    local panel=$1
    rm -rf "$pictures"
    "$iogauge" report --history "$history" --svg "$pictures" --panel "$panel" >/dev/null
    cp "$pictures/$panel-1.svg" "$gallery/$panel.svg"
}
run() { "$iogauge" "$@" -q --history "$history"; }

run find "$place" --size=2g --limit 'mean<=2ms' --budget=40s
keep capacity-curve
keep over-time
keep system
run hosts-curve sim:array,hosts=16,host_link=400MB/s --bs=64k --limit 'p99<=20ms'
keep hosts-curve
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
