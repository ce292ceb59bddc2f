"""Tests of versus_suite.py: the matrix, parsing of the programs' output, and agreement."""

import json
import unittest
from pathlib import Path
from tempfile import NamedTemporaryFile

import versus_suite as s


class Matrix(unittest.TestCase):
    def test_each_cell_is_there_once(self):
        cells = list(s.matrix())
        self.assertEqual(len(cells), len(set(cells)))
        self.assertEqual(len(cells), 5 + 8 + 9 + 5)

    def test_users_have_regions_for_sequential_work(self):
        with NamedTemporaryFile() as file:
            file.truncate(64 << 20)
            path = Path(file.name)
            command = s.fio_command(path, s.Cell("read", "1m", 8), 5)
            self.assertIn(f"--offset_increment={8 << 20}", command)
            self.assertIn(f"--size={8 << 20}", command)
            random = s.fio_command(path, s.Cell("readrand", "8k", 8), 5)
            self.assertIn(f"--size={64 << 20}", random)
            self.assertIn("--sync=1", s.fio_command(path, s.Cell("write", "8k", 1), 5))


class Figures(unittest.TestCase):
    def test_reads_and_writes_are_weighed(self):
        way = {"iops": 300.0, "total_ios": 3, "lat_ns": {"mean": 1e6}}
        other = {"iops": 100.0, "total_ios": 1, "lat_ns": {"mean": 5e6}}
        job = {"error": 0, "read": way, "write": other}
        self.assertEqual(s.fio_sample(json.dumps({"jobs": [job]})), s.Sample(400.0, 2.0))

    def test_a_suite_of_one_step_is_read(self):
        read = {"iops": {"mean": 10.0}, "service_ns": {"mean": 2e6}}
        step = {"result": {"step": {"read": read, "write": None}}}
        self.assertEqual(s.iogauge_sample(json.dumps({"steps": [step]})), s.Sample(10.0, 2.0))
        with self.assertRaises(ValueError):
            s.iogauge_sample(json.dumps({"steps": [step, step]}))

    def test_ranges_that_overlap_agree(self):
        self.assertTrue(s.agrees([1, 2], [2, 3]))
        self.assertTrue(s.agrees([1, 9], [4, 5]))
        self.assertFalse(s.agrees([1, 2], [2.1, 3]))

    def test_a_row_tells_where_latency_differs(self):
        cell = s.Cell("readrand", "8k", 8)
        ours = [s.Sample(100, 1.0), s.Sample(110, 1.1)]
        line, held = s.row(cell, {"iogauge": ours, "fio": ours})
        self.assertTrue(held and line.startswith("| readrand 8k | 8 |"), line)
        slow = [s.Sample(100, 2.0), s.Sample(110, 2.1)]
        line, held = s.row(cell, {"iogauge": ours, "fio": slow})
        self.assertTrue(not held and line.endswith("| no |"), line)


if __name__ == "__main__":
    unittest.main()
