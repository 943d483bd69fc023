#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""torture/fault.py COUNT RERUNS [SEED]: scenarios of fault rules at random, under a load that checks its data.

Each scenario has a fabric of its own with one to six rules of any action, and a load (app_fault_packets, app_cm_tries)
that follows from its seed. In most of them the clock is moved by hand, so that what has to wait does not take
real time, and rules hit the same packets when a scenario is run again: RERUNS of them are. Each
scenario must fulfil:

- it ends;
- data that arrives is right and in order; RC and XRC lose nothing that they say has succeeded; UD and UC
  lose what was lost on the way, and nothing else;
- an error is one that some rule of the scenario can bring about, requests after it are flushed, and the
  QP's state follows;
- the journal has the error, with its cause, and each loss with the rule that did it;
- the HCA's memory is sound in the end (`status --audit`), and nobody is left in it.

A failure is printed with its seed: `torture/fault.py 1 1 SEED` runs that one alone.
"""
import json
import os
import random
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
from fault_rules import MTU, PAUSE, REFUSED, Load, Rules  # noqa: E402

RDMAEMU = os.environ["RDMAEMU"]
T = os.environ["T"]
DIR = os.environ["TEST_DIR"]
SLOW = float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
LIMIT = 300 * SLOW
PATIENCE = 0.5 * SLOW  # after which the clock is moved on for a program that is stopped
NOTICES = 8192  # that the journal has room for
PSN = 0xABCDEF  # that vb_spec_of() begins with

FLUSH = "WR_FLUSH"
# ibv_wc_status_str() of rdma-core
STATUS = {
    "success": "SUCCESS", "local length error": "LOC_LEN", "local QP operation error": "LOC_QP_OP",
    "local protection error": "LOC_PROT", "Work Request Flushed Error": FLUSH,
    "local access error": "LOC_ACCESS", "remote invalid request error": "REM_INV_REQ",
    "remote access error": "REM_ACCESS", "remote operation error": "REM_OP",
    "transport retry counter exceeded": "RETRY_EXC", "RNR retry counter exceeded": "RNR_RETRY_EXC",
    "bad response error": "BAD_RESP", "general error": "GENERAL", "fatal error": "FATAL",
    "aborted error": "REM_ABORT", "response timeout error": "RESP_TIMEOUT",
}  # fmt: skip


def call(*args, **more):
    return subprocess.run([RDMAEMU, *args], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=LIMIT, check=False, **more)  # fmt: skip


def is_stopped(pid):
    """Whether a process is, or one that it has started."""
    try:
        with open("/proc/%d/stat" % pid, encoding="utf-8") as f:
            state = f.read().rpartition(")")[2].split()[0]
        with open("/proc/%d/task/%d/children" % (pid, pid), encoding="utf-8") as f:
            children = f.read().split()
    except OSError:
        return False
    return state == "T" or any(is_stopped(int(c)) for c in children)


class Run:
    """A scenario, run once: what came of it."""

    def __init__(self, seed):
        rng = random.Random(seed)
        self.seed = seed
        self.load = Load(rng)
        self.rules = Rules(rng, self.load)
        self.wrong = []
        self.out, self.status = "", None
        self.faults, self.journal = [], []

    def bad(self, what, *more):
        self.wrong.append(" ".join([what, *map(str, more)]))

    def clock(self, time):
        call("clock", "advance", time)

    def start(self):
        args = ["fabric", "start", "--seed", str(self.seed & 0xFFFFFFFF)]
        r = call(*args, *(["--clock", "manual"] if self.load.manual else []))
        if r.returncode:
            self.bad("fabric start:", r.stdout)
        self.env = dict(os.environ, RDMAEMU_BIN=RDMAEMU)
        self.at = []
        if self.load.nodes:
            call("run", "--node", "a", "--", "true")
            peer = call("run", "--node", "b", "--", "env").stdout.splitlines()
            names = ("RDMAEMU_SOCKET=", "RDMAEMU_SYSFS=", "RDMAEMU_NODE=", "RDMAEMU_DIR=", "RDMAEMU_FABRIC=")
            self.env["PEER_ENV"] = "\n".join(l for l in peer if l.startswith(names))
            self.at = ["--node", "a"]
        if self.load.manual:
            # Nothing arrives while the program is still posting: what it does is not a matter of luck.
            for node in ("a", "b") if self.load.nodes else ("node0",):
                call("port", "link", "--node", node, "delay", "1us")
        for i, text in enumerate(self.rules.text):
            for k, rule in enumerate(text.split(";")):
                r = call("fault", "add", "%s%d: %s" % ("r" if not k else "more", i, rule.strip()))
                # Selectors and opcodes that do not go together are no rule.
                if r.returncode and "expected" not in r.stdout:
                    self.bad("fault add", rule, r.stdout)

    def program(self):
        with open(DIR + "/out", "w+", encoding="utf-8") as out:
            p = subprocess.Popen([RDMAEMU, "run", *self.at, "--", T + "/" + self.load.program, *self.load.args],
                                 stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=self.env)  # fmt: skip
            end = time.monotonic() + LIMIT
            while time.monotonic() < end:
                try:
                    self.status = p.wait(PATIENCE)
                    break
                except subprocess.TimeoutExpired:
                    if is_stopped(p.pid):
                        self.clock("%dms" % PAUSE)
            else:
                self.bad("it does not end")
                p.kill()
                p.wait()
            out.seek(0)
            self.out = out.read()

    def run(self):
        self.start()
        self.program()
        self.faults = json.loads(call("fault", "list", "--json").stdout)["faults"]
        call("fault", "clear")
        self.clock("%ds" % self.load.settle)
        self.journal = json.loads(call("log", "--json").stdout)
        end = time.monotonic() + 20 * SLOW
        while json.loads(call("status", "--json").stdout)["clients"] and time.monotonic() < end:
            time.sleep(0.05)
        left = json.loads(call("status", "--json").stdout)
        if left["clients"] or left["qps"]:
            self.bad("left behind:", len(left["clients"]), "clients,", len(left["qps"]), "queue pairs")
        audit = call("status", "--audit")
        if audit.returncode:
            self.bad("audit:", audit.stdout)
        call("fabric", "stop")
        self.parse()
        self.check()
        return self

    # --- what was printed

    def parse(self):
        self.posts = [m.groups() for m in re.finditer(r"^post (\d+) (\w+) (\d+)$", self.out, re.M)]
        self.sends = [(int(i), STATUS.get(s, s)) for i, s in re.findall(r"^send (\d+) (.*)$", self.out, re.M)]
        self.recvs = [int(i) for i in re.findall(r"^recv (\d+) \d+$", self.out, re.M)]
        self.recv_bad = [STATUS.get(s, s) for s in re.findall(r"^recv: (.*)$", self.out, re.M)]
        self.states = (re.findall(r"^states (\w+) (\w+)$", self.out, re.M) or [("?", "?")])[0]
        self.tries = re.findall(r"^try (\d+): (.*)$", self.out, re.M)

    def hit(self, *acts):
        return sum(r["hits"] for r in self.faults if self.act(r) in acts)

    def hit_peer(self):
        """Whether a receive has failed on purpose, or a request was refused; that may not have come through."""
        return any(r["hits"] and re.search("opcode=RECV|code=REM_|IBV_WC_REM_", r["rule"]) for r in self.faults)

    @staticmethod
    def act(rule):
        return [w for w in rule["rule"].split() if not w.endswith(":")][0]

    def check(self):
        if self.wrong and self.status is None:
            return
        if self.status and self.may_die():
            return
        if self.status:
            self.bad("the program has ended with", self.status)
        if self.load.type == "CM":
            self.check_tries()
            return
        self.check_sends()
        self.check_recvs()
        self.check_journal()

    def may_die(self):
        """Whether a rule did something after which it cannot go on."""
        if self.hit("kill"):
            return True
        if not (self.hit("fail") or any(self.act(r) == "limit" for r in self.faults)):
            return False
        return re.search(r"cannot|queue pairs:|ibv_|rdma_|the device", self.out) and "not " + "right" not in self.out

    def check_sends(self):
        ids = [i for i, _ in self.sends]
        if ids != list(range(self.load.n)):
            self.bad("completions out of order, or missing:", ids)
        failed = None
        allowed = self.rules.allowed(self.faults)
        for i, status in self.sends:
            if failed is not None:
                if status != FLUSH:
                    self.bad("behind a failure:", i, status)
            elif status != "SUCCESS":
                failed = (i, status)
                if status not in allowed:
                    self.bad("no rule that has hit has this status:", i, status)
        sqe = self.load.type in ("UC", "UD")
        if failed and self.states[0] not in (("SQE", "ERR") if sqe else ("ERR",)):
            self.bad("state of the sender:", self.states[0], "after", failed)
        if not failed and self.states[0] not in ("RTS",):
            self.bad("state of the sender:", self.states[0])
        self.failed = failed
        # The side that refuses a request has failed itself; the other has not.
        refused = bool(failed) and failed[1] in REFUSED
        may = {"ERR"} if refused else {"ERR", "RTS"} if self.hit_peer() else {"RTS"}
        if self.states[1] not in may:
            self.bad("state of the receiver:", self.states[1], "not", *may)

    def wanted(self):
        """Messages that take a receive."""
        return [int(i) for i, op, _ in self.posts if op in ("send", "imm")]

    def check_recvs(self):
        wanted, good = self.wanted(), {i for i, s in self.sends if s == "SUCCESS"}
        for status in self.recv_bad:
            if status != FLUSH and status not in self.rules.recv_errors:
                self.bad("no rule has this status of a receive:", status)
        if self.load.type in ("RC", "XRC"):
            if self.recvs != wanted[: len(self.recvs)]:
                self.bad("receives:", self.recvs, "of", wanted)
            missing = [i for i in wanted if i in good and i not in self.recvs]
            if missing:
                self.bad("lost, and said to be sent:", missing)
            added = int((re.findall(r"^sum (\d+)$", self.out, re.M) or [0])[0])
            adds = [int(i) for i, op, _ in self.posts if op == "add"]
            if not len([i for i in adds if i in good]) <= added <= len(adds):
                self.bad("atomics executed:", added, "of", len(adds))
        elif not self.recv_bad and not self.failed:
            self.check_lost(wanted)

    def check_lost(self, wanted):
        """Of UD and UC: what did not come was lost on the way, packet by packet."""
        psns = {j["psn"] for j in self.journal if j.get("psn") is not None and self.is_loss(j)}
        lost, at = set(), PSN
        for i, _, size in self.posts:
            n = max(1, -(-int(size) // MTU))
            if any((at + k) & 0xFFFFFF in psns for k in range(n)):
                lost.add(int(i))
            at += n
        missing = set(wanted) - set(self.recvs)
        # A flood of losses without a rule is one entry, which names the first packet and counts the others.
        unnamed = sum(j.get("more", 0) for j in self.journal if self.is_loss(j))
        twice = self.hit("duplicate")
        if not twice and len(self.recvs) != len(set(self.recvs)):
            self.bad("came twice:", self.recvs)
        if len(missing - lost) > unnamed and not (self.load.type == "UC" and (self.rules.random_loss or twice)):
            self.bad("lost, and no packet of it was:", sorted(missing - lost))
        if lost & set(self.recvs) and not twice:
            self.bad("a packet of it was lost, and it came:", sorted(lost & set(self.recvs)))

    @staticmethod
    def is_loss(j):
        return j["kind"] == "drop"

    def check_journal(self):
        if self.failed:
            i, status = self.failed
            entry = [j for j in self.journal if j["kind"] == "completion" and j.get("wr_id") == i
                     and j["status"] == "IBV_WC_%s_ERR" % status and j.get("opcode") != "RECV"]  # fmt: skip
            if not entry:
                self.bad("not in the journal:", i, status)
            elif not entry[0]["text"] or entry[0]["cause"] == "none":
                self.bad("the journal knows no cause of:", i, status, entry[0])
        self.check_losses()

    def check_losses(self):
        """Each loss is in the journal, with its rule: the first of those that hit the packet."""
        if len(self.journal) >= NOTICES:
            return
        rules = [r for r in self.faults if self.act(r) in ("drop", "loss", "corrupt")]
        named = {r["id"]: sum(1 for j in self.journal if self.is_loss(j) and j.get("rule") == r["id"]) for r in rules}
        for r in rules:
            if named[r["id"]] > r["hits"] and not self.hit("duplicate"):
                self.bad("rule", r["name"], "hit", r["hits"], "packets, lost are", named[r["id"]])
        hits, lost = sum(r["hits"] for r in rules), sum(named.values())
        # Other rules lose, repeat or hold what these have hit.
        alone = {self.act(r) for r in self.faults} <= {"drop", "loss", "corrupt", "rnr", "nak", "wc", "rate"}
        if (len(rules) == 1 and alone and lost != hits) or (hits and not lost and alone):
            self.bad("losses in the journal:", lost, "of", hits)

    def check_tries(self):
        for i, what in self.tries:
            if not re.match(r"data (good|lost), closed$|(rejected|unreachable|error) -?\d+$|unresolved -?\d+$", what):
                self.bad("try", i, what)
        if not self.faults and any(not w.startswith("data good") for _, w in self.tries):
            self.bad("nothing was wrong, but:", self.tries)

    # --- what must be the same when it is run again

    def entries(self, *kinds):
        keep = ("kind", "status", "conn", "opcode", "wr_id", "psn", "attempt", "cause", "rule", "qp_type")
        return [tuple(j.get(k) for k in keep) for j in self.journal if j["kind"] in kinds]

    def decisions(self):
        kinds = {j["kind"] for j in self.journal} - {"fabric", "gone"}
        return {
            "rules": [(r["name"], r["seen"], r["hits"]) for r in self.faults],
            "journal": self.entries(*kinds),
            # The kernel decides which of two programs ends first.
            "ends": sorted(self.entries("gone"), key=str),
            "sends": self.sends,
            "recvs": self.recvs,
            "recv errors": self.recv_bad,
            "states": self.states,
            "tries": self.tries,
        }

    def repeatable(self):
        """A program that is stopped or killed has done more or less by then."""
        mine = " ".join(self.rules.text)
        return self.load.manual and not re.search(r"\b(pause|kill)\b", mine)

    def tell(self):
        print("# seed %d, %s, %s" % (self.seed, "by hand" if self.load.manual else "clock runs",
                                     " ".join([self.load.program, *self.load.args])))  # fmt: skip
        for text in self.rules.text:
            print("#   " + text)
        for what in self.wrong:
            print("#   WRONG: " + what[:2000].replace("\n", "\n#     "))
        lines = [l for l in self.out.splitlines() if not l.startswith("post ")]
        for line in lines[:12] + ["..."] * (len(lines) > 24) + lines[max(12, len(lines) - 12):]:
            print("#   | " + line)


def compare(one, two):
    a, b = one.decisions(), two.decisions()
    for key in a:
        if a[key] != b[key]:
            one.bad("not the same again:", key)
            pairs = [(x, y) for x, y in zip(a[key], b[key]) if x != y][:3]
            one.bad("%d and %d of them; first: %s" % (len(a[key]), len(b[key]), pairs))


def main():
    count, reruns, first = (int(arg) for arg in sys.argv[1:4])
    outcomes, acts, failed, again = {}, {}, 0, 0
    began = time.monotonic()
    print("# %d scenarios from seed %d" % (count, first), flush=True)
    for seed in range(first, first + count):
        run = Run(seed).run()
        if again < reruns and run.repeatable():
            again += 1
            compare(run, Run(seed).run())
        for rule in run.faults:
            there, hit = acts.get(run.act(rule), (0, 0))
            acts[run.act(rule)] = there + 1, hit + (rule["hits"] > 0)
        if run.wrong:
            failed += 1
            run.tell()
            print("not ok scenario %d" % seed, flush=True)
        else:
            kind = ("program ended" if run.status else "success" if not getattr(run, "failed", None)
                    else run.failed[1])  # fmt: skip
            outcomes[kind] = outcomes.get(kind, 0) + 1
    print("# %d wrong, %d run twice, %.0f s; %s" % (failed, again, time.monotonic() - began, outcomes))
    print("# rules, and those that hit: " + ", ".join("%s %d/%d" % (a, h, n) for a, (n, h) in sorted(acts.items())))
    if failed:
        sys.exit(1)
    print("ok %d scenarios end in success or in the right error" % count)
    print("ok %d of them, run again, did the same" % again)


main()
