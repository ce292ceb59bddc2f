#!/usr/bin/env bash
# Measures the time and file size of `iogauge report --html` for 50 and 1000 runs, which are made on a simulated device
# first.
#
# Environment: RUNS, the number of runs (1000); IOGAUGE, the binary.
set -euo pipefail
runs=${RUNS:-1000}
iogauge=${IOGAUGE:-$(dirname "$0")/../${CARGO_TARGET_DIR:-target}/release/iogauge}
[[ -x $iogauge ]] || { echo "report: $iogauge does not exist; hint: run make build" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for ((run = 0; run < runs; run++)); do
    "$iogauge" run sim:sata-ssd --runtime=1 --ramp-time=0 --iodepth=$((run % 64 + 1)) --quiet \
        --history "$dir/history.db" >"$dir/text" || { cat "$dir/text" >&2; exit 1; }
done

# Prints the names of the last $1 runs, the latest first.
names() { for ((back = 0; back < $1; back++)); do ((back)) && echo "last-$back" || echo last; done; }

for count in 50 "$runs"; do
    mapfile -t chosen < <(names "$count")
    begin=$(date +%s%N)
    "$iogauge" report "${chosen[@]}" --html "$dir/report.html" --history "$dir/history.db" >"$dir/text"
    end=$(date +%s%N)
    awk -v runs="$count" -v ns=$((end - begin)) -v bytes="$(stat -c %s "$dir/report.html")" \
        'BEGIN { printf "%d runs: %.2f s, %.2f MB\n", runs, ns / 1e9, bytes / 1e6 }'
done
