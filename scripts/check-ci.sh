#!/usr/bin/env bash
# Fails if a CI job in docs/ci.md is wrong: YAML that does not parse or breaks the published schema of its service, a
# Jenkinsfile with unbalanced brackets, or an iogauge command with options that the binary does not have.
#
# The schemas are checked if check-jsonschema is installed (PyPI), which contains them. Needs Python with PyYAML.
#
# usage: scripts/check-ci.sh PATH_OF_IOGAUGE
set -euo pipefail
binary=$(realpath "${1:?usage: check-ci.sh PATH_OF_IOGAUGE}")
cd "$(dirname "$0")/.."
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

if ! python3 -c 'import yaml' 2>/dev/null; then
    echo 'SKIPPED: the jobs of docs/ci.md: no Python with PyYAML'
    [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]]
    exit
fi

# Writes each block of code to a file named after its heading, and prints the shell commands in them.
python3 - "$directory" >"$directory/commands" <<'PYTHON'
import pathlib
import re
import sys

import yaml

directory = pathlib.Path(sys.argv[1])
page = pathlib.Path("docs/ci.md").read_text()


def commands(value):
    """Yields the texts of `run` and `script` members."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name in ("run", "script"):
                yield from [member] if isinstance(member, str) else member
            else:
                yield from commands(member)
    elif isinstance(value, list):
        for member in value:
            yield from commands(member)


def balance(text):
    """Fails if brackets outside strings are not balanced."""
    pairs, open_brackets = {")": "(", "]": "[", "}": "{"}, []
    for char in re.sub(r"'(\\.|[^'\\])*'|\"(\\.|[^\"\\])*\"", "''", text):
        if char in pairs.values():
            open_brackets.append(char)
        elif char in pairs and (not open_brackets or open_brackets.pop() != pairs[char]):
            sys.exit(f"docs/ci.md: unbalanced {char} in the Jenkinsfile")
    if open_brackets:
        sys.exit("docs/ci.md: an open bracket in the Jenkinsfile")


blocks = re.findall(r"^## ([^\n]+)\n(?:(?!## )[^\n]*\n)*?```(yaml|groovy)\n(.*?)^```", page, re.M | re.S)
if [language for _, language, _ in blocks] != ["yaml", "yaml", "groovy"]:
    sys.exit("docs/ci.md: expected two jobs in YAML and a Jenkinsfile")
for heading, language, text in blocks:
    (directory / heading.replace(" ", "-").lower()).with_suffix("." + language).write_text(text)
    if language == "yaml":
        found = list(commands(yaml.safe_load(text)))
    else:
        balance(text)
        if not re.match(r"pipeline \{\n", text):
            sys.exit("docs/ci.md: the Jenkinsfile is no declarative pipeline")
        found = re.findall(r"script: '([^']+)'", text)
    if not any(line.startswith("iogauge check ") for line in found):
        sys.exit(f"docs/ci.md: the job of {heading} has no iogauge check")
    print("\n".join(line for line in found if line.startswith("iogauge ")))
PYTHON

checked=0
while read -r program options; do
    checked=$((checked + 1))
    # With --help at the end, options are parsed and nothing runs.
    read -ra words <<<"$options"
    "$binary" "${words[@]}" --help >/dev/null </dev/null || {
        echo "docs/ci.md: $program $options: wrong usage" >&2
        exit 1
    }
done <"$directory/commands"

# scripts/check-workflows.sh installs it there.
PATH="${CARGO_TARGET_DIR:-target}/check-jsonschema/bin:$PATH"
schemas='not checked: check-jsonschema is not installed'
if command -v check-jsonschema >/dev/null; then
    check-jsonschema --builtin-schema vendor.github-workflows "$directory/github-actions.yaml"
    # GitLab's own tags are no YAML tags of its schema.
    check-jsonschema --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$directory/gitlab.yaml"
    schemas='checked'
fi
echo "jobs in docs/ci.md: 3 parsed, $checked commands checked; schemas $schemas"
