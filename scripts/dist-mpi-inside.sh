#!/usr/bin/env bash
# Run by scripts/dist-mpi.sh within a clean Debian, with the sources in /source: builds iogauge-mpi with Open MPI and
# packs it into /out.
#
# usage: dist-mpi-inside.sh VERSION RELEASE EPOCH COMMIT SYSROOT CARGO_HOME
set -euo pipefail
version=$1 release=$2 sysroot=$5 cargo_home=$6
export SOURCE_DATE_EPOCH=$3 IOGAUGE_COMMIT=$4
umask 022
source /source/scripts/dist-packages.sh

apt-get update -qq
apt-get install -y -qq --no-install-recommends gcc libc6-dev libopenmpi-dev openmpi-bin libclang-dev clang dpkg-dev \
    >/dev/null
export PATH=$sysroot/bin:$PATH CARGO_HOME=/cargo CARGO_NET_OFFLINE=true MPICC=mpicc.openmpi
mkdir /cargo
ln -s "$cargo_home/registry" /cargo/registry
export RUSTFLAGS="--remap-path-prefix=/source=/iogauge --remap-path-prefix=$sysroot=/rust \
--remap-path-prefix=$cargo_home=/cargo"
cd /source
cargo build --quiet --profile release-lto --locked --package iogauge-hosts --features iogauge-hosts/mpi --bin iogauge-mpi

tree=/build/iogauge-mpi
doc=$tree/usr/share/doc/iogauge-mpi
mkdir -p "$tree/usr/bin" "$tree/DEBIAN" "$doc" /out
strip -o "$tree/usr/bin/iogauge-mpi" target/release-lto/iogauge-mpi
cp packaging/debian/copyright "$doc/copyright"
debian_changelog iogauge-mpi "$version+$release" | gzip -9n >"$doc/changelog.gz"
# dpkg-shlibdeps reads the dependencies of this release's libraries from a file like that of a source package.
mkdir -p /build/debian
printf 'Source: iogauge\n\nPackage: iogauge-mpi\nArchitecture: any\n' >/build/debian/control
libraries=$(cd /build && dpkg-shlibdeps -O iogauge-mpi/usr/bin/iogauge-mpi | sed 's/^shlibs:Depends=//')
sed "s/@VERSION@/$version/g; s/@RELEASE@/$release/; s/@SIZE@/$(du -sk --apparent-size "$tree" | cut -f1)/
    s/@LIBRARIES@/$libraries/" packaging/debian/control-mpi >"$tree/DEBIAN/control"
pack_deb "$tree" "/out/iogauge-mpi_$version+${release}_amd64.deb"
