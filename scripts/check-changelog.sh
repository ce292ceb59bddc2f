#!/usr/bin/env bash
# Fails if CHANGELOG.md does not have the form of Keep a Changelog 1.1.0: headings, order of versions, dates, links.
set -euo pipefail
cd "$(dirname "$0")/.."

check() {
    awk '
        function wrong(text) { print FILENAME ":" FNR ": " text >"/dev/stderr"; broken++ }
        # Returns true if version a is lower than b.
        function lower(a, b,    x, y, i) {
            split(a, x, "."); split(b, y, ".")
            for (i = 1; i <= 3; i++) if (x[i] != y[i]) return x[i] + 0 < y[i] + 0
            return 0
        }
        /^ *```/ { fenced = !fenced }
        fenced { next }
        FNR == 1 { if ($0 != "# Changelog") wrong("the first line is not \"# Changelog\""); next }
        /^## / {
            sections++
            delete kinds
            name = substr($2, 2, length($2) - 2)
            line_of[name] = FNR
            if ($0 == "## [Unreleased]") {
                if (sections > 1) wrong("[Unreleased] is not the first section")
            } else if ($0 ~ /^## \[[0-9]+\.[0-9]+\.[0-9]+\] - 20[0-9][0-9]-[01][0-9]-[0-3][0-9]( \[YANKED\])?$/) {
                if (last != "" && !lower(name, last)) wrong(name " is not lower than " last)
                last = name
            } else wrong("neither \"## [Unreleased]\" nor \"## [1.2.3] - 2001-12-31\": " $0)
            next
        }
        /^### (Added|Changed|Deprecated|Removed|Fixed|Security)$/ {
            if (!sections) wrong("not in the section of a version: " $0)
            if (kinds[$2]++) wrong("twice in one section: " $0)
            next
        }
        /^#/ { wrong("not a heading of a changelog: " $0) }
        /^\[[^]]+\]: https:\/\/[^ ]+$/ { name = substr($1, 2, length($1) - 3); is_link[name] = 1 }
        END {
            if (!("Unreleased" in line_of)) wrong("no section \"## [Unreleased]\"")
            for (name in line_of) if (!(name in is_link)) wrong("no line \"[" name "]: https://...\"")
            for (name in is_link) if (!(name in line_of)) wrong("no section for the link [" name "]")
            if (broken) exit 1
            print "changelog: " sections " sections"
        }' "$1"
}

# Each of these changes must be found, or the check is worthless.
example='# Changelog
## [Unreleased]
### Added
## [0.10.0] - 2001-12-31
### Added
### Fixed
## [0.9.0] - 2001-11-30
[Unreleased]: https://example.com/
[0.10.0]: https://example.com/
[0.9.0]: https://example.com/'
check - <<<"$example" >/dev/null
for change in 1d 2d 4d 9d '2s/[][]//g' '3s/A/a/' '3s/#//' '4s/ -.*//' '4s/12/31/' '6s/Fixed/Added/' '7s/0.9.0/0.10.0/' \
    '7s/0.9.0/1.0.0/' '10s/https/http/' '2{h;d};6G'; do
    if sed "$change" <<<"$example" | check - >/dev/null 2>&1; then
        echo "check-changelog.sh: the change $change of the example is not found" >&2
        exit 1
    fi
done

check CHANGELOG.md
