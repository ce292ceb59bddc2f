"""The databases of versus_db.py: the interface of a backend, which includes the same work without iogauge, and
the backends that are libraries.

A write is a transaction that updates random subscripts of the worker's own global and the worker's record,
with a commit that waits for the device. Both sides use one database, which is at rest before each run.
"""

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

import versus_fio as v

LENGTH = 50
VALUE_BYTES = 100
RAMP_SECONDS = 1
WORKERS = (1, 4)
PATIENCE_SECONDS = 600


@dataclass(frozen=True)
class Written:
    """The result of a run of writes."""

    per_second: float  # transactions, without the ramp time
    transactions: int  # all of them, including the ramp time


@dataclass(frozen=True)
class Asked:
    """The parameters of a run of writes."""

    workers: int
    subscripts: int
    ramp_ms: int
    ms: int


def example(name):
    """Returns the path of an example of the crate iogauge-db in its release build."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", v.REPOSITORY / "target"))
    return target / "release" / "examples" / name


def output_of(command, directory="/", timeout=PATIENCE_SECONDS):
    return v.output_of([str(word) for word in command], directory, timeout)


def iogauge_written(text):
    """Returns the result in the output of `iogauge db run --json`."""
    (step,) = json.loads(text)["steps"]
    database = step["database"]
    counted = database["counted"]
    if counted["commits"] not in (None, counted["commits_made"]):
        raise v.CannotRun(f"iogauge made {counted['commits_made']} commits, the database counted "
                          f"{counted['commits']}")
    workers = database["workers"]
    return Written(sum(w["commits"] / w["seconds"] for w in workers), counted["commits_made"])


class Backend:
    """A database in its own directory."""

    name = ""
    own = ""  # the tool of the other side
    settings = ()

    def __init__(self, directory):
        self.directory = directory / self.name
        self.directory.mkdir(exist_ok=True)

    @property
    def folder(self):
        """The directory that iogauge creates for the name RAN."""
        return self.directory / "RAN"

    @property
    def url(self):
        return f"{self.name}:{self.directory}"

    @classmethod
    def absent(cls):
        """Returns why the database cannot be measured here; None if it can."""
        return None

    def iogauge(self, *words):
        settings = [f"--set={setting}" for setting in self.settings]
        return output_of([v.iogauge_binary(), "db", *words[:1], self.url, *settings, *words[1:]])

    def make(self, globals_, subscripts):
        self.iogauge("setup", "--size=16m", "--quiet")
        self.fill_by_iogauge(globals_, subscripts)

    def purge(self):
        self.iogauge("purge", "--yes")

    def rest(self, _asked):
        """Brings the database to the state in which every run begins."""

    def write_by_iogauge(self, asked):
        return iogauge_written(self.iogauge(
            "run", "--mode=write", f"--processes={asked.workers}", f"--transaction-length={LENGTH}",
            f"--ramp-time={asked.ramp_ms}ms", f"--runtime={asked.ms}ms", "--json", "--quiet",
            "--history=none"))

    def write_by_own(self, asked):
        raise NotImplementedError

    def fill_by_iogauge(self, globals_, subscripts):
        self.iogauge("create-globals", f"--globals={globals_}", f"--subscripts={subscripts}",
                     "--quiet")

    def before_fill(self, globals_, subscripts):
        """Prepares, once, what the fills of both sides need."""

    def empty(self, side):
        """Creates an empty database for a side to fill."""
        self.iogauge("setup", "--size=1m", "--quiet")

    def fill_by_own(self, globals_, subscripts):
        raise NotImplementedError

    def emptied(self, side):
        """Removes the database that a side filled."""
        self.purge()

    def server_cpu_seconds(self):
        """Returns the processor time of server processes."""
        return 0.0

    def end(self):
        """Ends all processes that were started."""


class Embedded(Backend):
    """A library, compared with a bare loop over it."""

    own = "a bare loop"

    @classmethod
    def program(cls):
        return example(f"bare_{cls.name}")

    @classmethod
    def absent(cls):
        if cls.program().exists():
            return None
        return f"there is no {cls.program()}; hint: run make versus-db"

    def write_by_own(self, asked):
        words = output_of([self.program(), "write", self.folder, asked.workers, asked.subscripts,
                           LENGTH, asked.ramp_ms, asked.ms]).split()
        return Written(int(words[1]) / float(words[2]), int(words[0]))

    def empty(self, side):
        if side == "iogauge":
            super().empty(side)
        else:
            (self.directory / "bare").mkdir()

    def fill_by_own(self, globals_, subscripts):
        output_of([self.program(), "fill", self.directory / "bare", globals_, subscripts])

    def emptied(self, side):
        if side == "iogauge":
            super().emptied(side)
        else:
            shutil.rmtree(self.directory / "bare")


class Sqlite(Embedded):
    name = "sqlite"
    # Neither side checkpoints while it is measured.
    settings = ("checkpoint=1000h", "checkpoint_size=1000t")

    def rest(self, asked):
        output_of([self.program(), "rest", self.folder, max(WORKERS)])


class Rocksdb(Embedded):
    name = "rocksdb"

    @classmethod
    def absent(cls):
        why = re.search(r"Not usable here: (this iogauge is built without RocksDB.*)",
                        output_of([v.iogauge_binary(), "db", "--help"]))
        return why[1] if why else super().absent()

    def rest(self, asked):
        output_of([self.program(), "rest", self.folder])
