#!/usr/bin/env bash
# How long `iogauge report --html` takes for a thousand runs, which are made on a simulated device first, and how
# large the file is that fifty of them make. RUNS=100 for fewer; IOGAUGE for another binary.
set -euo pipefail
runs=${RUNS:-1000}
iogauge=${IOGAUGE:-$(dirname "$0")/../${CARGO_TARGET_DIR:-target}/release/iogauge}
[[ -x $iogauge ]] || { echo "report: $iogauge is not there; hint: run make build" >&2; exit 1; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

for ((run = 0; run < runs; run++)); do
    "$iogauge" run sim:sata-ssd --runtime=1 --ramp-time=0 --iodepth=$((run % 64 + 1)) --quiet \
        --history "$dir/history.db" >"$dir/text" || { cat "$dir/text" >&2; exit 1; }
done

# The names of so many runs, the last one first.
names() { for ((back = 0; back < $1; back++)); do ((back)) && echo "last-$back" || echo last; done; }

for count in 50 "$runs"; do
    mapfile -t chosen < <(names "$count")
    begin=$(date +%s%N)
    "$iogauge" report "${chosen[@]}" --html "$dir/report.html" --history "$dir/history.db" >"$dir/text"
    end=$(date +%s%N)
    awk -v runs="$count" -v ns=$((end - begin)) -v bytes="$(stat -c %s "$dir/report.html")" \
        'BEGIN { printf "%d runs: %.2f s, %.2f MB\n", runs, ns / 1e9, bytes / 1e6 }'
done
