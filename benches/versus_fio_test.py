"""Tests of versus_fio.py against recorded output."""

import json
import math
import os
import unittest

import versus_fio as v


def sample(iops):
    return v.Sample(iops=iops, cpu_us_per_io=1.0, depth=1.0)


def case(goals=(), harness=0.0):
    contenders = (v.Contender("fio defaults", "fio"), v.Contender("iogauge", "iogauge"))
    return v.Case("c", "t", "sparse", "io_uring", 1, contenders, goals, harness)


class Reading(unittest.TestCase):
    def test_fio_document_behind_a_note(self):
        read = {"iops": 500_000.0, "lat_ns": {"mean": 64_000.0}}
        job = {"error": 0, "usr_cpu": 20.0, "sys_cpu": 80.0, "read": read}
        got = v.fio_sample("note: something\n" + json.dumps({"jobs": [job]}), None)
        self.assertEqual(got.iops, 500_000.0)
        self.assertAlmostEqual(got.cpu_us_per_io, 2.0)
        self.assertAlmostEqual(got.depth, 32.0)

    def test_fio_error_is_no_sample(self):
        with self.assertRaises(v.CannotRun):
            v.fio_sample(json.dumps({"jobs": [{"error": 5}]}), None)

    def test_iogauge_document(self):
        step = {
            "read": {"errors": 0, "iops": {"mean": 2e6}},
            "cpu": {"ns_per_io": 510.0},
            "depth_achieved": 27.5,
        }
        got = v.iogauge_sample(json.dumps({"steps": [step]}), None)
        self.assertEqual(got, v.Sample(2e6, 0.51, 27.5))

    def test_t_io_uring_lines_without_the_ramp(self):
        text = "Engine=io_uring\nIOPS=900.5K, BW=3GiB/s\nIOPS=1.90M, BW=7\nIOPS=2.10M, BW=8\n"
        got = v.t_io_uring_sample(text, v.Run(("-d32", "-s16"), cpu_seconds=6.534))
        self.assertAlmostEqual(got.iops, 2.0e6)
        self.assertAlmostEqual(got.cpu_us_per_io, 1.0)
        self.assertEqual(got.depth, 32.0)


class Figures(unittest.TestCase):
    def test_rates_keep_four_digits(self):
        self.assertEqual(v.iops_text(1_895_432), "1.895M")
        self.assertEqual(v.iops_text(556_000), "556k")
        self.assertEqual(v.iops_text(999), "999")

    def test_ratios_are_taken_round_by_round(self):
        samples = {"a": [sample(20), sample(30)], "b": [sample(10), sample(30)]}
        self.assertEqual(v.ratios(samples, "a", "b"), [2.0, 1.0])

    def test_a_missed_goal_is_named_and_a_met_one_is_not(self):
        goals = (v.Goal("iogauge", "fio defaults", "iops", at_least=2.0),)
        rounds = {"fio defaults": [sample(10)] * 3, "iogauge": [sample(n) for n in (15, 19, 40)]}
        lines, missed = v.judge(case(goals), rounds)
        self.assertEqual(len(missed), 1)
        self.assertIn("MISSED", "\n".join(lines))
        rounds["iogauge"] = [sample(n) for n in (15, 20, 40)]
        self.assertEqual(v.judge(case(goals), rounds)[1], [])

    def test_a_goal_from_above(self):
        goal = v.Goal("iogauge", "fio defaults", "cpu_us_per_io", at_most=0.8)
        self.assertTrue(goal.is_met(v.Ratio.of([0.8])))
        self.assertFalse(goal.is_met(v.Ratio.of([0.81])))

    def test_no_lower_is_judged_by_the_interval(self):
        goal = v.Goal("iogauge", "fio defaults", "iops", no_lower=True)
        self.assertTrue(goal.is_met(v.Ratio.of([0.9, 1.1, 0.9, 1.0])))
        self.assertFalse(goal.is_met(v.Ratio.of([0.90, 0.91, 0.92, 0.90])))

    def test_the_interval_of_a_ratio(self):
        ratio = v.Ratio.of([0.5, 2.0, 1.0])
        self.assertAlmostEqual(ratio.mean, 1.0)
        self.assertAlmostEqual(math.log(ratio.high), 4.303 * math.log(2) / math.sqrt(3), places=3)
        self.assertAlmostEqual(ratio.low * ratio.high, 1.0)

    def test_students_quantile(self):
        for degrees, quantile in ((1, 12.706), (3, 3.182), (4, 2.776), (10, 2.228), (40, 2.021)):
            self.assertLess(abs(v.student_t(degrees) / quantile - 1), 0.01)

    def test_the_real_disk_gets_many_short_rounds(self):
        real = next(k for k in v.cases() if k.target == "real")
        self.assertEqual((real.rounds(5), real.seconds(3)), (40, 1))

    def test_the_harness_goal_is_on_time_per_io(self):
        rounds = {"fio defaults": [sample(1e6)], "iogauge": [sample(1e9 / 41)]}
        self.assertEqual(len(v.judge(case(harness=40.0), rounds)[1]), 1)
        rounds["iogauge"] = [sample(1e9 / 39)]
        self.assertEqual(v.judge(case(harness=40.0), rounds)[1], [])


class Cases(unittest.TestCase):
    def test_every_goal_names_contenders_of_its_case(self):
        os.environ["T_IO_URING"] = "t/io_uring"
        try:
            known = v.cases()
        finally:
            del os.environ["T_IO_URING"]
        self.assertTrue(any(c.program == "t/io_uring" for k in known for c in k.contenders))
        for k in known:
            labels = {c.label for c in k.contenders}
            for goal in k.goals:
                self.assertLessEqual({goal.contender, goal.versus}, labels)
