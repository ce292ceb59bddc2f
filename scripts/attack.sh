#!/usr/bin/env bash
# Tries to make iogauge destroy data, hang or lie, in all the ways that the tests know. Ends with
# "attacks: N tried, N held". Needs root for loop devices and mounts.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/rocksdb-env.sh

arguments=("${rocksdb_features[@]}")
while read -r package name; do
    [[ $package == '#'* ]] || arguments+=(-p "$package" --test "$name")
done <scripts/attacks.txt
exec scripts/test.sh "${arguments[@]}"
