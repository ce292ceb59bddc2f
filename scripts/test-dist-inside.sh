#!/usr/bin/env bash
# Run by scripts/test-dist.sh within a clean Debian: installs the deb, uses it as a user does, removes it, and looks for
# what it left. Then does the same with the tar ball.
#
# usage: test-dist-inside.sh VERSION
set -euo pipefail
version=$1
cd /root

fail() { printf 'failed: %s\n' "$*" >&2; exit 1; }
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /tmp -o -path /var/lib/dpkg -o -path /var/log \
        -o -path /var/cache \) -prune -o -print | sort
}
answer() {
    local code=0
    "$@" find /data --size=64m --limit 'p99<=1s' --budget=3s --history=none --json --quiet >/tmp/answer.json || code=$?
    # On a busy machine it may be undecided, but it has measured.
    ((code == 0 || code == 7)) || fail "$* find ended with $code"
    grep -q '"format": *"iogauge.find/' /tmp/answer.json || fail 'find gave no answer'
}

apt-get update -qq
apt-get install -y -qq --no-install-recommends man-db bash-completion >/dev/null
mkdir /data
files >/tmp/before

apt-get install -y -qq "/root/iogauge_${version}_amd64.deb" >/dev/null
iogauge --version
answer iogauge
# A pager would wait, and man fails in a pipe that is closed early.
man iogauge-find >/tmp/page
grep -q -- '--limit' /tmp/page || fail 'no manual page'
# What a shell would complete after "iogauge fin".
bash -ec '
    source /usr/share/bash-completion/bash_completion
    _completion_loader iogauge || true
    COMP_WORDS=(iogauge fin) COMP_CWORD=1 COMPREPLY=()
    function=$(complete -p iogauge | sed -E "s/.*-F ([^ ]+).*/\1/")
    $function iogauge fin iogauge || true
    [[ " ${COMPREPLY[*]} " == *" find "* ]]
' || fail 'no completion'
test -s /usr/share/zsh/vendor-completions/_iogauge && test -s /usr/share/fish/vendor_completions.d/iogauge.fish
iogauge clean /data --quiet >/dev/null 2>&1 || iogauge clean /data
apt-get purge -y -qq iogauge >/dev/null
files >/tmp/after
diff /tmp/before /tmp/after || fail 'the package left files'

mkdir /opt/iogauge
tar -xzf "/root/iogauge-$version-x86_64-linux.tar.gz" --strip-components=1 -C /opt/iogauge
answer /opt/iogauge/iogauge
echo "$(. /etc/os-release && echo "$PRETTY_NAME"): passed"
