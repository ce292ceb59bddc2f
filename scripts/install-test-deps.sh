#!/usr/bin/env bash
# Installs what the tests use besides cargo: fio, the tools that create file systems, volumes and
# signatures for the guards to find, and a database server, which each test starts for itself.
#
# As root on Debian or Ubuntu, installs missing packages and mounts tracefs. Otherwise prints what is
# missing. The exit code is 0 either way: a test without its tool prints SKIPPED, or fails if
# IOGAUGE_REQUIRE_ALL=1.
set -euo pipefail

PATH="$PATH:/usr/local/sbin:/usr/sbin:/sbin"

# package, and the command or path that is needed from it
wanted='
fio             fio
fio-examples    /usr/share/doc/fio/examples
util-linux      losetup
mount           mount
iproute2        ip
openmpi-bin     mpirun.openmpi
libopenmpi-dev  /usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h
mpich           mpirun.mpich
libmpich-dev    /usr/include/x86_64-linux-gnu/mpich/mpi.h
fdisk           sfdisk
e2fsprogs       mkfs.ext4
xfsprogs        mkfs.xfs
btrfs-progs     mkfs.btrfs
dosfstools      mkfs.vfat
ntfs-3g         mkfs.ntfs
lvm2            pvcreate
mdadm           mdadm
cryptsetup-bin  cryptsetup
exfatprogs      mkfs.exfat
f2fs-tools      mkfs.f2fs
squashfs-tools  mksquashfs
genisoimage     genisoimage
bcache-tools    make-bcache
attr            setfattr
kmod            modprobe
chromium        chromium
buildah         buildah
tmux            tmux
zsh             zsh
procps          ps
strace          strace
bpftrace        bpftrace
groff           groff-base
python3         python3
python3-venv    /usr/share/doc/python3-venv
python3-six     /usr/lib/python3/dist-packages/six.py
python3-yaml    /usr/lib/python3/dist-packages/yaml
fis-gtm         /usr/lib/x86_64-linux-gnu/fis-gtm
r-base-core     Rscript
postgresql      /usr/lib/postgresql
librocksdb-dev  /usr/include/rocksdb/c.h
libclang-dev    /usr/share/doc/libclang-dev
'

say() { printf 'test dependencies: %s\n' "$*"; }

# Succeeds if the command or path exists, or if its package is installed: minimal images install
# packages without the files under /usr/share/doc.
present() {
    local package=$1 thing=$2
    if [[ $thing == /* ]]; then
        [[ -e $thing ]] && return 0
    else
        command -v "$thing" >/dev/null && return 0
    fi
    command -v dpkg-query >/dev/null &&
        [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null) == installed ]]
}

missing=()
find_missing() {
    local package thing
    missing=()
    while read -r package thing; do
        [[ -z $package ]] && continue
        present "$package" "$thing" || missing+=("$package")
    done <<<"$wanted"
}

# Runs apt-get. Prints the end of its output only if it fails.
apt_get() {
    local log status=0
    log=$(mktemp)
    DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=300 "$@" \
        </dev/null >"$log" 2>&1 || status=$?
    if ((status)); then tail -n 20 "$log"; fi
    rm -f "$log"
    return "$status"
}

updated=no
update_once() {
    [[ $updated == yes ]] && return
    updated=yes
    say 'apt-get update'
    apt_get update || say 'apt-get update failed; using the existing package lists'
}

# Packages that start services (lvm2, mdadm) are installed without starting them.
policy=/usr/sbin/policy-rc.d
policy_made=no
cluster=/etc/postgresql-common/createcluster.d/iogauge-tests.conf
undo() {
    [[ $policy_made == no ]] || rm -f "$policy"
    rm -f "$cluster"
}
trap undo EXIT
forbid_services() {
    [[ -e $policy ]] && return
    policy_made=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
}

# PostgreSQL's package creates a server for the machine unless this file forbids it.
forbid_cluster() {
    [[ " $* " == *' postgresql '* ]] || return 0
    mkdir -p "${cluster%/*}"
    printf 'create_main_cluster = false\n' >"$cluster"
}

has_candidate() { apt-cache show --no-all-versions "$1" >/dev/null 2>&1; }

install_missing() {
    local package known=()
    for package in "${missing[@]}"; do
        has_candidate "$package" || update_once
    done
    for package in "${missing[@]}"; do
        if has_candidate "$package"; then known+=("$package"); fi
    done
    ((${#known[@]})) || return 0
    say "apt-get install ${known[*]}"
    forbid_services
    forbid_cluster "${known[@]}"
    apt_get install --no-install-recommends "${known[@]}" && return
    # Package lists older than the archive refer to files that no longer exist.
    update_once
    apt_get install --no-install-recommends "${known[@]}" || say 'apt-get install failed'
}

find_missing
if ((${#missing[@]})) && command -v apt-get >/dev/null && ((EUID == 0)); then
    install_missing
    find_missing
fi

# The kernel's tracepoints, for tests with bpftrace.
tracing=/sys/kernel/tracing
if ((EUID == 0)) && [[ -d $tracing && ! -e $tracing/events ]]; then
    mount -t tracefs nodev "$tracing" || say "cannot mount tracefs on $tracing"
fi

if ((${#missing[@]} == 0)); then
    say 'all installed'
elif command -v apt-get >/dev/null && ((EUID != 0)); then
    say "missing: ${missing[*]}"
    say "to install them: sudo apt-get install --no-install-recommends ${missing[*]}"
else
    say "missing (by their Debian package names): ${missing[*]}"
fi
"$(dirname "$0")/install-fio-plot.sh"
"$(dirname "$0")/install-otava.sh"
"$(dirname "$0")/install-tree-sitter.sh"
