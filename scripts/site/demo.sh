#!/usr/bin/env bash
# Runs iogauge on simulated devices. Writes a page with each command and its output, and the HTML report of all runs.
#
# usage: scripts/site/demo.sh IOGAUGE DIRECTORY
#
# Takes less than a minute. Writes DIRECTORY/demo.md and DIRECTORY/demo/report.html.
set -euo pipefail
iogauge=$(realpath "$1")
mkdir -p "$2/demo"
directory=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_DATA_HOME=$work
cd "$work"
exec >"$directory/demo.md"

# show HEADING SENTENCE ARGUMENT...: runs iogauge, and prints a section with the command and its output.
show() {
    local argument command=iogauge
    printf '\n## %s\n\n%s\n' "$1" "$2"
    shift 2
    for argument; do
        if [[ $argument == *[\<\>]* ]]; then argument="'$argument'"; fi
        command+=" $argument"
    done
    printf '\n```\n$ %s\n' "$command"
    "$iogauge" "$@" --quiet </dev/null
    printf '```\n'
}

cat <<'END'
# Demonstration

The build of this site ran these commands on [simulated devices](docs/simulated.md). They take seconds and need no disk,
so you can repeat them: the same seed gives the same figures.

**[The report of all these runs](demo/report.html)** is the page that `iogauge report --html` writes. It is one file and
needs no network. [Charts of runs](docs/report.md) describes its charts.
END
show 'Capacity of a flash device' 'A search under a limit on the p99 latency.' \
    find sim:nvme --limit 'p99<=500us' --randseed=1
show 'Reads and writes with a limit each' 'An array that serves 70 % reads and 30 % writes of 8 KiB.' \
    find sim:array --rw=randrw --rwmixread=70 --bs=8k --limit 'read:p99<=20ms' --limit 'write:mean<=2ms' --randseed=1
show 'Burst credits that run out' 'A throttled network volume. See the performance shift in the report.' \
    run sim:cloud-volume,burst=40000 --iodepth=16 --runtime=30 --randseed=1
show 'Number of hosts that saturates an array' 'Sixteen hosts, each with a link of 400 MB/s.' \
    hosts-curve sim:array,hosts=16,host_link=400MB/s --bs=64k --limit 'p99<=20ms' --randseed=1
show 'Which of two devices is better' 'Their service times differ by 3 %, with a noise of 5 %.' \
    compare sim:channels=8,service=100us,noise=5%:1s,seed=1 sim:channels=8,service=97us,noise=5%:1s,seed=2 \
    --iodepth=8 --margin 0 --randseed=1
show 'Block sizes' 'The block size from which bandwidth is the limit.' suite blocksize sim:nvme --seconds=2
show 'Load of a database' 'The report has the report card of this suite.' suite oltp sim:array --seconds=3
show 'Mixes of reads and writes' 'The IOPS test of SNIA, with each minute shortened.' \
    suite snia-iops sim:sata-ssd,size=2g --scale=300

"$iogauge" report last-7..last --html "$directory/demo/report.html" >&2
