#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_evil.py PORT TOKEN-FILE [SEED]: a peer of a fabric that has the token, and then does what no fabric does.

Each case must end the connection with the words that it should; noise must end it or be passed over.
"""
import random
import socket
import struct
import sys
import time

from join_peer import (ASK, BEGIN, BURST, CREDIT, DEV, HELLO, NODE, PEERS, PING, PIECE, PROBE, PROBED, QUERY, READY, Peer, Refused,
                       burst, device, header, hello, node)

port = int(sys.argv[1])
token = open(sys.argv[2], "rb").read().rstrip()
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().getrandbits(32)
rng = random.Random(seed)
failed = 0


def tables(p):
    p.begin()
    p.send(NODE, node())
    p.send(DEV, device(gids=[b"\xfe\x80" + bytes(13) + b"\x42"]))
    p.send(READY)


def case(name, want, *steps, ident=None):
    global failed
    p = Peer(port, token, rng, ident=ident)
    try:
        p.begin()
        for step in steps:
            step(p)
    except OSError:
        pass
    got = p.refusal()
    good = want == got
    failed += not good
    print("ok" if good else "not ok", "turned away: " + name, "" if good else "# " + repr(got), flush=True)
    p.s.close()


def sends(*args, **kw):
    return lambda p: p.send(*args, **kw)


def sends_credit(p):
    """In the session that counts; that of another is passed over."""
    p.send(CREDIT, struct.pack("<QQQ", 99, 1 << 60, 1 << 60))
    while True:
        kind, _, body = p.recv()
        if kind == BEGIN:
            break
    p.send(CREDIT, body + struct.pack("<QQ", 1 << 60, 0))


def as_known(p):
    """PEERS of it name another, whose frames are then looked at."""
    p.send(PEERS, struct.pack("<Q", 77) + bytes(24))
    # Frames of a session that began before the fabric listened.
    p.send(DEV, b"?", src=77)
    p.send(BURST, b"?", src=77)
    p.begin(src=77)
    p.send(NODE, b"?", src=77)


def greets(name, want, body):
    """A stranger whose greeting is not one of this protocol."""
    global failed
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(60)
    s.sendall(header(HELLO, 1, body) + body)
    text = b""
    try:
        while True:
            data = s.recv(4096)
            if not data:
                break
            text += data
    except OSError:
        pass
    good = want.encode() in text
    failed += not good
    print("ok" if good else "not ok", "refused: " + name, "" if good else "# " + repr(text), flush=True)


def joins(name, want, **kw):
    global failed
    try:
        Peer(port, kw.pop("token", token), rng, **kw)
        got = ""
    except Refused as e:
        got = str(e)
    failed += got != want
    print("ok" if got == want else "not ok", "refused: " + name, "" if got == want else "# " + repr(got), flush=True)


greets("an older protocol", "it speaks version 3 of the protocol, not 6", hello(b"old", rng, version=3)[:96])
greets("a newer protocol", "it speaks version 7 of the protocol, not 6", hello(b"new", rng, version=7) + bytes(40))
greets("a key of low order", "its key is not valid", hello(b"low", rng))
greets("a greeting that is cut off", "this is not a fabric's greeting", hello(b"cut", rng)[:-1])
joins("another token", "wrong token", token=b"guess")
joins("no token", "no token: --token-file is missing", token=b"")
case("a frame that is too long", "malformed frame", sends(PING, length=2 << 20))
case("a frame that is too short", "malformed frame", sends(PING, length=23))
case("an unknown type", "malformed frame", sends(99))
case("an unknown lane", "malformed frame", sends(BURST, bytes(112), lane=2))
case("a header with more in it", "malformed frame", sends(PING, zero=1))
case("a session without a number", "malformed session", sends(BEGIN, bytes(8)))
case("a session that is cut off", "malformed session", sends(BEGIN, b"1"))
case("a question with more in it", "malformed session", sends(ASK, b"1"))
case("a greeting again", "unexpected frame", sends(HELLO, bytes(96)))
case("a node without a name", "malformed table", sends(NODE, node(name=b"")))
case("a node with a name that is none", "malformed table", sends(NODE, node(name=b"a/b")))
case("a node with too many devices", "malformed table", sends(NODE, node(devs=9)))
case("a device of no node", "malformed table", sends(DEV, device()))
# A session begins with nothing of the one before it.
case("a node of too many, and its devices in the next session", "malformed table", sends(NODE, node(devs=9)), ident=1020)
case("a device of a session before", "malformed table", sends(DEV, device()), ident=1020)
case("a node, and its device in the next session", "malformed table", sends(NODE, node()), sends(READY), ident=1021)
case("a device of a node of a session before", "malformed table", sends(DEV, device()), ident=1021)
case("a device of another node", "malformed table", sends(NODE, node()), sends(DEV, device(node=5)))
case("a device with too many GIDs", "malformed table", sends(NODE, node()), sends(DEV, device(gids=[bytes(16)] * 200)))
case("a device that is cut off", "malformed table", sends(NODE, node()), sends(DEV, device()[:-1]))
case("tables that are not complete", "malformed table", sends(NODE, node()), sends(READY))
case("peers that are none", "malformed peers", sends(PEERS, bytes(32)))
case("a peer that is named twice", "malformed peers", sends(PEERS, (struct.pack("<Q", 77) + bytes(24)) * 2))
case("half a peer", "malformed peers", sends(PEERS, bytes(31)))
case("a credit that is cut off", "malformed credit", tables, sends(CREDIT, bytes(23)))
case("too much credit", "more credit than the window", tables, sends_credit)
case("a probe without a number", "malformed probe", tables, sends(PROBE, bytes(16)))
case("a probe of a device that is not there", "malformed probe", tables, sends(PROBE, struct.pack("<IIII", 1, 1, 4095, 1)))
case("a probe's answer that is cut off", "malformed probe", tables, sends(PROBED, bytes(15)))
case("a question without a number", "malformed query", sends(QUERY, bytes(152)))
case("a question that is cut off", "malformed query", sends(QUERY, struct.pack("<II", 1, 1) + bytes(143)))
case("a piece of no text", "malformed text", sends(PIECE, bytes(64)))
case("a piece beyond its text's end", "malformed text", sends(PIECE, struct.pack("<IIQQ", 1, 0, 1, 0) + bytes(42)))
case("a burst that is noise", "malformed burst", tables, sends(BURST, b"\xff" * 112))
case("a burst that is cut off", "malformed burst", tables, sends(BURST, burst()[:-1]))
case("a burst with too few packets", "malformed burst", tables, sends(BURST, burst(length=5000)))
case("a burst from a device of others", "malformed burst", tables, sends(BURST, burst(src_dev=1)))
case("a burst to no device", "malformed burst", tables, sends(BURST, burst(dst_dev=4095)))
case("a burst to no port", "malformed burst", tables, sends(BURST, burst(dst_port=9)))
case("a frame in another's name", "a frame of another member", lambda p: p.send(PING, src=p.id + 1))
case("a frame in the fabric's own name", "a frame of another member", lambda p: p.send(READY, src=p.peer))
case("another's broken frame", "malformed table", as_known)
case("its own name for the fabric's", "there is a node 'alpha' already: give one of them another name",
     sends(NODE, node(name=b"alpha")), sends(DEV, device()))


def noise(p):
    """Frames that look right as far as the header, some of them whole ones."""
    whole = [node(), device(), burst(), burst(op=rng.randrange(8)), struct.pack("<QQQ", 1, 4 << 20, 4 << 20), struct.pack("<Q", 7),
             struct.pack("<IIII", 1, 1, 0, 1), struct.pack("<II", 1, 1) + bytes(144), b""]
    tables(p)
    for _ in range(rng.randrange(200)):
        kind = rng.choice([NODE, DEV, READY, PEERS, BURST, BURST, BURST, CREDIT, PING, ASK, BEGIN, PROBE, PROBED,
                           QUERY, PIECE])
        body = bytearray(rng.choice(whole + [rng.randbytes(rng.randrange(300))]))
        for _ in range(rng.randrange(3)):
            if body:
                body[rng.randrange(len(body))] = rng.getrandbits(8)
        p.send(kind, bytes(body), lane=rng.randrange(2) if kind == BURST else 0)


print("# seed", seed)
end, n = time.monotonic() + 5, 0
while time.monotonic() < end or n < 20:
    n += 1
    try:
        p = Peer(port, token, rng)
    except ConnectionError:
        # The fabric is busy with the peers of the last PEERS frame.
        time.sleep(0.2)
        continue
    try:
        noise(p)
        p.s.shutdown(socket.SHUT_WR)
        p.refusal()
    except OSError:
        pass
    p.s.close()
print("ok noise of who has the token: %d connections" % n)
sys.exit(failed != 0)
