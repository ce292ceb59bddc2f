#!/usr/bin/env python3
"""Compares `iogauge db` with the databases' own tools: what iogauge adds to the cost of the same statements.

Writes: transactions of 50 updates with 1 and with 4 workers, by `iogauge db run` and by the database's own
tool, on one database that is at rest before each run. Filling: `iogauge db create-globals` and the bulk
path alone, each into empty databases. The two sides alternate, and so does the one that goes first (ABBA),
so that a slowdown of the machine affects both.

A ratio compares the runs of one round. The report shows the median, minimum and maximum over the rounds,
and a verdict by the 95 % interval of the geometric mean: if the bound lies inside the interval, the noise
permits no verdict. The processor time per transaction is the difference to a run of one second, divided by
the difference in transactions, so that start and end do not count. If a run stalled and did no more
transactions than the short one, its round has no processor time. The column of rounds shows how many have
one.

Environment: IOGAUGE (target/release/iogauge), CARGO_TARGET_DIR, gtm_dist.

Exit code: 0 if everything ran, 1 if something did not.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import versus_db_backends as b
import versus_fio as v
from versus_db_gtm import Gtm
from versus_db_postgres import Postgres

BACKENDS = {backend.name: backend for backend in (b.Sqlite, b.Rocksdb, Postgres, Gtm)}
SIDES = ("iogauge", "own")
# What iogauge may cost.
WRITE_BOUND = 0.95  # least share of the own tool's transactions per second
FILL_BOUND = 1.2  # largest multiple of the bulk path's time


@dataclass(frozen=True)
class Sample:
    """One run of one side."""

    per_second: float
    client_us: float  # processor time per transaction; NaN if unknown
    server_us: float


@dataclass(frozen=True)
class Spent:
    """A run and its processor time."""

    written: b.Written
    client_s: float
    server_s: float

    def beyond(self, short):
        """Returns the cost per transaction beyond those of a short run."""
        more = self.written.transactions - short.written.transactions
        if more <= 0:
            return Sample(self.written.per_second, math.nan, math.nan)
        return Sample(self.written.per_second,
                      max(0.0, self.client_s - short.client_s) / more * 1e6,
                      max(0.0, self.server_s - short.server_s) / more * 1e6)


# ---- runs --------------------------------------------------------------------------------------


def turns(round_number):
    """Returns the sides in the order of a round. The one that goes first alternates."""
    return SIDES if round_number % 2 == 0 else SIDES[::-1]


def told(text):
    print(text, file=sys.stderr, flush=True)


def write_once(database, side, asked):
    database.rest(asked)
    act = database.write_by_iogauge if side == "iogauge" else database.write_by_own
    client, server = v.children_cpu_seconds(), database.server_cpu_seconds()
    written = act(asked)
    return Spent(written, v.children_cpu_seconds() - client, database.server_cpu_seconds() - server)


def write_all(database, options):
    """Runs the writes, and returns the samples of each side for each number of workers."""
    database.make(max(b.WORKERS), options.subscripts)
    results = {}
    for workers in options.workers:
        short = b.Asked(workers, options.subscripts, 0, 1000)
        asked = b.Asked(workers, options.subscripts, b.RAMP_SECONDS * 1000, options.seconds * 1000)
        starts = {side: write_once(database, side, short) for side in SIDES}
        samples = results[workers] = {side: [] for side in SIDES}
        for number in range(options.rounds):
            told(f"{database.name}: {workers} workers, round {number + 1}/{options.rounds}")
            for side in turns(number):
                spent = write_once(database, side, asked)
                samples[side].append(spent.beyond(starts[side]))
    database.purge()
    return results


def fill_all(database, options):
    """Runs the fills, and returns the seconds of each side."""
    database.before_fill(options.globals, options.fill_subscripts)
    seconds = {side: [] for side in SIDES}
    for number in range(options.fill_rounds):
        for side in turns(number):
            told(f"{database.name}: filling by {side}, round {number + 1}/{options.fill_rounds}")
            database.empty(side)
            # Earlier writes in the page cache must not count for either side.
            os.sync()
            fill = database.fill_by_iogauge if side == "iogauge" else database.fill_by_own
            begin = time.monotonic()
            fill(options.globals, options.fill_subscripts)
            seconds[side].append(time.monotonic() - begin)
            database.emptied(side)
    return seconds


# ---- figures -----------------------------------------------------------------------------------


def write_verdict(ratio):
    if ratio.low >= WRITE_BOUND:
        return "within 5 %"
    return "slower than 5 %" if ratio.high < WRITE_BOUND else "cannot tell"


def fill_verdict(ratio):
    if ratio.high <= FILL_BOUND:
        return "within 1.2"
    return "slower than 1.2" if ratio.low > FILL_BOUND else "cannot tell"


def cpu_verdict(ratio):
    if ratio.high <= 1 / WRITE_BOUND:
        return "within 5 %"
    return "more than 5 %" if ratio.low > 1 / WRITE_BOUND else "cannot tell"


def ratio_text(ratio):
    return f"{ratio.median:.3f} ({ratio.least:.3f}–{ratio.most:.3f})"


def over(samples, figure):
    """Returns the ratio of iogauge's figure to the own tool's over the rounds."""
    pairs = zip(samples["iogauge"], samples["own"], strict=True)
    return v.Ratio.of([figure(ours) / figure(own) for ours, own in pairs])


def with_cpu(samples):
    """Returns the samples of the rounds in which both sides have processor times."""
    both = zip(samples["iogauge"], samples["own"], strict=True)
    kept = [pair for pair in both if not any(math.isnan(cpu(sample)) for sample in pair)]
    return {side: [pair[index] for pair in kept] for index, side in enumerate(SIDES)}


def cpu(sample):
    return sample.client_us + sample.server_us


def columns(samples, figure, text):
    """Returns a figure's spread on each side."""
    return [v.spread([figure(sample) for sample in samples[side]], text) for side in SIDES]


def rate_line(name, workers, samples):
    ratio = over(samples, lambda sample: sample.per_second)
    cells = (name, str(workers), *columns(samples, lambda s: s.per_second, v.iops_text),
             ratio_text(ratio), write_verdict(ratio))
    return f"| {' | '.join(cells)} |"


def cpu_line(name, workers, samples):
    kept, rounds = with_cpu(samples), len(samples["own"])
    head = (name, str(workers), f"{len(kept['own'])} of {rounds}")
    if not kept["own"]:
        return f"| {' | '.join((*head, *[''] * 5, 'cannot tell'))} |"
    client, server = (columns(kept, figure, lambda us: f"{us:.0f}")
                      for figure in (lambda s: s.client_us, lambda s: s.server_us))
    if not any(sample.server_us for side in SIDES for sample in kept[side]):
        server = ["", ""]
    ratio = over(kept, cpu)
    return f"| {' | '.join((*head, *client, *server, ratio_text(ratio), cpu_verdict(ratio)))} |"


def report_writes(results):
    rows = [(name, workers, samples) for name, found in results.items()
            for workers, samples in found.items()]
    print("| database | workers | transactions/s, iogauge | own tool | ratio | verdict |")
    print("|---|---|---|---|---|---|")
    print("\n".join(rate_line(*row) for row in rows))
    print("\n| database | workers | rounds | client µs, iogauge | own tool | server µs, iogauge | "
          "own tool | ratio of both | verdict |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(cpu_line(*row) for row in rows), flush=True)


def fill_line(name, own, seconds):
    ratio = v.Ratio.of([a / c for a, c in zip(seconds["iogauge"], seconds["own"], strict=True)])
    cells = (name, own, *(v.spread(seconds[side]) for side in SIDES), ratio_text(ratio),
             fill_verdict(ratio))
    return f"| {' | '.join(cells)} |"


def report_fills(results):
    print("| database | alone by | seconds, iogauge | alone | ratio | verdict |")
    print("|---|---|---|---|---|---|")
    for name, seconds in results.items():
        print(fill_line(name, BACKENDS[name].own, seconds), flush=True)


# ---- main --------------------------------------------------------------------------------------


def present(options):
    """Yields the backends that are usable here. One that was requested by name must be."""
    for name in options.backends or BACKENDS:
        why = BACKENDS[name].absent()
        if why is None:
            yield BACKENDS[name]
        elif options.backends:
            raise v.CannotRun(f"{name}: {why}")
        else:
            print(f"- {name} is left out: {why}", flush=True)


def run(options):
    with tempfile.TemporaryDirectory(prefix="versus_db.", dir=options.directory) as name:
        # A server runs as another user, who needs access.
        os.chmod(name, 0o755)
        os.environ["XDG_DATA_HOME"] = str(Path(name) / "data")
        print("## Machine\n")
        print("\n".join(v.machine_lines(name, with_fio=False)), flush=True)
        backends = list(present(options))
        writes, fills = {}, {}
        for backend in backends:
            database = backend(Path(name))
            try:
                if options.only != "fill":
                    writes[backend.name] = write_all(database, options)
                if options.only != "write":
                    fills[backend.name] = fill_all(database, options)
            finally:
                database.end()
        if writes:
            print(f"\n## Transactions of {b.LENGTH} updates, {options.subscripts} subscripts in each "
                  f"global; {options.rounds} rounds of {options.seconds} s\n")
            report_writes(writes)
        if fills:
            print(f"\n## Filling {options.globals} globals of {options.fill_subscripts} subscripts; "
                  f"{options.fill_rounds} rounds\n")
            report_fills(fills)
        return []


def names(text):
    known = text.split(",")
    strange = [name for name in known if name not in BACKENDS]
    if strange:
        raise argparse.ArgumentTypeError(f"{strange[0]} is none of {', '.join(BACKENDS)}")
    return known


def numbers(text):
    found = [int(word) for word in text.split(",")]
    if not all(1 <= number <= max(b.WORKERS) for number in found):
        raise argparse.ArgumentTypeError(f"hint: use 1 to {max(b.WORKERS)}")
    return found


def parse_options(arguments):
    parser = argparse.ArgumentParser(prog="versus_db.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--backends", type=names, metavar="LIST",
        help=f"those measured ({','.join(BACKENDS)}, as far as they are here)")
    add("--rounds", type=int, default=6, help="rounds of writes (6)")
    add("--seconds", type=int, default=3, help="seconds measured each (3)")
    add("--directory", default="/var/tmp", help="where databases are made (/var/tmp)")
    add("--workers", type=numbers, default=b.WORKERS, metavar="LIST", help="workers (1,4)")
    add("--subscripts", type=int, default=100_000, help="of each global that is updated (100000)")
    add("--globals", type=int, default=10, help="globals filled (10)")
    add("--fill-subscripts", type=int, default=1_000_000, help="of each global filled (1000000)")
    add("--fill-rounds", type=int, default=4, help="rounds of fills (4)")
    add("--only", choices=("write", "fill"), help="one of the two parts")
    options = parser.parse_args(arguments)
    for key in ("rounds", "seconds", "subscripts", "globals", "fill_subscripts", "fill_rounds"):
        if getattr(options, key) < 1:
            parser.error(f"--{key.replace('_', '-')} is at least 1")
    return options


def main(arguments):
    options = parse_options(arguments)
    return v.ended("versus_db", False, lambda: run(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
