#!/usr/bin/env bash
# Runs the tests that try to make iogauge destroy data, hang or report wrong results. Ends with
# "attacks: N tried, N held". Needs root for loop devices and mounts.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/rocksdb-env.sh

arguments=("${rocksdb_features[@]}")
while read -r package name; do
    [[ $package == '#'* ]] || arguments+=(-p "$package" --test "$name")
done <scripts/attacks.txt
exec scripts/test.sh "${arguments[@]}"
