#!/usr/bin/env python3
"""Compares iogauge with fio on a real disk, for each engine, pattern and queue depth, in interleaved rounds.

One file is filled with random data. In each cell all contenders run once per round, and the one that
goes first rotates. The cell ends when every ratio of IOPS is known to --within, or after --most-rounds.
A row shows the ratios of iogauge's IOPS and processor time per I/O to those of another contender, as
geometric means with 95 % intervals. The last lines show the geometric means over all cells.

Environment: FIO (fio), IOGAUGE (target/release/iogauge), T_IO_URING (fio's t/io_uring, which with
-s1 -c1 is compared with the reads through io_uring; left out if not set).

Exit code: 0 if everything ran, 1 if something did not or if --assert found a goal missed.
"""

import argparse
import itertools
import math
import os
import statistics
import sys

import versus_fio as v

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
PATTERNS = ("randread", "randwrite", "randrw")
ENGINES = ("io_uring", "libaio")
FIO, IOGAUGE, BARE = "fio defaults", "iogauge", "t/io_uring"
LOWER_BOUND_AT_LEAST = 0.97
MEAN_AT_LEAST = 1.0
CPU_AT_MOST = 0.8


def cell(engine, pattern, depth):
    """Returns a workload and the contenders that run it."""
    # iogauge did not create the file.
    permission = () if pattern == "randread" else ("--overwrite-file",)
    contenders = [v.Contender(FIO, "fio"), v.Contender(IOGAUGE, "iogauge", permission)]
    if "T_IO_URING" in os.environ and (engine, pattern) == ("io_uring", "randread"):
        contenders.append(v.bare_loop(depth, 1, 1))
    return v.Case(f"{engine} {pattern} {depth}", "", "real", engine, depth, tuple(contenders),
                  rw=pattern)


def others(case):
    return [contender.label for contender in case.contenders if contender.label != IOGAUGE]


def is_enough(case, samples, options):
    """Returns True if there are enough rounds and the interval of each ratio of IOPS is narrow enough (Y. S. Chow,
    H. Robbins, Ann. Math. Statist. 36 (1965) 457-462)."""
    if len(samples[IOGAUGE]) < options.rounds:
        return False
    ratios = [v.Ratio.of(v.ratios(samples, IOGAUGE, versus)) for versus in others(case)]
    return all(math.log(ratio.high / ratio.low) / 2 <= options.within for ratio in ratios)


def interval_text(ratio):
    return f"{ratio.mean:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"


def rows(case, samples):
    """Returns a row of the table for each other contender, and the missed goals."""
    lines, missed = [], []
    for versus in others(case):
        iops = v.Ratio.of(v.ratios(samples, IOGAUGE, versus))
        cpu = v.Ratio.of(v.ratios(samples, IOGAUGE, versus, "cpu_us_per_io"))
        kiops = [v.spread([row.iops for row in samples[label]], v.iops_text)
                 for label in (versus, IOGAUGE)]
        depth = statistics.median(row.depth for row in samples[IOGAUGE])
        rounds = len(samples[IOGAUGE])
        lines.append(f"| {case.engine} | {case.rw} | {case.depth} | {versus} | {rounds} | {kiops[0]} | {kiops[1]} | "
                     f"{depth:.3g} | {interval_text(iops)} | {interval_text(cpu)} |")
        if iops.low < LOWER_BOUND_AT_LEAST:
            missed.append(f"{case.name}, IOPS / {versus}: {interval_text(iops)}")
        if versus == FIO and cpu.mean > CPU_AT_MOST:
            missed.append(f"{case.name}, CPU per I/O / {versus}: {interval_text(cpu)}")
    return lines, missed


def overall(means, versus):
    """Returns the geometric mean of the cells' ratios as a line, and the missed goal, if any."""
    mean = statistics.geometric_mean(means)
    text = f"geometric mean of the ratio of IOPS to {versus} over {len(means)} cells: {mean:.3f}"
    return text, [text] if mean < MEAN_AT_LEAST else []


def run(options):
    with v.written_file("versus_disk", options) as path:
        print(f"\n{options.rounds} to {options.most_rounds} rounds of {options.seconds} s in each cell, 4 KiB, "
              f"O_DIRECT, a file of {options.size} MiB.\n")
        print("| engine | pattern | depth | beside | rounds | its IOPS | iogauge | depth achieved | ratio of IOPS "
              "| of CPU per I/O |")
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
        missed, means = [], {}
        for place in itertools.product(options.engine, options.rw, options.depth):
            case = cell(*place)
            samples = v.run_rounds(case, path, options.most_rounds, options.seconds,
                                   lambda samples, case=case: is_enough(case, samples, options))
            lines, cell_missed = rows(case, samples)
            print("\n".join(lines), flush=True)
            missed += cell_missed
            for versus in others(case):
                mean = v.Ratio.of(v.ratios(samples, IOGAUGE, versus)).mean
                means.setdefault(versus, []).append(mean)
        print()
        for versus, of_cells in means.items():
            text, mean_missed = overall(of_cells, versus)
            print(text)
            missed += mean_missed
        return missed


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="versus_disk.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=10, help="fewest interleaved rounds in each cell (10)")
    add("--most-rounds", type=int, default=40, metavar="ROUNDS", help="most of them (40)")
    add("--within", type=float, default=0.025, metavar="SHARE",
        help="half width of the interval of each ratio of IOPS at which a cell ends (0.025)")
    add("--seconds", type=int, default=1, help="seconds measured per run (1)")
    add("--engine", action="append", choices=ENGINES, help="repeatable (all)")
    add("--rw", action="append", choices=PATTERNS, help="repeatable (all)")
    add("--depth", action="append", type=int, help="repeatable (1 to 256 by doublings)")
    add("--dir", default="/var/tmp", help="where the file is made (/var/tmp)")
    add("--size", type=int, default=4096, metavar="MIB", help="size of the file (4096)")
    add("--assert", action="store_true", dest="hold_goals", help="end with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    options.engine, options.rw = options.engine or ENGINES, options.rw or PATTERNS
    options.depth = options.depth or DEPTHS
    options.most_rounds = max(options.rounds, options.most_rounds)
    if options.rounds < 2 or min(options.seconds, options.size, *options.depth) < 1:
        parser.error("--rounds is at least 2; --seconds, --size and --depth are at least 1")
    return options


def main(arguments):
    options = parse_options(arguments)
    return v.ended("versus_disk", options.hold_goals, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
