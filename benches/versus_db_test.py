"""Tests of versus_db.py: parsing of the programs' output, processor times, and verdicts."""

import io
import json
import subprocess
import sys
import unittest
from contextlib import redirect_stderr

import versus_db as d
import versus_db_backends as b
import versus_db_postgres as p
import versus_fio as v


def document(counted):
    workers = [{"commits": 300, "seconds": 3.0}, {"commits": 60, "seconds": 2.0}]
    counted = {"commits": counted, "commits_made": 400}
    return json.dumps({"steps": [{"database": {"workers": workers, "counted": counted}}]})


class Outputs(unittest.TestCase):
    def test_rates_of_workers_are_added(self):
        for counted in (400, None):
            self.assertEqual(b.iogauge_written(document(counted)), b.Written(130.0, 400))

    def test_a_database_that_counted_otherwise_is_told(self):
        with self.assertRaises(v.CannotRun):
            b.iogauge_written(document(399))

    def test_pgbench_is_read_behind_the_ramp_time(self):
        text = ("progress: 1.0 s, 100.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n"
                "progress: 2.0 s, 200.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n"
                "progress: 3.0 s, 220.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n"
                "number of transactions actually processed: 520\n"
                "number of failed transactions: 0 (0.000%)\n"
                "tps = 173.5 (without initial connection time)\n")
        self.assertEqual(p.pgbench_written(text, 1.0), b.Written(210.0, 520))
        # A run of one second may have no progress line.
        short = text[text.index("number"):]
        self.assertEqual(p.pgbench_written(short, 0.0), b.Written(173.5, 520))
        for broken in (text.replace(": 0 (", ": 1 ("), text.replace("progress", "x"), ""):
            with self.assertRaises(v.CannotRun):
                p.pgbench_written(broken, 1.0)

    def test_pgbench_does_what_iogauge_does(self):
        lines = p.pgbench_script(4, 1000).splitlines()
        for worker in range(1, 5):
            for number in range(1, b.LENGTH + 1):
                update = f'UPDATE "RAN".global{worker} SET value = :v{number} WHERE subscript = :s;'
                self.assertEqual(lines.count(update), 1)
            self.assertEqual(sum(f'"RAN".worker{worker} ' in line for line in lines), 1)
        self.assertEqual((lines.count("BEGIN;"), lines.count("COMMIT;")), (4, 4))
        # The first update is sent with BEGIN, that of the worker's record with COMMIT.
        ways = lines.count("\\startpipeline")
        self.assertEqual((ways, lines.count("\\endpipeline")), (8, 8))
        self.assertEqual(lines.count("\\set s random(1, 1000)"), 4 * b.LENGTH)
        self.assertEqual((lines[0], lines[-1]), ("\\if :client_id = 0", "\\endif"))
        values = [word.split("=")[1] for word in p.pgbench_values() if word != "-D"]
        self.assertEqual((len(set(values)), {len(value) for value in values}), (50, {b.VALUE_BYTES}))


class Processors(unittest.TestCase):
    def test_neither_start_nor_end_counts(self):
        short = d.Spent(b.Written(90.0, 100), 0.5, 0.2)
        long = d.Spent(b.Written(100.0, 400), 0.8, 0.5)
        sample = long.beyond(short)
        self.assertAlmostEqual(sample.client_us, 1000.0)
        self.assertAlmostEqual(sample.server_us, 1000.0)
        self.assertEqual(sample.per_second, 100.0)
        self.assertTrue(d.math.isnan(short.beyond(long).client_us))

    def test_a_tree_holds_its_children(self):
        spin = "sum(i * i for i in range(2_000_000))"
        text = f"import subprocess, sys; subprocess.run([sys.executable, '-c', '{spin}']); input()"
        child = subprocess.Popen([sys.executable, "-c", text + "; print()"], stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, text=True)
        try:
            for _ in range(500):
                seconds = p.tree_cpu_seconds(child.pid)
                if seconds > 0.05:
                    break
                d.time.sleep(0.02)
            self.assertGreater(seconds, 0.05)
        finally:
            child.communicate("\n")


class Verdicts(unittest.TestCase):
    def verdicts(self, values):
        ratio = v.Ratio.of(values)
        return d.write_verdict(ratio), d.fill_verdict(ratio), d.cpu_verdict(ratio)

    def test_they_go_by_the_interval(self):
        inside = ("within 5 %", "within 1.2", "within 5 %")
        self.assertEqual(self.verdicts([1.0, 1.01, 0.99, 1.0]), inside)
        self.assertEqual(self.verdicts([0.8, 0.81, 0.8, 0.79])[0], "slower than 5 %")
        outside = ("within 5 %", "slower than 1.2", "more than 5 %")
        self.assertEqual(self.verdicts([1.5, 1.51, 1.49, 1.5]), outside)

    def test_noise_and_a_single_round_tell_nothing(self):
        for values in ([0.5, 1.0, 2.0], [1.0]):
            self.assertEqual(set(self.verdicts(values)), {"cannot tell"}, values)

    def test_who_is_first_changes(self):
        order = [side for number in range(2) for side in d.turns(number)]
        self.assertEqual(order, ["iogauge", "own", "own", "iogauge"])


class Reports(unittest.TestCase):
    def test_a_row_has_both_sides(self):
        samples = {"iogauge": [d.Sample(990.0, 20.0, 30.0), d.Sample(1000.0, 20.0, 30.0)],
                   "own": [d.Sample(1000.0, 10.0, 30.0), d.Sample(1000.0, 10.0, 30.0)]}
        rates = d.rate_line("postgres", 4, samples)
        self.assertTrue(rates.startswith("| postgres | 4 | 995 (990–1k) | 1k (1k–1k) |"), rates)
        times = d.cpu_line("postgres", 4, samples)
        self.assertIn("| 2 of 2 | 20 (20–20) | 10 (10–10) | 30 (30–30) | 30 (30–30) | 1.250 (", times)

    def test_a_run_that_stalled_leaves_the_others(self):
        nan = d.math.nan
        samples = {"iogauge": [d.Sample(5.0, nan, nan), d.Sample(1000.0, 20.0, 0.0)],
                   "own": [d.Sample(1000.0, 10.0, 0.0), d.Sample(1000.0, 10.0, 0.0)]}
        self.assertIn("| 1 of 2 | 20 (20–20) | 10 (10–10) |  |  | 2.000 (", d.cpu_line("x", 1, samples))
        self.assertIn("| 1k (1k–1k) | 0.502 (0.005–1.000) |", d.rate_line("x", 1, samples))
        samples["own"][1] = d.Sample(5.0, nan, nan)
        self.assertTrue(d.cpu_line("x", 1, samples).endswith("| cannot tell |"))

    def test_a_fill_has_its_ratio(self):
        line = d.fill_line("sqlite", "a bare loop", {"iogauge": [1.1, 1.1], "own": [1.0, 1.0]})
        self.assertTrue(line.endswith("| 1.100 (1.100–1.100) | within 1.2 |"), line)


class Options(unittest.TestCase):
    def test_lists_are_read(self):
        options = d.parse_options(["--backends", "gtm,sqlite", "--workers", "2"])
        self.assertEqual((options.backends, options.workers), (["gtm", "sqlite"], [2]))

    def test_what_cannot_be_is_told(self):
        for wrong in (["--backends", "oracle"], ["--rounds", "0"], ["--workers", "9"]):
            with self.assertRaises(SystemExit), redirect_stderr(io.StringIO()):
                d.parse_options(wrong)


if __name__ == "__main__":
    unittest.main()
