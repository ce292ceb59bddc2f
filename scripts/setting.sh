#!/usr/bin/env bash
# Prints a setting of [workspace.package] in Cargo.toml, such as the version.
#
# usage: scripts/setting.sh NAME
set -euo pipefail
sed -nE "/^\[workspace.package\]/,/^$/s/^$1 = \"(.*)\"$/\1/p" "$(dirname "$0")/../Cargo.toml"
