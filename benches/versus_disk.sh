#!/usr/bin/env bash
# Compares iogauge with fio on a real disk, by engine, pattern and queue depth; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'versus_disk: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/versus_disk.py" "$@"
