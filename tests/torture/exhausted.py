#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torture/exhausted.py [all]: the machine runs out of something at the n-th system call, for n = 1, 2, ...

build/tests/sys_fail lets the n-th call of a kind fail, or all from the n-th on; or it kills the process that makes the
call; or the state directory vanishes before the call. It does so until there is no n-th call, to a fabric that starts
and stops, also an isolated one and one that joins another; to a run that starts one and makes objects on it; and to
programs on a fabric that itself has what it needs. Whatever fails: the command ends, says why in one line, and leaves
nothing; a killed process leaves nothing after the next start. Without `all` some n are tried, the first ones among them.
SCENARIOS in the environment may name some of them.
"""
import errno
import fcntl
import os
import socket
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
EVERY, NAMES = sys.argv[1:2] == ["all"], os.environ.get("SCENARIOS", "").split()
COUNT = os.path.join(DIR, "count")
APP = os.path.join(T, "app_device_exhausted")
KILL, GONE = 0, "gone"
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


def name_of(error):
    return {KILL: "killed", GONE: "directory vanishes"}.get(error) or errno.errorcode[error]


def have_ended():
    """Whether all processes that have failing calls end."""
    end = time.monotonic() + PATIENCE
    with open(COUNT, encoding="ascii") as f:
        while time.monotonic() < end:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                time.sleep(0.02)
    return False


def one(scenario, kind, error, later, n, state):
    """Return: whether there was an n-th call."""
    global tried
    what = "%s, %s call %d%s: %s" % (scenario.__name__, kind, n, later, name_of(error))
    if os.path.exists(COUNT):
        os.unlink(COUNT)
    how = state if error == GONE else str(error)
    trouble = scenario(["%s/sys_fail" % T, kind, how, "%d%s" % (n, later), COUNT], error, state)
    tried += 1
    if not have_ended():
        trouble += "\na process does not end"
    os.makedirs(state, 0o700, exist_ok=True)
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


def start_stop(args, fail, error, state):
    status, out, err = command(["fabric", "start", *args], state, fail)
    if status == 0:
        status, out, err = command(["fabric", "stop"], state)
        good = status == 0 or error == KILL or len(lines_of(err)) == 1
        if status:
            command(["fabric", "stop"], state)
    else:
        good = error == KILL or (status in (1, 127) and len(err.splitlines()) == 1)
        command(["fabric", "stop"], state)
    return ("" if good else tell(status, out, err)) + (clean_up(state) if error == KILL else "")


def start(fail, error, state):
    """a fabric that starts and stops"""
    return start_stop([], fail, error, state)


def isolated(fail, error, state):
    """an isolated fabric that starts and stops"""
    return start_stop(["--isolated"], fail, error, state)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def join(fail, error, state):
    """a fabric that joins another one, and stops"""
    far, port = state + ".far", "127.0.0.1:%d" % free_port()
    os.makedirs(far, 0o700, exist_ok=True)
    status, out, err = command(["fabric", "start", "--listen", port, "--name", "far"], far)
    if status:
        return "listen: " + tell(status, out, err)
    trouble = start_stop(["--join", port, "--name", "near"], fail, error, state)
    status, out, err = command(["status", "--audit"], far)
    if status or "audit: clean" not in out:
        trouble += "\nthe other one: " + tell(status, out, err)
    status, out, err = command(["fabric", "stop"], far)
    found = left_finally(far)
    return trouble + ("\nits end: " + tell(status, out, err) if status or found else "")


def run(fail, error, state):
    """a run that starts a fabric, and makes objects on it"""
    status, out, err = command(["run", "--linger", "0", "--", APP], state, fail)
    said = out.splitlines() + lines_of(err)
    good = status == 0 or error == KILL or (status in RUN_FAILS and 1 <= len(said) <= 2 and
                                            not out.count("no reason"))
    return ("" if good else tell(status, out, err)) + (clean_up(state) if error == KILL else "")


def on_a_fabric(args, program, state):
    """Return: what is wrong with a fabric next to @program()."""
    status, out, err = command(["fabric", "start", *args], state)
    if status:
        return "start: " + tell(status, out, err)
    trouble = program()
    status, out, err = command(["run", "--", APP], state)
    if status:
        trouble += "\nthe next program: " + tell(status, out, err)
    status, out, err = command(["status", "--audit"], state)
    if status or "audit: clean" not in out:
        trouble += "\naudit: " + tell(status, out, err)
    status, out, err = command(["fabric", "stop"], state)
    return trouble + ("\nstop: " + tell(status, out, err) if status else "")


def app(fail, error, state):
    status, out, err = command(["run", "--", APP], state, fail)
    said = out.splitlines() + lines_of(err)
    good = status == 0 or error == KILL or (status in RUN_FAILS and 1 <= len(said) <= 2 and
                                            not out.count("no reason"))
    return "" if good else tell(status, out, err)


def client(fail, error, state):
    """a program on a fabric that has all it needs"""
    return on_a_fabric([], lambda: app(fail, error, state), state)


def isolated_client(fail, error, state):
    """a program on an isolated fabric that has all it needs"""
    return on_a_fabric(["--isolated"], lambda: app(fail, error, state), state)


def pair(fail, error, state):
    port = str(free_port())
    server = subprocess.Popen([RDMAEMU, "run", "--", "ibv_rc_pingpong", "-c", "-n", "20", "-p", port],
                              env=dict(os.environ, RDMAEMU_DIR=state), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    subprocess.run(["%s/sys_port" % T, "wait", port, str(server.pid), str(int(PATIENCE))], check=False)
    status, out, err = command(["run", "--", "ibv_rc_pingpong", "-c", "-n", "20", "-p", port, "127.0.0.1"], state, fail)
    # A client that has failed may have left its server waiting.
    if status:
        server.terminate()
    said, _ = server.communicate()
    good = status != "hangs" and (status == 0 or error == KILL or err.strip())
    if status == 0 and server.returncode:
        good = False
    return "" if good else tell(status, out, err) + "\nserver: " + said


def pingpong(fail, error, state):
    """a ping-pong's client on a fabric that has all it needs"""
    return on_a_fabric([], lambda: pair(fail, error, state), state)


SCENARIOS = [(start, "create", errno.ENOSPC), (start, "create", errno.EROFS), (start, "write", errno.EDQUOT),
             (start, "fd", errno.EMFILE), (start, "memory", errno.ENOMEM), (start, "create", KILL),
             (start, "memory", KILL), (run, "fd", errno.EMFILE), (run, "memory", errno.ENOMEM),
             (run, "create", errno.ENOSPC), (run, "memory", KILL), (client, "fd", errno.EMFILE),
             (client, "memory", errno.ENOMEM), (client, "write", errno.ENOSPC), (client, "memory", KILL),
             (isolated, "create", errno.ENOSPC), (isolated, "fd", errno.EMFILE), (isolated, "memory", errno.ENOMEM),
             (isolated_client, "fd", errno.EMFILE), (isolated_client, "memory", errno.ENOMEM),
             (join, "create", errno.ENOSPC), (join, "fd", errno.EMFILE), (join, "memory", errno.ENOMEM),
             (pingpong, "fd", errno.EMFILE), (pingpong, "memory", errno.ENOMEM), (pingpong, "write", errno.ENOSPC),
             (start, "fd", GONE), (run, "fd", GONE),
             (start, "write", errno.ENOSPC, "+"),
             (client, "fd", errno.EMFILE, "+"), (client, "memory", errno.ENOMEM, "+")]


def main():
    # In memory, so that a fabric's tree is in the state directory, too.
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rdmaemu-test.") as base:
        for i, (scenario, kind, error, *later) in enumerate(SCENARIOS):
            if NAMES and scenario.__name__ not in NAMES:
                continue
            later = "".join(later)
            state = os.path.join(base, "s%d" % i)
            os.mkdir(state, 0o700)
            before = tried, tap.failed
            for n in numbers():
                if not one(scenario, kind, error, later, n, state):
                    break
            check("%s, %s at %s %s call (%d tried, %d calls)" % (
                scenario.__doc__, name_of(error), "all from each" if later else "each", kind, tried - before[0], calls()),
                tap.failed == before[1])
    return tap.failed != 0


sys.exit(main())
