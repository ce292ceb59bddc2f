#!/usr/bin/env bash
# Prints the section of CHANGELOG.md for a release, with links to the files of that release. Fails if the tag is not the
# version of the workspace, or if there is no such section or nothing in it.
#
# usage: scripts/release-notes.sh vX.Y.Z
set -euo pipefail
tag=${1:?usage: release-notes.sh vX.Y.Z}
cd "$(dirname "$0")/.."

version=$(scripts/setting.sh version)
if [[ $tag != "v$version" ]]; then
    echo "error: the tag is $tag, but the version in Cargo.toml is $version" >&2
    exit 1
fi
# A heading is "## [X.Y.Z] - DATE". The lines at the end are the links of the headings.
notes=$(awk -v version="$version" '
    /^## / { in_section = $2 == "[" version "]"; next }
    in_section && !/^\[[^]]+\]: / { print }' CHANGELOG.md)
if [[ $notes != *[^[:space:]]* ]]; then
    echo "error: CHANGELOG.md has no section for $version" >&2
    echo "hint: the heading of the section is \"## [$version] - DATE\"" >&2
    exit 1
fi
base=$(scripts/setting.sh repository)/blob/$tag
# GitHub shows each line break of a release's text, so lines are joined.
sed -E "s|\]\(([^():]+)\)|]($base/\1)|g" <<<"$notes" | awk '
    /^ *```/ { fenced = !fenced }
    NR > 1 && (fenced || /^ *([-*] |#+ |[|]|```|$)/) { print line; line = $0; next }
    NR == 1 { line = $0; next }
    { sub(/^ +/, ""); line = line (line == "" ? "" : " ") $0 }
    END { print line }'
