# Sourced by scripts/dist.sh: packs a binary, and what belongs to it, into a tar ball, a deb and an rpm.
# They use $version, $work and $out. scripts/dist-mpi-inside.sh uses what they share.

# Sets the time of all files in a folder to that of the commit.
set_times() { find "$1" -print0 | xargs -0 touch --no-dereference --date="@$SOURCE_DATE_EPOCH"; }

# packed_readme FOLDER: writes the README. Its links lead to the repository, because the pages are not packed.
packed_readme() {
    sed -E "s#\]\(([A-Za-z][A-Za-z0-9_./-]*)([\#)])#](https://github.com/iogauge/iogauge/blob/v$version/\1\2#g" \
        README.md >"$1/README.md"
}

# shared_files BINARY FOLDER: what is the same for each architecture, as it stands below /usr/share.
shared_files() {
    local binary=$1 share=$2
    local doc=$share/doc/iogauge
    mkdir -p "$share/man/man1" "$share/bash-completion/completions" "$share/zsh/vendor-completions" \
        "$share/fish/vendor_completions.d" "$doc"
    "$binary" man "$share/man/man1"
    gzip -9n "$share"/man/man1/*.1
    "$binary" completions bash >"$share/bash-completion/completions/iogauge"
    "$binary" completions zsh >"$share/zsh/vendor-completions/_iogauge"
    "$binary" completions fish >"$share/fish/vendor_completions.d/iogauge.fish"
    cp CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/LICENSES-THIRD-PARTY" "$doc"
    packed_readme "$doc"
    cp -r examples "$doc/examples"
}

# tree ARCH FOLDER: the files as they stand below /usr.
tree() {
    mkdir -p "$2/usr/bin"
    cp "$work/$1/iogauge" "$2/usr/bin/iogauge"
    cp -r "$work/share" "$2/usr/share"
}

make_tar() {
    local name=iogauge-$version-$1-linux
    local folder=$work/tar-$1/$name
    mkdir -p "$folder/man"
    cp "$work/$1/iogauge" CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$work/LICENSES-THIRD-PARTY" "$folder"
    packed_readme "$folder"
    cp -r examples "$folder/examples"
    cp "$work"/share/man/man1/*.gz "$folder/man"
    mkdir "$folder/completions"
    cp "$work/share/bash-completion/completions/iogauge" "$folder/completions/iogauge.bash"
    cp "$work/share/zsh/vendor-completions/_iogauge" "$work/share/fish/vendor_completions.d/iogauge.fish" \
        "$folder/completions"
    tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu \
        -C "$work/tar-$1" -c "$name" | gzip -9n >"$out/$name.tar.gz"
}

# debian_changelog PACKAGE VERSION: the form that Debian's tools read, which names the changelog of the project.
debian_changelog() {
    printf '%s (%s) unstable; urgency=medium\n\n  * See /usr/share/doc/iogauge/CHANGELOG.md.gz.\n\n' "$1" "$2"
    printf ' -- The iogauge authors <iogauge@users.noreply.github.com>  %s\n' \
        "$(date --utc --date="@$SOURCE_DATE_EPOCH" '+%a, %d %b %Y %H:%M:%S +0000')"
}

# pack_deb FOLDER FILE: packs a folder that has DEBIAN/control.
pack_deb() {
    (cd "$1" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$1/DEBIAN/md5sums"
    set_times "$1"
    dpkg-deb --root-owner-group -Zxz --build "$1" "$2" >/dev/null
}

make_deb() {
    local arch=$1 deb_arch folder=$work/deb-$1
    case $arch in x86_64) deb_arch=amd64 ;; aarch64) deb_arch=arm64 ;; esac
    tree "$arch" "$folder"
    local doc=$folder/usr/share/doc/iogauge
    # Debian has its own names for these two, and the licences in one file.
    rm "$doc"/LICENSE-*
    gzip -9n "$doc/CHANGELOG.md"
    debian_changelog iogauge "$version" >"$doc/changelog"
    gzip -9n "$doc/changelog"
    cp packaging/debian/copyright "$doc/copyright"
    install -Dm644 packaging/debian/lintian-overrides "$folder/usr/share/lintian/overrides/iogauge"
    mkdir "$folder/DEBIAN"
    sed "s/@VERSION@/$version/; s/@ARCH@/$deb_arch/; s/@SIZE@/$(du -sk --apparent-size "$folder" | cut -f1)/" \
        packaging/debian/control >"$folder/DEBIAN/control"
    pack_deb "$folder" "$out/iogauge_${version}_$deb_arch.deb"
}

make_rpm() {
    local arch=$1 folder=$work/rpm-$1
    tree "$arch" "$folder/tree"
    # Fedora and its relatives have their own place for completions of zsh.
    mv "$folder/tree/usr/share/zsh/vendor-completions" "$folder/tree/usr/share/zsh/site-functions"
    set_times "$folder/tree"
    rpmbuild --quiet -bb --target "$arch-linux" --define "_topdir $folder" --define "tree $folder/tree" \
        --define "the_version $version" packaging/iogauge.spec
    cp "$folder/RPMS/$arch/"*.rpm "$out"
}
