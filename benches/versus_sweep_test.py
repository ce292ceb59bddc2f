"""Tests of versus_sweep.py: the capacity of a curve, and parsing of the programs' output."""

import argparse
import json
import unittest

import versus_fio as v
import versus_sweep as s


def limit(text="mean<=10ms"):
    return s.Limit.parse(text)


def points(*rows):
    return [s.Point(depth, iops, ms * 1e6) for depth, iops, ms in rows]


class Limits(unittest.TestCase):
    def test_statistics_and_units(self):
        self.assertEqual((limit().percentile, limit().bound_ns), (None, 1e7))
        self.assertEqual((limit("p99.9<=250us").percentile, limit("p99.9<=250us").bound_ns),
                         (99.9, 250e3))
        self.assertEqual(limit("max<=1s").percentile, 100)

    def test_what_is_no_limit_is_told(self):
        for text in ("mean", "mean<=10", "p101<=1ms", "p0<=1ms", "median<=1ms"):
            with self.assertRaises(argparse.ArgumentTypeError, msg=text):
                limit(text)

    def test_the_statistic_is_read_from_fio(self):
        lat_ns = {"mean": 5.0, "max": 9, "percentile": {"99.900000": 7}}
        read = [limit(text).of(lat_ns) for text in ("mean<=1ms", "max<=1ms", "p99.9<=1ms")]
        self.assertEqual(read, [5.0, 9, 7])


class Curves(unittest.TestCase):
    def test_noise_is_levelled(self):
        self.assertEqual(s.rising([1, 3, 2, 4]), [1, 2.5, 2.5, 4])
        self.assertEqual(s.rising([3, 2, 1]), [2, 2, 2])

    def test_the_crossing_is_drawn_straight(self):
        found = s.capacity(points((8, 1000, 8), (16, 1200, 12), (1, 200, 5)), limit())
        self.assertEqual((found.depth, found.iops, found.whole_iops), (12, 1100, 1100))

    def test_a_whole_depth_lies_below(self):
        found = s.capacity(points((1, 100, 5), (2, 200, 15)), limit())
        self.assertEqual((found.depth, found.iops, found.whole_iops), (1.5, 150, 100))

    def test_a_curve_that_does_not_cross_is_told(self):
        for rows in (((1, 100, 5), (2, 200, 6)), ((1, 100, 11), (2, 200, 12))):
            with self.assertRaises(v.CannotRun):
                s.capacity(points(*rows), limit())


class Goals(unittest.TestCase):
    def judged(self, iops, seconds):
        capacities = [s.Capacity(1000, 10, 950), s.Capacity(1100, 11, 1080)]
        answers = {s.SWEEP: [s.Answer(300, 1000, 10), s.Answer(300, 1100, 11)],
                   s.IOGAUGE: [s.Answer(seconds, iops, 10)]}
        return s.judge(capacities, answers)[1]

    def test_within_the_spread_in_a_tenth_of_the_time(self):
        self.assertEqual(self.judged(960, 30), [])
        self.assertEqual(len(self.judged(940, 30)), 1)
        self.assertEqual(len(self.judged(1101, 31)), 2)


class Outputs(unittest.TestCase):
    def test_fios_search_that_came_to_no_end_is_told(self):
        def answer(runtime_ms):
            read = {"iops": 500.0, "lat_ns": {"mean": 1e6}, "runtime": runtime_ms}
            job = {"error": 0, "latency_depth": 7, "latency_window": 5_000_000, "read": read}
            return s.target_answer("note\n" + json.dumps({"jobs": [job]}), 20)

        self.assertEqual((answer(5000).depth, answer(5000).settled), (7, True))
        self.assertFalse(answer(200_000).settled)

    def test_our_own_answer_is_read(self):
        answer = {"iops": {"mean": 900.0}, "depth": 9, "latency_ns": {"mean": 9.9e6}}
        found = s.find_answer(json.dumps({"answer": answer}), 21.5)
        self.assertEqual((found.seconds, found.iops, found.depth), (21.5, 900.0, 9))
