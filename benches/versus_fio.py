#!/usr/bin/env python3
"""Compares iogauge with fio: the same file and workload, interleaved rounds, ratios within each round.

Every round runs all contenders of a case once, and the one that goes first rotates, so that a slowdown
of the machine affects all. A ratio compares figures of one round. The report shows the median, minimum
and maximum over the rounds, and the geometric mean with its 95 % interval. A disk's own rate varies from
second to second, so cases on the real disk have eight times as many rounds, of one second each.

Environment: FIO (fio), IOGAUGE (target/release/iogauge), T_IO_URING (fio's t/io_uring; left out if
not set).

Exit code: 0 if everything ran, 1 if something did not or if --assert found a goal missed.
"""

import argparse
import json
import math
import os
import platform
import re
import resource
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

RAMP_SECONDS = 1
# Rounds on the real disk for each round of other cases.
REAL_ROUNDS = 8
REAL_SECONDS = 1
SPARSE_BYTES = 4 << 30
REPOSITORY = Path(__file__).resolve().parent.parent


class CannotRun(Exception):
    """A contender, or something that it needs, did not work."""


@dataclass(frozen=True)
class Sample:
    """The result of one run of one contender."""

    iops: float
    cpu_us_per_io: float
    depth: float  # time average of I/Os outstanding


@dataclass(frozen=True)
class Contender:
    """A program with its flags."""

    label: str
    program: str  # a key of PROGRAMS
    flags: tuple = ()


@dataclass(frozen=True)
class Goal:
    """A bound on the ratio of one contender's figure to another's.

    `at_least` and `at_most` bound the median. `no_lower` requires that the interval of the mean reaches 1:
    within the noise, the figure is no lower than the other's.
    """

    contender: str
    versus: str
    figure: str  # a field of Sample
    at_least: float | None = None
    at_most: float | None = None
    no_lower: bool = False

    def words(self):
        if self.no_lower:
            return "interval reaches 1"
        return f"≥ {self.at_least:g}" if self.at_most is None else f"≤ {self.at_most:g}"

    def is_met(self, ratio):
        if self.no_lower:
            return ratio.high >= 1.0
        if self.at_most is None:
            return ratio.median >= self.at_least
        return ratio.median <= self.at_most


@dataclass(frozen=True)
class Ratio:
    """A ratio over the rounds: median, extremes, geometric mean and its 95 % interval."""

    median: float
    least: float
    most: float
    mean: float
    low: float
    high: float

    @staticmethod
    def of(values):
        logs = [math.log(value) for value in values]
        mean, half = statistics.mean(logs), math.inf
        if len(logs) > 1:
            half = student_t(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
        return Ratio(statistics.median(values), min(values), max(values), math.exp(mean),
                     math.exp(mean - half), math.exp(mean + half))


def student_t(degrees):
    """Returns the 97.5 % quantile by the Cornish-Fisher expansion, whose error is at most 1 % from 3 degrees of freedom
    on."""
    exact = {1: 12.706, 2: 4.303}
    if degrees in exact:
        return exact[degrees]
    z, n = statistics.NormalDist().inv_cdf(0.975), degrees
    return (z + (z**3 + z) / (4 * n) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
            + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3))


@dataclass(frozen=True)
class Case:
    """A workload and the contenders that run it."""

    name: str
    title: str
    target: str  # "sparse" or "real"
    engine: str
    depth: int
    contenders: tuple
    goals: tuple = ()
    harness_ns_at_most: float = 0.0
    rw: str = "randread"

    def rounds(self, asked):
        return asked * REAL_ROUNDS if self.target == "real" else asked

    def seconds(self, asked):
        return REAL_SECONDS if self.target == "real" else asked


# ---- programs: how each is called and read ---------------------------------------------------


def common_flags(case, seconds):
    """Returns flags that have the same meaning in fio and iogauge."""
    return [
        f"--ioengine={case.engine}",
        f"--rw={case.rw}",
        "--bs=4k",
        "--direct=1",
        f"--iodepth={case.depth}",
        f"--runtime={seconds}",
        f"--ramp_time={RAMP_SECONDS}",
    ]


def fio_command(case, contender, path, seconds):
    return [
        os.environ.get("FIO", "fio"),
        "--name=versus",
        f"--filename={path}",
        f"--size={path.stat().st_size}",
        "--time_based",
        *common_flags(case, seconds),
        *contender.flags,
        "--output-format=json",
    ]


def fio_job(text):
    """Returns the first job of fio's document. Fails if it had an error."""
    # fio may print notes before the document.
    job = json.loads(text[text.index("{"):])["jobs"][0]
    if job["error"]:
        raise CannotRun(f"fio reports error {job['error']}")
    return job


def fio_sample(text, _run):
    job = fio_job(text)
    directions = [job[word] for word in ("read", "write") if word in job]
    iops = sum(direction["iops"] for direction in directions)
    return Sample(
        iops=iops,
        cpu_us_per_io=(job["usr_cpu"] + job["sys_cpu"]) / 100 * 1e6 / iops,
        # By Little's law from `lat`, because fio's own queue depth distribution has only powers of two.
        depth=sum(d["iops"] * d["lat_ns"]["mean"] for d in directions) / 1e9,
    )


def iogauge_binary():
    target = os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target")
    return os.environ.get("IOGAUGE", str(Path(target) / "release" / "iogauge"))


def iogauge_command(case, contender, path, seconds):
    return [
        iogauge_binary(),
        "run",
        str(path),
        *common_flags(case, seconds),
        *contender.flags,
        "--json",
        "--quiet",
        "--history=none",
    ]


def iogauge_sample(text, _run):
    step = json.loads(text)["steps"][0]
    directions = [step[word] for word in ("read", "write") if step.get(word)]
    errors = sum(direction["errors"] for direction in directions)
    if errors:
        raise CannotRun(f"iogauge counted {errors} I/O errors")
    return Sample(
        iops=sum(direction["iops"]["mean"] for direction in directions),
        cpu_us_per_io=step["cpu"]["ns_per_io"] / 1000,
        depth=step["depth_achieved"],
    )


def t_io_uring_command(_case, contender, path, seconds):
    # t/io_uring prints a line for each second except the last.
    runtime = f"-r{seconds + RAMP_SECONDS + 1}"
    return [os.environ["T_IO_URING"], *contender.flags, runtime, str(path)]


def t_io_uring_sample(text, run):
    figures = re.findall(r"^IOPS=([\d.]+)([KM]?)", text, re.MULTILINE)
    scale = {"": 1.0, "K": 1e3, "M": 1e6}
    rates = [float(number) * scale[unit] for number, unit in figures]
    if len(rates) < 2:
        raise CannotRun(f"t/io_uring printed {len(rates)} IOPS lines, at least 2 are needed")
    iops = statistics.mean(rates[1:])  # the first second is the ramp
    depth = next(int(flag[2:]) for flag in run.flags if flag.startswith("-d"))
    cpu_us = run.cpu_seconds * 1e6 / (statistics.mean(rates) * (len(rates) + 1))
    return Sample(iops=iops, cpu_us_per_io=cpu_us, depth=float(depth))


PROGRAMS = {
    "fio": (fio_command, fio_sample),
    "iogauge": (iogauge_command, iogauge_sample),
    "t/io_uring": (t_io_uring_command, t_io_uring_sample),
}


@dataclass(frozen=True)
class Run:
    """Facts about a finished process besides its output."""

    flags: tuple
    cpu_seconds: float


def children_cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def output_of(command, directory, timeout, exits=(0,)):
    """Returns a command's stdout. The command must end in time, with one of these exit codes."""
    try:
        done = subprocess.run(
            command,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=timeout,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{shlex.join(command)}: {error}") from error
    if done.returncode not in exits:
        words = (done.stderr or done.stdout).strip().splitlines()[-5:]
        raise CannotRun(f"{shlex.join(command)}: exit {done.returncode}: {' | '.join(words)}")
    return done.stdout


def measure(case, contender, path, seconds):
    """Runs a contender once, and returns its sample."""
    build, read = PROGRAMS[contender.program]
    command = build(case, contender, path, seconds)
    cpu_before = children_cpu_seconds()
    output = output_of(command, path.parent, 60 + 3 * (seconds + RAMP_SECONDS))
    run = Run(contender.flags, children_cpu_seconds() - cpu_before)
    try:
        return read(output, run)
    except (ValueError, KeyError, IndexError, TypeError, ZeroDivisionError) as error:
        raise CannotRun(f"{shlex.join(command)}: output not understood: {error!r}") from error


# ---- cases -------------------------------------------------------------------------------------

# The cheapest offsets that fio can generate.
CHEAP_OFFSETS = ("--norandommap", "--random_generator=tausworthe64")
# Everything fio can register with the kernel.
REGISTERED = ("--fixedbufs=1", "--registerfiles=1", "--nonvectored=1")


def batch_flags(submit, least, most):
    return (
        f"--iodepth_batch_submit={submit}",
        f"--iodepth_batch_complete_min={least}",
        f"--iodepth_batch_complete_max={most}",
    )


TUNED_AND_BATCHED, BATCHED = "fio tuned and batched", "iogauge batched"


def bare_loop(depth, submit, reap):
    """Returns fio's t/io_uring, which records no latencies, as a contender."""
    flags = (f"-d{depth}", f"-s{submit}", f"-c{reap}", "-b4096", "-p0", "-B1", "-F1", "-X1", "-R1",
             "-n1")
    return Contender("t/io_uring", "t/io_uring", flags)


def ring_case(name, title, target, depth, batch, goals):
    """Returns a case with io_uring at one queue depth; `batch` is (submit, complete_min, complete_max) or None."""
    batches = batch_flags(*batch) if batch else ()
    tuned = TUNED_AND_BATCHED if batch else "fio tuned"
    contenders = [
        Contender("fio defaults", "fio"),
        Contender(tuned, "fio", REGISTERED + CHEAP_OFFSETS + batches),
        Contender("iogauge", "iogauge"),
    ]
    if batch:
        contenders.append(Contender(BATCHED, "iogauge", batches))
    if "T_IO_URING" in os.environ:
        submit, reap = batch[:2] if batch else (1, 1)
        contenders.append(bare_loop(depth, submit, reap))
    labels = {contender.label for contender in contenders}
    return Case(
        name=name,
        title=title,
        target=target,
        engine="io_uring",
        depth=depth,
        contenders=tuple(contenders),
        goals=tuple(goal for goal in goals if goal.versus in labels),
    )


def faster(contender, versus, ratio):
    return Goal(contender, versus, "iops", at_least=ratio)


def null_case(depth):
    """Returns a case without I/O, which measures the tools themselves."""
    return Case(f"harness-{depth}", f"no I/O at all, full accounting, one thread, depth {depth}",
                "sparse", "null", depth,
                (Contender("fio defaults", "fio"), Contender("fio tuned", "fio", CHEAP_OFFSETS),
                 Contender("iogauge", "iogauge")),
                (Goal("iogauge", "fio defaults", "cpu_us_per_io", at_most=0.29),),
                harness_ns_at_most=40.0 if depth > 1 else 0.0)


def cases():
    sparse = "4k random reads of a sparse file's holes, O_DIRECT, io_uring, one thread"
    real = "4k random reads of a written file, O_DIRECT, io_uring, one thread"
    return [
        ring_case("sparse-1", f"{sparse}, depth 1", "sparse", 1, None,
                  [faster("iogauge", "fio defaults", 2.0),
                   faster("iogauge", "t/io_uring", 0.93)]),
        ring_case("sparse-32", f"{sparse}, depth 32", "sparse", 32, (16, 8, 32),
                  [faster("iogauge", "fio defaults", 3.0),
                   faster(BATCHED, TUNED_AND_BATCHED, 1.25),
                   faster(BATCHED, "t/io_uring", 0.93)]),
        ring_case("sparse-128", f"{sparse}, depth 128", "sparse", 128, (32, 16, 128), []),
        Case("psync", "4k random reads of a sparse file's holes, O_DIRECT, psync, one thread",
             "sparse", "psync", 1,
             (Contender("fio defaults", "fio"), Contender("fio tuned", "fio", CHEAP_OFFSETS),
              Contender("iogauge", "iogauge")),
             (faster("iogauge", "fio defaults", 1.1),)),
        null_case(1),
        null_case(32),
        ring_case("real-32", f"{real}, depth 32", "real", 32, (16, 8, 32),
                  [Goal("iogauge", "fio defaults", "iops", no_lower=True),
                   # fio's is by Little's law, which excludes the time between an I/O and the next.
                   Goal("iogauge", "fio defaults", "depth", at_least=0.99),
                   Goal("iogauge", "fio defaults", "cpu_us_per_io", at_most=0.8),
                   Goal(BATCHED, TUNED_AND_BATCHED, "iops", no_lower=True),
                   Goal(BATCHED, TUNED_AND_BATCHED, "cpu_us_per_io", at_most=1.0)]),
    ]


# ---- figures -----------------------------------------------------------------------------------


def iops_text(iops):
    for bound, unit, factor in ((1e6, "M", 1e6), (1e3, "k", 1e3)):
        if iops >= bound:
            return f"{iops / factor:.4g}{unit}"
    return f"{iops:.0f}"


def spread(values, text=lambda value: f"{value:.3g}"):
    """Returns the median with minimum and maximum, like `1.9M (1.8M–2.0M)`."""
    middle = text(statistics.median(values))
    return f"{middle} ({text(min(values))}–{text(max(values))})"


def ns_text(rows):
    """Returns the wall time per I/O in the median round."""
    ns = 1e9 / statistics.median(row.iops for row in rows)
    return f"{ns:.1f}" if ns < 1000 else f"{ns:.0f}"


def ratios(samples, contender, versus, figure="iops"):
    """Returns the ratio of one contender's figure to another's in each round."""
    pairs = zip(samples[contender], samples[versus], strict=True)
    return [getattr(a, figure) / getattr(b, figure) for a, b in pairs]


def figure_lines(case, samples):
    yield "| | IOPS | CPU µs per I/O | ns per I/O | depth achieved |"
    yield "|---|---|---|---|---|"
    for contender in case.contenders:
        rows = samples[contender.label]
        cells = (
            contender.label,
            spread([row.iops for row in rows], iops_text),
            spread([row.cpu_us_per_io for row in rows]),
            ns_text(rows),
            f"{statistics.median(row.depth for row in rows):.3g}",
        )
        yield f"| {' | '.join(cells)} |"


def ratio_text(ratio):
    return (f"{ratio.median:.2f} ({ratio.least:.2f}–{ratio.most:.2f}); "
            f"{ratio.mean:.2f} [{ratio.low:.2f}, {ratio.high:.2f}]")


def ratio_lines(case, samples):
    """Yields the rows of ratios: median (minimum–maximum); geometric mean [95 % interval]."""
    yield "| ratio | of IOPS | of CPU per I/O |"
    yield "|---|---|---|"
    for contender in (c.label for c in case.contenders if c.program == "iogauge"):
        for versus in (c.label for c in case.contenders if c.program != "iogauge"):
            cells = [ratio_text(Ratio.of(ratios(samples, contender, versus, figure)))
                     for figure in ("iops", "cpu_us_per_io")]
            yield f"| {contender} / {versus} | {' | '.join(cells)} |"


FIGURES = {"iops": "IOPS", "cpu_us_per_io": "CPU per I/O", "depth": "depth achieved"}


def judge(case, samples):
    """Returns a line for each goal of the case, and the missed goals."""
    lines, missed = [], []

    def note(words, met, found):
        verdict = "met" if met else "MISSED"
        lines.append(f"- goal {words}: {verdict} ({found})")
        if not met:
            missed.append(f"{case.name}: {words} ({found})")

    for goal in case.goals:
        ratio = Ratio.of(ratios(samples, goal.contender, goal.versus, goal.figure))
        note(f"{goal.contender} / {goal.versus}, {FIGURES[goal.figure]}, {goal.words()}",
             goal.is_met(ratio), ratio_text(ratio))
    if case.harness_ns_at_most:
        ns = 1e9 / statistics.median(row.iops for row in samples["iogauge"])
        note(f"iogauge, ns per I/O, ≤ {case.harness_ns_at_most:g}",
             ns <= case.harness_ns_at_most, f"{ns:.3g}")
    return lines, missed


# ---- machine and files -------------------------------------------------------------------------


def version(command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise CannotRun(f"{command[0]}: {error.strerror}; hint: use a path in "
                        "IOGAUGE or FIO, or `make build`") from error
    return (done.stdout or done.stderr).strip().splitlines()[0]


def file_system(directory):
    """Returns the type and device of a directory's file system, from /proc/self/mounts."""
    best = ("", "unknown", "unknown")
    for line in Path("/proc/self/mounts").read_text().splitlines():
        device, mount, kind = line.split()[:3]
        inside = mount == "/" or directory == mount or directory.startswith(mount + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind, device)
    return f"{best[1]} on {best[2]}"


def machine_lines(directory, with_fio=True):
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    yield f"- processor: {model[1] if model else platform.machine()}, {os.cpu_count()} CPUs"
    yield f"- kernel: {platform.release()}"
    yield f"- file system: {file_system(os.path.realpath(directory))}"
    yield f"- load before: {', '.join(f'{load:.2f}' for load in os.getloadavg())}"
    if with_fio:
        yield f"- fio: {version([os.environ.get('FIO', 'fio'), '--version'])}"
    yield f"- iogauge: {version([iogauge_binary(), '--version'])}"
    if "T_IO_URING" in os.environ:
        yield f"- t/io_uring: {os.environ['T_IO_URING']}"


def make_sparse(path):
    with open(path, "wb") as file:
        file.truncate(SPARSE_BYTES)


def make_real(path, size_bytes):
    """Writes a file whose data neither compresses nor repeats, and flushes it to the device."""
    free = shutil.disk_usage(path.parent).free
    if free < size_bytes + max(free // 20, 1 << 30):
        raise CannotRun(f"{path.parent}: {free >> 20} MiB free, too few for a file of "
                        f"{size_bytes >> 20} MiB; a smaller one would fit")
    with open(path, "wb") as file:
        for _ in range(size_bytes >> 20):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


@contextmanager
def written_file(script, options):
    """Prints facts about the machine and writes a file of `options.size` MiB in `options.dir`, which is removed at
    the end."""
    with tempfile.TemporaryDirectory(prefix=f"{script}.", dir=options.dir) as name:
        print("## Machine\n")
        print("\n".join(machine_lines(name)), flush=True)
        path = Path(name) / "file"
        make_real(path, options.size << 20)
        yield path


def target_file(directory, case, real_mib):
    path = directory / case.target
    if not path.exists():
        if case.target == "sparse":
            make_sparse(path)
        else:
            make_real(path, real_mib << 20)
    return path


# ---- main --------------------------------------------------------------------------------------


def run_rounds(case, path, rounds, seconds, is_enough=lambda samples: False):
    """Runs all contenders in each round, and returns the samples of each. The one that goes first rotates. Ends after
    this many rounds, or when there are enough samples."""
    samples = {contender.label: [] for contender in case.contenders}
    for number in range(rounds):
        turn = number % len(case.contenders)
        for contender in case.contenders[turn:] + case.contenders[:turn]:
            print(f"{case.name} round {number + 1}/{rounds}: {contender.label}",
                  file=sys.stderr, flush=True)
            samples[contender.label].append(measure(case, contender, path, seconds))
        if is_enough(samples):
            break
    return samples


def report(case, path, samples, options):
    print(f"\n### {case.name}: {case.title}\n")
    seconds = case.seconds(options.seconds)
    print(f"{case.rounds(options.rounds)} rounds of {seconds} s.\n")
    for contender in case.contenders:
        command = PROGRAMS[contender.program][0](case, contender, path, seconds)
        words = [Path(command[0]).name, *command[1:]]
        words = [word.replace(str(path), path.name) for word in words]
        print(f"- {contender.label}: `{shlex.join(words)}`")
    print()
    print("\n".join(figure_lines(case, samples)))
    print()
    print("\n".join(ratio_lines(case, samples)))
    lines, missed = judge(case, samples)
    print()
    print("\n".join(lines), flush=True)
    return missed


def parse_options(arguments, names):
    parser = argparse.ArgumentParser(prog="versus_fio.sh", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds (5)")
    parser.add_argument("--seconds", type=int, default=3, help="seconds measured per run (3)")
    parser.add_argument("--dir", default="/var/tmp", help="where the files are made (/var/tmp)")
    parser.add_argument("--case", action="append", choices=names, help="only this case; repeatable")
    parser.add_argument("--real-size", type=int, default=1024, metavar="MIB",
                        help="size of the written file in MiB (1024)")
    parser.add_argument("--assert", action="store_true", dest="hold_goals",
                        help="end with 1 where a goal is missed")
    options = parser.parse_args(arguments)
    if options.rounds < 1 or options.seconds < 1 or options.real_size < 1:
        parser.error("--rounds, --seconds and --real-size are at least 1")
    return options


def ended(script, hold_goals, body):
    """Runs a function that returns the missed goals, prints them, and returns the exit code."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        missed = body()
    except (CannotRun, OSError) as error:
        print(f"{script}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    for line in missed:
        print(f"goal missed: {line}", file=sys.stderr)
    return 1 if missed and hold_goals else 0


def run_cases(chosen, options):
    missed = []
    with tempfile.TemporaryDirectory(prefix="versus_fio.", dir=options.dir) as name:
        print("## Machine\n")
        print("\n".join(machine_lines(name)))
        print(f"- every run after a ramp of {RAMP_SECONDS} s; medians (min–max); ratios also as "
              "geometric mean [95 % interval]", flush=True)
        for case in chosen:
            path = target_file(Path(name), case, options.real_size)
            rounds, seconds = case.rounds(options.rounds), case.seconds(options.seconds)
            missed += report(case, path, run_rounds(case, path, rounds, seconds), options)
    return missed


def main(arguments):
    known = cases()
    options = parse_options(arguments, [case.name for case in known])
    chosen = [case for case in known if options.case is None or case.name in options.case]
    return ended("versus_fio", options.hold_goals, lambda: run_cases(chosen, options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
