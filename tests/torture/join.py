#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torture/join.py SECONDS [SEED]: joined fabrics while connections break and processes are killed.

Two fabrics, or three (a mesh, or a hub between two that do not listen), whose TCP connections go through
relays of ours. app_qp_join_load programs exchange data between them and check all of it; app_cm_joinload ones
connect by the rdma_cm again and again. At random times a relay cuts, half-closes, stalls, truncates, crumbles
or turns away connections, a fabric is killed and started again, a program is killed. The faults that hit a program
decide which errors it must see; any other fails the test. Everything random follows from the seed, except what depends
on time.

With TORTURE_KILLS=N in the environment each kind of mesh ends after its share of N kills instead, of which a third hits
fabrics, and links break only now and then.
"""
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time

from relay import Relay

RETRY, FATAL, ALONE = 10, 11, 12
TOP = os.environ["TOP"]
RDMAEMU = os.environ["RDMAEMU"]
T = os.environ["T"]
DIR = os.environ["TEST_DIR"]
SLOW = float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
PATIENCE = 200 * SLOW
KILLS = int(os.environ.get("TORTURE_KILLS") or 0)
failed = 0


def say(*what):
    print("#", "%.1f" % (time.monotonic() - began), *what, flush=True)


def check(name, good):
    global failed
    failed += not good
    print("ok" if good else "not ok", name, flush=True)
    return good


def wait_until(what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.05)
    return False


class Fabric:
    def __init__(self, side, flags):
        self.side, self.flags, self.pid, self.kills = side, flags, 0, 0
        self.env = dict(os.environ, RDMAEMU_DIR=os.path.join(DIR, side))
        os.makedirs(self.env["RDMAEMU_DIR"], 0o700, exist_ok=True)

    def cmd(self, *args):
        return subprocess.run([RDMAEMU, *args], env=self.env, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)

    def start(self):
        # The others may still take the dead one for living, and its name for taken.
        def up():
            self.said = self.cmd("fabric", "start", "--name", "host" + self.side, *self.flags)
            return self.said.returncode == 0
        if not wait_until(up):
            raise RuntimeError("fabric %s does not start: %s" % (self.side, self.said.stdout))
        self.pid = self.status()["pid"]
        self.node()

    def node(self):
        self.cmd("run", "--node", "n" + self.side, "--", "true")

    def status(self, *flags):
        def answers():
            self.answer = self.cmd("status", "--json", *flags)
            return self.answer.returncode == 0
        if not wait_until(answers):
            raise RuntimeError("fabric %s has no status: %s" % (self.side, self.answer.stdout))
        return json.loads(self.answer.stdout)

    def knows(self, node):
        return any(n["name"] == node for n in self.status()["nodes"])

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.kills += 1

    def log(self):
        print("".join("#   " + line + "\n" for line in self.cmd("log").stdout.splitlines()[-25:]), end="")


class Program:
    """One of ours on a side. @may: how it may end."""

    def __init__(self, fabric, name, args, by=()):
        self.fabric, self.name, self.may, self.killed = fabric, name, set(), False
        self.path = os.path.join(DIR, "%s.%d.out" % (name, Program.number))
        Program.number += 1
        with open(self.path, "wb") as out:
            self.p = subprocess.Popen([RDMAEMU, "run", "--node", "n" + fabric.side, "--", *by, *args],
                                      env=fabric.env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)

    number = 0

    def said(self):
        with open(self.path, errors="replace") as f:
            return f.read()

    def end(self, seconds=PATIENCE):
        """Wait for it. Return: whether it ended as it may."""
        try:
            status = self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            say(self.name, "hangs:", self.said()[-600:])
            self.p.kill()
            self.p.wait()
            return False
        if self.killed and status == -signal.SIGKILL or status in self.may:
            return True
        # The machine has more to do than it can.
        if status == 125 and "does not answer" in self.said():
            return True
        say(self.name, "ended with", status, "but may with", self.may, ":", self.said()[-600:])
        return False


class Pair:
    """Two programs that load a connection. @patient: nothing but the death of an end may end it."""

    def __init__(self, number, f, g, patient, rng):
        self.number, self.f, self.g, self.patient, self.rng = number, f, g, patient, rng
        self.program = []
        self.lost = self.runs = 0
        self.since = None

    def start(self):
        port = free_port()
        timeout = 20 if self.patient else self.rng.choice([13, 14, 15, 16, 17, 18])
        by = [os.path.join(T, "sys_noptrace")] if self.rng.randrange(4) == 0 else []
        self.runs += 1
        self.program = [
            Program(f, "pair%d%s" % (self.number, f.side),
                    [os.path.join(T, "app_qp_join_load"), how, str(port), str(self.rng.getrandbits(60)), str(timeout)], by)
            for f, how in ((self.f, "serve"), (self.g, "call"))]
        for p in self.program:
            # With less patience than relays have, it may lose its peer at any time.
            p.may = {0} if self.patient else {0, RETRY, ALONE}

    def connected(self):
        return all("# connected" in p.said() for p in self.program)

    def stop(self):
        """Both shall end; one that has not connected yet ends as it is."""
        for p in self.program:
            if "# connected" not in p.said():
                p.may |= {ALONE, -signal.SIGTERM}
            if p.p.poll() is None:
                p.p.send_signal(signal.SIGTERM)

    def ended(self):
        """Wait for both. Return: whether they ended as they may."""
        return all([p.end() for p in self.program])

    def reap(self):
        """When one has ended, so must the other, and both are started again."""
        ended = [p.p.poll() is not None for p in self.program]
        if not any(ended):
            self.since = None
            return True
        if self.since is None:
            self.since = time.monotonic()
        # A program that is not connected yet waits for a peer that will not come.
        if not self.connected():
            self.give_up()
        elif not all(ended) and time.monotonic() - self.since < PATIENCE:
            return True
        self.lost += 1
        good = all([p.end(1) for p in self.program])
        self.start()
        return good

    def give_up(self):
        for p in self.program:
            p.may |= {ALONE}
            p.p.kill()
            p.killed = True
            p.p.wait()

    def hurt(self, victim):
        """A program was killed."""
        for p in self.program:
            p.may |= {RETRY, ALONE}

    def try_begin(self):
        """Without trouble, a connection of any patience must hold."""
        self.start()
        for p in self.program:
            p.may = {0, RETRY, ALONE}

    def worked(self):
        return self.ended() and all(p.p.returncode == 0 for p in self.program)

    def hit(self, fabric):
        """One of the fabrics was killed."""
        for p in self.program:
            p.may |= {FATAL, ALONE} if p.fabric is fabric else {RETRY, ALONE}
        if not self.connected():
            self.give_up()


class Connects:
    """A program that connects to another, again and again; each lives on without the other."""

    def __init__(self, number, f, g, rng):
        self.number, self.f, self.g, self.rng = number, f, g, rng
        self.runs = self.lost = 0
        self.port = 5000 + number
        self.program = []

    def one(self, f, how):
        self.runs += 1
        p = Program(f, "cm%d%s" % (self.number, f.side), [os.path.join(T, "app_cm_joinload"), how, self.address,
                                                          str(self.port), str(self.rng.getrandbits(60))])
        p.may, p.how = {0}, how
        return p

    def start(self):
        self.address = next(n["addresses"][0] for n in self.f.status()["nodes"] if n["name"] == "n" + self.f.side)
        self.program = [self.one(self.f, "serve"), self.one(self.g, "call")]

    connected = Pair.connected
    stop = Pair.stop
    ended = Pair.ended

    def reap(self):
        good = True
        for i, p in enumerate(self.program):
            if p.p.poll() is not None:
                self.lost += 1
                good = p.end() and good
                self.program[i] = self.one(p.fabric, p.how)
        return good

    def hit(self, fabric):
        for p in self.program:
            if p.fabric is fabric:
                p.may.add(FATAL)

    def hurt(self, victim):
        """The other one sees a connection that fails, no more."""

    try_begin = start

    def worked(self):
        return self.ended() and " 0 good" not in self.program[1].said()


def free_port():
    last = os.environ.get("TEST_PORTS", os.path.join(DIR, "ports"))
    out = subprocess.run([os.path.join(T, "sys_port"), "free", last], stdout=subprocess.PIPE, text=True, check=True)
    return int(out.stdout)


class Torture:
    def __init__(self, kind, seed):
        self.kind, self.rng = kind, random.Random(seed)
        self.sides = {}
        self.relays = []
        self.done = {}

    def relay(self, to):
        r = Relay(free_port(), to, self.rng.getrandbits(32))
        self.relays.append(r)
        return "127.0.0.1:%d" % r.port

    def make(self):
        ports = {s: free_port() for s in "abc"}

        def listen(s):
            return ["--listen", "127.0.0.1:%d" % ports[s]]
        isolated = self.rng.choice("abc")
        flags = {"a": listen("a"), "b": ["--join", self.relay(ports["a"])]}
        if self.kind == "mesh":
            flags["b"] += listen("b")
            flags["c"] = listen("c") + ["--join", self.relay(ports["a"]) + "," + self.relay(ports["b"])]
        if self.kind == "hub":
            flags["c"] = ["--join", self.relay(ports["a"])]
        for s, fl in flags.items():
            self.sides[s] = Fabric(s, fl + (["--isolated"] if s == isolated else []))
            self.sides[s].start()
        self.all = list(self.sides.values())
        pairs = [("a", "b"), ("b", "a")] if len(flags) == 2 else [("a", "b"), ("b", "c"), ("c", "a")]
        self.pairs = [Pair(i, self.sides[x], self.sides[y], i == 0, self.rng) for i, (x, y) in enumerate(pairs)]
        self.pairs += [Connects(i, self.sides[x], self.sides[y], self.rng) for i, (x, y) in enumerate(pairs)]

    def whole(self, seconds=PATIENCE):
        def known():
            return all(f.knows("n" + g.side) for f in self.all for g in self.all)
        return wait_until(known, seconds)

    def fault(self):
        relay, kinds = self.rng.choice(self.relays), ["reset", "end", "half", "truncate", "away", "stall", "crumble"]
        what = self.rng.choice(kinds)
        seconds = self.rng.uniform(0.05, 1.5)
        # Once in a while longer than a connection lives.
        if what in ("away", "stall") and self.rng.randrange(6) == 0:
            seconds = 6.5
        relay.order(what, seconds)
        self.count(what)

    def count(self, what):
        self.done[what] = self.done.get(what, 0) + 1

    def kills(self):
        return self.done.get("program killed", 0) + self.done.get("fabric killed", 0)

    def kill_program(self):
        pair = self.rng.choice(self.pairs)
        if not pair.connected():
            return
        victim = self.rng.choice(pair.program)
        pair.hurt(victim)
        victim.killed = True
        victim.p.kill()
        self.count("program killed")

    def kill_fabric(self):
        f = self.rng.choice(self.all)

        # `rdmaemu run` starts a fabric if none runs: wait until it has done so.
        def begun():
            return all("# connected" in p.said() or p.p.poll() is not None
                       for pair in self.pairs for p in pair.program if p.fabric is f)
        if not wait_until(begun, 20):
            return True
        f.kill()
        self.count("fabric killed")
        for pair in self.pairs:
            if f in (pair.f, pair.g):
                pair.hit(f)
        time.sleep(self.rng.uniform(0, 1))
        good = all([p.end() for pair in self.pairs for p in pair.program if p.fabric is f])
        f.start()
        return good and self.whole()

    def reap(self):
        return all([pair.reap() for pair in self.pairs])

    def run(self, seconds, kills):
        self.make()
        if not check("%s: all know of each other" % self.kind, self.whole()):
            return
        for pair in self.pairs:
            pair.start()
        good = self.break_by_kills(kills) if kills else self.break_links(seconds)
        check("%s: nobody saw what must not be, %s" % (self.kind, self.done), good)
        self.settle()

    def break_by_kills(self, kills):
        """Processes are killed under traffic, as fast as they come back."""
        good = True
        while good and self.kills() < kills:
            time.sleep(self.rng.uniform(0.05, 0.5))
            which = self.rng.randrange(12)
            if which < 4:
                good = self.kill_fabric()
            elif which < 11:
                self.kill_program()
            else:
                self.fault()
            good = self.reap() and good
        return good

    def break_links(self, seconds):
        """Links break all the time; processes are killed now and then."""
        end = time.monotonic() + seconds
        good = True
        next_kill = time.monotonic() + seconds * self.rng.uniform(0.2, 0.4)
        while good and time.monotonic() < end:
            time.sleep(self.rng.uniform(0.05, 0.8))
            if time.monotonic() > next_kill:
                next_kill = time.monotonic() + max(6.0, seconds * self.rng.uniform(0.3, 0.6))
                good = self.kill_fabric()
            elif self.rng.randrange(8) == 0:
                self.kill_program()
            else:
                self.fault()
            good = self.reap() and good
        return good

    def settle(self):
        """Nothing breaks any more: all are there, all works, and nothing is left."""
        for r in self.relays:
            r.order("calm")
        # A half-open connection is noticed when it has been silent for long enough: the other pairs must not load the
        # fabrics until then.
        for pair in self.pairs:
            pair.stop()
        good = [pair.ended() for pair in self.pairs]
        check("%s: the programs end well, %s" % (self.kind, [(p.runs, p.lost) for p in self.pairs]), all(good))
        check("%s: all are there again" % self.kind, self.whole())

        def direct():
            return all(m["state"] in ("direct", "behind", "dead", "away") and not m["waiting"]
                       for f in self.all for m in f.status()["members"])
        self.again()

        def clean():
            self.left = []
            for f in self.all:
                s = f.status("--audit")
                self.left.append((s["audit"], len(s["clients"]), len(s["qps"]), len(s["ids"])))
            return all(left == ("clean", 0, 0, 0) for left in self.left)
        check("%s: nothing waits" % self.kind, wait_until(direct))
        if not check("%s: nothing is left" % self.kind, wait_until(clean, 60 * SLOW)):
            say(self.left)
        if failed:
            for f in self.all:
                say("log of", f.side)
                f.log()

    def again(self):
        """All pairs at once, and those that failed once more."""
        left = list(self.pairs)

        def work():
            for pair in left:
                pair.try_begin()
            wait_until(lambda: all(pair.connected() for pair in left), 20)
            time.sleep(1)
            for pair in left:
                pair.stop()
            left[:] = [pair for pair in left if not pair.worked()]
            return not left
        wait_until(work)
        for pair in self.pairs:
            check("%s: %s work again" % (self.kind, ", ".join(p.name for p in pair.program)), pair not in left)

    def stop(self):
        for pair in self.pairs:
            for p in pair.program:
                if p.p.poll() is None:
                    p.p.kill()
                    p.p.wait()
        for f in self.all:
            f.cmd("fabric", "stop")


def main():
    seconds = float(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    print("# seed", seed, flush=True)
    kinds = sys.argv[3:] or ["two", "hub", "mesh"]
    for i, kind in enumerate(kinds):
        t = Torture(kind, seed + i)
        try:
            t.run(seconds / len(kinds), KILLS // len(kinds) + (i < KILLS % len(kinds)))
        finally:
            t.stop()
    sys.exit(failed != 0)


began = time.monotonic()
main()
