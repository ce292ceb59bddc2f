#!/usr/bin/env bash
# Fails if README.md or docs/ show a command that does not exist: one of iogauge that the binary does not accept, with
# its options and their values, or `make WORD` that the Makefile does not have. Nothing is measured.
#
# usage: scripts/check-readme.sh PATH_OF_IOGAUGE
set -euo pipefail
binary=$(realpath "${1:?usage: check-readme.sh PATH_OF_IOGAUGE}")
cd "$(dirname "$0")/.."

pages=(README.md docs/*.md)
manual=$(mktemp -d)
trap 'rm -rf "$manual"' EXIT
"$binary" man "$manual/man1" >/dev/null
options=$(sed 's/\\-/-/g' "$manual"/man1/* | grep -oE -- '--[a-z][a-z-]*' | sort -u)

# With --help as the last word, the binary reads all words before it, and then only prints.
accepts() { "$binary" "$@" --help 2>&1 >/dev/null </dev/null; }

# Whether the manual has each option of a command that is incomplete or has placeholders, such as SIZE.
known() {
    local word
    for word; do
        [[ $word != --* ]] || grep -qxF -- "$(tr _ - <<<"${word%%=*}")" <<<"$options" || return 1
    done
}

# With a binary that accepts any word, this check would be worthless.
if accepts no-such-command >/dev/null || accepts find /data --no-such-option >/dev/null || known --no-such-option; then
    echo "$binary accepts commands or options that do not exist" >&2
    exit 1
fi

shown=$(scripts/shown_commands.py "${pages[@]}")
wrong=0 checked=0
while read -r kind command; do
    checked=$((checked + 1))
    eval "words=($command)"
    error=$(accepts "${words[@]}") && continue
    [[ $kind == part ]] && known "${words[@]}" && "$binary" "${words[0]}" --help &>/dev/null </dev/null && continue
    echo "shown, but not accepted: iogauge $command: ${error%%$'\n'*}" >&2
    wrong=$((wrong + 1))
done <<<"$shown"

# Prints the words that follow `make` at the start of a line of code or of `code`.
targets() {
    awk '/^ *```/ { fenced = !fenced; next } fenced' "${pages[@]}" |
        sed -nE 's/^ *(\$ +|sudo +)*make +([a-z][a-z-]*).*/\2/p'
    grep -hoE '`make [a-z][a-z-]*' "${pages[@]}" | sed -E 's/.* //' || true
}
while read -r word; do
    checked=$((checked + 1))
    grep -qE "^([a-z-]+ )*$word( [a-z-]+)*:" Makefile && continue
    echo "shown, but not in the Makefile: make $word" >&2
    wrong=$((wrong + 1))
done < <(targets | sort -u)

echo "commands shown: $checked checked, $wrong wrong"
((wrong == 0))
