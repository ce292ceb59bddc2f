#!/usr/bin/env bash
# Makes the deb of iogauge-mpi for each release of Debian, into target/dist. It is built in a clean system of that
# release, because it depends on its MPI library. Needs root on Debian or Ubuntu, and a network for Debian's packages and
# crates.io.
#
# usage: scripts/dist-mpi.sh [bullseye|bookworm|trixie]...      (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# == 0)); then set -- bullseye bookworm trixie; fi
source scripts/clean-root.sh

target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
version=$(scripts/setting.sh version)
mkdir -p "$target_dir/dist"
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
commit=$(git rev-parse --short=12 HEAD)
cargo fetch --locked
# The toolchain of this machine and the crates that it has fetched are used there, and only read.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
IOGAUGE_BIND="$(rustc --print sysroot) $cargo_home/registry"
export IOGAUGE_BIND

for release in "$@"; do
    root=$(debian_root "$release")
    mkdir "$root/source"
    git archive HEAD | tar -xC "$root/source"
    within "$root" bash /source/scripts/dist-mpi-inside.sh "$version" "$release" "$SOURCE_DATE_EPOCH" "$commit" \
        "$(rustc --print sysroot)" "$cargo_home"
    cp "$root"/out/*.deb "$target_dir/dist"
    rm -rf "$root"
done
(cd "$target_dir/dist" && find . -type f -not -name SHA256SUMS -printf '%f\n' | sort | xargs sha256sum >SHA256SUMS)
ls -l "$target_dir"/dist/iogauge-mpi*
