#!/usr/bin/env bash
# Makes the pictures of docs/gallery.md anew from real runs, in a quarter of an hour or so:
#   scripts/gallery.sh IOGAUGE DIRECTORY
# The directory is on the storage to be shown, with 8 GiB free; what is made there is removed again. As root with
# bpftrace installed the block layer has its picture, too.
set -euo pipefail

iogauge=$(realpath "$1")
gallery=$(realpath "$(dirname "$0")/../docs")/gallery
mkdir -p "$gallery"
cd "$2"
# Pictures carry the target's name, which is to tell nothing of where this machine has its disks.
place=iogauge-gallery
mkdir "$place"
trap 'rm -rf "$place"' EXIT
history=$place/history.sqlite3
pictures=$place/pictures

# The last run's pictures of one panel: the first of them is kept, under the panel's name.
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
run run "$place" --size=2g --rw=randrw --rwmixread=70 --iodepth=16 --runtime=20
keep distribution
run run "$place" --size=2g --iodepth=8 --runtime=15 --trace
keep block-layer || echo 'no block layer: it takes root and bpftrace' >&2
run suite blocksize "$place" --size=2g --seconds=2
keep block-size-map
run suite oltp "$place" --size=2g --seconds=3
keep grades
keep latency-by-load
run suite snia-iops "$place" --size=512m --scale=300
keep mix-map
keep rounds
