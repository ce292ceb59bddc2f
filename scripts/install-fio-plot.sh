#!/usr/bin/env bash
# Installs fio-plot from PyPI into target/fio-plot, a separate Python environment, for the test that
# has it draw iogauge's JSON in fio's form.
#
# Does nothing if fio-plot is already installed. The exit code is 0 even if it cannot be installed: then the
# test prints SKIPPED, or fails if IOGAUGE_REQUIRE_ALL=1.
set -euo pipefail
cd "$(dirname "$0")/.."

# fio-plot needs pkg_resources, which setuptools lacks from version 81 on.
packages=('fio-plot==1.1.21' 'setuptools<81')
home="${CARGO_TARGET_DIR:-target}/fio-plot"

say() { printf 'fio-plot: %s\n' "$*"; }

# Runs a command. Prints the end of its output only if it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" </dev/null >"$log" 2>&1 || status=$?
    if ((status)); then tail -n 5 "$log"; fi
    rm -f "$log"
    return "$status"
}

# Debian's Python creates environments only with python3-venv. Another Python may be first in PATH.
make_environment() {
    local python
    for python in python3 /usr/bin/python3; do
        command -v "$python" >/dev/null || continue
        quietly "$python" -m venv --clear "$home" && return
    done
    return 1
}

if [[ -x $home/bin/fio-plot ]] && "$home/bin/fio-plot" --help >/dev/null 2>&1; then
    say 'already installed'
    exit 0
fi
mkdir -p "$(dirname "$home")"
if ! make_environment; then
    say "no Python that can create virtual environments (Debian package: python3-venv)"
elif ! quietly "$home/bin/python" -m pip install --quiet "${packages[@]}"; then
    say 'cannot be installed from PyPI'
    rm -rf "$home"
else
    say "installed in $home"
fi
