#!/usr/bin/env bash
# Fails if a relative link in a Markdown file of the repository is broken: the file does not exist,
# or its page does not have the heading. Addresses on the network are not checked.
set -euo pipefail
cd "$(dirname "$0")/.."

# Prints Markdown without fenced code blocks and `code`.
prose() { awk '/^ *```/ { fenced = !fenced; next } !fenced { gsub(/`[^`]*`/, "`"); print }' "$1"; }

# Prints the targets of [text](target) and [label]: target.
links() {
    prose "$1" | grep -oE '\]\([^) ]+' | cut -c3- || true
    prose "$1" | sed -nE 's/^\[[^]]+\]: +([^ ]+).*/\1/p'
}

# Prints the anchors of a page's headings by GitHub's rule: lower case, no punctuation, dashes for spaces.
anchors() {
    awk '/^ *```/ { fenced = !fenced; next } !fenced && /^#+ /' "$1" |
        sed -E 's/^#+ +//; s/ +$//' | tr '[:upper:]' '[:lower:]' |
        sed -E 's/[^[:alnum:] _-]//g; s/ /-/g'
}

checked=0 broken=0
check() {
    local page=$1 link=$2 path anchor=
    case $link in http://* | https://* | mailto:*) return 0 ;; esac
    checked=$((checked + 1))
    path=${link%%#*}
    [[ $link == *'#'* ]] && anchor=${link#*#}
    if [[ -z $path ]]; then path=$page; else path=$(dirname "$page")/$path; fi
    if [[ ! -e $path ]]; then
        echo "$page: $link: no such file" >&2
    elif [[ -n $anchor && $path == *.md ]] && ! grep -qxF -- "$anchor" <<<"$(anchors "$path")"; then
        echo "$page: $link: no such heading" >&2
    else
        return 0
    fi
    broken=$((broken + 1))
}

while IFS= read -r -d '' page; do
    while IFS= read -r link; do
        [[ -n $link ]] && check "$page" "$link"
    done < <(links "$page")
done < <(git ls-files -z --cached --others --exclude-standard -- '*.md')

echo "links: $checked checked, $broken broken"
((broken == 0))
