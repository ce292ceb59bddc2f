#!/usr/bin/env bash
# Repeats a search on one disk, and compares the answers with the predictions; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'repeat: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/repeat.py" "$@"
