#!/usr/bin/env bash
# Tries the files of target/dist on clean systems: Debian 11, 12 and 13, a system with only busybox and musl, rpm's own
# tools, and arm64 under qemu. Needs root on Debian or Ubuntu, and a network for Debian's packages.
#
# usage: scripts/test-dist.sh [bullseye|bookworm|trixie|musl|lint|rpm|arm64]...      (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."
if (($# == 0)); then set -- lint rpm arm64 musl bullseye bookworm trixie; fi

dist=$(realpath "${CARGO_TARGET_DIR:-target}")/dist
version=$(scripts/setting.sh version)
deb=$dist/iogauge_${version}_amd64.deb
tar_ball=$dist/iogauge-$version-x86_64-linux.tar.gz
source scripts/clean-root.sh
DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    lintian rpm musl busybox-static qemu-user-static >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

(cd "$dist" && sha256sum --check --quiet SHA256SUMS)
size=$(tar -xzOf "$tar_ball" "iogauge-$version-x86_64-linux/iogauge" | wc -c)
echo "binary: $size bytes"
((size <= 15000000))

# A short search on a file. On a busy machine it may be undecided (7), but it has measured.
search=(find /data --size=64m --limit 'p99<=1s' --budget=3s --history=none --json --quiet)
searches() {
    local code=0
    "$@" >"$work/found.json" || code=$?
    ((code == 0 || code == 7)) && grep -q '"format": *"iogauge.find/' "$work/found.json" && return
    echo "failed with $code: $*" >&2
    return 1
}

try_debian() {
    local root
    root=$(debian_root "$1")
    cp "$deb" "$tar_ball" "$root/root"
    cp scripts/test-dist-inside.sh "$root/root"
    within "$root" bash /root/test-dist-inside.sh "$version"
    rm -rf "$root"
}

try_musl() {
    local root=$work/musl applet
    mkdir -p "$root"/{bin,lib,proc,sys,dev,data,tmp}
    cp /bin/busybox "$root/bin"
    for applet in sh ls env cat; do ln -s busybox "$root/bin/$applet"; done
    cp /lib/ld-musl-x86_64.so.1 "$root/lib"
    mknod -m 666 "$root/dev/null" c 1 3
    mknod -m 666 "$root/dev/urandom" c 1 9
    tar -xzf "$tar_ball" --strip-components=1 -C "$root/bin" "iogauge-$version-x86_64-linux/iogauge"
    searches within "$root" /bin/iogauge "${search[@]}"
}

try_lint() {
    local file
    for file in "$dist"/*.deb; do lintian --fail-on error --tag-display-limit 0 "$file"; done
}

# Installs the rpm into a folder of its own, checks it there, and removes it again.
try_rpm() {
    local package=$dist/iogauge-$version-1.x86_64.rpm root=$work/rpm left
    rpm --query --info --package "$package"
    rpm --checksig --nosignature "$package"
    mkdir -p "$root"
    rpm --root "$root" --initdb
    rpm --root "$root" --install --nodeps "$package"
    rpm --root "$root" --verify iogauge
    "$root/usr/bin/iogauge" run sim:nvme --runtime=1 --history=none --quiet >/dev/null
    test -s "$root/usr/share/man/man1/iogauge-find.1.gz"
    rpm --root "$root" --erase iogauge
    left=$(find "$root" -not -type d -not -path '*/rpm/*')
    [[ -z $left ]] || { echo "left by the rpm: $left" >&2; return 1; }
}

try_arm64() {
    local binary=$work/iogauge
    tar -xzOf "$dist/iogauge-$version-aarch64-linux.tar.gz" "iogauge-$version-aarch64-linux/iogauge" >"$binary"
    chmod +x "$binary"
    mkdir "$work/data"
    qemu-aarch64-static "$binary" --version
    searches qemu-aarch64-static "$binary" find sim:nvme --history=none --json --quiet
    searches qemu-aarch64-static "$binary" find "$work/data" --size=16m --ioengine=psync --limit 'p99<=1s' --budget=3s \
        --history=none --json --quiet
}

for system in "$@"; do
    printf '== %s\n' "$system"
    case $system in
        bullseye | bookworm | trixie) try_debian "$system" ;;
        *) "try_$system" ;;
    esac
done
echo "clean systems: $* passed"
