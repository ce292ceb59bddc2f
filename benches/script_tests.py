#!/usr/bin/env python3
"""Runs the tests of the scripts in this directory, `*_test.py`, and prints the result in libtest's form."""

import sys
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
suite = unittest.defaultTestLoader.discover(str(Path(__file__).parent), pattern="*_test.py")
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
failed = len(result.failures) + len(result.errors)
word = "FAILED" if failed or not result.testsRun else "ok"
print(f"test result: {word}. {result.testsRun - failed} passed; {failed} failed; 0 ignored")
sys.exit(0 if word == "ok" else 1)
