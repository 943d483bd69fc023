#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Runs rdma-core's own test suite (the Python package `tests` in DIR) and prints TAP.

    pyverbs_run.py DIR SKIPS PREFIX...    run all; each module in a process of its own, started
                                          by the command PREFIX
    pyverbs_run.py --module DIR FILE MODULE TEST...
                                          what PREFIX starts: those tests, results to FILE

PYVERBS_ARGS has arguments of the suite, such as `--dev NAME`.

A process that crashed or hung costs the test it was in; another one is started for the rest of its
module. A test that the suite skips must stand in SKIPS, and one that stands there must not pass.

SKIPS has lines `module.Class.test<TAB>reason`. After a line `#if: CONDITION` (see CONDITIONS) they
count only where the condition holds, up to the next `#if:` or `#issue:`; after `#if: the suite has TEXT`
where a file of the suite has that text. After `#issue: NAME` they
are about a part that is still to come: they may fail as well as be skipped.
"""
import faulthandler
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import traceback
import unittest

TEST_LIMIT = 90 * int(os.environ.get('TEST_SLOW') or 1)
SEED = os.environ.get('TEST_SEED') or '1'
HUGE_PAGES = '/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages'


def huge_pages():
    try:
        with open(HUGE_PAGES) as f:
            return int(f.read())
    except OSError:
        return 0


CONDITIONS = {
    'no huge pages': lambda: not huge_pages(),
    'not root': lambda: os.geteuid() != 0,
}


SUITE_HAS = '#if: the suite has '


def suite_has(directory, text):
    return any(text in path.read_text() for path in pathlib.Path(directory, 'tests').glob('*.py'))


def load_suite(directory):
    """The package `tests` of DIR, configured by PYVERBS_ARGS."""
    sys.path.insert(0, directory)
    sys.argv[1:] = os.environ.get('PYVERBS_ARGS', '').split()
    from args_parser import parser
    parser.parse_args()
    import tests
    return tests


def walk(suite):
    for item in suite:
        if isinstance(item, unittest.TestSuite):
            yield from walk(item)
        else:
            yield item


def tests_of(module):
    return {t.id().removeprefix('tests.'): t
            for t in walk(unittest.defaultTestLoader.loadTestsFromModule(module))}


class Recorder(unittest.TestResult):
    """Writes one line as a test starts and one as it ends."""

    def __init__(self, path):
        super().__init__()
        self.out = open(path, 'a', buffering=1)
        self.outcome = None

    def put(self, **what):
        self.out.write(json.dumps(what) + '\n')

    def startTest(self, test):
        super().startTest(test)
        self.outcome = None
        # The suite's random numbers are the same in every run, in whatever order tests run.
        random.seed(f'{SEED} {test.id()}')
        self.put(start=test.id().removeprefix('tests.'))
        faulthandler.dump_traceback_later(TEST_LIMIT, exit=True)

    def stopTest(self, test):
        faulthandler.cancel_dump_traceback_later()
        kind, text = self.outcome or ('fail', 'the test ended without an outcome')
        self.put(end=test.id().removeprefix('tests.'), kind=kind, text=text)
        super().stopTest(test)

    def worse(self, kind, text):
        """A test may fail twice, in itself and in its tearDown; and fail after being skipped."""
        if self.outcome is None or self.outcome[0] != 'fail':
            self.outcome = (kind, text)
        elif kind == 'fail':
            self.outcome = (kind, self.outcome[1] + text)

    def addSuccess(self, test):
        self.worse('pass', '')

    def addSkip(self, test, reason):
        self.worse('skip', reason)

    def addError(self, test, err):
        self.worse('fail', ''.join(traceback.format_exception(*err)))

    addFailure = addError

    def addExpectedFailure(self, test, err):
        self.worse('pass', '')

    def addUnexpectedSuccess(self, test):
        self.worse('fail', 'unexpected success\n')


def run_module(directory, path, name, *wanted):
    module = getattr(load_suite(directory), name)
    result = Recorder(path)
    found = tests_of(module)
    for test in wanted:
        found.pop(test).run(result)


class Report:
    """Outcomes as TAP, judged by the list of skips."""

    def __init__(self, skips, directory):
        self.skips = self.read_skips(skips, directory)
        self.failed = 0
        self.seen = set()

    @staticmethod
    def read_skips(path, directory):
        skips, counts, to_come = {}, True, False
        with open(path) as f:
            for line in f:
                line = line.rstrip('\n')
                if line.startswith(SUITE_HAS):
                    counts, to_come = suite_has(directory, line.removeprefix(SUITE_HAS)), False
                elif line.startswith('#if: '):
                    counts, to_come = CONDITIONS[line.removeprefix('#if: ')](), False
                elif line.startswith('#issue: '):
                    counts, to_come = True, True
                elif line and not line.startswith('#') and counts:
                    test, reason = line.split('\t')
                    skips[test] = (reason, to_come)
        return skips

    def not_ok(self, name, text):
        self.failed += 1
        print(f'not ok {name}')
        for line in text.splitlines():
            print(f'#   {line}')

    def put(self, test, kind, text):
        reason, to_come = self.skips.get(test, (None, False))
        self.seen.add(test)
        if reason and (kind == 'skip' or (kind == 'fail' and to_come)):
            print(f'ok {test} # SKIP {reason}')
        elif kind == 'fail':
            self.not_ok(test, text)
        elif kind == 'skip':
            self.not_ok(test, f'skipped: {text}, and not listed')
        elif reason:
            self.not_ok(test, 'listed but passes')
        else:
            print(f'ok {test}')

    def end(self):
        for test in sorted(self.skips.keys() - self.seen):
            self.not_ok(test, 'listed, and the suite has no such test')


def read_results(path):
    """(ended tests, the one that was started and did not end)"""
    ended, running = [], None
    with open(path) as f:
        for line in f:
            what = json.loads(line)
            if 'start' in what:
                running = what['start']
            else:
                ended.append((what['end'], what['kind'], what['text']))
                running = None
    return ended, running


def run_tests(directory, prefix, name, wanted):
    """Run tests of a module in one process. (ended tests, the one in which it ended, status, output)"""
    with tempfile.NamedTemporaryFile(mode='w+', dir=directory) as results, \
         tempfile.NamedTemporaryFile(mode='w+', dir=directory) as output:
        # Not a pipe: processes that a test left behind would keep it open.
        status = subprocess.run(
            [*prefix, sys.executable, os.path.abspath(__file__), '--module', directory, results.name, name, *wanted],
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT).returncode
        ended, running = read_results(results.name)
        with open(output.name, errors='replace') as f:
            return ended, running, status, f.read()[-4000:]


def outcomes(directory, prefix, name, wanted):
    """(test, pass, fail or skip, text) of tests of a module, and (NAME ends, fail, text) of a process that failed."""
    left = list(wanted)
    while left:
        ended, running, status, said = run_tests(directory, prefix, name, left)
        for test, kind, text in ended:
            yield test, kind, text
            left.remove(test)
        if left:
            test = running or left[0]
            yield test, 'fail', f'the process ended in it, status {status}\n{said}'
            left.remove(test)
        elif status:
            yield f'{name} ends', 'fail', f'status {status}\n{said}'


def modules(directory):
    """(name, tests) of each module of the suite."""
    for module in load_suite(directory).__test_modules__:
        yield module.__name__.removeprefix('tests.'), list(tests_of(module))


def run_all(directory, skips, *prefix):
    report = Report(skips, directory)
    for name, wanted in modules(directory):
        if not wanted:
            report.not_ok(name, 'no tests in it')
        for test, kind, text in outcomes(directory, prefix, name, wanted):
            report.put(test, kind, text)
    report.end()
    return report.failed == 0


if __name__ == '__main__':
    if sys.argv[1] == '--module':
        run_module(*sys.argv[2:])
    else:
        sys.exit(not run_all(*sys.argv[1:]))
