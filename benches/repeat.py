#!/usr/bin/env python3
"""The same search again and again on one disk: does it answer what it said the next one would?

Rounds of searches: one under a limit on the mean, one under a limit on a percentile, one in an open
loop, and fio's latency_target beside them. Each search says where the answer of the next one lies
(`pi95`). Over the rounds stand how often that was so, for the next search and for one an hour later,
and how far the answers spread beside what was stated. With --neighbour another fio reads a second
file of the same disk, on and off.

Every answer is saved as a line of JSON before the next search begins; --from reads such files, of one
disk, and measures nothing.

Environment: FIO (fio), IOGAUGE (target/release/iogauge).

Ends with 0 when everything ran, 1 when something did not or --assert found a goal missed.
"""

import argparse
import contextlib
import json
import math
import random
import statistics
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import versus_fio as v
import versus_sweep as s

LATENCY_TARGET = "fio latency_target"
CONTAINED_AT_LEAST = 90.0
RATIO = (0.6, 1.4)
HOUR_SECONDS = 3600
# Pairs that are an hour apart may be off by so much.
HOUR_SLACK_SECONDS = 300
# Answers further apart do not follow each other.
CONSECUTIVE_SECONDS = 600
NEIGHBOUR_DEPTH = 16


@dataclass(frozen=True)
class Answer:
    """One search: when it began (Unix time), what it answered, and where it said the next one would lie."""

    label: str
    at_seconds: float
    iops: float
    stopped_by: str
    pi95: tuple | None = None
    ci95: tuple | None = None


@dataclass(frozen=True)
class Search:
    """A limit, searched in a closed loop or in an open one."""

    limit: s.Limit
    open_loop: bool = False

    @property
    def label(self):
        return self.limit.text + (", open loop" if self.open_loop else "")

    def command(self, path, options):
        flags = ["--open-loop"] if self.open_loop else []
        return [v.iogauge_binary(), "find", str(path), *s.LOAD, f"--limit={self.limit.text}", *flags,
                f"--budget={options.budget}s", "--json", "--quiet", "--history=none"]


# ---- figures -----------------------------------------------------------------------------------


def read_answer(label, at_seconds, text):
    answer = json.loads(text)["answer"]
    pi95 = answer.get("pi95")
    return Answer(label, at_seconds, answer["iops"]["mean"], answer["stopped_by"],
                  tuple(pi95) if pi95 else None, tuple(answer["iops"]["ci95"]))


def contains(interval, value):
    return interval is not None and interval[0] <= value <= interval[1]


def consecutive(answers):
    return [(first, later) for first, later in zip(answers, answers[1:])
            if later.at_seconds - first.at_seconds <= CONSECUTIVE_SECONDS]


def hour_apart(answers):
    """Each answer with the first that began about an hour later."""
    pairs = []
    for index, first in enumerate(answers):
        for later in answers[index + 1:]:
            if abs(later.at_seconds - first.at_seconds - HOUR_SECONDS) <= HOUR_SLACK_SECONDS:
                pairs.append((first, later))
                break
    return pairs


def contained_percent(pairs):
    if not pairs:
        return math.nan
    return 100 * sum(contains(first.pi95, later.iops) for first, later in pairs) / len(pairs)


def stated(answers):
    """Median half width of the predictions, relative to the answers."""
    halves = [(a.pi95[1] - a.pi95[0]) / 2 / a.iops for a in answers if a.pi95]
    return statistics.median(halves) if halves else math.nan


def spread(pairs):
    """Half width of the 95 % interval of the next answer, as the pairs have it."""
    logs = [math.log(later.iops / first.iops) for first, later in pairs if first.iops and later.iops]
    if not logs:
        return math.nan
    return statistics.NormalDist().inv_cdf(0.975) * math.sqrt(statistics.mean(x * x for x in logs))


def ratio(answers):
    """Spread over what was stated, with the 95 % interval of a standard deviation of so many."""
    pairs = consecutive(answers)
    value = spread(pairs) / stated(answers) if answers and stated(answers) else math.nan
    factor = math.exp(1.96 / math.sqrt(2 * max(len(pairs), 1)))
    return value, value / factor, value * factor


# ---- report ------------------------------------------------------------------------------------


def percent(value):
    return "" if math.isnan(value) else f"{value:.0f} %"


def row(label, answers):
    iops = [answer.iops for answer in answers]
    pairs, hours = consecutive(answers), hour_apart(answers)
    value, low, high = ratio(answers)
    by_limit = sum(answer.stopped_by == "limit" for answer in answers)
    has_prediction = any(answer.pi95 for answer in answers)
    cells = (
        label,
        str(len(answers)),
        f"{v.spread(iops, v.iops_text)}",
        percent(100 * stated(answers)),
        percent(100 * spread(pairs)),
        f"{value:.2f} ({low:.2f}–{high:.2f})" if has_prediction else "",
        percent(contained_percent(pairs)) if has_prediction else "",
        f"{percent(contained_percent(hours))} of {len(hours)}" if has_prediction and hours else "",
        f"{by_limit} of {len(answers)}" if has_prediction else "",
    )
    return f"| {' | '.join(cells)} |"


def lines(by_label):
    yield ("| search | runs | IOPS | stated ± | next ± | next / stated | contains the next | "
           "contains one an hour later | ended by the limit |")
    yield "|---|---|---|---|---|---|---|---|---|"
    for label, answers in by_label.items():
        yield row(label, answers)


def missed(by_label):
    """Goals that were missed, of the searches that predict."""
    found = []
    for label, answers in by_label.items():
        if not any(answer.pi95 for answer in answers):
            continue
        contained = contained_percent(consecutive(answers))
        if not contained >= CONTAINED_AT_LEAST:
            found.append(f"{label}: {contained:.0f} % of the next answers lie in the prediction")
        value, _, _ = ratio(answers)
        if not RATIO[0] <= value <= RATIO[1]:
            found.append(f"{label}: the spread is {value:.2f} of what was stated")
    return found


# ---- measuring ---------------------------------------------------------------------------------


class Neighbour:
    """fio reading a file of its own, on and off for exponential times."""

    def __init__(self, path, mean_seconds):
        self.path, self.mean_seconds = path, mean_seconds
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def work(self):
        chance = random.Random(1)
        while not self.over.is_set():
            seconds = max(1, round(chance.expovariate(1 / self.mean_seconds)))
            command = s.fio(self.path, f"--iodepth={NEIGHBOUR_DEPTH}", f"--runtime={seconds}")
            process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.path.parent)
            while process.poll() is None and not self.over.wait(0.1):
                pass
            process.terminate()
            process.wait()
            self.over.wait(chance.expovariate(1 / self.mean_seconds))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def measure(path, options, save):
    """Answers by label, in rounds."""
    searches = [Search(limit) for limit in options.limit]
    searches += [Search(limit, open_loop=True) for limit in options.open_limit]
    by_label = {search.label: [] for search in searches}

    def keep(answer):
        by_label.setdefault(answer.label, []).append(answer)
        save.write(json.dumps(asdict(answer)) + "\n")
        save.flush()

    for number in range(options.rounds):
        s.say(f"round {number + 1}/{options.rounds}")
        for search in searches:
            at = time.time()
            keep(s.timed(search.command(path, options), path.parent, 2 * options.budget,
                         lambda text, _: read_answer(search.label, at, text)))
        if options.latency_target:
            limit = options.limit[0]
            asked = argparse.Namespace(limit=limit, max_depth=options.max_depth, window=1.0)
            command = s.target_command(path, limit.percentile or 50.0, asked)
            at = time.time()
            found = s.timed(command, path.parent, s.TARGET_WINDOWS_AT_MOST, s.target_answer)
            stopped_by = "limit" if found.settled else "budget"
            keep(Answer(f"{LATENCY_TARGET}, {limit.text}", at, found.iops, stopped_by))
    return by_label


def read_saved(paths):
    by_label = {}
    lines_of_all = [line for path in paths for line in Path(path).read_text().splitlines()]
    for fields in sorted(map(json.loads, lines_of_all), key=lambda fields: fields["at_seconds"]):
        for key in ("pi95", "ci95"):
            fields[key] = tuple(fields[key]) if fields[key] else None
        answer = Answer(**fields)
        by_label.setdefault(answer.label, []).append(answer)
    return by_label


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="repeat.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=40, help="searches of each kind (40)")
    add("--limit", type=s.Limit.parse, action="append",
        help="of a closed loop; repeatable (mean<=1ms and p99<=3ms)")
    add("--open-limit", type=s.Limit.parse, action="append",
        help="of an open loop; repeatable (p99<=3ms)")
    add("--budget", type=int, default=20, help="seconds of each search (20)")
    add("--max-depth", type=int, default=256, help="deepest of fio's search (256)")
    add("--no-latency-target", action="store_false", dest="latency_target",
        help="leave fio's latency_target out")
    add("--neighbour", type=float, metavar="SECONDS",
        help="another fio reads the same disk, on and off for so long on average")
    add("--save", default="repeat.jsonl", help="where answers are kept (repeat.jsonl)")
    add("--from", dest="saved", metavar="FILE", action="append",
        help="report on saved answers, and measure nothing; repeatable")
    add("--dir", default="/var/tmp", help="where the file is made (/var/tmp)")
    add("--size", type=int, default=4096, metavar="MIB", help="size of the file (4096)")
    add("--assert", action="store_true", dest="hold_goals", help="end with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.budget, options.size, options.max_depth) < 1:
        parser.error("--rounds, --budget, --size and --max-depth are at least 1")
    if options.neighbour is not None and options.neighbour <= 0:
        parser.error("--neighbour is above 0")
    options.limit = options.limit or [s.Limit.parse("mean<=1ms"), s.Limit.parse("p99<=3ms")]
    options.open_limit = options.open_limit or [s.Limit.parse("p99<=3ms")]
    return options


def run(options):
    if options.saved:
        by_label = read_saved(options.saved)
    else:
        with contextlib.ExitStack() as stack:
            save = stack.enter_context(open(options.save, "w", encoding="utf-8"))
            path = stack.enter_context(v.written_file("repeat", options))
            if options.neighbour:
                other = path.parent / "neighbour"
                v.make_real(other, options.size << 20)
                stack.enter_context(Neighbour(other, options.neighbour))
            by_label = measure(path, options, save)
    print("\n".join(lines(by_label)))
    goals = missed(by_label)
    for goal in goals:
        print(f"- MISSED {goal}")
    return goals


def main(arguments):
    options = parse_options(arguments)
    return v.ended("repeat", options.hold_goals, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
