#!/usr/bin/env bash
# Runs cargo-deny on the whole dependency tree, with the rules in deny.toml.
#
# The advisory database is a git repository on github.com. If it cannot be fetched, everything else
# is checked, and the last line says that advisories were not.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo=${CARGO:-cargo}

if ! "$cargo" deny --version >/dev/null 2>&1; then
    echo 'audit: cargo-deny is not installed; building it, which takes a few minutes'
    "$cargo" install --locked cargo-deny
fi

"$cargo" deny --workspace --all-features check --hide-inclusion-graph bans licenses sources

echo 'audit: fetching the advisory database'
if timeout 120 "$cargo" deny fetch db; then
    "$cargo" deny --workspace --all-features check advisories
    echo 'audit: bans, licenses, sources and advisories checked'
else
    echo 'audit: bans, licenses and sources checked; ADVISORIES AND YANKED VERSIONS NOT CHECKED: the advisory database cannot be fetched here'
fi
