# Sourced by the scripts that install a program from PyPI for a test.
#
# install_from_pypi NAME CHECK PACKAGE...: installs packages into target/NAME, a separate Python environment. Does nothing if
# the command CHECK succeeds there already. Returns 0 even if it cannot be installed: then the test prints SKIPPED, or fails if
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
    local name=$1 check=$2 home
    home=$(realpath -m "${CARGO_TARGET_DIR:-target}/$name")
    shift 2
    say() { printf '%s: %s\n' "$name" "$*"; }
    if [[ -x $home/bin/python ]] && PATH="$home/bin:$PATH" bash -c "$check" >/dev/null 2>&1; then
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
