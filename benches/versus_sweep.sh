#!/usr/bin/env bash
# Compares `iogauge find` with an exhaustive fio sweep and with fio's latency_target; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'versus_sweep: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/versus_sweep.py" "$@"
