#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""relay.py PORT TO-PORT: carries TCP connections; SIGUSR1 breaks all of them, SIGSTOP makes them slow."""
import selectors
import signal
import socket
import struct
import sys

sel = selectors.DefaultSelector()
pairs = {}


def drop(a):
    b = pairs.pop(a, None)
    pairs.pop(b, None)
    for s in (a, b):
        if s is not None:
            sel.unregister(s)
            # As when a cable is cut, not an orderly end.
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            s.close()


def carry(a):
    try:
        data = a.recv(1 << 16)
        if data:
            pairs[a].sendall(data)
            return
    except (OSError, KeyError):
        pass
    if a in pairs:
        drop(a)


def accept(listener):
    a, _ = listener.accept()
    b = socket.socket()
    try:
        b.connect(("127.0.0.1", int(sys.argv[2])))
    except OSError:
        a.close()
        b.close()
        return
    pairs[a], pairs[b] = b, a
    for s in (a, b):
        sel.register(s, selectors.EVENT_READ, carry)


def cut(*_):
    for s in list(pairs):
        if s in pairs:
            drop(s)


signal.signal(signal.SIGUSR1, cut)
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", int(sys.argv[1])))
    server.listen()
    sel.register(server, selectors.EVENT_READ, accept)
    while True:
        # Cut between two events, not in the middle of one.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        events = sel.select()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        for key, _ in events:
            key.data(key.fileobj)
