#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_strangers.py PORT TOKEN-FILE ADDRESS [COMMAND...]: strangers at ADDRESS hold connections and say nothing.

There are 40 of them, and each that the fabric closes connects again. Meanwhile 47 members join one after another from
127.0.0.1, and COMMAND, if any, runs. Prints how many members came in at the first attempt.
"""
import random
import selectors
import socket
import subprocess
import sys
import threading

from join_peer import Peer

CROWD, MEMBERS, ATTEMPTS = 40, 47, 20
port, token, address, command = int(sys.argv[1]), open(sys.argv[2], "rb").read().rstrip(), sys.argv[3], sys.argv[4:]
rng = random.Random(1)
stop = threading.Event()
full = threading.Event()
made = [0]


def stranger():
    made[0] += 1
    return socket.create_connection(("127.0.0.1", port), source_address=(address, 0))


def crowd():
    with selectors.DefaultSelector() as sel:
        for _ in range(CROWD):
            sel.register(stranger(), selectors.EVENT_READ)
        while not stop.is_set():
            for key, _ in sel.select(0.1):
                try:
                    data = key.fileobj.recv(1000)
                except ConnectionError:
                    data = b""
                if not data:
                    sel.unregister(key.fileobj)
                    key.fileobj.close()
                    # A flood would be another test: a stranger that was let go waits its turn.
                    sel.register(stranger(), selectors.EVENT_READ)
            full.set()


t = threading.Thread(target=crowd, daemon=True)
t.start()
full.wait()
good = at_once = 0
for i in range(MEMBERS):
    # A fabric, too, tries again at once.
    for attempt in range(ATTEMPTS):
        try:
            p = Peer(port, token, rng, name=b"member", ident=5000 + i % 8)
            p.s.close()
            good += 1
            at_once += attempt == 0
            break
        except OSError:
            pass
status = subprocess.run(command, check=False).returncode if command else 0
stop.set()
t.join()
print("# %d connections of strangers" % made[0])
print("# %d of %d members came in, %d at once" % (good, MEMBERS, at_once))
print("ok" if good == MEMBERS else "not ok", "members join while strangers at %s hold connections" % address)
sys.exit(status)
