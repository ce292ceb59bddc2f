# Sourced by the scripts that install a program from PyPI for a test.
#
# install_from_pypi PROGRAM PACKAGE...: installs packages into target/PROGRAM, a separate Python environment. Does nothing if
# its program is already installed. Returns 0 even if it cannot be installed: then the test prints SKIPPED, or fails if
# IOGAUGE_REQUIRE_ALL=1.

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
        quietly "$python" -m venv --clear "$1" && return
    done
    return 1
}

install_from_pypi() {
    local program=$1 home="${CARGO_TARGET_DIR:-target}/$1"
    shift
    say() { printf '%s: %s\n' "$program" "$*"; }
    if [[ -x $home/bin/$program ]] && "$home/bin/$program" --help >/dev/null 2>&1; then
        say 'already installed'
        return
    fi
    mkdir -p "$(dirname "$home")"
    if ! make_environment "$home"; then
        say "no Python that can create virtual environments (Debian package: python3-venv)"
    elif ! quietly "$home/bin/python" -m pip install --quiet "$@"; then
        say 'cannot be installed from PyPI'
        rm -rf "$home"
    else
        say "installed in $home"
    fi
}
