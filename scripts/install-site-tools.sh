#!/usr/bin/env bash
# Builds mdBook from crates.io into target/tools. Does nothing if this version is already there.
set -euo pipefail
cd "$(dirname "$0")/.."
version=0.5.4
tools=${CARGO_TARGET_DIR:-target}/tools

if [[ $("$tools/bin/mdbook" --version 2>/dev/null) == "mdbook v$version" ]]; then
    echo "site tools: mdbook $version is already installed"
else
    echo "site tools: building mdbook $version, which takes a few minutes"
    # Without its web server and without watching files.
    ${CARGO:-cargo} install mdbook --version "$version" --locked --root "$tools" --no-default-features --features search --quiet
fi
