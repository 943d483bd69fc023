#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_liar.py PORT TOKEN-FILE: a member that has the token and tells of 128 members that do not exist.

They "listen" at a port of this program, which counts connections and takes their first frame.
"""
import json
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from join_peer import HELLO, PEERS, PING, PROOF, Peer, header, hello

INVENTED, BURST, PER_S, PROVEN = 128, 128, 2, 6
PATIENCE = 60 * float(os.environ.get("SLOW", "1")) * int(os.environ.get("PATIENCE", "1"))
port, token = int(sys.argv[1]), open(sys.argv[2], "rb").read().rstrip()
rng = random.Random(1)
failed = 0
calls, kinds = [], []


def check(name, good, *why):
    global failed
    failed += not good
    print("ok" if good else "not ok", name, "" if good else "# %s" % (why,), flush=True)


def wait_until(what):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.02)
    return False


def answer(s):
    """As a fabric of another id greets: one that gets no proof."""
    try:
        s.settimeout(10)
        s.sendall(header(HELLO, 99, greeting) + greeting)
        rest = b""
        while True:
            data = s.recv(4096)
            if not data:
                return
            rest += data
            while len(rest) >= 24 and len(rest) >= struct.unpack_from("<I", rest)[0]:
                kinds.append(rest[4])
                rest = rest[struct.unpack_from("<I", rest)[0]:]
    except OSError:
        pass
    finally:
        s.close()


def listen():
    while True:
        s, _ = ear.accept()
        calls.append(time.monotonic())
        threading.Thread(target=answer, args=(s,), daemon=True).start()


def invented(first, host="127.0.0.1", at=None):
    return b"".join(peer(first + i, v4(host), at or ear.getsockname()[1]) for i in range(INVENTED))


def peer(ident, ip, at):
    """An entry of PEERS."""
    return struct.pack("<Q16sIHH", ident, ip, 0, at, 0)


def v4(host, prefix=bytes(10)):
    return prefix + b"\xff\xff" + socket.inet_aton(host)


def members():
    out = subprocess.run([os.environ["RDMAEMU"], "status", "--json"], stdout=subprocess.PIPE, check=True, text=True).stdout
    return json.loads(out)["members"]


def drain(p):
    """A member that does not read is too slow."""
    try:
        while p.s.recv(1 << 20):
            pass
    except OSError:
        pass


def join(name, ident):
    p = Peer(port, token, rng, name=name, ident=ident)
    threading.Thread(target=drain, args=(p,), daemon=True).start()
    return p


greeting = hello(b"other", rng)
ear = socket.create_server(("127.0.0.1", 0), backlog=200)
threading.Thread(target=listen, daemon=True).start()
liar = join(b"liar", 4000)
began = time.monotonic()
# New names for the same address again and again: what is counted is all of it.
tells = 0
while time.monotonic() < began + 6:
    liar.send(PEERS, invented(100000 + INVENTED * tells))
    liar.send(PING)
    tells += 1
    time.sleep(0.1)
took = time.monotonic() - began
print("# %d times %d members in %.1f s: %d connections" % (tells, INVENTED, took, len(calls)))
check("a member that tells of members is believed", wait_until(lambda: calls))
check("the fabric connects at a bounded rate", len(calls) <= BURST + PER_S * (took + 1), len(calls))
check("a fabric with another id than the liar told gets no proof", HELLO in kinds and PROOF not in kinds, kinds)

peers = []
try:
    for i in range(PROVEN):
        peers.append(join(b"good%d" % i, 4100 + i))
        peers[-1].send(PING)
except (OSError, AssertionError) as e:
    print("#", e)
want = {"good%d" % i for i in range(PROVEN)}


def names():
    return {m["name"] for m in members()}


def all_in():
    for p in peers + [liar]:
        p.send(PING)
    return want <= names()


check("members that have proved themselves find room", len(peers) == PROVEN and wait_until(all_in), names())
liar.s.shutdown(socket.SHUT_RDWR)
for p in peers:
    p.s.shutdown(socket.SHUT_RDWR)
check("those that it invented are forgotten with it",
      wait_until(lambda: not [m for m in members() if m["name"] == "?"]), members())
time.sleep(0.5)
before = len(calls)
time.sleep(2)
check("and not called any more", len(calls) == before, len(calls) - before)
liar = join(b"liar", 4000)
liar.send(PEERS, invented(1, "224.0.0.1"))
liar.send(PEERS, invented(1, "0.0.0.0"))
check("addresses that are none are no harm", wait_until(lambda: "liar" in names()))

lookalike = socket.create_server(("127.0.0.1", 0))
mapped = socket.create_server(("127.0.0.1", 0))
liar.send(PEERS, peer(201, v4("127.0.0.1", bytes.fromhex("20010db8000000000000")), lookalike.getsockname()[1]) +
          peer(202, v4("127.0.0.1"), mapped.getsockname()[1]))
liar.send(PING)
check("an IPv4-mapped address is dialed", select.select([mapped], [], [], PATIENCE)[0])
check("an IPv6 address that ends like one is not", not select.select([lookalike], [], [], 0)[0])
sys.exit(failed != 0)
