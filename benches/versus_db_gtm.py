"""GT.M in versus_db.py, compared with processes that run the same M code without timing it."""

import os
import subprocess
import time
from pathlib import Path

import versus_db_backends as b
import versus_fio as v


class Gtm(b.Backend):
    """GT.M, compared with processes that run the same M code without timing it."""

    name = "gtm"
    own = "the M code alone, mupip load"
    # The settings that iogauge makes before each run.
    journal = ("enable,on,before,file=mumps.mjl,autoswitchlimit=524288,allocation=32768,"
               "extension=32768,epoch_interval=300")

    @staticmethod
    def programs():
        """Returns the directory of mumps and mupip; None if they are not installed."""
        places = [Path(os.environ["gtm_dist"])] if "gtm_dist" in os.environ else []
        for pattern in ("usr/lib/*/fis-gtm/*", "usr/lib/fis-gtm/*", "opt/*", "opt/fis-gtm/*"):
            places += sorted(Path("/").glob(pattern), reverse=True)
        return next((place for place in places if (place / "mupip").is_file()), None)

    @classmethod
    def absent(cls):
        if cls.programs() is None:
            return "there is no GT.M; hint: install the package fis-gtm, or gtm_dist"
        return None

    def environment(self):
        dist = self.programs()
        return {"gtm_dist": dist, "gtmgbldir": "mumps.gld", "gtm_chset": "M",
                "gtmroutines": f"r {dist}/libgtmutil.so {dist}", "gtm_tmp": self.folder,
                "gtm_log": self.folder, "gtm_error_on_jnl_file_lost": "1", "PATH": os.environ["PATH"]}

    def tool(self, program, *words):
        environment = [f"{key}={value}" for key, value in self.environment().items()]
        return b.output_of(["env", "-i", *environment, self.programs() / program, *words], self.folder)

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
                worker.wait(b.PATIENCE_SECONDS)
        finally:
            for worker in workers:
                if worker.poll() is None:
                    worker.kill()
                    worker.wait()
                worker.stdout.close()
        return b.Written((sum(ended) - sum(begun)) / seconds, sum(ended) - sum(before))

    def worker(self, number, sequence, asked):
        """Starts a process that opens the database, and sends it its plan."""
        worker = subprocess.Popen([self.programs() / "mumps", "-run", "bare^RanWorker"],
                                  cwd=self.folder, env=self.environment(), text=True, bufsize=1,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        state = 48271 * number * 7919 % 2147483647
        plan = (number, number, asked.subscripts, b.VALUE_BYTES, sequence, state, b.LENGTH, 0)
        worker.stdin.write(" ".join(map(str, plan)) + "\n")
        return worker

    def before_fill(self, globals_, subscripts):
        """Extracts each global in the format that GT.M loads fastest."""
        super().empty("iogauge")
        self.fill_by_iogauge(globals_, subscripts)
        for number in range(1, globals_ + 1):
            self.tool("mupip", "extract", "-format=binary", f"-select=RanWriteGlobal{number}",
                      self.directory / f"rows{number}")
        self.purge()

    def empty(self, side):
        super().empty(side)
        if side == "own":
            # iogauge does this too, because loaded data would be written a second time to the journal.
            self.tool("mupip", "set", "-journal=off", "-region", "DEFAULT")

    def fill_by_own(self, globals_, subscripts):
        for number in range(1, globals_ + 1):
            self.tool("mupip", "load", "-format=binary", self.directory / f"rows{number}")


def answer(worker):
    """Returns the text after the dot in a worker's next line."""
    line = worker.stdout.readline()
    if not line.startswith("."):
        raise v.CannotRun(f"GT.M's process says {line + worker.stdout.readline()!r}")
    return line[1:].strip()


def ordered(workers, ms):
    """Lets all workers work for a while. Returns their last transactions, and the time it took."""
    begin = time.monotonic()
    for worker in workers:
        worker.stdin.write(f"4294967295 {ms * 1000}\n")
    return [int(answer(worker)) for worker in workers], time.monotonic() - begin
