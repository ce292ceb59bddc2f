"""Tests of repeat.py."""

import json
import math
import unittest

import repeat as r


def answer(iops, half=0.1, at_seconds=0.0, stopped_by="limit"):
    pi95 = (iops * (1 - half), iops * (1 + half)) if half else None
    return r.Answer("mean<=1ms", at_seconds, iops, stopped_by, pi95, (iops, iops))


class Predictions(unittest.TestCase):
    def test_an_answer_is_read_with_its_prediction(self):
        document = {"answer": {"iops": {"mean": 10.0, "ci95": [9.0, 11.0], "n": 5},
                               "pi95": [8.0, 12.0], "stopped_by": "limit", "met": True}}
        read = r.read_answer("x", 3.0, json.dumps(document))
        self.assertEqual(read, r.Answer("x", 3.0, 10.0, "limit", (8.0, 12.0), (9.0, 11.0)))
        del document["answer"]["pi95"]
        self.assertIsNone(r.read_answer("x", 3.0, json.dumps(document)).pi95)

    def test_the_next_one_lies_in_the_prediction_or_not(self):
        answers = [answer(100.0), answer(105.0), answer(130.0), answer(125.0)]
        pairs = r.consecutive(answers)
        self.assertAlmostEqual(r.contained_percent(pairs), 200 / 3)
        self.assertTrue(math.isnan(r.contained_percent([])))
        self.assertEqual(r.contained_percent([(answer(100.0, half=0), answer(100.0))]), 0)

    def test_those_follow_that_begin_right_after(self):
        answers = [answer(100.0, at_seconds=at) for at in (0, 20, 41, 400, 420)]
        pairs = [(a.at_seconds, b.at_seconds) for a, b in r.consecutive(answers)]
        self.assertEqual(pairs, [(0, 20), (20, 41), (400, 420)])

    def test_what_is_no_answer_is_not_compared(self):
        starved = answer(100.0, at_seconds=20, stopped_by="starved")
        never = answer(100.0, at_seconds=60, stopped_by=r.UNATTAINABLE)
        broken = r.replace(answer(100.0, at_seconds=80, stopped_by="budget"), met=False)
        answers = [answer(100.0), starved, answer(100.0, at_seconds=40), never, broken]
        pairs = r.consecutive(answers)
        self.assertEqual(pairs, [(answers[2], never)])
        self.assertEqual(r.contained_percent(pairs), 0)
        self.assertIn("| 3 of 5 |", r.row("x", answers))

    def test_an_hour_later(self):
        answers = [answer(100.0, at_seconds=at) for at in (0, 100, 3500, 3700, 9000)]
        pairs = [(a.at_seconds, b.at_seconds) for a, b in r.hour_apart(answers)]
        self.assertEqual(pairs, [(0, 3500), (100, 3500), (3700, 9000)])

    def test_the_spread_is_that_of_the_next_answer(self):
        up = [answer(100.0 * 1.1 ** (n % 2)) for n in range(41)]
        self.assertAlmostEqual(r.spread(r.consecutive(up)), 1.96 * math.log(1.1), places=3)
        value, low, high = r.ratio(up)
        self.assertAlmostEqual(value, 1.862, places=2)
        self.assertTrue(low < 1.6 and high > 2.2, (low, high))

    def test_what_was_stated_is_a_factor_either_way_and_that_of_answers_alone(self):
        def stating(low, high, **fields):
            return r.replace(answer(100.0, **fields), pi95=(low, high))

        answers = [stating(50.0, 200.0), stating(10.0, 1000.0, stopped_by="starved")]
        self.assertAlmostEqual(r.stated(answers), math.log(2))
        self.assertEqual(r.stated([stating(0.0, 200.0)]), math.inf)
        self.assertTrue(math.isnan(r.stated([answer(100.0, half=0)])))

    def test_goals_are_those_of_searches_that_predict(self):
        good = [answer(100.0 * 1.05 ** (n % 2)) for n in range(20)]
        self.assertEqual(r.missed({"a": good, "fio": [answer(100.0, half=0)] * 3}), [])
        wide = [answer(100.0 + n % 2, half=0.5) for n in range(20)]
        self.assertEqual(len(r.missed({"a": wide})), 1)
        narrow = [answer(100.0 * 1.2 ** (n % 2), half=0.01) for n in range(20)]
        self.assertEqual(len(r.missed({"a": narrow})), 2)


class Report(unittest.TestCase):
    def test_a_row_for_each_kind(self):
        kinds = {"a": [answer(100.0)] * 3, r.LATENCY_TARGET: [answer(50.0, half=0)] * 3}
        table = list(r.lines(kinds))
        self.assertEqual(len(table), 4)
        self.assertEqual({line.count("|") for line in table}, {11})

    def test_what_was_saved_is_read_again(self):
        import tempfile
        from dataclasses import asdict
        from pathlib import Path

        early, late = answer(100.0, at_seconds=5.0), answer(90.0, half=0, at_seconds=4000.0)
        with tempfile.TemporaryDirectory() as directory:
            paths = [Path(directory) / name for name in ("late", "early")]
            for path, saved in zip(paths, (late, early)):
                path.write_text(json.dumps(asdict(saved)) + "\n")
            self.assertEqual(r.read_saved(paths), {"mean<=1ms": [early, late]})


if __name__ == "__main__":
    unittest.main()
