#!/usr/bin/env bash
# Makes the files of a release in target/dist. Two builds of one commit with the same Rust give equal bytes.
#
# usage: scripts/dist.sh [x86_64|aarch64]...      (default: both)
#
# Each binary is static, so that it runs on any Linux of its architecture. It is built with fat LTO, in about five
# minutes for each architecture on two cores.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
if (($# == 0)); then set -- x86_64 aarch64; fi

scripts/install-dist-tools.sh
target_dir=$(realpath -m "${CARGO_TARGET_DIR:-target}")
PATH="$target_dir/tools/bin:$PATH"
sysroot=$(rustc --print sysroot)
# Rust's own knows each architecture. It does not find its libraries by itself.
objcopy() {
    LD_LIBRARY_PATH=$sysroot/lib "$sysroot/lib/rustlib/$(rustc --print host-tuple)/bin/rust-objcopy" "$@"
}
version=$(scripts/setting.sh version)
out=$target_dir/dist
work=$target_dir/dist-work
rm -rf "$out" "$work"
mkdir -p "$out" "$work"

# The time of the commit stands in all files instead of the time of the build.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH TZ=UTC LC_ALL=C
umask 022

# Compilers write paths into binaries. None of this machine may be there.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
remap="--remap-path-prefix=$target_dir=/target --remap-path-prefix=$root=/iogauge \
--remap-path-prefix=$cargo_home=/cargo --remap-path-prefix=$sysroot=/rust"
# Rust has musl and a linker for each architecture.
export RUSTFLAGS="$remap -C linker=rust-lld -C linker-flavor=ld.lld -C link-self-contained=yes \
-C link-arg=--pack-dyn-relocs=relr"
export CFLAGS="-ffile-prefix-map=$target_dir=/target -ffile-prefix-map=$cargo_home=/cargo"
unset CARGO_INCREMENTAL

# build ARCH: zig compiles SQLite, with its own name for the target instead of cc's.
build() {
    local target=$1-unknown-linux-musl compiler=$work/cc-$1
    cat >"$compiler" <<END
#!/bin/sh
for word; do
    shift
    case \$word in --target=*) ;; *) set -- "\$@" "\$word" ;; esac
done
exec "$target_dir/python-zig/bin/python-zig" cc -target $1-linux-musl "\$@"
END
    chmod +x "$compiler"
    env "CC_${target//-/_}=$compiler" "AR_${target//-/_}=ar" \
        cargo build --profile release-lto --locked --package iogauge --target "$target"
}

source scripts/dist-packages.sh
scripts/third-party.py >"$work/LICENSES-THIRD-PARTY"

for arch in "$@"; do
    build "$arch"
    name=iogauge-$version-$arch-linux
    binary=$work/$arch/iogauge
    mkdir -p "$work/$arch"
    cp "$target_dir/$arch-unknown-linux-musl/release-lto/iogauge" "$binary"
    objcopy --only-keep-debug "$binary" "$out/$name.debug"
    chmod 644 "$out/$name.debug"
    (cd "$out" && objcopy --strip-all --add-gnu-debuglink="$name.debug" "$binary")
done

# The pages and completions are the same for each architecture. The binary that runs here writes them.
runnable=
for arch in "$@"; do
    if "$work/$arch/iogauge" --version >/dev/null 2>&1; then runnable=$work/$arch/iogauge; fi
done
if [[ -z $runnable ]]; then
    echo "dist: no binary of $* runs on this machine, so nothing can write the manual pages" >&2
    exit 1
fi
shared_files "$runnable" "$work/share"

for arch in "$@"; do
    make_tar "$arch"
    make_deb "$arch"
    make_rpm "$arch"
done

git archive --prefix="iogauge-$version/" HEAD | gzip -9n >"$out/iogauge-$version-source.tar.gz"
cargo cyclonedx --quiet --manifest-path crates/cli/Cargo.toml --format json --spec-version 1.5 \
    --target x86_64-unknown-linux-musl --override-filename iogauge-sbom
scripts/sbom.py "$root" <crates/cli/iogauge-sbom.json >"$out/iogauge-$version.cdx.json"
find crates benches -name iogauge-sbom.json -delete

(cd "$out" && sha256sum -- * >SHA256SUMS)
ls -l "$out"
