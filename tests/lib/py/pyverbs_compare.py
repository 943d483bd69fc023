#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Runs rdma-core's own test suite (the Python package `tests` in DIR) plain and under commands that must change nothing,
compares the outcome of each test, and prints TAP.

    pyverbs_compare.py DIR NAME COMMAND [NAME COMMAND]...

COMMAND is words with blanks between. PYVERBS_ARGS says which device. A test that a device does not pass without a
command is skipped, if its outcome is the same with it. A device may be too slow, or too busy, for a test to end alike
each time: one that differs is run again alone, plain and with the command, until both have ended alike once.
"""
import os
import re
import sys

import pyverbs_run

TRIES = 5


def summary(kind, text):
    """What is compared of an outcome: for one that fails, the last line, without numbers."""
    lines = [line for line in text.splitlines() if line.strip()]
    if kind == 'fail' and lines and lines[0].startswith('the process ended in it'):
        return kind, re.sub(r'-?[0-9]+', 'N', lines[0])
    return kind, re.sub(r'0x[0-9a-f]+|-?[0-9]+', 'N', lines[-1].strip()) if lines else ''


def run_suite(directory, prefix, tests):
    """The outcomes of all tests, by test, with the module of each."""
    return {test: (name, kind, text)
            for name, wanted in tests for test, kind, text in pyverbs_run.outcomes(directory, prefix, name, wanted)}


def run_one(directory, prefix, name, test):
    for ended, kind, text in pyverbs_run.outcomes(directory, prefix, name, [test]):
        if ended == test:
            return summary(kind, text)
    return None


def differs(directory, prefix, test, name, plain, layered):
    seen = {plain}, {layered}
    for _ in range(TRIES):
        seen[0].add(run_one(directory, [], name, test))
        seen[1].add(run_one(directory, prefix, name, test))
        if seen[0] & seen[1] - {None}:
            return False
    return True


class Comparison:
    """The outcomes under one command next to the plain ones."""

    def __init__(self, directory, layer, prefix):
        self.directory, self.layer, self.prefix = directory, layer, prefix
        self.failed = self.again = 0

    def compare(self, test, plain, layered):
        before, after = summary(*plain[1:]), layered and summary(*layered[1:])
        if before != after:
            self.again += 1
            if not layered or differs(self.directory, self.prefix, test, plain[0], before, after):
                self.failed += 1
                print(f'not ok {self.layer}: {test}')
                print(f'#   plain: {before}')
                for line in ('no outcome' if not layered else layered[2]).splitlines()[-20:] + [f'{after}']:
                    print(f'#   {line}')
                return
        kind, why = before
        print(f'ok {self.layer}: {test}' + ('' if kind == 'pass' else f' # SKIP {kind} without rdmaemu, too: {why}'))


def main(directory, *layers):
    tests = list(pyverbs_run.modules(directory))
    plain = run_suite(directory, [], tests)
    kinds = [kind for _, kind, _ in plain.values()]
    print(f"# plain: {kinds.count('pass')} passed, {kinds.count('skip')} skipped, {kinds.count('fail')} failed")
    failed = 0 if kinds.count('pass') else 1
    for layer, command in zip(layers[::2], layers[1::2]):
        comparison = Comparison(directory, layer, command.split())
        layered = run_suite(directory, comparison.prefix, tests)
        for test in sorted(plain.keys() | layered.keys()):
            name = layered.get(test, (None,))[0]
            comparison.compare(test, plain.get(test, (name, 'pass', '')), layered.get(test))
            sys.stdout.flush()
        print(f'# {layer}: {len(layered)} outcomes, {comparison.again} differed at first, {comparison.failed} each time')
        failed += comparison.failed
    return 1 if failed else 0


if __name__ == '__main__':
    os.environ.setdefault('PYTHONDONTWRITEBYTECODE', '1')
    sys.exit(main(*sys.argv[1:]))
