"""The databases of versus_db.py: how each is made, and who does the same work without iogauge.

A write is a transaction of updates of random subscripts of the worker's own global and of the worker's
record, with a commit that waits for the device. Both sides do it on one database, at rest before each run.
"""

import json
import os
import pwd
import re
import shutil
import statistics
import subprocess
import time
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
    """What a run of writes came to."""

    per_second: float  # transactions, once they ran
    transactions: int  # all of them, ramp time included


@dataclass(frozen=True)
class Asked:
    """What is asked of a run of writes."""

    workers: int
    subscripts: int
    ramp_ms: int
    ms: int


def example(name):
    """An example of the crate iogauge-db, beside the release binary."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", v.REPOSITORY / "target"))
    return target / "release" / "examples" / name


def output_of(command, directory="/", timeout=PATIENCE_SECONDS):
    return v.output_of([str(word) for word in command], directory, timeout)


def iogauge_written(text):
    """What `iogauge db run --json` says."""
    (step,) = json.loads(text)["steps"]
    database = step["database"]
    counted = database["counted"]
    if counted["commits"] not in (None, counted["commits_made"]):
        raise v.CannotRun(f"iogauge made {counted['commits_made']} commits, the database counted "
                          f"{counted['commits']}")
    workers = database["workers"]
    return Written(sum(w["commits"] / w["seconds"] for w in workers), counted["commits_made"])


class Backend:
    """A database in a directory of its own."""

    name = ""
    own = ""  # whose the other side is
    settings = ()

    def __init__(self, directory):
        self.directory = directory / self.name
        self.directory.mkdir(exist_ok=True)

    @property
    def folder(self):
        """What iogauge makes for the name RAN."""
        return self.directory / "RAN"

    @property
    def url(self):
        return f"{self.name}:{self.directory}"

    @classmethod
    def absent(cls):
        """Why it cannot be measured here; None where it can."""
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
        """Brings it to where every run begins."""

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
        """What both sides' fills need, once."""

    def empty(self, side):
        """Makes an empty database for a side to fill."""
        self.iogauge("setup", "--size=1m", "--quiet")

    def fill_by_own(self, globals_, subscripts):
        raise NotImplementedError

    def emptied(self, side):
        """Removes what a side filled."""
        self.purge()

    def server_cpu_seconds(self):
        """Processor time of another process that does the work."""
        return 0.0

    def end(self):
        """Ends what was started."""


class Embedded(Backend):
    """A library, beside a bare loop over it."""

    own = "a bare loop"

    @classmethod
    def program(cls):
        return example(f"bare_{cls.name}")

    @classmethod
    def absent(cls):
        if cls.program().exists():
            return None
        return f"there is no {cls.program()}; right would be make versus-db"

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
    # Neither side takes checkpoints while it is measured.
    settings = ("checkpoint=1000h", "checkpoint_size=1000t")

    def rest(self, asked):
        output_of([self.program(), "rest", self.folder, max(WORKERS)])


class Rocksdb(Embedded):
    name = "rocksdb"

    @classmethod
    def absent(cls):
        why = re.search(r"not usable here: (this iogauge is built without RocksDB.*)",
                        output_of([v.iogauge_binary(), "db", "--help"]))
        return why[1] if why else super().absent()

    def rest(self, asked):
        output_of([self.program(), "rest", self.folder])


class Postgres(Backend):
    """A throw-away server, beside pgbench and psql."""

    name = "postgres"
    own = "pgbench, psql"
    # No round of the checkpointer or of autovacuum falls into one side alone.
    server_settings = ("listen_addresses=", "autovacuum=off", "checkpoint_timeout=1h",
                       "max_wal_size=16GB", "min_wal_size=4GB")

    def __init__(self, directory):
        super().__init__(directory)
        self.server = None
        self.user = None
        if os.getuid() == 0:
            # A server does not run as root.
            self.user = pwd.getpwnam("postgres").pw_uid
            os.chown(self.directory, self.user, -1)
        self.start()

    @staticmethod
    def programs():
        """Where the newest version is; None without any."""
        found = [path for path in Path("/usr/lib/postgresql").glob("*/bin")
                 if (path / "postgres").exists() and (path / "pgbench").exists()]
        return max(found, key=lambda path: int(path.parent.name), default=None)

    @classmethod
    def absent(cls):
        if cls.programs() is None:
            return "there is no server in /usr/lib/postgresql; right would be the package postgresql"
        try:
            pwd.getpwnam("postgres")
        except KeyError:
            return "there is no user postgres"
        return None

    @property
    def url(self):
        return f"postgres://tester@/postgres?host={self.directory}"

    def start(self):
        def call(*command):
            done = subprocess.run(command, cwd=self.directory, user=self.user, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                raise v.CannotRun(f"{command[0]}: {done.stderr.strip()}")

        programs, data = self.programs(), self.directory / "data"
        call(programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8",
             "--no-locale", "--no-sync")
        settings = [word for setting in self.server_settings for word in ("-c", setting)]
        with open(self.directory / "log", "w") as log:
            self.server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", self.directory, *settings],
                cwd=self.directory, user=self.user, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                call(programs / "pg_isready", "-q", "-h", self.directory)
                return
            except v.CannotRun:
                if time.monotonic() > end or self.server.poll() is not None:
                    log = (self.directory / "log").read_text()
                    raise v.CannotRun(f"postgres does not start: {log}") from None
                time.sleep(0.1)

    def client(self, program, *words):
        # pgbench tells its progress on stderr.
        together = ["sh", "-c", 'exec "$@" 2>&1', program]
        return output_of([*together, self.programs() / program, "-h", self.directory, "-U", "tester",
                          *words])

    def psql(self, *statements, single=False):
        words = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", "postgres", *(["-1"] if single else [])]
        return self.client("psql", *words, *(w for text in statements for w in ("-c", text)))

    def make(self, globals_, subscripts):
        super().make(globals_, subscripts)
        self.psql("VACUUM ANALYZE")

    def rest(self, asked):
        self.psql("VACUUM", "CHECKPOINT")

    def write_by_own(self, asked):
        script = self.directory / "script.sql"
        script.write_text(pgbench_script(asked.workers, asked.subscripts))
        seconds = max(1, (asked.ramp_ms + asked.ms) // 1000)
        text = self.client("pgbench", "-n", "-M", "prepared", "-f", script, "-c", asked.workers,
                           "-j", asked.workers, "-T", seconds, "-P", 1, "-D",
                           f"value={'x' * VALUE_BYTES}", "postgres")
        return pgbench_written(text, asked.ramp_ms / 1000)

    def before_fill(self, globals_, subscripts):
        """The rows of one global, in the form that the server reads fastest."""
        super().empty("iogauge")
        self.fill_by_iogauge(1, subscripts)
        self.rows = self.directory / "rows"
        self.options = self.psql("SELECT array_to_string(reloptions, ', ') FROM pg_class "
                                 "WHERE oid = '\"RAN\".global1'::regclass").strip()
        self.psql(f"\\copy \"RAN\".global1 TO '{self.rows}' (FORMAT binary)")
        self.purge()

    def empty(self, side):
        if side == "iogauge":
            super().empty(side)
        else:
            self.psql("CREATE SCHEMA bare")
        self.psql("CHECKPOINT")

    def fill_by_own(self, globals_, subscripts):
        for number in range(1, globals_ + 1):
            table = f"bare.global{number}"
            self.psql(f"CREATE TABLE {table} (subscript bigint NOT NULL, value text NOT NULL) "
                      f"WITH ({self.options})",
                      f"ALTER TABLE {table} ALTER value SET STORAGE PLAIN",
                      f"\\copy {table} FROM '{self.rows}' (FORMAT binary, FREEZE)",
                      f"ALTER TABLE {table} ADD PRIMARY KEY (subscript)", single=True)

    def emptied(self, side):
        if side == "iogauge":
            super().emptied(side)
        else:
            self.psql("SET client_min_messages = warning", "DROP SCHEMA bare CASCADE")
        self.psql("CHECKPOINT")

    def server_cpu_seconds(self):
        return tree_cpu_seconds(self.server.pid)

    def end(self):
        if self.server:
            self.server.terminate()
            try:
                self.server.wait(30)
            except subprocess.TimeoutExpired:
                self.server.kill()
                self.server.wait()


def pgbench_script(workers, subscripts):
    """A transaction as iogauge does it, to the way there and back: the statement that begins it goes with
    the first update, the worker's record with the commit. Each client has a worker's tables."""
    lines = []
    for worker in range(1, workers + 1):
        lines.append(f"\\{'if' if worker == 1 else 'elif'} :client_id = {worker - 1}")
        for number in range(1, LENGTH + 1):
            lines.append(f"\\set s random(1, {subscripts})")
            update = f'UPDATE "RAN".global{worker} SET value = :value WHERE subscript = :s;'
            first = ["\\startpipeline", "BEGIN;", update, "\\endpipeline"]
            lines += first if number == 1 else [update]
        lines += ["\\startpipeline", f'UPDATE "RAN".worker{worker} SET sequence = sequence + 1;',
                  "COMMIT;", "\\endpipeline"]
    return "\n".join([*lines, "\\endif", ""])


def pgbench_written(text, ramp_seconds):
    """Transactions out of pgbench's last words, their rate out of its lines for each second."""
    whole = re.search(r"^number of transactions actually processed: (\d+)", text, re.MULTILINE)
    lines = re.findall(r"^progress: ([\d.]+) s, ([\d.]+) tps", text, re.MULTILINE)
    rates = [float(rate) for at, rate in lines if float(at) > ramp_seconds + 0.5]
    if not whole or not rates or "number of failed transactions: 0 " not in text:
        raise v.CannotRun(f"pgbench: output not understood: {text}")
    return Written(statistics.mean(rates), int(whole[1]))


def tree_cpu_seconds(root):
    """Processor time of a process, of those it began, and of those that have ended."""
    stats = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        stats[int(path.parent.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    ticks, todo = 0, [root]
    while todo:
        process = todo.pop()
        ticks += stats.get(process, (0, 0))[1]
        todo += [child for child, (parent, _) in stats.items() if parent == process]
    return ticks / os.sysconf("SC_CLK_TCK")


class Gtm(Backend):
    """GT.M, beside processes that run the same M code and take no times."""

    name = "gtm"
    own = "the M code alone, mupip load"
    # As iogauge sets it before each run.
    journal = ("enable,on,before,file=mumps.mjl,autoswitchlimit=524288,allocation=32768,"
               "extension=32768,epoch_interval=300")

    @staticmethod
    def programs():
        """Where mumps and mupip are; None without them."""
        places = [Path(os.environ["gtm_dist"])] if "gtm_dist" in os.environ else []
        for pattern in ("usr/lib/*/fis-gtm/*", "usr/lib/fis-gtm/*", "opt/*", "opt/fis-gtm/*"):
            places += sorted(Path("/").glob(pattern), reverse=True)
        return next((place for place in places if (place / "mupip").is_file()), None)

    @classmethod
    def absent(cls):
        if cls.programs() is None:
            return "there is no GT.M; right would be the package fis-gtm, or gtm_dist"
        return None

    def environment(self):
        dist = self.programs()
        return {"gtm_dist": dist, "gtmgbldir": "mumps.gld", "gtm_chset": "M",
                "gtmroutines": f"r {dist}/libgtmutil.so {dist}", "gtm_tmp": self.folder,
                "gtm_log": self.folder, "gtm_error_on_jnl_file_lost": "1", "PATH": os.environ["PATH"]}

    def tool(self, program, *words):
        environment = [f"{key}={value}" for key, value in self.environment().items()]
        return output_of(["env", "-i", *environment, self.programs() / program, *words], self.folder)

    def rest(self, asked):
        self.tool("mupip", "set", f"-journal={self.journal}", "-region", "DEFAULT")

    def write_by_own(self, asked):
        record = "write " + '_" "_'.join(f"+$get(^RanWorker{n})" for n in range(1, asked.workers + 1))
        before = [int(word) for word in self.tool("mumps", "-run", "%XCMD", record).split()]
        workers = []
        try:
            for number, sequence in enumerate(before, 1):
                workers.append(self.worker(number, sequence, asked))
            for worker in workers:
                answer(worker)
            begun, _ = ordered(workers, asked.ramp_ms) if asked.ramp_ms else (before, 0)
            ended, seconds = ordered(workers, asked.ms)
            for worker in workers:
                worker.stdin.close()
                worker.wait(PATIENCE_SECONDS)
        finally:
            for worker in workers:
                if worker.poll() is None:
                    worker.kill()
                    worker.wait()
                worker.stdout.close()
        return Written((sum(ended) - sum(begun)) / seconds, sum(ended) - sum(before))

    def worker(self, number, sequence, asked):
        """A process that has the database open, and its plan."""
        worker = subprocess.Popen([self.programs() / "mumps", "-run", "bare^RanWorker"],
                                  cwd=self.folder, env=self.environment(), text=True, bufsize=1,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        state = 48271 * number * 7919 % 2147483647
        plan = (number, number, asked.subscripts, VALUE_BYTES, sequence, state, LENGTH, 0)
        worker.stdin.write(" ".join(map(str, plan)) + "\n")
        return worker

    def before_fill(self, globals_, subscripts):
        """An extract of each global, in GT.M's fastest form."""
        super().empty("iogauge")
        self.fill_by_iogauge(globals_, subscripts)
        for number in range(1, globals_ + 1):
            self.tool("mupip", "extract", "-format=binary", f"-select=RanWriteGlobal{number}",
                      self.directory / f"rows{number}")
        self.purge()

    def empty(self, side):
        super().empty(side)
        if side == "own":
            # As iogauge does it: what is loaded would go through the journal a second time.
            self.tool("mupip", "set", "-journal=off", "-region", "DEFAULT")

    def fill_by_own(self, globals_, subscripts):
        for number in range(1, globals_ + 1):
            self.tool("mupip", "load", "-format=binary", self.directory / f"rows{number}")


def answer(worker):
    """What stands in a worker's last line behind the dot."""
    line = worker.stdout.readline()
    if not line.startswith("."):
        raise v.CannotRun(f"GT.M's process says {line + worker.stdout.readline()!r}")
    return line[1:].strip()


def ordered(workers, ms):
    """Lets all work for a while: their last transactions, and the time it took."""
    begin = time.monotonic()
    for worker in workers:
        worker.stdin.write(f"4294967295 {ms * 1000} 0\n")
    return [int(answer(worker)) for worker in workers], time.monotonic() - begin


BACKENDS = {backend.name: backend for backend in (Sqlite, Rocksdb, Postgres, Gtm)}
