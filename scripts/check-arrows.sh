#!/usr/bin/env bash
# Fails if a crate depends on one that it must not use, or if modules of the crates lab or cli depend
# on each other in a circle. A module and its own children may depend on each other.
set -euo pipefail
cd "$(dirname "$0")/.."

# The crates of this workspace that each crate may depend on.
declare -A allowed=(
    [model]='' [fio]='model' [io]='fio model' [db]='io model' [lab]='db fio io model'
    [report]='model' [cli]='fio lab model report' [hosts]='io lab model' [test-support]='db fio io model'
)

broken=0
for manifest in crates/*/Cargo.toml; do
    crate=$(basename "$(dirname "$manifest")")
    while IFS= read -r dependency; do
        [[ " ${allowed[$crate]-} " == *" $dependency "* ]] && continue
        echo "$manifest: iogauge-$crate must not depend on iogauge-$dependency" >&2
        broken=1
    done < <(awk '/^\[/ { in_section = /^\[dependencies/ }
                  in_section && /^iogauge-/ { sub(/^iogauge-/, ""); sub(/[ .=].*/, ""); print }' "$manifest")
done

# Prints the paths that the non-test code of the given files uses, each as "module path".
paths() {
    awk '
        # Prints every path of a use tree after a prefix.
        function tree(from, prefix, text,    depth, i, c, item) {
            for (i = 1; i <= length(text) + 1; i++) {
                c = substr(text, i, 1)
                if (c == "{") depth++
                if (c == "}") depth--
                if ((c == "," || c == "") && depth == 0) { leaf(from, prefix, item); item = "" }
                else item = item c
            }
        }
        function leaf(from, prefix, item,    brace) {
            sub(/ as .*/, "", item); gsub(/[ \t]/, "", item)
            brace = index(item, "{")
            if (item == "" || item == "self") print from, prefix
            else if (!brace) print from, prefix "::" item
            else tree(from, prefix (brace > 1 ? "::" substr(item, 1, brace - 3) : ""),
                      substr(item, brace + 1, length(item) - brace - 1))
        }
        function finish(    head, base, rest, end, depth) {
            sub(/#\[cfg\(test\)\].*/, "", text)
            while (match(text, /(^|[^A-Za-z0-9_:])(crate|super)::/)) {
                head = substr(text, RSTART, RLENGTH); rest = substr(text, RSTART + RLENGTH); base = module
                if (head ~ /crate/) base = "crate"; else sub(/(::[^:]+|^[^:]+)$/, "", base)
                while (sub(/^super::/, "", rest)) sub(/(::[^:]+|^[^:]+)$/, "", base)
                match(rest, /^([A-Za-z0-9_]+(::)?)*/); end = RLENGTH
                if (substr(rest, end + 1, 1) == "{") {
                    for (depth = 0; end < length(rest); ) {
                        c = substr(rest, ++end, 1)
                        if (c == "{") depth++
                        if (c == "}" && --depth == 0) break
                    }
                }
                leaf(module, base, substr(rest, 1, end))
                text = substr(rest, end + 1)
            }
        }
        FNR == 1 && NR > 1 { finish() }
        FNR == 1 {
            module = FILENAME; text = ""
            sub(/^crates\/[^\/]*\/src\//, "", module); sub(/\.rs$/, "", module)
            sub(/\/?(mod|lib|main)$/, "", module); gsub(/\//, "::", module)
            module = module == "" ? "crate" : "crate::" module
        }
        { sub(/\/\/.*/, ""); text = text " " $0 }
        END { finish() }' "$@"
}

# Prints the edges between siblings: for two modules, their ancestors that are siblings.
siblings() {
    awk '
        NR == FNR { is_module[$1] = 1; next }
        {
            to = $2
            while (!(to in is_module) && sub(/::[^:]+$/, "", to)) { }
            n = split($1, a, "::"); m = split(to, b, "::"); from = to = ""
            for (i = 2; i <= n && i <= m && a[i] == b[i]; i++) from = to = from a[i] "::"
            if (i > n || i > m) next
            from = from a[i]; to = to b[i]
            print from, to
        }' - "$1" | sort -u
}

for crate in lab cli; do
    mapfile -t files < <(git ls-files --cached --others --exclude-standard -- "crates/$crate/src/*.rs")
    named=$(mktemp)
    paths "${files[@]}" >"$named"
    modules=$(printf '%s\n' "${files[@]}" |
        sed -E 's|^crates/[^/]*/src/||; s|\.rs$||; s|/?\b(mod\|lib\|main)$||; s|/|::|g; s|^|crate::|; s|::$||')
    if ! circle=$(siblings "$named" <<<"$modules" | tsort 2>&1 >/dev/null); then
        echo "crates/$crate/src: modules depend on each other in a circle:" >&2
        sed 's/^tsort: /    /; /contains a loop/d' <<<"$circle" >&2
        broken=1
    fi
    rm -f "$named"
done
((broken == 0)) && echo 'dependencies: no circle'
exit "$broken"
