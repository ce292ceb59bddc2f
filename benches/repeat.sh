#!/usr/bin/env bash
# The same search again and again on one disk, beside what it said of the next one; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'repeat: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/repeat.py" "$@"
