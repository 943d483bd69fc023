#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torture/exhausted.py [all]: the machine runs out of something at the n-th system call, for n = 1, 2, ...

build/tests/sys_fail lets the n-th call of a kind fail, or kills the process that makes it, until there is no n-th
call. It does so to a fabric that starts and stops, to a run that starts one and makes objects on it, and to a
program on a fabric that itself has what it needs. Whatever fails: the command ends, says why in one line, and leaves
nothing; a killed process leaves nothing after the next start. Without `all` some n are tried, the first ones among them.
"""
import errno
import os
import subprocess
import sys
import tempfile
import time

import tap
from tap import check

RDMAEMU = os.environ["RDMAEMU"]
T = os.environ["T"]
DIR = os.environ["TEST_DIR"]
PATIENCE = 120 * float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
EVERY = sys.argv[1:] == ["all"]
COUNT = os.path.join(DIR, "count")
APP = os.path.join(T, "app_device_exhausted")
KILL = 0
RUN_FAILS = (1, 3, 125, 126, 127)
HARMLESS = ("journals", "config")  # what fabrics that have ended well leave
tried = 0


def command(args, state, before=()):
    env = dict(os.environ, RDMAEMU_DIR=state)
    p = subprocess.Popen([*before, RDMAEMU, *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        out, err = p.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, 9)
        out, err = p.communicate()
        return "hangs", out, err
    return p.returncode, out, err


def is_something(path):
    """Whether it is there, and no log that says nothing."""
    try:
        return os.lstat(path).st_size > 0 or not path.endswith(".log")
    except FileNotFoundError:
        return False


def left(state):
    """Files and directories of fabrics."""
    found = []
    for where, dirs, files in os.walk(state):
        if where == state:
            dirs[:] = [d for d in dirs if d not in HARMLESS]
        found += [os.path.join(where, f) for f in files + dirs]
    return [os.path.relpath(f, state) for f in found if is_something(f)]


def left_finally(state, but=()):
    """The same, once processes that are about to end have ended."""
    end = time.monotonic() + PATIENCE
    while (found := [f for f in left(state) if not f.endswith(but or "\0")]) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def numbers():
    n = 1
    while True:
        yield n
        n += 1 if EVERY or n < 4 else max(1, n // 2)


def calls():
    with open(COUNT, encoding="ascii") as f:
        return int(f.read() or 0)


def lines_of(err):
    return [line for line in err.splitlines() if line.startswith("rdmaemu: ")]


def tell(status, out, err):
    return "status %s\n%s\n%s" % (status, out, err)


def one(scenario, kind, error, n, state):
    """Return: whether there was an n-th call."""
    global tried
    what = "%s, %s call %d: %s" % (scenario.__name__, kind, n, errno.errorcode.get(error, "killed"))
    if os.path.exists(COUNT):
        os.unlink(COUNT)
    trouble = scenario(["%s/sys_fail" % T, kind, str(error), str(n), COUNT], error, state)
    tried += 1
    found = left_finally(state, (".log",) if error == KILL else ())
    if found:
        trouble += "\nleft: " + " ".join(found[:20])
    if trouble:
        check(what, False, trouble)
    return calls() >= n


def clean_up(state):
    """A later fabric sweeps, and leaves nothing of its own."""
    status, out, err = command(["fabric", "start", "--fabric", "later"], state)
    if status == 0:
        status, out, err = command(["fabric", "stop", "--fabric", "later"], state)
    return "" if status == 0 else "a later fabric: " + tell(status, out, err)


def start(fail, error, state):
    """a fabric that starts and stops"""
    status, out, err = command(["fabric", "start"], state, fail)
    if status == 0:
        status, out, err = command(["fabric", "stop"], state)
        good = status == 0 or error == KILL or len(lines_of(err)) == 1
        if status:
            command(["fabric", "stop"], state)
    else:
        good = error == KILL or (status in (1, 127) and len(err.splitlines()) == 1)
        command(["fabric", "stop"], state)
    return ("" if good else tell(status, out, err)) + (clean_up(state) if error == KILL else "")


def run(fail, error, state):
    """a run that starts a fabric, and makes objects on it"""
    status, out, err = command(["run", "--linger", "0", "--", APP], state, fail)
    said = out.splitlines() + lines_of(err)
    good = status == 0 or error == KILL or (status in RUN_FAILS and 1 <= len(said) <= 2 and
                                            not out.count("no reason"))
    return ("" if good else tell(status, out, err)) + (clean_up(state) if error == KILL else "")


def client(fail, error, state):
    """a program on a fabric that has all it needs"""
    status, out, err = command(["fabric", "start"], state)
    if status:
        return "start: " + tell(status, out, err)
    status, out, err = command(["run", "--", APP], state, fail)
    said = out.splitlines() + lines_of(err)
    good = status == 0 or error == KILL or (status in RUN_FAILS and 1 <= len(said) <= 2 and
                                            not out.count("no reason"))
    trouble = "" if good else tell(status, out, err)
    status, out, err = command(["run", "--", APP], state)
    if status:
        trouble += "\nthe next program: " + tell(status, out, err)
    status, out, err = command(["status", "--audit"], state)
    if status or "audit: clean" not in out:
        trouble += "\naudit: " + tell(status, out, err)
    status, out, err = command(["fabric", "stop"], state)
    return trouble + ("\nstop: " + tell(status, out, err) if status else "")


SCENARIOS = [(start, "create", errno.ENOSPC), (start, "create", errno.EROFS), (start, "write", errno.EDQUOT),
             (start, "fd", errno.EMFILE), (start, "memory", errno.ENOMEM), (start, "create", KILL),
             (start, "memory", KILL), (run, "fd", errno.EMFILE), (run, "memory", errno.ENOMEM),
             (run, "create", errno.ENOSPC), (run, "memory", KILL), (client, "fd", errno.EMFILE),
             (client, "memory", errno.ENOMEM), (client, "write", errno.ENOSPC), (client, "memory", KILL)]


def main():
    # In memory, so that a fabric's tree is in the state directory, too.
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rdmaemu-test.") as base:
        for i, (scenario, kind, error) in enumerate(SCENARIOS):
            state = os.path.join(base, "s%d" % i)
            os.mkdir(state, 0o700)
            before = tried, tap.failed
            for n in numbers():
                if not one(scenario, kind, error, n, state):
                    break
            check("%s, %s at each %s call (%d tried, %d calls)" % (
                scenario.__doc__, errno.errorcode.get(error, "killed"), kind, tried - before[0], calls()),
                tap.failed == before[1])
    return tap.failed != 0


sys.exit(main())
