# Sourced by the scripts that need a clean Debian system: makes one in a folder, and runs commands in it.
# Needs root. $roots is where the systems stay for the next run.
roots=${IOGAUGE_ROOTS:-${CARGO_TARGET_DIR:-target}/roots}

# debian_root RELEASE: prints the folder of a fresh copy of a minimal Debian. The first call downloads it.
debian_root() {
    local release=$1 image=$roots/$1.tar fresh
    mkdir -p "$roots"
    # Each caller has its own.
    fresh=$(mktemp -d "$roots/$release.XXXXXX")
    if [[ ! -e $image ]]; then
        command -v debootstrap >/dev/null ||
            DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
                debootstrap debian-archive-keyring >&2
        debootstrap --variant=minbase "$release" "$fresh" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" >&2
        tar -C "$fresh" -cf "$image.part" .
        mv "$image.part" "$image"
    fi
    find "$fresh" -mindepth 1 -delete
    tar -C "$fresh" -xpf "$image"
    realpath "$fresh"
}

# within ROOT COMMAND...: runs a command there. What it mounts and starts ends with it. DNS is that of this machine.
within() {
    local root=$1
    shift
    # shellcheck disable=SC2016
    unshare --mount --pid --fork --kill-child bash -euc '
        root=$1; shift
        mount -t proc proc "$root/proc"
        if [[ -d $root/sys ]]; then mount --rbind -o ro /sys "$root/sys"; fi
        if [[ -d $root/etc && -e /etc/resolv.conf ]]; then
            touch "$root/etc/resolv.conf"; mount --bind /etc/resolv.conf "$root/etc/resolv.conf"
        fi
        for folder in ${IOGAUGE_BIND:-}; do
            mkdir -p "$root$folder"; mount --bind -o ro "$folder" "$root$folder"
        done
        exec chroot "$root" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
            DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8 "$@"' bash "$root" "$@"
}
