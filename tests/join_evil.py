#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""join_evil.py PORT TOKEN-FILE [SEED]: a peer of a fabric that has the token, and then does what no fabric does.

Each case must end the connection with the words that it should; noise must end it or be passed over.
"""
import hashlib
import hmac
import os
import random
import socket
import struct
import sys
import time

HELLO, PROOF, REFUSE, NODE, DEV, READY, PEERS, BURST, CREDIT, PING, BYE, ASK = range(1, 13)
port = int(sys.argv[1])
token = open(sys.argv[2], "rb").read().rstrip()
seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.SystemRandom().getrandbits(32)
rng = random.Random(seed)
failed = 0


class Peer:
    def __init__(self, name=b"evil", ident=None):
        self.id = ident or rng.randrange(1000, 1012)
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.settimeout(60)
        self.rest = b""
        nonce = rng.randbytes(32)
        self.send(HELLO, b"rdmaemuJ" + struct.pack("<HHI", 1, 0, 0) + nonce + name.ljust(48, b"\0"), dst=0)
        _, self.peer, body = self.recv()
        theirs = body[16:48]
        self.send(PROOF, self.proof(b"C", nonce, theirs, self.id, self.peer), dst=0)
        kind, _, body = self.recv()
        assert kind == PROOF and body == self.proof(b"A", theirs, nonce, self.peer, self.id), "its proof"

    @staticmethod
    def proof(role, a, b, x, y):
        return hmac.new(token, b"rdmaemu join 1" + role + a + b + struct.pack("<QQ", x, y), hashlib.sha256).digest()

    def send(self, kind, body=b"", src=None, dst=None, length=None, lane=0, zero=0):
        length = 24 + len(body) if length is None else length
        self.s.sendall(struct.pack("<IBBHQQ", length, kind, lane, zero, self.id if src is None else src,
                                   self.peer if dst is None else dst) + body)

    def recv(self):
        while len(self.rest) < 24 or len(self.rest) < struct.unpack_from("<I", self.rest)[0]:
            data = self.s.recv(65536)
            if not data:
                raise ConnectionError
            self.rest += data
        n, kind, _, _, src, _ = struct.unpack_from("<IBBHQQ", self.rest)
        body, self.rest = self.rest[24:n], self.rest[n:]
        return kind, src, body

    def refusal(self):
        """What the fabric says when it closes the connection."""
        try:
            while True:
                kind, _, body = self.recv()
                if kind == REFUSE:
                    return body.decode()
        except ConnectionError:
            return ""


def node(index=0, devs=1, name=b"evilnode"):
    return struct.pack("<II", index, devs) + name.ljust(48, b"\0")


def device(index=0, node=0, guid=0x4242, lid=0, gids=()):
    port_head = struct.pack("<IIIIQ", 4, lid, 3, 5, guid) + b"\xff\xff" * 8 + bytes([len(gids), 0]) + bytes(6)
    head = struct.pack("<IIQIIII", index, node, guid, 1, 2, 4, 2) + bytes(8) + b"rdmaemu0".ljust(32, b"\0")
    return head + port_head + b"".join(g + bytes([i, 2, 0, 0]) for i, g in enumerate(gids))


def tables(p):
    p.send(NODE, node())
    p.send(DEV, device(gids=[b"\xfe\x80" + bytes(13) + b"\x42"]))
    p.send(READY)


def burst(op=0, flags=3, src_dev=0, dst_dev=0, length=100, data=None, npkts=1, mtu=1024, psn=1, kind=2, src_port=1,
          dst_port=1, qpn=0x12):
    head = struct.pack("<BBBBIIIIIBBHBBHIIIIIIII", op, flags, 0, 0, psn, src_dev, dst_dev, 0x12, qpn, src_port,
                       dst_port, 0xffff, kind, 0, 0, npkts, 1, mtu, 0, 0, 0, 0, 0)
    head += struct.pack("<QQQQQII", 0, length, 0, 0, 0, length, 0)
    return head + (bytes(length) if data is None else data)


def case(name, want, *steps, ident=None):
    global failed
    p = Peer(ident=ident)
    try:
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


def as_known(p):
    """PEERS of it name another, whose frames are then looked at."""
    p.send(PEERS, struct.pack("<Q", 77) + bytes(24))
    p.send(NODE, b"?", src=77)


case("a frame that is too long", "a broken frame", sends(PING, length=2 << 20))
case("a frame that is too short", "a broken frame", sends(PING, length=23))
case("a type that there is not", "a broken frame", sends(99))
case("a lane that there is not", "a broken frame", sends(BURST, bytes(112), lane=2))
case("a header with more in it", "a broken frame", sends(PING, zero=1))
case("a greeting again", "a frame out of place", sends(HELLO, bytes(96)))
case("a node without a name", "a broken table", sends(NODE, node(name=b"")))
case("a node with a name that is none", "a broken table", sends(NODE, node(name=b"a/b")))
case("a node with too many devices", "a broken table", sends(NODE, node(devs=9)))
case("a device of no node", "a broken table", sends(DEV, device()))
# A session begins with nothing of the one before it.
case("a node of too many, and its devices in the next session", "a broken table", sends(NODE, node(devs=9)), ident=1020)
case("a device of a session before", "a broken table", sends(DEV, device()), ident=1020)
case("a node, and its device in the next session", "a broken table", sends(NODE, node()), sends(READY), ident=1021)
case("a device of a node of a session before", "a broken table", sends(DEV, device()), ident=1021)
case("a device of another node", "a broken table", sends(NODE, node()), sends(DEV, device(node=5)))
case("a device with too many GIDs", "a broken table", sends(NODE, node()), sends(DEV, device(gids=[bytes(16)] * 200)))
case("a device that is cut off", "a broken table", sends(NODE, node()), sends(DEV, device()[:-1]))
case("tables that are not complete", "a broken table", sends(NODE, node()), sends(READY))
case("peers that are none", "broken peers", sends(PEERS, bytes(32)))
case("half a peer", "broken peers", sends(PEERS, bytes(31)))
case("a credit that is cut off", "a broken credit", tables, sends(CREDIT, bytes(15)))
case("too much credit", "more credit than there is", tables, sends(CREDIT, b"\xff" * 16))
case("a burst that is noise", "a broken burst", tables, sends(BURST, b"\xff" * 112))
case("a burst that is cut off", "a broken burst", tables, sends(BURST, burst()[:-1]))
case("a burst with too few packets", "a broken burst", tables, sends(BURST, burst(length=5000)))
case("a burst from a device of others", "a broken burst", tables, sends(BURST, burst(src_dev=1)))
case("a burst to no device", "a broken burst", tables, sends(BURST, burst(dst_dev=4095)))
case("a burst to no port", "a broken burst", tables, sends(BURST, burst(dst_port=9)))
case("a frame in another's name", "a frame of somebody else", lambda p: p.send(PING, src=p.id + 1))
case("a frame in the fabric's own name", "a frame of somebody else", lambda p: p.send(READY, src=p.peer))
case("another's broken frame", "a broken table", as_known)
case("its own name for the fabric's", "there is a node 'alpha' already: give one of them another name",
     sends(NODE, node(name=b"alpha")), sends(DEV, device()))


def noise(p):
    """Frames that look right as far as the header, some of them whole ones."""
    whole = [node(), device(), burst(), burst(op=rng.randrange(8)), struct.pack("<QQ", 4 << 20, 4 << 20), b""]
    tables(p)
    for _ in range(rng.randrange(200)):
        kind = rng.choice([NODE, DEV, READY, PEERS, BURST, BURST, BURST, CREDIT, PING, ASK])
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
        p = Peer()
    except ConnectionError:
        # It is busy with the peers that it was told of.
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
