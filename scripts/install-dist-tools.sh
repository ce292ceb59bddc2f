#!/usr/bin/env bash
# Installs what `make dist` uses besides Rust: the Rust targets, the C compiler of zig from PyPI, cargo-cyclonedx
# from crates.io, and the packagers from Debian. Ends with an error if something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh
tools=${CARGO_TARGET_DIR:-target}/tools

# The Debian package of each program.
wanted='
dpkg-deb   dpkg
rpmbuild   rpm
git        git
xz         xz-utils
'
missing=()
while read -r program package; do
    [[ -z $program ]] || command -v "$program" >/dev/null || missing+=("$package")
done <<<"$wanted"
if ((${#missing[@]})) && ((EUID == 0)) && command -v apt-get >/dev/null; then
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
    missing=()
fi
if ((${#missing[@]})); then
    echo "dist: missing packages: ${missing[*]}" >&2
    exit 1
fi

# Without rustup, the targets have to be there already; cargo says so if they are not.
if command -v rustup >/dev/null; then
    rustup --quiet target add x86_64-unknown-linux-musl aarch64-unknown-linux-musl
fi
install_from_pypi python-zig 'ziglang==0.17.1'
if [[ ! -x $tools/bin/cargo-cyclonedx ]]; then
    cargo install --quiet --locked --root "$tools" cargo-cyclonedx --version 0.5.9
fi
