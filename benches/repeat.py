#!/usr/bin/env python3
"""Repeats a search on one disk, and checks whether each answer lies where the previous one predicted.

A round consists of several consecutive searches with a limit on the mean, as many with a limit on a
percentile, as many in an open loop, and as many with fio's latency_target. Each search of iogauge
predicts the answer of the next one (`pi95`). The report shows how often the prediction was right, for
the next search and for one an hour later, and compares the spread of the answers with the predicted
one. With --neighbour, another fio reads a second file of the same disk, on and off.

A search without an answer is counted but not compared. A search that finds the limit unattainable
contradicts the prediction before it.

Every answer is saved as a line of JSON before the next search begins. --from reads such files, which
must be of one disk, and measures nothing.

Environment: FIO (fio), IOGAUGE (target/release/iogauge).

Exit code: 0 if everything ran, 1 if something did not or if --assert found a goal missed.
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
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import versus_fio as v
import versus_sweep as s

LATENCY_TARGET = "fio latency_target"
CONTAINED_AT_LEAST = 90.0
RATIO = (0.6, 1.4)
# Answers whose distance is in this range count as an hour apart.
HOUR_SECONDS = (3300, 5400)
# Two searches of a kind count as consecutive if they begin at most this many times as far apart as the
# closest two.
FOLLOWS = 2.0
# Exit codes of searches without an answer, beside 0, and their values of `stopped_by`.
NO_ANSWER = (4, 5, 7)
UNATTAINABLE = "unattainable"
UNDECIDED = ("undecided", "starved", "interrupted")
NEIGHBOUR_DEPTH = 16


@dataclass(frozen=True)
class Answer:
    """One search: when it began (Unix time), its answer, and its prediction of the next one."""

    label: str
    at_seconds: float
    iops: float
    stopped_by: str
    pi95: tuple | None = None
    ci95: tuple | None = None
    # True if the limit holds at the answer. Otherwise it does not count as an answer.
    met: bool = True
    # Mean seconds of each read phase of another fio on the disk, if there was one.
    neighbour: float | None = None

    @property
    def is_told(self):
        keeps = self.met and self.iops > 0 and self.stopped_by not in UNDECIDED
        return keeps or self.stopped_by == UNATTAINABLE

    @property
    def kind(self):
        return self.label + (", with a neighbour" if self.neighbour else "")


@dataclass(frozen=True)
class Search:
    """A limit, and whether it is searched in an open loop."""

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
                  tuple(pi95) if pi95 else None, tuple(answer["iops"]["ci95"]), answer["met"])


def holds(first, later):
    """Returns True if the first answer predicts the later one."""
    return (first.pi95 is not None and later.stopped_by != UNATTAINABLE
            and first.pi95[0] <= later.iops <= first.pi95[1])


def lag(pair):
    return pair[1].at_seconds - pair[0].at_seconds


def consecutive(answers):
    """Returns each answer with the next one, if both searches had an answer."""
    pairs = list(zip(answers, answers[1:]))
    least = min(map(lag, pairs), default=0)
    return [pair for pair in pairs
            if lag(pair) <= FOLLOWS * least and pair[0].is_told and pair[1].is_told]


def hour_apart(answers):
    """Returns each answer with the first one that began about an hour later."""
    pairs, (least, most) = [], HOUR_SECONDS
    answers = [answer for answer in answers if answer.is_told]
    for index, first in enumerate(answers):
        for later in answers[index + 1:]:
            if least <= later.at_seconds - first.at_seconds <= most:
                pairs.append((first, later))
                break
    return pairs


def contained_percent(pairs):
    if not pairs:
        return math.nan
    return 100 * sum(holds(*pair) for pair in pairs) / len(pairs)


def stated(answers):
    """Returns the median half width of the predictions, in logarithms like `spread`: 0.1 is about ± 10 %, 1 is a
    factor of 2.7 either way."""
    def half(low, high):
        return math.log(high / low) / 2 if low > 0 else math.inf

    halves = [half(*answer.pi95) for answer in answers if answer.pi95 and answer.is_told]
    return statistics.median(halves) if halves else math.nan


def spread(pairs):
    """Returns the half width of the 95 % interval of the next answer according to the pairs, in logarithms."""
    logs = [math.log(later.iops / first.iops) for first, later in pairs]
    if not logs:
        return math.nan
    return statistics.NormalDist().inv_cdf(0.975) * math.sqrt(statistics.mean(x * x for x in logs))


def ratio(answers):
    """Returns the ratio of the spread to the predicted one, with its 95 % interval, which is that of the root of
    a mean square successive difference (J. von Neumann, Ann. Math. Statist. 12 (1941) 367-395)."""
    pairs = consecutive(answers)
    value = spread(pairs) / stated(answers) if answers and stated(answers) else math.nan
    factor = math.exp(1.96 * math.sqrt(3 / (4 * max(len(pairs), 1))))
    return value, value / factor, value * factor


# ---- report ------------------------------------------------------------------------------------


def percent(value):
    return "" if math.isnan(value) else f"{value:.0f} %"


def row(kind, answers):
    runs, answers = answers, [answer for answer in answers if answer.is_told]
    iops = [answer.iops for answer in answers] or [0.0]
    pairs, hours = consecutive(runs), hour_apart(answers)
    value, low, high = ratio(runs)
    by_limit = sum(answer.stopped_by == "limit" for answer in answers)
    has_prediction = any(answer.pi95 for answer in answers)
    cells = (
        kind,
        str(len(runs)) if len(runs) == len(answers) else f"{len(answers)} of {len(runs)}",
        f"{v.spread(iops, v.iops_text)}",
        percent(100 * stated(answers)),
        percent(100 * spread(pairs)),
        f"{value:.2f} ({low:.2f}–{high:.2f})" if has_prediction else "",
        f"{percent(contained_percent(pairs))} of {len(pairs)}" if has_prediction and pairs else "",
        f"{statistics.median(map(lag, pairs)):.0f} s" if has_prediction and pairs else "",
        f"{percent(contained_percent(hours))} of {len(hours)}" if has_prediction and hours else "",
        f"{by_limit} of {len(answers)}" if has_prediction else "",
    )
    return f"| {' | '.join(cells)} |"


def lines(by_kind):
    yield ("| search | answers | IOPS | stated ± | next ± | next / stated | contains the next | "
           "which begins after | contains one an hour later | ended by the limit |")
    yield "|---|---|---|---|---|---|---|---|---|---|"
    for kind, answers in by_kind.items():
        yield row(kind, answers)


def missed(by_kind):
    """Returns the missed goals of the searches that predict."""
    found = []
    for kind, answers in by_kind.items():
        if not any(answer.pi95 for answer in answers):
            continue
        contained = contained_percent(consecutive(answers))
        if not contained >= CONTAINED_AT_LEAST:
            found.append(f"{kind}: {contained:.0f} % of the next answers lie in the prediction")
        value, _, _ = ratio(answers)
        if not RATIO[0] <= value <= RATIO[1]:
            found.append(f"{kind}: the spread is {value:.2f} of what was stated")
    return found


# ---- measuring ---------------------------------------------------------------------------------


class Neighbour:
    """Another fio that reads its own file, on and off for exponentially distributed times."""

    def __init__(self, path, mean_seconds):
        self.path, self.mean_seconds = path, mean_seconds
        self.over = threading.Event()
        self.failed = None
        self.thread = threading.Thread(target=self.work)

    def work(self):
        chance = random.Random(1)
        while not self.over.is_set():
            seconds = max(1, round(chance.expovariate(1 / self.mean_seconds)))
            command = s.fio(self.path, f"--iodepth={NEIGHBOUR_DEPTH}", f"--runtime={seconds}")
            try:
                process = subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=self.path.parent)
            except OSError as error:
                self.failed = str(error)
                return
            while process.poll() is None and not self.over.wait(0.1):
                pass
            if process.poll():
                self.failed = f"exit {process.returncode}"
                return
            process.terminate()
            process.wait()
            self.over.wait(chance.expovariate(1 / self.mean_seconds))

    def check(self):
        if self.failed:
            raise v.CannotRun(f"the neighbour: {self.failed}")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


def search_once(search, path, options):
    at = time.time()

    def read(text, _):
        if options.results:
            (Path(options.results) / f"{at:.0f}.json").write_text(text)
        return replace(read_answer(search.label, at, text), neighbour=options.neighbour)

    command = search.command(path, options)
    return s.timed(command, path.parent, 2 * options.budget, read, (0, *NO_ANSWER))


def latency_target(path, options):
    limit = options.limit[0]
    asked = argparse.Namespace(limit=limit, max_depth=options.max_depth, window=1.0)
    command = s.target_command(path, limit.percentile or 50.0, asked)
    at = time.time()
    found = s.timed(command, path.parent, s.TARGET_WINDOWS_AT_MOST, s.target_answer)
    stopped_by = "limit" if found.settled else "budget"
    return Answer(f"{LATENCY_TARGET}, {limit.text}", at, found.iops, stopped_by,
                  neighbour=options.neighbour)


def measure(path, options, save, neighbour):
    """Runs the rounds, and returns the answers by kind."""
    searches = [Search(limit) for limit in options.limit]
    searches += [Search(limit, open_loop=True) for limit in options.open_limit]
    by_kind = {}

    def keep(answer):
        if neighbour:
            neighbour.check()
        by_kind.setdefault(answer.kind, []).append(answer)
        save.write(json.dumps(asdict(answer)) + "\n")
        save.flush()

    for number in range(options.rounds):
        s.say(f"round {number + 1}/{options.rounds}")
        for search in searches:
            for _ in range(options.in_a_row):
                keep(search_once(search, path, options))
        for _ in range(options.in_a_row if options.latency_target else 0):
            keep(latency_target(path, options))
    return by_kind


def read_saved(paths):
    by_kind = {}
    lines_of_all = [line for path in paths for line in Path(path).read_text().splitlines()]
    for fields in sorted(map(json.loads, lines_of_all), key=lambda fields: fields["at_seconds"]):
        for key in ("pi95", "ci95"):
            fields[key] = tuple(fields[key]) if fields[key] else None
        answer = Answer(**fields)
        by_kind.setdefault(answer.kind, []).append(answer)
    return by_kind


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="repeat.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--rounds", type=int, default=4, help="how often each kind has its turn (4)")
    add("--in-a-row", type=int, default=10, metavar="N",
        help="searches of a kind, one right after the other (10)")
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
    add("--results", metavar="DIR", help="keep the whole result of each search here, too")
    add("--from", dest="saved", metavar="FILE", action="append",
        help="report on saved answers, and measure nothing; repeatable")
    add("--dir", default="/var/tmp", help="where the file is made (/var/tmp)")
    add("--size", type=int, default=4096, metavar="MIB", help="size of the file (4096)")
    add("--assert", action="store_true", dest="hold_goals", help="end with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    if min(options.rounds, options.in_a_row, options.budget, options.size, options.max_depth) < 1:
        parser.error("--rounds, --in-a-row, --budget, --size and --max-depth are at least 1")
    if options.neighbour is not None and options.neighbour <= 0:
        parser.error("--neighbour is above 0")
    options.limit = options.limit or [s.Limit.parse("mean<=1ms"), s.Limit.parse("p99<=3ms")]
    options.open_limit = options.open_limit or [s.Limit.parse("p99<=3ms")]
    return options


def run(options):
    if options.saved:
        by_kind = read_saved(options.saved)
    else:
        with contextlib.ExitStack() as stack:
            save = stack.enter_context(open(options.save, "w", encoding="utf-8"))
            if options.results:
                Path(options.results).mkdir(parents=True, exist_ok=True)
            path = stack.enter_context(v.written_file("repeat", options))
            neighbour = None
            if options.neighbour:
                other = path.parent / "neighbour"
                v.make_real(other, options.size << 20)
                neighbour = stack.enter_context(Neighbour(other, options.neighbour))
            by_kind = measure(path, options, save, neighbour)
    print("\n".join(lines(by_kind)))
    goals = missed(by_kind)
    for goal in goals:
        print(f"- MISSED {goal}")
    return goals


def main(arguments):
    options = parse_options(arguments)
    return v.ended("repeat", options.hold_goals, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
