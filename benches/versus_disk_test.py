"""Tests of versus_disk.py."""

import os
import unittest

import versus_disk as d
import versus_fio as v


def samples(fio, iogauge, cpu=0.5):
    return {
        d.FIO: [v.Sample(iops, 1.0, 8.0) for iops in fio],
        d.IOGAUGE: [v.Sample(iops, cpu, 8.0) for iops in iogauge],
    }


class Cells(unittest.TestCase):
    def test_only_writes_ask_for_permission(self):
        read, write = (d.cell("libaio", pattern, 8) for pattern in ("randread", "randrw"))
        self.assertEqual(read.contenders[1].flags, ())
        self.assertEqual(write.contenders[1].flags, ("--overwrite-file",))
        self.assertIn("--rw=randrw", v.common_flags(write, 1))

    def test_the_bare_loop_reads_through_io_uring_alone(self):
        os.environ["T_IO_URING"] = "t/io_uring"
        try:
            cells = [d.cell(e, p, 8) for e in d.ENGINES for p in d.PATTERNS]
        finally:
            del os.environ["T_IO_URING"]
        bare = [c.name for c in cells for k in c.contenders if k.label == d.BARE]
        self.assertEqual(bare, ["io_uring randread 8"])

    def test_a_cell_is_judged_by_the_lower_end(self):
        case = d.cell("io_uring", "randread", 8)
        lines, missed = d.rows(case, samples([100, 100, 100], [104, 105, 106]))
        self.assertEqual((len(lines), missed), (1, []))
        # The measured mean is higher, but its interval includes much lower ratios.
        _, missed = d.rows(case, samples([100, 100, 100], [80, 105, 140]))
        self.assertEqual(len(missed), 1)

    def test_a_cell_goes_on_until_its_ratio_is_known(self):
        case, options = d.cell("io_uring", "randread", 8), d.parse_options(["--rounds=3"])
        known, unknown = samples([100] * 3, [104, 105, 106]), samples([100] * 3, [80, 105, 140])
        self.assertTrue(d.is_enough(case, known, options))
        self.assertFalse(d.is_enough(case, unknown, options))
        self.assertFalse(d.is_enough(case, samples([100] * 2, [105] * 2), options))

    def test_processor_time_is_judged_beside_fio(self):
        case = d.cell("io_uring", "randread", 8)
        _, missed = d.rows(case, samples([100] * 3, [105] * 3, cpu=0.9))
        self.assertEqual(len(missed), 1)
        self.assertIn("CPU", missed[0])

    def test_the_mean_over_all_cells(self):
        self.assertEqual(d.overall([1.1, 1.0], d.FIO)[1], [])
        self.assertEqual(len(d.overall([0.9, 1.05], d.BARE)[1]), 1)
