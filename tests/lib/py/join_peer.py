# SPDX-License-Identifier: MIT
"""A member of a mesh that is played by a test: docs/reference/join-protocol.md has the frames."""
import hashlib
import hmac
import socket
import struct

HELLO, PROOF, REFUSE, NODE, DEV, READY, PEERS, BURST, CREDIT, PING, BYE, ASK, BEGIN = range(1, 14)
VERSION = 2
WINDOW = 4 << 20
ACK = 7  # as a burst's opcode


def hello(name, rng, port=0, version=VERSION):
    """The body of a HELLO."""
    return b"rdmaemuJ" + struct.pack("<HHI", version, port, 0) + rng.randbytes(32) + name.ljust(48, b"\0")


class Peer:
    """A connection with a fabric. @token: the bytes; @rng: random numbers are taken from it"""

    def __init__(self, port, token, rng, name=b"evil", ident=None):
        self.token = token
        self.id = ident or rng.randrange(1000, 1012)
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.settimeout(60)
        self.rest = b""
        mine = hello(name, rng)
        nonce = mine[16:48]
        self.peer = 0
        self.send(HELLO, mine)
        _, self.peer, body = self.recv()
        theirs = body[16:48]
        self.send(PROOF, self.proof(b"C", nonce, theirs, self.id, self.peer), dst=0)
        kind, _, body = self.recv()
        assert kind == PROOF and body == self.proof(b"A", theirs, nonce, self.peer, self.id), "its proof"
        self.session = 0
        self.heard = 0  # of the fabric

    def proof(self, role, a, b, x, y):
        text = b"rdmaemu join 1" + role + a + b + struct.pack("<QQ", x, y)
        return hmac.new(self.token, text, hashlib.sha256).digest()

    def send(self, kind, body=b"", src=None, dst=None, length=None, lane=0, zero=0):
        length = 24 + len(body) if length is None else length
        self.s.sendall(struct.pack("<IBBHQQ", length, kind, lane, zero, self.id if src is None else src,
                                   self.peer if dst is None else dst) + body)

    def recv(self):
        """The next frame: its type, who sent it, its body."""
        while len(self.rest) < 24 or len(self.rest) < struct.unpack_from("<I", self.rest)[0]:
            data = self.s.recv(1 << 20)
            if not data:
                raise ConnectionError
            self.rest += data
        n, kind, _, _, src, _ = struct.unpack_from("<IBBHQQ", self.rest)
        body, self.rest = self.rest[24:n], self.rest[n:]
        return kind, src, body

    def begin(self, src=None):
        """What is sent counts from now on."""
        self.session += 1
        self.send(BEGIN, struct.pack("<Q", self.session), src=src)

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


def burst(op=0, flags=3, src_dev=0, dst_dev=0, length=100, data=None, npkts=1, mtu=1024, psn=1, kind=2, src_port=1,
          dst_port=1, qpn=0x12, aeth=0, msn=1):
    head = struct.pack("<BBBBIIIIIBBHBBHIIIIIIII", op, flags, aeth, 0, psn, src_dev, dst_dev, 0x12, qpn, src_port,
                       dst_port, 0xffff, kind, 0, 0, npkts, msn, mtu, 0, 0, 0, 0, 0)
    head += struct.pack("<QQQQQII", 0, length, 0, 0, 0, length, 0)
    return head + (bytes(length) if data is None else data)
