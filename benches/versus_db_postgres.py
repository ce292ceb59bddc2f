"""PostgreSQL in versus_db.py: a temporary server, compared with pgbench and psql."""

import os
import pwd
import random
import re
import statistics
import string
import subprocess
import time
from pathlib import Path

import versus_db_backends as b
import versus_fio as v


class Postgres(b.Backend):
    """A temporary server, compared with pgbench and psql."""

    name = "postgres"
    own = "pgbench, psql"
    # Neither checkpoints nor autovacuum may affect only one side.
    server_settings = ("listen_addresses=", "autovacuum=off", "checkpoint_timeout=1h",
                       "max_wal_size=16GB", "min_wal_size=4GB")

    def __init__(self, directory):
        super().__init__(directory)
        self.server = None
        self.user = None
        if os.getuid() == 0:
            # PostgreSQL refuses to run as root.
            self.user = pwd.getpwnam("postgres").pw_uid
            os.chown(self.directory, self.user, -1)
        self.start()

    @staticmethod
    def programs():
        """Returns the directory of the newest version; None if there is none."""
        found = [path for path in Path("/usr/lib/postgresql").glob("*/bin")
                 if (path / "postgres").exists() and (path / "pgbench").exists()]
        return max(found, key=lambda path: int(path.parent.name), default=None)

    @classmethod
    def absent(cls):
        if cls.programs() is None:
            return "there is no server in /usr/lib/postgresql; hint: install the package postgresql"
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
        # pgbench prints its progress to stderr.
        together = ["sh", "-c", 'exec "$@" 2>&1', program]
        return b.output_of([*together, self.programs() / program, "-h", self.directory, "-U", "tester",
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
                           "-j", asked.workers, "-T", seconds, "-P", 1, *pgbench_values(), "postgres")
        return pgbench_written(text, asked.ramp_ms / 1000)

    def before_fill(self, globals_, subscripts):
        """Exports the rows of one global in the format that the server reads fastest."""
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
    """Returns a script of the same transaction with the same round trips as in iogauge: BEGIN is sent with the first
    update, and the update of the worker's record with COMMIT. Each client uses the tables of one worker."""
    lines = []
    for worker in range(1, workers + 1):
        lines.append(f"\\{'if' if worker == 1 else 'elif'} :client_id = {worker - 1}")
        for number in range(1, b.LENGTH + 1):
            lines.append(f"\\set s random(1, {subscripts})")
            update = f'UPDATE "RAN".global{worker} SET value = :v{number} WHERE subscript = :s;'
            first = ["\\startpipeline", "BEGIN;", update, "\\endpipeline"]
            lines += first if number == 1 else [update]
        lines += ["\\startpipeline", f'UPDATE "RAN".worker{worker} SET sequence = sequence + 1;',
                  "COMMIT;", "\\endpipeline"]
    return "\n".join([*lines, "\\endif", ""])


def pgbench_values():
    """Yields arguments that define a variable with a value for each update of a transaction. The log omits what a
    row's new value shares with the old one, so a row must rarely get the value that it has."""
    letters = random.Random(1)
    for number in range(1, b.LENGTH + 1):
        value = "".join(letters.choices(string.ascii_letters, k=b.VALUE_BYTES))
        yield from ("-D", f"v{number}={value}")


def pgbench_written(text, ramp_seconds):
    """Reads the number of transactions from pgbench's summary. The rate is from the summary too if there is no ramp,
    else from the progress lines of each second, the last of which may be missing."""
    whole = re.search(r"^number of transactions actually processed: (\d+)", text, re.MULTILINE)
    if ramp_seconds:
        lines = re.findall(r"^progress: ([\d.]+) s, ([\d.]+) tps", text, re.MULTILINE)
        rates = [float(rate) for at, rate in lines if float(at) > ramp_seconds + 0.5]
    else:
        rates = [float(rate) for rate in re.findall(r"^tps = ([\d.]+) ", text, re.MULTILINE)]
    if not whole or not rates or "number of failed transactions: 0 " not in text:
        raise v.CannotRun(f"pgbench: output not understood: {text}")
    return b.Written(statistics.mean(rates), int(whole[1]))


def tree_cpu_seconds(root):
    """Returns the processor time of a process and its descendants, including those that have ended."""
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
