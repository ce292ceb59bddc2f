#!/usr/bin/env python3
"""Compares `iogauge suite oltp` with fio running the same matrix, on one written file.

In each round, the suite and fio run each cell of the matrix right after each other, and the one that goes
first alternates, so that variations of the disk affect both. fio runs as in scripts for databases: with
ioengine=psync and a process for each user.

A cell agrees if the ranges of both over the rounds overlap, that is, if they differ by no more than
repeats of either. The report also shows the median of the ratios in each round, with the 95 % interval of
their geometric mean.

Environment: FIO (fio), IOGAUGE (target/release/iogauge).

Exit code: 0 if everything ran, 1 if something did not.
"""

import argparse
import json
import os
import statistics
import sys
from dataclasses import dataclass

import versus_fio as v

RAMP_SECONDS = 1
USERS = (1, 8, 16, 32, 64)
LOG_USERS = (1, 4, 16)
# The suite's tests as fio's flags.
TESTS = {
    "readrand": ("--rw=randread",),
    "read": ("--rw=read",),
    "write": ("--rw=write", "--sync=1"),
    "randrw": ("--rw=randrw", "--rwmixread=80"),
}


@dataclass(frozen=True)
class Cell:
    """One step of the suite."""

    test: str
    block: str
    users: int

    @property
    def label(self):
        return f"{self.test} {self.block}"


@dataclass(frozen=True)
class Sample:
    """The result of one run, with reads and writes together."""

    iops: float
    mean_ms: float


def matrix():
    """Yields the cells of the suite, in its order."""
    for users in USERS:
        yield Cell("readrand", "8k", users)
    for block in ("8k", "32k", "128k", "1m"):
        yield Cell("read", block, 1)
    for users in USERS[1:]:
        yield Cell("read", "1m", users)
    for block in ("1k", "8k", "128k"):
        for users in LOG_USERS:
            yield Cell("write", block, users)
    for users in USERS:
        yield Cell("randrw", "8k", users)


# ---- programs: how each is called and read ---------------------------------------------------


def fio_command(path, cell, seconds):
    size = path.stat().st_size
    flags = (*TESTS[cell.test], "--ioengine=psync", f"--numjobs={cell.users}", "--group_reporting")
    if cell.test in ("read", "write"):
        # Each user has its own region.
        region = size // cell.users // (1 << 20) << 20
        flags += (f"--offset_increment={region}", f"--size={region}")
    else:
        flags += (f"--size={size}",)
    return [os.environ.get("FIO", "fio"), "--name=versus", f"--filename={path}", "--direct=1",
            f"--bs={cell.block}", "--time_based", "--randrepeat=0", f"--runtime={seconds}",
            f"--ramp_time={RAMP_SECONDS}", *flags, "--output-format=json"]


def iogauge_command(path, cell, seconds):
    return [v.iogauge_binary(), "suite", "oltp", str(path), f"--tests={cell.test}",
            f"--users={cell.users}", f"--bs={cell.block}", f"--seconds={seconds}", "--overwrite-file",
            "--json", "--quiet", "--history=none"]


def together(directions):
    """Combines reads and writes, each given as (IOPS, mean latency in ns)."""
    iops = sum(rate for rate, _ in directions)
    return Sample(iops, sum(rate * mean for rate, mean in directions) / iops / 1e6)


def fio_sample(text):
    job = v.fio_job(text)
    moved = [job[way] for way in ("read", "write") if job[way]["total_ios"]]
    return together([(way["iops"], way["lat_ns"]["mean"]) for way in moved])


def iogauge_sample(text):
    (step,) = json.loads(text)["steps"]
    figures = step["result"]["step"]
    moved = [figures[way] for way in ("read", "write") if figures[way]]
    return together([(way["iops"]["mean"], way["service_ns"]["mean"]) for way in moved])


PROGRAMS = {"iogauge": (iogauge_command, iogauge_sample), "fio": (fio_command, fio_sample)}


def measure(program, path, cell, seconds):
    command, read = PROGRAMS[program]
    command = command(path, cell, seconds)
    output = v.output_of(command, path.parent, 60 + 6 * (seconds + RAMP_SECONDS))
    try:
        return read(output)
    except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise v.CannotRun(f"{' '.join(command)}: output not understood: {error!r}") from error


# ---- figures -----------------------------------------------------------------------------------


def agrees(ours, theirs):
    """Returns True if the ranges overlap."""
    return min(ours) <= max(theirs) and min(theirs) <= max(ours)


def row(cell, samples):
    """Returns a row of the table, and whether IOPS and latency agree."""
    figure = {program: ([s.iops for s in rows], [s.mean_ms for s in rows])
              for program, rows in samples.items()}
    ours, theirs = figure["iogauge"], figure["fio"]
    ratio = v.Ratio.of([a / b for a, b in zip(ours[0], theirs[0], strict=True)])
    held = agrees(ours[0], theirs[0]) and agrees(ours[1], theirs[1])
    cells = (cell.label, str(cell.users),
             v.spread(ours[0], v.iops_text), v.spread(theirs[0], v.iops_text),
             f"{ratio.median:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]",
             v.spread(ours[1]), v.spread(theirs[1]), "yes" if held else "no")
    return f"| {' | '.join(cells)} |", held


def report(results):
    print("| test | users | IOPS, iogauge | IOPS, fio | ratio | mean ms, iogauge | "
          "mean ms, fio | agree |")
    print("|---|---|---|---|---|---|---|---|")
    held = 0
    for cell, samples in results.items():
        line, agreed = row(cell, samples)
        held += agreed
        print(line)
    print(f"\n{held} of {len(results)} cells agree within the spread of their repeats.")
    ratios = [statistics.median(a.iops / b.iops for a, b in zip(s["iogauge"], s["fio"], strict=True))
              for s in results.values()]
    print(f"Ratio of IOPS over the cells: median {statistics.median(ratios):.3f}, "
          f"{min(ratios):.3f} to {max(ratios):.3f}.", flush=True)


# ---- main --------------------------------------------------------------------------------------


def measure_all(path, options):
    results = {cell: {"iogauge": [], "fio": []} for cell in options.cells}
    for number in range(options.rounds):
        for index, cell in enumerate(options.cells):
            print(f"round {number + 1}/{options.rounds}: {cell.label} {cell.users}",
                  file=sys.stderr, flush=True)
            both = ("iogauge", "fio") if (number + index) % 2 == 0 else ("fio", "iogauge")
            for program in both:
                results[cell][program].append(measure(program, path, cell, options.seconds))
    return results


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="versus_suite.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=5, help="runs of each cell by each program (5)")
    add("--seconds", type=int, default=5, help="seconds measured each (5)")
    add("--tests", default=",".join(TESTS), help="those of the suite (all)")
    add("--dir", default="/var/tmp", help="where the file is made (/var/tmp)")
    add("--size", type=int, default=4096, metavar="MIB", help="size of the file (4096)")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.seconds, options.size) < 1:
        parser.error("--rounds, --seconds and --size are at least 1")
    options.cells = [cell for cell in matrix() if cell.test in options.tests.split(",")]
    if not options.cells:
        parser.error(f"--tests are {', '.join(TESTS)}")
    return options


def run(options):
    with v.written_file("versus_suite", options) as path:
        print(f"\n## A file of {options.size} MiB; {options.rounds} rounds of {options.seconds} s\n",
              flush=True)
        report(measure_all(path, options))
        return []


def main(arguments):
    options = parse_options(arguments)
    return v.ended("versus_suite", False, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
