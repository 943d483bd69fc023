#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torture/malloc_fails.py [all]: the n-th allocation of a fabric process fails, for n = 1, 2, ...

build/tests/malloc/bin/rdmaemu does that. A fabric starts, listens and is joined, a program runs on it, and commands ask
it for all that it answers. A command either does what it should or says why not in one line; the fabric lives on, its
tables are sound, and the next command and the next program get what they want. Without `all` some n are tried.
"""
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

import tap
from tap import check

T = os.environ["T"]
DIR = os.environ["TEST_DIR"]
PATIENCE = 60 * float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
FAILING, RDMAEMU = os.path.join(T, "malloc/bin/rdmaemu"), os.environ["RDMAEMU"]
APP = os.path.join(T, "app_device_exhausted")
EVERY = sys.argv[1:] == ["all"]
COMMANDS = [["run", "--node", "x", "--", APP], ["fault", "add", "drop node=x"], ["fault", "list", "--json"],
            ["capture", "start", os.path.join(DIR, "packets.pcapng")], ["capture", "list", "--json"],
            ["run", "--node", "x", "--", APP], ["capture", "stop"], ["status"], ["status", "-v"],
            ["status", "--json", "--audit"], ["log"], ["log", "--json"]]


def command(program, args, state, n=0):
    env = dict(os.environ, RDMAEMU_DIR=state)
    if n:
        env["MALLOC_FAIL"] = "%d:%s/count" % (n, DIR)
    try:
        p = subprocess.run([program, *args], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return "hangs", ""
    return p.returncode, p.stdout


def says_why(out):
    """One line about it, of the command or of the program."""
    return len([line for line in out.splitlines() if line.startswith(("rdmaemu: ", "#", "not ok"))]) >= 1


def made():
    with open(os.path.join(DIR, "count"), "rb") as f:
        return struct.unpack("<Q", f.read(8))[0]


def left(state):
    """Files of fabrics, once processes that are about to end have ended."""
    end = time.monotonic() + PATIENCE
    while True:
        found = [os.path.join(where, f) for where, _, files in os.walk(state) for f in files if "journals" not in where]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.02)


def one(n, base):
    """Return: what is wrong with the n-th one."""
    a, b, wrong = os.path.join(base, "a"), os.path.join(base, "b"), []
    for d in (a, b):
        shutil.rmtree(d, ignore_errors=True)
        os.mkdir(d, 0o700)
    with open(os.path.join(DIR, "count"), "wb") as f:
        f.write(bytes(8))
    status, out = command(FAILING, ["fabric", "start", "--listen", "127.0.0.1:0", "--name", "alpha"], a, n)
    if status:
        if status != 1 or len(out.splitlines()) != 1:
            wrong.append("start: %s, %s" % (status, out))
        if "not running" not in command(RDMAEMU, ["fabric", "status"], a)[1]:
            wrong.append("start: %s, but the fabric runs" % out)
            command(RDMAEMU, ["fabric", "stop"], a)
        return wrong + left(a)
    captures = False
    for args in COMMANDS:
        before = made()
        status, out = command(FAILING, args, a)
        hit = before < n <= made()
        captures = captures if args[:2] != ["capture", "start"] else not status
        if status and not (hit and status != "hangs" and says_why(out)) and (captures or args != ["capture", "stop"]):
            wrong.append("%s: %s, %s" % (" ".join(args), status, out))
    port = [line.split(":")[-1].split()[0] for line in command(FAILING, ["log"], a)[1].splitlines() if "listening at" in line]
    for attempt in range(2):
        before = made()
        status, out = command(RDMAEMU, ["fabric", "start", "--join", "127.0.0.1:" + (port or ["0"])[0], "--name", "beta"], b)
        if not status:
            status, out = command(RDMAEMU, ["fabric", "stop"], b)
        if status and not before < n <= made():
            wrong.append("join: %s, %s" % (status, out))
    status, out = command(FAILING, ["status", "--audit"], a)
    if (status or "audit: clean" not in out) and n < made():
        status, out = command(FAILING, ["status", "--audit"], a)
        if status or "audit: clean" not in out:
            wrong.append("audit: %s, %s" % (status, out))
    before = made()
    status, out = command(FAILING, ["fabric", "stop"], a)
    if status and before < n <= made():
        status, out = command(FAILING, ["fabric", "stop"], a)
    if status:
        wrong.append("stop: %s, %s" % (status, out))
    return wrong + left(a) + left(b)


def numbers(end):
    n = 1
    while n <= end:
        yield n
        n += 1 if EVERY else max(1, end // 25)


def main():
    with tempfile.TemporaryDirectory(dir="/dev/shm", prefix="rdmaemu-test.") as base:
        wrong = one(1 << 40, base)
        check("nothing fails as long as there is memory", not wrong, "\n".join(wrong))
        all_, tried = made(), 0
        for n in numbers(all_):
            wrong = one(n, base)
            tried += 1
            if wrong:
                check("allocation %d of %d" % (n, all_), False, "\n".join(wrong))
        check("a fabric process whose n-th allocation fails (%d tried, %d in all)" % (tried, all_), not tap.failed)
    return tap.failed != 0


sys.exit(main())
