#!/usr/bin/env bash
# Fails if README.md or docs/ show a command that does not exist: `iogauge WORD` that the binary does
# not accept, or `make WORD` that the Makefile does not have.
#
# usage: scripts/check-readme.sh PATH_OF_IOGAUGE
set -euo pipefail
binary=$(realpath "${1:?usage: check-readme.sh PATH_OF_IOGAUGE}")
cd "$(dirname "$0")/.."

pages=(README.md docs/*.md)

# Prints the words that follow the tool's name at the start of a line of code or of `code`.
shown() {
    local tool=$1
    awk '/^ *```/ { fenced = !fenced; next } fenced' "${pages[@]}" |
        sed -nE "s/^ *(\\$ +|sudo +)*$tool +([a-z][a-z-]*).*/\\2/p"
    grep -hoE "\`$tool [a-z][a-z-]*" "${pages[@]}" | sed -E "s/.* //" || true
}

# With a binary that accepts any word, this check would be worthless.
if "$binary" no-such-command --help >/dev/null 2>&1 </dev/null; then
    echo "$binary accepts the command no-such-command" >&2
    exit 1
fi

wrong=0 checked=0
while read -r word; do
    checked=$((checked + 1))
    "$binary" "$word" --help >/dev/null 2>&1 </dev/null && continue
    echo "shown, but not a command: iogauge $word" >&2
    wrong=$((wrong + 1))
done < <(shown iogauge | sort -u)
while read -r word; do
    checked=$((checked + 1))
    grep -qE "^([a-z-]+ )*$word( [a-z-]+)*:" Makefile && continue
    echo "shown, but not in the Makefile: make $word" >&2
    wrong=$((wrong + 1))
done < <(shown make | sort -u)

echo "commands shown: $checked checked, $wrong wrong"
((wrong == 0))
