# SPDX-License-Identifier: MIT
"""A relay of TCP connections that goes wrong in the ways that it is ordered."""
import random
import select
import socket
import struct
import threading
import time


class Relay(threading.Thread):
    """Carries connections to a port, badly. The test's thread gives orders, this one does them."""

    def __init__(self, port, to, seed):
        super().__init__(daemon=True)
        self.port, self.to = port, to
        self.rng = random.Random(seed)
        self.orders = []
        self.away_until = self.stall_until = self.crumble_until = 0
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen()
        self.listener.setblocking(False)
        self.peer, self.waiting, self.shut = {}, {}, set()
        self.counts = {}
        self.start()

    def order(self, what, seconds=0.0):
        self.orders.append((what, seconds))
        self.counts[what] = self.counts.get(what, 0) + 1

    def drop(self, s, reset=True):
        for x in (s, self.peer.pop(s, None)):
            if x is None:
                continue
            self.peer.pop(x, None)
            self.waiting.pop(x, None)
            self.shut.discard(x)
            if reset:
                x.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            x.close()

    def accept(self):
        s, _ = self.listener.accept()
        if time.monotonic() < self.away_until:
            s.close()
            return
        to = socket.socket()
        try:
            to.connect(("127.0.0.1", self.to))
        except OSError:
            s.close()
            to.close()
            return
        for x in (s, to):
            x.setblocking(False)
            x.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.waiting[x] = b""
        self.peer[s], self.peer[to] = to, s

    def do(self, what, seconds):
        now = time.monotonic()
        if what == "away":
            self.away_until = now + seconds
        if what == "stall":
            self.stall_until = now + seconds
        if what == "crumble":
            self.crumble_until = now + seconds
        if what == "calm":
            self.away_until = self.stall_until = self.crumble_until = 0
        for s in list(self.peer):
            if s not in self.peer:
                continue
            if what in ("reset", "away"):
                self.drop(s)
            elif what == "end":
                self.drop(s, False)
            elif what == "half":
                try:
                    s.shutdown(socket.SHUT_WR)
                except OSError:
                    self.drop(s)
                    continue
                self.shut.add(s)
                self.waiting[s] = b""
                return
            elif what == "truncate":
                # A part of what waits leaves, in the middle of a frame more often than not.
                try:
                    data = s.recv(1 << 16, socket.MSG_DONTWAIT)
                    self.peer[s].send(data[:self.rng.randrange(len(data) + 1)])
                except OSError:
                    pass
                self.drop(s)

    def read(self, s):
        to = self.peer.get(s)
        if to is None:
            return
        try:
            data = s.recv(self.rng.randrange(1, 400) if time.monotonic() < self.crumble_until else 1 << 18)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self.drop(s)
        elif to not in self.shut:
            self.waiting[to] += data
            self.write(to)

    def write(self, s):
        data = self.waiting.get(s)
        if not data:
            return
        try:
            n = s.send(data)
        except BlockingIOError:
            return
        except OSError:
            self.drop(s)
            return
        self.waiting[s] = data[n:]

    def run(self):
        while True:
            while self.orders:
                self.do(*self.orders.pop(0))
            if time.monotonic() < self.stall_until:
                time.sleep(0.02)
                continue
            r = [self.listener] + [s for s in self.peer if not self.waiting[self.peer[s]]]
            w = [s for s in self.peer if self.waiting[s]]
            r, w, _ = select.select(r, w, [], 0.02)
            for s in w:
                self.write(s)
            for s in r:
                if s is self.listener:
                    self.accept()
                else:
                    self.read(s)
