#!/usr/bin/env bash
# Installs fio-plot from PyPI into target/fio-plot, a Python environment of its own, for the test
# that has it draw from iogauge's JSON in fio's form.
#
# Does nothing where it is there already. It ends with 0 either way: the test says SKIPPED, or fails
# where IOGAUGE_REQUIRE_ALL=1.
set -euo pipefail
cd "$(dirname "$0")/.."

# fio-plot asks for pkg_resources, which setuptools has no more from 81 on.
packages=('fio-plot==1.1.21' 'setuptools<81')
home="${CARGO_TARGET_DIR:-target}/fio-plot"

say() { printf 'fio-plot: %s\n' "$*"; }

# Quiet unless it fails.
quietly() {
    local log status=0
    log=$(mktemp)
    "$@" </dev/null >"$log" 2>&1 || status=$?
    if ((status)); then tail -n 5 "$log"; fi
    rm -f "$log"
    return "$status"
}

# Debian's Python makes environments only with python3-venv; another one may be first in PATH.
make_environment() {
    local python
    for python in python3 /usr/bin/python3; do
        command -v "$python" >/dev/null || continue
        quietly "$python" -m venv --clear "$home" && return
    done
    return 1
}

if [[ -x $home/bin/fio-plot ]] && "$home/bin/fio-plot" --help >/dev/null 2>&1; then
    say 'all there'
    exit 0
fi
mkdir -p "$(dirname "$home")"
if ! make_environment; then
    say "no Python that makes virtual environments (Debian: python3-venv)"
elif ! quietly "$home/bin/python" -m pip install --quiet "${packages[@]}"; then
    say 'cannot be installed from PyPI'
    rm -rf "$home"
else
    say "installed in $home"
fi
