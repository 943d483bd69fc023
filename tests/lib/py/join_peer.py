# SPDX-License-Identifier: MIT
"""A member of a mesh that is played by a test: docs/reference/join-protocol.md has the frames."""
import hashlib
import hmac
import socket
import struct

HELLO, PROOF, REFUSE, NODE, DEV, READY, PEERS, BURST, CREDIT, PING, BYE, ASK, BEGIN, PROBE, PROBED, QUERY, PIECE = range(1, 18)
VERSION = 6
WINDOW = 4 << 20
ACK = 7  # as a burst's opcode


SEAL, PLAIN, AES = 1, 2, 4  # flags of HELLO


def x25519(secret, point=b"\x09" + bytes(31)):
    """RFC 7748, section 5."""
    p = 2**255 - 19
    k = int.from_bytes(secret, "little") & ~7 & (1 << 255) - 1 | 1 << 254
    x1 = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3, swap = 1, 0, x1, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb, aa, bb = d * a % p, c * b % p, a * a % p, b * b % p
        x3, z3 = (da + cb) ** 2 % p, x1 * (da - cb) ** 2 % p
        x2, z2 = aa * bb % p, (aa - bb) * (aa + 121665 * (aa - bb)) % p
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, p - 2, p) % p).to_bytes(32, "little")


def mac(key, text):
    return hmac.new(key, text, hashlib.sha256).digest()


def hello(name, rng, port=0, version=VERSION, key=bytes(32), flags=0):
    """The body of a HELLO."""
    head = b"rdmaemuJ" + struct.pack("<HHI", version, port, 0)
    return head + rng.randbytes(32) + name.ljust(48, b"\0") + key + bytes([flags]) + bytes(7)


def header(kind, ident, body):
    return struct.pack("<IBBHQQ", 24 + len(body), kind, 0, 0, ident, 0)


class Refused(ConnectionError):
    """The fabric does not want the connection, and says why."""


class Peer:
    """A connection with a fabric. @token: the bytes; @rng: random numbers are taken from it"""

    def __init__(self, port, token, rng, name=b"evil", ident=None, flags=0):
        self.token = token
        self.id = ident or rng.randrange(1000, 1012)
        secret = rng.randbytes(32)
        mine = hello(name, rng, key=x25519(secret), flags=flags)
        self.s = socket.create_connection(("127.0.0.1", port))
        self.s.settimeout(60)
        self.rest = b""
        self.peer = 0
        self.send(HELLO, mine)
        kind, self.peer, body = self.recv()
        if kind == REFUSE:
            raise Refused(body.decode())
        greetings = hashlib.sha256(header(HELLO, self.id, mine) + mine + header(HELLO, self.peer, body) + body).digest()
        root = mac(mac(bytes(32), token), x25519(secret, body[96:128]))
        self.send(PROOF, mac(root, b"rdmaemu3 proof C" + greetings + b"\1"), dst=0)
        kind, _, body = self.recv()
        if kind == REFUSE:
            raise Refused(body.decode())
        assert kind == PROOF and body == mac(root, b"rdmaemu3 proof A" + greetings + b"\1"), "its proof"
        self.session = 0
        self.heard = 0  # of the fabric

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

    def begin(self, src=None, dst=None):
        """What is sent counts from now on."""
        self.session += 1
        self.send(BEGIN, struct.pack("<Q", self.session), src=src, dst=dst)

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
