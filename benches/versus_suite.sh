#!/usr/bin/env bash
# Compares `iogauge suite oltp` with fio running the same matrix; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'versus_suite: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/versus_suite.py" "$@"
