#!/usr/bin/env bash
# Compares `iogauge db` with the databases' own tools doing the same; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'versus_db: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/versus_db.py" "$@"
