#!/usr/bin/env bash
# Compares iogauge with fio on this machine; see --help.
set -euo pipefail
command -v python3 >/dev/null || { echo 'versus_fio: python3 is not installed' >&2; exit 1; }
exec python3 "$(dirname "$0")/versus_fio.py" "$@"
