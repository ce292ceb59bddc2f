#!/usr/bin/env python3
"""Compares `iogauge find` with an exhaustive fio sweep and with fio's latency_target, on one written file.

A pass of the sweep runs fio at every queue depth of a list for the same time. The capacity is where the
curve of the limit's statistic crosses its bound. Passes alternate between rising and falling queue depths.
After each pass come rounds of `iogauge find` and of fio's latency_target, so that slow variations of the
disk affect all.

fio's latency_target supports percentiles but not the mean. A limit on the mean is replaced by one on the
median, or on the percentiles of --percentile.

Environment: FIO (fio), IOGAUGE (target/release/iogauge).

Exit code: 0 if everything ran, 1 if something did not or if --assert found a goal missed.
"""

import argparse
import json
import math
import os
import re
import shlex
import statistics
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

import versus_fio as v

RAMP_SECONDS = 1
DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 320,
          384, 512, 640, 768, 1024)
# Doubling and bisection through a thousand queue depths takes 20 windows. Noise may double that.
TARGET_WINDOWS_AT_MOST = 40
TIME_RATIO_AT_MOST = 0.1
LOAD = ("--ioengine=io_uring", "--rw=randread", "--bs=4k", "--direct=1")
SWEEP, IOGAUGE = "fio sweep", "iogauge find"


@dataclass(frozen=True)
class Limit:
    """A bound on a statistic of the latencies."""

    text: str
    percentile: float | None  # None for the mean, 100 for the maximum
    bound_ns: float

    @staticmethod
    def parse(text):
        number = r"\d+(?:\.\d+)?"
        match = re.fullmatch(rf"(?:(mean)|(max)|p({number}))<=({number})(ns|us|ms|s)", text)
        if match is None:
            raise argparse.ArgumentTypeError(
                f"{text!r} is no limit; hint: use mean<=1ms, p99<=5ms or max<=50ms")
        mean, largest, percentile, bound, unit = match.groups()
        percentile = None if mean else 100.0 if largest else float(percentile)
        if percentile is not None and not 0 < percentile <= 100:
            raise argparse.ArgumentTypeError(f"{text!r}: a percentile is over 0 and at most 100")
        return Limit(text, percentile, float(bound) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit])

    def of(self, lat_ns):
        """Returns the statistic from fio's `lat_ns`."""
        if self.percentile is None:
            return lat_ns["mean"]
        if self.percentile == 100:
            return lat_ns["max"]
        return lat_ns["percentile"][f"{self.percentile:.6f}"]


@dataclass(frozen=True)
class Point:
    """One queue depth of a sweep."""

    depth: int
    iops: float
    statistic_ns: float


@dataclass(frozen=True)
class Capacity:
    """Where a curve crosses its limit, and the IOPS at the whole queue depth below, which a closed loop can use."""

    iops: float
    depth: float
    whole_iops: float


@dataclass(frozen=True)
class Answer:
    """The answer of one run of one contender, and how long it took."""

    seconds: float
    iops: float
    depth: float
    mean_ns: float | None = None
    settled: bool = True


# ---- programs: how each is called and read ---------------------------------------------------


def fio(path, *flags):
    return [os.environ.get("FIO", "fio"), "--name=versus", f"--filename={path}",
            f"--size={path.stat().st_size}", "--time_based", "--randrepeat=0", *LOAD, *flags,
            "--output-format=json"]


def sweep_command(path, depth, options):
    flags = [f"--iodepth={depth}", f"--runtime={options.seconds}", f"--ramp_time={RAMP_SECONDS}"]
    if options.limit.percentile is not None:
        flags += ["--clat_percentiles=0", "--lat_percentiles=1",
                  f"--percentile_list={options.limit.percentile:g}"]
    return fio(path, *flags)


def sweep_point(text, depth, limit):
    read = v.fio_job(text)["read"]
    return Point(depth, read["iops"], limit.of(read["lat_ns"]))


def find_command(path, options):
    budget = [f"--budget={options.budget}s"] if options.budget else []
    return [v.iogauge_binary(), "find", str(path), *LOAD, f"--limit={options.limit.text}", *budget,
            "--json", "--quiet", "--history=none"]


def find_answer(text, seconds):
    answer = json.loads(text)["answer"]
    return Answer(seconds, answer["iops"]["mean"], answer["depth"], answer["latency_ns"]["mean"])


def target_command(path, percentile, options, run_seconds=0):
    seconds = run_seconds or TARGET_WINDOWS_AT_MOST * options.window
    return fio(path, f"--iodepth={options.max_depth}",
               f"--latency_target={options.limit.bound_ns / 1e3:.0f}us",
               f"--latency_window={options.window * 1000:.0f}ms",
               f"--latency_percentile={percentile:g}", f"--runtime={math.ceil(seconds)}",
               *(["--latency_run=1"] if run_seconds else []))


def target_answer(text, seconds):
    """Reads fio's answer: its final queue depth. The IOPS are those of the last window, because fio resets
    its statistics before it, but those of the whole run if fio did not settle."""
    job = v.fio_job(text)
    read, window_ms = job["read"], job["latency_window"] / 1000
    return Answer(seconds, read["iops"], job["latency_depth"], read["lat_ns"]["mean"],
                  settled=read["runtime"] < 2 * window_ms)


def endless_answer(text, seconds):
    """Like `target_answer`, for a run with latency_run, which never settles."""
    return replace(target_answer(text, seconds), settled=True)


def timed(command, directory, seconds, read, exits=(0,)):
    """Runs a command that should take this many seconds and must end with one of these exit codes. Returns
    `read(output, seconds taken)`."""
    begin = time.monotonic()
    output = v.output_of(command, directory, 60 + 3 * seconds, exits)
    try:
        return read(output, time.monotonic() - begin)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        raise v.CannotRun(
            f"{shlex.join(command)}: output not understood: {error!r}") from error


# ---- the capacity of a curve -------------------------------------------------------------------


def rising(values):
    """Returns the nearest non-decreasing sequence by least squares (pool adjacent violators): a larger queue
    depth never shortens latency, but noise may."""
    pools = []
    for value in values:
        pools.append((value, 1))
        while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
            (a, m), (b, n) = pools[-2:]
            pools[-2:] = [((a * m + b * n) / (m + n), m + n)]
    return [value for value, count in pools for _ in range(count)]


def between(a, b, share):
    return a + share * (b - a)


def capacity(points, limit):
    """Returns where the curve crosses the limit, by linear interpolation between the queue depths around it."""
    points = sorted(points, key=lambda point: point.depth)
    values = rising([point.statistic_ns for point in points])
    held = sum(value <= limit.bound_ns for value in values)
    if not 0 < held < len(points):
        raise v.CannotRun(
            f"{limit.text} is not crossed: from depth {points[0].depth} to {points[-1].depth} the "
            f"statistic goes from {ms(values[0])} to {ms(values[-1])} ms; hint: use a --limit "
            "between them, or a larger --max-depth")
    a, b = points[held - 1:held + 1]
    share = (limit.bound_ns - values[held - 1]) / (values[held] - values[held - 1])
    depth = between(a.depth, b.depth, share)
    whole = (math.floor(depth) - a.depth) / (b.depth - a.depth)
    return Capacity(between(a.iops, b.iops, share), depth, between(a.iops, b.iops, whole))


# ---- figures -----------------------------------------------------------------------------------


def ms(ns):
    return f"{ns / 1e6:.3g}"


def spread_percent(values):
    """Returns maximum minus minimum, in percent of the median."""
    return 100 * (max(values) - min(values)) / statistics.median(values)


def answer_row(label, answers, truth):
    """Returns a row of the table; `truth` is the sweep's median."""
    iops = [answer.iops for answer in answers]
    means = [answer.mean_ns for answer in answers if answer.mean_ns is not None]
    strays = sum(not answer.settled for answer in answers)
    cells = (
        label + (f" ({strays} of {len(answers)} came to no end)" if strays else ""),
        str(len(answers)),
        v.spread([answer.seconds for answer in answers]),
        v.spread(iops, v.iops_text),
        f"{spread_percent(iops):.2g} %",
        f"{100 * (statistics.median(iops) / truth - 1):+.2g} %",
        v.spread([answer.depth for answer in answers]),
        v.spread(means, ms) if means else "",
    )
    return f"| {' | '.join(cells)} |"


def answer_lines(answers):
    truth = statistics.median(answer.iops for answer in answers[SWEEP])
    yield "| | runs | seconds | IOPS | spread | off the sweep | depth | mean latency, ms |"
    yield "|---|---|---|---|---|---|---|---|"
    for label, rows in answers.items():
        yield answer_row(label, rows, truth)


def curve_lines(passes, limit):
    yield f"| depth | IOPS | {limit.text.split('<=')[0]}, ms |"
    yield "|---|---|---|"
    for points in zip(*passes, strict=True):
        iops = v.spread([point.iops for point in points], v.iops_text)
        yield f"| {points[0].depth} | {iops} | {v.spread([p.statistic_ns for p in points], ms)} |"


def judge(capacities, answers):
    """Returns a line for each goal, and the missed goals.

    A search answers with a whole queue depth, but a curve crosses its limit between two. So the sweep's own
    spread goes from the smallest IOPS at the next lower whole queue depth to the largest at the limit.
    """
    low = min(capacity.whole_iops for capacity in capacities)
    high = max(capacity.iops for capacity in capacities)
    found = statistics.median(answer.iops for answer in answers[IOGAUGE])
    seconds = {label: statistics.median(answer.seconds for answer in answers[label])
               for label in (SWEEP, IOGAUGE)}
    ratio = seconds[IOGAUGE] / seconds[SWEEP]
    goals = (
        (f"{IOGAUGE}, IOPS, within the sweep's own spread "
         f"{v.iops_text(low)}–{v.iops_text(high)}", low <= found <= high, v.iops_text(found)),
        (f"{IOGAUGE} / {SWEEP}, seconds, ≤ {TIME_RATIO_AT_MOST:g}",
         ratio <= TIME_RATIO_AT_MOST, f"{ratio:.3g}"),
    )
    lines = [f"- goal {words}: {'met' if met else 'MISSED'} ({got})" for words, met, got in goals]
    return lines, [f"{words} ({got})" for words, met, got in goals if not met]


# ---- main --------------------------------------------------------------------------------------


def say(words):
    print(words, file=sys.stderr, flush=True)


def sweep(path, options, downwards):
    """Runs one pass. Returns a point for each queue depth, in rising order, and the seconds it took."""
    begin, points = time.monotonic(), []
    for depth in sorted(options.depths, reverse=downwards):
        say(f"  depth {depth}")
        points.append(timed(sweep_command(path, depth, options), path.parent, options.seconds,
                            lambda text, _: sweep_point(text, depth, options.limit)))
    return sorted(points, key=lambda point: point.depth), time.monotonic() - begin


def contenders(path, options):
    """Yields label, command, maximum expected seconds and reader of each contender except the sweep."""
    yield IOGAUGE, find_command(path, options), options.budget or 60, find_answer
    seconds = TARGET_WINDOWS_AT_MOST * options.window
    for percentile in options.percentile:
        label = f"fio latency_target, {percentile:g} %"
        yield label, target_command(path, percentile, options), seconds, target_answer
        if options.latency_run:
            yield (f"{label}, latency_run",
                   target_command(path, percentile, options, options.latency_run),
                   options.latency_run, endless_answer)


def measure(path, options):
    """Returns the passes of the sweep, their capacities, and the answers by label."""
    passes, capacities = [], []
    others = list(contenders(path, options))
    answers = {SWEEP: [], **{label: [] for label, *_ in others}}
    for number in range(options.passes):
        say(f"pass {number + 1}/{options.passes}")
        points, seconds = sweep(path, options, number % 2 == 1)
        found = capacity(points, options.limit)
        passes.append(points)
        capacities.append(found)
        answers[SWEEP].append(Answer(seconds, found.iops, found.depth))
        rounds = range(options.repeats * number // options.passes,
                       options.repeats * (number + 1) // options.passes)
        for turn in rounds:
            first = turn % len(others)
            for label, command, at_most, read in others[first:] + others[:first]:
                say(f"  round {turn + 1}/{options.repeats}: {label}")
                answers[label].append(timed(command, path.parent, at_most, read))
    return passes, capacities, answers


def report(path, options, passes, capacities, answers):
    print(f"\n## {options.limit.text}, 4k random reads of a written file of {options.size} MiB\n")
    print(f"{options.passes} passes of {len(options.depths)} depths, {options.seconds} s each after "
          f"a ramp of {RAMP_SECONDS} s.\n")
    commands = [(SWEEP, sweep_command(path, options.depths[-1], options))]
    commands += [(label, command) for label, command, *_ in contenders(path, options)]
    for label, command in commands:
        words = [Path(command[0]).name, *command[1:]]
        print(f"- {label}: `{shlex.join(w.replace(str(path), path.name) for w in words)}`")
    print()
    print("\n".join(answer_lines(answers)))
    print()
    print("\n".join(curve_lines(passes, options.limit)))
    lines, missed = judge(capacities, answers)
    print()
    print("\n".join(lines), flush=True)
    return missed


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="versus_sweep.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--limit", type=Limit.parse, default="mean<=1ms", help="METRIC<=TIME (mean<=1ms)")
    add("--passes", type=int, default=5, help="passes of the sweep (5)")
    add("--repeats", type=int, default=10, help="runs of each other contender (10)")
    add("--seconds", type=int, default=20, help="seconds measured per depth of the sweep (20)")
    add("--max-depth", type=int, default=128, help="deepest of the sweep and of fio's search (128)")
    add("--budget", type=int, help="seconds of iogauge's budget (its own default)")
    add("--percentile", type=float, action="append",
        help="for latency_target; repeatable (the limit's, 50 for a mean)")
    add("--window", type=float, default=5,
        help="seconds of latency_window (5, as in fio's example latency-profile.fio)")
    add("--latency-run", type=int, default=0, metavar="SECONDS",
        help="run latency_target with latency_run for so long as well (not)")
    add("--dir", default="/var/tmp", help="where the file is made (/var/tmp)")
    add("--size", type=int, default=4096, metavar="MIB", help="size of the file (4096)")
    add("--assert", action="store_true", dest="hold_goals", help="end with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    least = min(options.passes, options.repeats, options.seconds, options.size)
    if least < 1 or options.window <= 0:
        parser.error("--passes, --repeats, --seconds and --size are at least 1, --window over 0")
    options.depths = [depth for depth in DEPTHS if depth <= options.max_depth]
    if len(options.depths) < 2:
        parser.error("--max-depth is at least 2")
    options.percentile = options.percentile or [options.limit.percentile or 50.0]
    return options


def run(options):
    with v.written_file("versus_sweep", options) as path:
        return report(path, options, *measure(path, options))


def main(arguments):
    options = parse_options(arguments)
    return v.ended("versus_sweep", options.hold_goals, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
