#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_waits.py PORT TOKEN-FILE CASE: a member that lets a queue pair of the fabric wait for credit.

It plays the fabric's peer and the other end of ibv_rc_pingpong, which sends one message of twice what may be under way.
The queue pair waits for credit, and then
	none	there is none, nor any answer: it must end with RETRY_EXC_ERR
	ask	the member begins a new session, in which it takes everything: the message must come
	late	credit comes, but later than the ACK timeout: the message must come
	again	a second connection takes the place of the first, as ask
"""
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from join_peer import (ACK, ASK, BEGIN, BURST, CREDIT, DEV, NODE, PING, READY, WINDOW, Peer, burst, device, node)

SIZE = 2 * WINDOW
GID = bytes(10) + b"\xff\xff" + bytes([10, 99, 7, 7])
QPN, PSN = 0x12, 0x100
SLOW = float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
IDENT = 4711
rng = random.Random(1)
port, token, what = int(sys.argv[1]), open(sys.argv[2], "rb").read().rstrip(), sys.argv[3]


class Member(Peer):
    def __init__(self):
        super().__init__(port, token, rng, name=b"ghost", ident=IDENT)
        self.taken = [0, 0]
        self.ready = False
        self.pinged = 0
        self.tables()

    def tables(self):
        self.begin()
        self.send(NODE, node(name=b"ghost"))
        self.send(DEV, device(guid=0x4711, gids=[b"\xfe\x80" + bytes(13) + b"\x47", GID]))
        self.send(READY)

    def credit(self):
        self.send(CREDIT, struct.pack("<QQQ", self.heard, *(t + WINDOW for t in self.taken)))

    def next(self, seconds):
        """The next burst's body, or None: nothing has come."""
        end = time.monotonic() + seconds
        while True:
            if time.monotonic() - self.pinged > 1:
                self.pinged = time.monotonic()
                self.send(PING)
            left = end - time.monotonic()
            if left <= 0:
                return None
            whole = len(self.rest) >= 24 and len(self.rest) >= struct.unpack_from("<I", self.rest)[0]
            if not whole and not select.select([self.s], [], [], min(left, 0.2))[0]:
                continue
            kind, _, body = self.recv()
            if kind == BEGIN:
                self.taken, self.ready, self.heard = [0, 0], False, struct.unpack("<Q", body)[0]
            if kind == READY:
                self.ready = True
            if kind == ASK:
                self.tables()
            if kind == BURST and self.ready:
                self.taken[body[0] == ACK] += 24 + len(body)
                return body

    def know(self):
        while not self.ready:
            self.next(0.1)


class Other:
    """The other end of the queue pair, and the program that has this one."""

    def __init__(self, member):
        s = socket.create_server(("127.0.0.1", 0))
        args = [os.environ["RDMAEMU"], "run", "--node", "na", "--", "ibv_rc_pingpong", "-g", "1", "-m", "4096", "-n", "1",
                "-s", str(SIZE), "-p", str(s.getsockname()[1]), "127.0.0.1"]
        self.p = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # The program may take longer to start than a member may be silent.
        while not select.select([s], [], [], 0)[0]:
            member.next(0.2)
        self.oob, _ = s.accept()
        text = self.oob.recv(len("0000:000000:000000:" + "0" * 32) + 1, socket.MSG_WAITALL).decode()
        _, qpn, psn, _ = text.split(":")
        self.qpn, self.psn = int(qpn, 16), int(psn, 16)
        self.oob.sendall(("0000:%06x:%06x:%s" % (QPN, PSN, GID.hex())).encode() + b"\0")
        threading.Thread(target=self.oob.recv, args=(5, socket.MSG_WAITALL), daemon=True).start()
        self.got = 0  # packets

    def take(self, member, body):
        """A burst as a responder takes it. Return: whether the message is whole."""
        psn, npkts = struct.unpack_from("<I", body, 4)[0], struct.unpack_from("<I", body, 32)[0]
        ahead = (psn - self.psn - self.got) & 0xffffff
        if body[0] == ACK:
            return False
        if ahead == 0:
            self.got += npkts
        # Behind what is expected: what has come is acknowledged again. Ahead: something is missing.
        aeth = 0x60 if 0 < ahead < 1 << 23 else 0x1f
        at = self.psn + self.got - (aeth == 0x1f)
        member.send(BURST, burst(op=ACK, psn=at & 0xffffff, length=0, qpn=self.qpn, aeth=aeth, mtu=4096), lane=1)
        return self.got * 4096 >= SIZE

    def take_all(self, member, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            body = member.next(1)
            if body and self.take(member, body):
                return True
            if body:
                member.credit()
        return False

    def ended(self, seconds):
        """What the program has said, when it has ended; or None."""
        try:
            return self.p.communicate(timeout=seconds)[0]
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.communicate()
            return None


def say(name, good, *why):
    print("ok" if good else "not ok", "%s: %s" % (what, name), "" if good else "# %s" % (why,), flush=True)
    if not good:
        sys.exit(1)


def exhaust(member):
    """Takes what comes until the window is used up and all timers have fired. Return: whether it came to that."""
    sent, end = 0, time.monotonic() + 60 * SLOW
    while True:
        body = member.next(1)
        if body is not None:
            sent += 24 + len(body)
        elif sent >= WINDOW or time.monotonic() > end:
            return sent >= WINDOW


member = Member()
member.know()
time.sleep(0.3)
other = Other(member)
say("a queue pair waits for credit", exhaust(member))
if what == "none":
    done = []
    threading.Thread(target=lambda: done.append(other.ended(120 * SLOW)), daemon=True).start()
    while not done:
        member.next(0.5)
    say("it ends", done[0] is not None)
    say("with RETRY_EXC_ERR", "status transport retry counter exceeded" in done[0], done[0])
    sys.exit(0)
if what == "ask":
    member.send(ASK)
    member.tables()
elif what == "again":
    # No break is seen: the new one is there before the old one ends.
    old, member = member, Member()
elif what == "late":
    end = time.monotonic() + 1
    while time.monotonic() < end:
        member.next(0.5)
    member.credit()
say("the message comes", other.take_all(member, 100 * SLOW), other.got)
member.credit()
print("# the program:", "killed" if other.ended(0.1) is None else "ended")
