#!/usr/bin/env bash
# Builds the site: all pages of the repository as a book, and a demonstration on simulated devices.
#
# usage: scripts/site.sh IOGAUGE DIRECTORY
#
# DIRECTORY is replaced. Its sources are kept beside it, in DIRECTORY-source.
set -euo pipefail
iogauge=$(realpath "$1")
site=$(realpath -m "$2")
source=$site-source
cd "$(dirname "$0")/.."

scripts/install-site-tools.sh
if [[ -e $site && ! -e $site/toc.html ]]; then
    echo "error: $site is not a site of an earlier build" >&2
    exit 1
fi
rm -rf "$site" "$source"
mkdir -p "$source/src"
scripts/site/pages.py "$source/src"
scripts/site/demo.sh "$iogauge" "$source/src"
cp scripts/site/book.toml scripts/site/site.css "$source"
"${CARGO_TARGET_DIR:-target}/tools/bin/mdbook" build "$source" --dest-dir "$site"
