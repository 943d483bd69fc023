#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""corpus.py NAME FOLDER - inputs that fuzzing begins with: those of tests/fuzz/fuzz_NAME.c (mk/fuzz.mk)."""
import os
import random
import struct
import sys

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(TESTS, "lib", "py"))
import join_peer  # noqa: E402
import trace_make  # noqa: E402

# The link types, in the order of the table in tests/fuzz/links.h.
LINKS = [1, 101, 113, 197, 247, 276]


def captures():
    """(name, bytes) of the kernel's captures."""
    folder = os.path.join(TESTS, "data", "traces")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".pcap"):
            yield name, open(os.path.join(folder, name), "rb").read()


def made_frames():
    """(name, link type, frames) of tests/lib/py/trace_make.py."""
    for name, (link, to, back) in trace_make.KINDS.items():
        yield name, link, trace_make.go_back_n(to, back) + [to(trace_make.send(7, 61)), back(trace_make.ack(7))]


DEVICES = b"""device 0 mlx5_0 0002c90300a1b2c0
device 1 mlx5_1 0002c90300a1b2c1
kind 0 0002c90300a1b2c0 0x2c9 4123 0 20.31.1014
port 0 1 Ethernet 0 0 0
gid 0 1 0 fe800000000000000202c9fffea1b2c0 RoCEv1 4
gid 0 1 3 00000000000000000000ffffc0000202 RoCEv2 4
address 0 1 192.0.2.2
kind 1 0002c90300a1b2c0 0x2c9 4123 0 -
port 1 1 InfiniBand 7 0 1
gid 1 1 0 fe800000000000000002c90300a1b2c1 IB 0
address 1 1 2001:db8::2
"""


def vtrace():
    """
    Programs of the samples, as fuzz_vtrace.c takes them: the text, and the first records. The text is read as each file
    of text in a trace.
    """
    yield "devices", struct.pack("<H", len(DEVICES)) + DEVICES
    samples = os.path.join(os.path.dirname(TESTS), "traces", "samples")
    for name in sorted(os.listdir(samples)):
        trace = os.path.join(samples, name, "trace")
        if os.path.isfile(trace):
            text = open(trace, "rb").read()[:4096]
            yield name, struct.pack("<H", len(text)) + text
        for prog in ("p1", "p2"):
            folder = os.path.join(samples, name, prog)
            if not os.path.isdir(folder):
                continue
            text = open(os.path.join(folder, "calls"), "rb").read()[:4096]
            data = open(os.path.join(folder, "data"), "rb").read()[64:4096]
            yield "%s-%s" % (name, prog), struct.pack("<H", len(text)) + text + data


def trace():
    """The number of its link type, frames behind their length and what is cut."""
    for name, link, frames in made_frames():
        frames = [f[:254] for f in frames]
        yield name, bytes([LINKS.index(link)]) + b"".join(bytes([len(f), 0]) + f for f in frames)


def roce():
    """The number of its link type, how many bytes were not captured, a frame."""
    for name, link, frames in made_frames():
        for i, frame in enumerate(frames):
            yield f"{name}.{i}", bytes([LINKS.index(link), 0]) + frame
    for name, data in captures():
        at = 24
        while at < len(data):
            n = struct.unpack_from("<I", data, at + 8)[0]
            yield f"{name}.{at}", b"\0\0" + data[at + 16:at + 16 + n]
            at += 16 + n


def inject():
    """As roce(), but the second byte says what is made right."""
    for name, data in roce():
        yield name, data[:1] + b"\x07" + data[2:]


def script():
    """Each kind of step."""
    yield "steps", b"""# all of them
send 1-3,5 psn=+2 times=2 pkey=0x7fff icrc=bad
send all size=10
expect ACK psn=+2 msn=1 within 1s
expect RDMA_READ_RESPONSE size=1..100 payload=00ff
expect none within 10ms
ignore REQUEST NAK
ignore none
qp state=ERR within 2s
wait 3us
"""


def join():
    """A frame of each kind."""
    rng = random.Random(1)
    bodies = {
        "hello": (join_peer.HELLO, join_peer.hello(b"who", rng, key=rng.randbytes(32))),
        "refuse": (join_peer.REFUSE, b"no\x1b"), "node": (join_peer.NODE, join_peer.node()),
        "device": (join_peer.DEV, join_peer.device(gids=[b"\xfe\x80" + bytes(13) + b"\x42"] * 3)),
        "peers": (join_peer.PEERS, b"".join(struct.pack("<Q24x", i) for i in (77, 78))),
        "credit": (join_peer.CREDIT, struct.pack("<QQQ", 1, 4 << 20, 4 << 20)),
        "query": (join_peer.QUERY, struct.pack("<IIIIQ", 1, 2, 3, 0, 0) + bytes(128)),
        "piece": (join_peer.PIECE, struct.pack("<IIQQ", 1, 0, 4, 0) + bytes(40) + b"text")}
    for op, length in ((0, 100), (1, 100), (2, 0), (7, 0)):
        bodies["burst%d" % op] = (join_peer.BURST, join_peer.burst(op=op, length=length))
    datagram = bytearray(join_peer.burst(kind=4))
    datagram[29] = 1
    bodies["datagram"] = (join_peer.BURST, bytes(datagram[:112]) + bytes(32) + bytes(datagram[112:]))
    for name, (kind, body) in bodies.items():
        frame = bytearray(join_peer.header(kind, 9, body) + body)
        frame[5] = name == "burst7"
        yield name, bytes(frame)


# The steps of tests/fuzz/fuzz_mesh.c, in its order.
STEPS = ("knock greet prove join answer end pace target frame bytes record begin tables node ready credit probe peers burst "
         "bare connect post time pause text").split()
MESH = {
    "join": [("join", 0x81, 0)], "sealed": [("join", 0x82, 1), ("record", 0, 0)], "late": [("join", 1, 2), ("pause", 255)],
    "by hand": [("knock", 3), ("greet", 0, 5, 4, 0), ("prove", 0, 0), ("begin", 0), ("tables", 0)],
    "reflected": [("knock", 0), ("greet", 0, 5, 0, 0), ("prove", 0, 2)],
    "target": [("target",), ("answer", 0, 1), ("greet", 0, 3, 4, 16), ("prove", 0, 0), ("begin", 0), ("tables", 0)],
    "nodes": [("join", 1, 0), ("node", 0, 0, 1, 0, 1, 0, 0, 1, 17, 0, 1, 2, 3), ("ready", 0)],
    "hub": [("join", 0x81, 0), ("join", 0x82, 1), ("frame", 0, 12, 2, 0, 1), ("peers", 1, 5, 3, 1), ("time", 4)],
    "write": [("join", 0x81, 0), ("connect", 0)] + [("burst", 0, 1, 4, 0, 0, 0, 0)] * 3,
    "many": [("join", 0x81, 0), ("connect", 0), ("burst", 0, 0x21, 0, 8, 0, 0, 0)],
    "read": [("join", 0x81, 0), ("connect", 0), ("burst", 0, 2, 8, 0, 0, 0, 0), ("burst", 0, 4, 0, 0, 0, 0, 0)],
    "post": [("join", 0x81, 0), ("connect", 0), ("post", 0, 4, 0), ("post", 2, 4, 0), ("burst", 0, 0x87, 0, 0, 0, 31, 0, 0),
             ("burst", 0, 0x83, 4, 0, 0, 0, 0), ("credit", 0, 0, 65, 65), ("time", 3), ("probe", 0, 0, 0, 0, 0, 0, 0)],
    "probe": [("join", 0x81, 0), ("probe", 0, 1, 1, 0, 1, 0, 0), ("bare", 0, 1, 61), ("bare", 0, 3, 61)],
    "texts": [("join", 0x81, 0), ("text", 0, 1, 1, 0, 1, 0, 0, 0), ("text", 0, 1, 1, 0, 8, 8), ("time", 3)],
    "lost": [("join", 0x81, 0), ("connect", 0), ("end", 0, 0), ("time", 7), ("join", 0x81, 0), ("post", 0, 1, 0)],
    "slow": [("join", 0x81, 0), ("pace", 0, 1, 1, 1), ("connect", 0), ("post", 1, 8, 0), ("time", 6), ("bytes", 0, 1, 3, 1, 2, 3)],
}


def mesh():
    """A few programs of each kind."""
    for name, program in MESH.items():
        yield name, b"".join(bytes([STEPS.index(step)] + list(args)) for step, *args in program)


def wire():
    """Rows of datagrams, after the number that an input of fuzz_wire.c begins with."""
    for number, (name, row) in enumerate(datagrams()):
        yield name, bytes([number & 255]) + row


def datagrams():
    """
    Packets of RoCE v2 from the BTH on, as fuzz_wire.c takes them: one by one, and those of a capture in a row, for each
    socket; and a message of connection management of each kind.
    """
    for name, frame in roce():
        at = frame.find(b"\x12\xb7", 30)
        if frame[0] or at < 0 or len(frame) < at + 22:
            continue
        at += 2 if frame[at + 2:at + 4] == b"\x12\xb7" else 0
        packet = frame[at + 6:-4]
        right = 0x14 | (8 if len(frame) % 2 else 0)
        yield name, bytes([right, 1]) + struct.pack("<H", len(packet)) + packet
    bth = bytes([0x64, 0, 0xff, 0xff, 0, 0, 0, 1, 0, 0, 0, 0]) + struct.pack(">II", 0x80010000, 1)
    for to in range(3):
        for kind in range(11):
            mad = bytes(17) + bytes([kind]) + bytes(range(256 - 18))
            yield f"mad{to}.{kind}", bytes([0x20 | to, 1 + kind]) + struct.pack("<H", 276) + bth + mad
        yield f"cnp{to}", bytes([0x04 | to, 1]) + struct.pack("<H", 28) + bytes([0x81, 0, 0xff, 0xff, 0x40]) + bytes(23)
        yield f"datagram{to}", bytes([0x0c | to, 2]) + struct.pack("<H", 84) + bth + bytes(64)
    for op, rest in ((0x0c, 1 << 31), (0x0c, 70000), (0x0a, 64)):
        body = bytes([op, 0, 0xff, 0xff, 0, 0, 0, 1, 0x80, 0, 0, 0]) + struct.pack(">QII", 0, 0, rest)
        yield f"rc{op}.{rest}", bytes([0x1c, 1]) + struct.pack("<H", len(body)) + body


def pcap():
    """Whole files."""
    yield from captures()
    for name, link, frames in made_frames():
        yield name + ".pcap", trace_make.pcap(link, frames)
        yield name + ".pcapng", trace_make.pcapng(link, frames)


def main():
    name, folder = sys.argv[1:]
    made = {"trace": trace, "roce": roce, "inject": inject, "script": script, "pcap": pcap, "vtrace": vtrace, "join": join,
            "mesh": mesh, "wire": wire}
    for file, data in made[name]():
        with open(os.path.join(folder, file), "wb") as f:
            f.write(data)


main()
