#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_hostile.py PORT TOKEN-FILE PID QPNS GARBAGE: attacks on a fabric, beside which traffic of others goes on.

The fabric, process PID, listens at PORT, and another one that listens nowhere has joined it. QPNS are the numbers of
their queue pairs. The attacker has the token, or does not: GARBAGE connections of strangers come at the end. An attack
that must end a connection has to end it with the words that it should; the test checks that nobody else notices.
"""
import os
import random
import socket
import struct
import sys
import threading
import time

from join_peer import (ACK, ASK, BEGIN, BURST, CREDIT, DEV, HELLO, NODE, PEERS, PING, PROOF, READY, REFUSE, WINDOW, Peer,
                       burst, device, header, hello, node)

port, pid, garbage = int(sys.argv[1]), int(sys.argv[3]), int(sys.argv[5])
token = open(sys.argv[2], "rb").read().rstrip()
qpns = [int(n) for n in sys.argv[4].split(",")]
PATIENCE = 60 * float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
rng = random.Random(7)
failed = 0
idents = iter(range(2000, 3000))


def check(name, good, *why):
    global failed
    failed += not good
    print("ok" if good else "not ok", name, "" if good else "# %s" % (why,), flush=True)


def status(field):
    """A number of the fabric process: kilobytes."""
    with open("/proc/%d/status" % pid, encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith(field + ":"))


def cpu():
    """Seconds of CPU that the fabric process has used."""
    with open("/proc/%d/stat" % pid, encoding="ascii") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Member(Peer):
    """One that has the token. A thread reads what the fabric sends: who does not is too slow."""

    def __init__(self, reads=True):
        super().__init__(port, token, rng, ident=next(idents))
        self.sessions, self.refused, self.n_refused, self.others = {}, {}, 0, []
        self.ended = threading.Event()
        if reads:
            threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        try:
            while True:
                kind, src, body = self.recv()
                if kind == REFUSE:
                    self.refused[src] = body.decode()
                    self.n_refused += 1
                elif kind == BEGIN:
                    self.sessions[src] = body
                elif kind == PEERS:
                    self.others = [i for i in struct.unpack("<" + "Q24x" * (len(body) // 32), body) if i != self.id]
        except OSError:
            self.ended.set()

    def wait_for(self, what):
        """A member that says nothing for 5 seconds would be taken for dead."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and not self.ended.is_set():
            if what():
                return True
            self.try_send(PING)
            time.sleep(0.1)
        return bool(what())

    def wait_for_end(self):
        """Return: whether the fabric ends the connection, when it has handled all that was sent."""
        self.sessions.clear()
        # Questions that come too fast are not answered.
        self.wait_for(lambda: self.sessions or not self.try_send(ASK))
        return self.ended.is_set()

    def tables(self, name=None):
        """One node and one device, which no other member has."""
        gid = b"\xfe\x80" + bytes(12) + self.id.to_bytes(2, "big")
        return [(NODE, node(name=name or b"evil%d" % self.id)), (DEV, device(guid=self.id, gids=[gid])), (READY, b"")]

    def join(self, dst=None, name=None):
        """As fabrics join."""
        self.session += 1
        self.send(BEGIN, struct.pack("<Q", self.session), dst=dst)
        for kind, body in self.tables(name):
            self.send(kind, body, dst=dst)

    def far(self):
        """The member behind the fabric, once PEERS has named it."""
        if not self.wait_for(lambda: self.others):
            raise ConnectionError("PEERS names nobody")
        return self.others[0]

    def try_send(self, *args, **kw):
        """Return: whether the connection takes it."""
        try:
            self.send(*args, **kw)
        except OSError:
            return False
        return True

    def close(self):
        self.s.close()


def refuses(name, want, attack):
    """@attack(member) must end the connection of the attacker, with these words of the fabric."""
    m = Member()
    try:
        attack(m)
    except OSError:
        pass
    m.wait_for(m.ended.is_set)
    got = m.refused.get(m.peer)
    check("%s: refused" % name, got == want, got)
    m.close()


def endures(name, attack):
    """@attack(member) is passed over: the connection stays."""
    m = Member()
    m.join()
    attack(m)
    check("%s: passed over" % name, not m.wait_for_end(), m.refused)
    m.close()


# --- in its own name ---


def replays(m):
    """The same frames again and again, and those of a session before."""
    for _ in range(200):
        for kind, body in m.tables():
            m.send(kind, body)
    for n in (1, 2, 3):
        m.send(CREDIT, struct.pack("<QQQ", n, WINDOW, WINDOW))
    for _ in range(50):
        m.send(BEGIN, struct.pack("<Q", 1))
    m.join()
    same = burst(qpn=qpns[0])
    for _ in range(1000):
        m.send(BURST, same)


def reorders(m):
    """A session whose frames come in any order that the fabric does not refuse."""
    for _ in range(100):
        m.send(READY)
        m.send(BURST, burst(qpn=rng.choice(qpns)))
        m.send(BEGIN, struct.pack("<Q", rng.randrange(1, 99)))
        m.send(BURST, burst(qpn=rng.choice(qpns)))
        m.send(CREDIT, struct.pack("<QQQ", rng.randrange(9), WINDOW, WINDOW))
        m.send(ASK)


def guesses(m):
    """Requests and answers to queue pairs of others, with any key and PSN."""
    for _ in range(4000):
        op = rng.choice([0, 1, 2, ACK])
        length = 0 if op in (2, ACK) else rng.randrange(1, 200)
        b = bytearray(burst(op=op, qpn=rng.choice(qpns), length=length, psn=rng.getrandbits(24), msn=rng.getrandbits(24),
                            aeth=rng.choice([0x1f, 0x60, 0x61, 0x62, 0x63])))
        b[52:56] = struct.pack("<I", rng.getrandbits(10) << 8 | rng.getrandbits(8))
        b[64:72] = struct.pack("<Q", rng.getrandbits(47))
        m.send(BURST, bytes(b), lane=int(op == ACK))


def floods(times, *frames):
    def attack(m):
        for _ in range(times):
            for kind, body in frames or m.tables():
                m.send(kind, body)
    return attack


def fills_the_tables(m):
    """Nodes without end."""
    for i in range(5000):
        m.send(NODE, node(index=i, name=b"evil%d" % i))
        m.send(DEV, device(index=i % 4096, node=i, guid=0x660000 + i))


# --- through the fabric, to the member that it connects with ---


def forwards(*steps):
    def attack(m):
        dst = m.far()
        for kind, body in steps:
            m.send(kind, body, dst=dst)
    return attack


def overdraws(m):
    """More than the window, of bursts for which the other one grants nothing: they come before READY."""
    dst = m.far()
    m.begin(dst=dst)
    big = burst(length=1 << 20, npkts=1024, qpn=0xfffff0)
    for _ in range(64):
        m.send(BURST, big, dst=dst)


def grants(m):
    """Credit that the other one has not got room for."""
    dst = m.far()
    m.join(dst=dst)
    m.send(ASK, dst=dst)
    m.wait_for(lambda: dst in m.sessions)
    m.send(CREDIT, m.sessions[dst] + struct.pack("<QQ", 1 << 60, 0), dst=dst)


def stuffs(m):
    """More tables than the other one takes."""
    dst = m.far()
    body = device(gids=[b"\xfe\x80" + bytes(11) + b"\x99" + i.to_bytes(2, "big") for i in range(16)])
    frame = struct.pack("<IBBHQQ", 24 + len(body), DEV, 0, 0, m.id, dst) + body
    m.s.settimeout(PATIENCE)
    for _ in range(400):
        m.s.sendall(frame * 500)


def lies_to_the_far_one():
    """What only the receiver can know to be wrong ends nothing but the liar's session."""
    m = Member()
    dst = m.far()
    m.join(dst=dst, name=b"nb")
    want = "there is a node 'nb' already: give one of them another name"
    check("another's name through a hub: refused by whom it tells", m.wait_for(lambda: m.refused.get(dst) == want), m.refused)
    check("another's name through a hub: the hub's connection stays", not m.ended.is_set() and m.try_send(PING))
    m.send(REFUSE, b"I do not want you\x1b[2J", dst=dst)
    m.send(ASK, dst=dst)
    check("a refusal through a hub ends nothing", m.try_send(PING) and not m.ended.wait(0.3))
    m.close()


def invents():
    """A hub that carries what others did not send."""
    m = Member()
    m.send(PEERS, b"".join(struct.pack("<Q24x", 7000 + i) for i in range(64)))
    told = 40  # of the 64, some find no place in the table of members
    for i in range(64):
        m.send(BEGIN, struct.pack("<Q", 1), src=7000 + i)
        m.send(NODE, b"?", src=7000 + i)
        m.send(BURST, b"?" * 300, src=7000 + i)
    check("broken frames of invented members: each is refused", m.wait_for(lambda: m.n_refused >= told), m.n_refused)
    check("broken frames of invented members: their hub's connection stays", m.try_send(PING) and not m.ended.is_set())
    m.close()


def peers_flood():
    """PEERS without end, another one each time."""
    m = Member()
    lists = [b"".join(struct.pack("<Q24x", rng.getrandbits(62) + 1) for _ in range(64)) for _ in range(50)]
    before, began = cpu(), time.monotonic()
    for i in range(20000):
        if not m.try_send(PEERS, lists[i % 50]):
            break
    used, took = cpu() - before, time.monotonic() - began
    print("# 20000 times 64 members: %.2f s of CPU in %.2f s" % (used, took))
    check("PEERS without end: passed over", m.try_send(PING) and not m.ended.is_set(), m.refused)
    check("PEERS without end: at a bounded cost", used < 10 * float(os.environ.get("SLOW", "1")), used)
    m.close()


def slow():
    """One sends a byte at a time; one reads nothing of what it asks for."""
    m, deaf = Member(), Member(reads=False)
    frame = struct.pack("<IBBHQQ", 24, PING, 0, 0, m.id, m.peer)
    end = time.monotonic() + 3
    while time.monotonic() < end:
        for i in range(len(frame)):
            m.s.sendall(frame[i:i + 1])
            time.sleep(0.02)
            deaf.try_send(ASK)
            deaf.try_send(BURST, burst(op=2, length=0, qpn=rng.choice(qpns)))
    check("a byte at a time: endured", m.try_send(PING) and not m.ended.is_set())
    for x in (m, deaf):
        x.close()


def cut():
    """Half of a frame, of any length, and the end."""
    for n in (1, 23, 24, 25, 136, 70000):
        m = Member()
        m.join()
        data = struct.pack("<IBBHQQ", 24 + 112 + (1 << 20), BURST, 0, 0, m.id, m.peer) + burst(length=1 << 20, npkts=1024)
        m.s.sendall(data[:n])
        m.close()
    check("frames that are cut off: the fabric lives", os.path.exists("/proc/%d" % pid))


# --- without the token ---


def seen():
    """What a stranger may have heard of a handshake: the greeting and the proof of a member."""
    heard = []

    class Tap(Peer):
        def send(self, kind, body=b"", **kw):
            heard.append(header(kind, self.id, body) + body)
            super().send(kind, body, **kw)
    Tap(port, token, rng, ident=next(idents)).s.close()
    return b"".join(heard)


def strangers():
    replay = seen()
    greeting = hello(b"who", rng, key=rng.randbytes(32))
    first = header(HELLO, 9, greeting) + greeting
    kinds = [lambda: rng.randbytes(rng.randrange(1, 2000)), lambda: first[:rng.randrange(len(first))],
             lambda: first + header(PROOF, 9, bytes(32)) + bytes(32), lambda: replay,
             lambda: header(PROOF, 9, bytes(32)) + bytes(32), lambda: struct.pack("<I", 0xffffffff) + bytes(100),
             lambda: header(REFUSE, 9, b"x" * 400) + b"x" * 400, lambda: first + first,
             lambda: first + header(BEGIN, 9, bytes(8)) + bytes(8), lambda: b""]
    open_ones, n = [], 0
    end = time.monotonic() + 4 * PATIENCE
    while n < garbage and time.monotonic() < end:
        s = socket.create_connection(("127.0.0.1", port))
        n += 1
        try:
            s.sendall(kinds[n % len(kinds)]())
        except OSError:
            pass
        open_ones.append(s)
        if len(open_ones) > 50:
            open_ones.pop(rng.randrange(50)).close()
    for s in open_ones:
        s.close()
    print("# %d connections of strangers" % n)
    check("%d connections of strangers" % garbage, n == garbage, n)


def idles():
    """Nothing is left to do: the fabric process does next to nothing more than before."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if len(os.listdir("/proc/%d/fd" % pid)) <= fds:
            return True
        time.sleep(0.1)
    return False


fds, memory = len(os.listdir("/proc/%d/fd" % pid)), status("VmRSS")
endures("replayed frames", replays)
endures("reordered frames", reorders)
endures("bursts for queue pairs of others", guesses)
refuses("a frame that is huge", "malformed frame", lambda m: m.send(PING, length=0xffffffff))
refuses("a PING of a megabyte", "malformed frame", lambda m: m.send(PING, bytes(1 << 20)))
refuses("an address that no host has", "malformed table", lambda m: (
    m.begin(), m.send(NODE, node()), m.send(DEV, device(gids=[bytes(10) + b"\xff\xff\x7f\0\0\1"]))))
cut()
slow()
endures("sessions without end", floods(20000, (BEGIN, struct.pack("<Q", 3)), (ASK, b"")))
endures("tables without end", floods(10000))
peers_flood()

refuses("noise through a hub", "malformed burst", forwards((BURST, b"\xff" * 200)))
refuses("half a table through a hub", "malformed table", forwards((NODE, node()[:-1])))
refuses("a broken session through a hub", "malformed session", forwards((BEGIN, bytes(8))))
refuses("broken credit through a hub", "malformed credit", forwards((CREDIT, bytes(23))))
refuses("a greeting through a hub", "unexpected frame", forwards((HELLO, hello(b"x", rng))))
refuses("PEERS through a hub", "unexpected frame", forwards((PEERS, bytes(32))))
refuses("a long refusal through a hub", "malformed frame", forwards((REFUSE, b"x" * 161)))
refuses("a frame in the far one's name", "a frame of another member", lambda m: m.send(PING, src=m.far()))
refuses("more than the credit through a hub", "more than it has credit for", overdraws)
refuses("more credit than the window through a hub", "more credit than the window", grants)
lies_to_the_far_one()
invents()
refuses("nodes without end", "too many nodes", lambda m: (m.begin(), fills_the_tables(m)))
strangers()
check("all connections are gone", idles(), len(os.listdir("/proc/%d/fd" % pid)), fds)
before = cpu()
time.sleep(2)
grown = status("VmRSS") - memory
print("# memory: %d kB more; CPU in the 2 s after it: %.2f s" % (grown, cpu() - before))
check("the fabric process has not grown without bound", grown < 96 << 10, grown)
sys.exit(failed != 0)
