#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""inject_make.py FILE PACKET... - a capture of hand-made packets: RoCE v2, from 10.9.0.1 to 10.9.0.2, or InfiniBand, from
LID 0x91 to LID 0x92.

A packet is OPCODE[,KEY=VALUE]...: a number, or a name as SEND_ONLY, UC_SEND_ONLY. Keys: psn, qpn, len (of a
payload 00 01 02 ...), va, rkey, dmalen, syndrome, msn, ack, imm, compare, swap, orig, qkey, sqpn, srqn, pkey, tver, pad;
icrc=bad, vcrc=bad, ipsum=bad, cut=N: so many bytes less than the headers say; from=2: the other way round; group=N: to
multicast group 239.0.0.N, or ff12:401b:ffff::N. net=ib, net=grh: InfiniBand, with a GRH, as the first packet says for
the link type of all."""
import socket
import struct
import sys
import zlib

NAMES = ["SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY", "SEND_ONLY_IMM", "WRITE_FIRST",
         "WRITE_MIDDLE", "WRITE_LAST", "WRITE_LAST_IMM", "WRITE_ONLY", "WRITE_ONLY_IMM", "READ_REQ", "RESP_FIRST",
         "RESP_MIDDLE", "RESP_LAST", "RESP_ONLY", "ACK", "ATOMIC_ACK", "CMP_SWAP", "FETCH_ADD"]
OPS = {n: i for i, n in enumerate(NAMES)}
OPS.update({"UC_" + n: 0x20 | i for n, i in list(OPS.items())[:12]})
OPS.update({"XRC_" + n: 0xa0 | i for n, i in list(OPS.items())[:21]})
OPS.update({"UD_SEND_ONLY": 0x64, "UD_SEND_ONLY_IMM": 0x65})
A4, B4 = socket.inet_aton("10.9.0.1"), socket.inet_aton("10.9.0.2")


def headers(op, k):
    out = b""
    low = op & 31
    if op >> 5 == 3:
        out += struct.pack(">II", k("qkey", 0x11111111), k("sqpn", 0x55))
    if op >> 5 == 5 and not 13 <= low <= 18:
        out += struct.pack(">I", k("srqn", 0x66))
    if low in (6, 10, 11, 12, 29):
        out += struct.pack(">QII", k("va", 0x10000), k("rkey", 0x77), k("dmalen", k("len", 0)))
    if low in (19, 20):
        out += struct.pack(">QIQQ", k("va", 0x10000), k("rkey", 0x77), k("swap", 1), k("compare", 0))
    if low in (13, 15, 16, 17, 18):
        out += struct.pack(">I", k("syndrome", 0x1f) << 24 | k("msn", 0))
    if low == 18:
        out += struct.pack(">Q", k("orig", 0))
    if low in (3, 5, 9, 11):
        out += struct.pack(">I", k("imm", 0))
    return out


def csum(b):
    s = sum(struct.unpack(">%dH" % (len(b) // 2), b))
    while s >> 16:
        s = (s & 0xffff) + (s >> 16)
    return ~s & 0xffff


def ipv4(src, dst, total, tos=0, ttl=64, check=0):
    return struct.pack(">BBHHHBBH", 0x45, tos, total, 0, 0x4000, ttl, 17, check) + src + dst


GID = b"\xfe\x80" + bytes(12)
MGID = bytes.fromhex("ff12401bffff") + bytes(9)


def roce(src, dst, group, body, keys):
    """From the Ethernet header to the ICRC."""
    src, dst = (A4, B4) if src == 1 else (B4, A4)
    if group:
        dst = bytes([239, 0, 0, group])
    total = 28 + len(body) + 4
    udp = (0xc000, 4791, total - 20)
    masked = (b"\xff" * 8 + ipv4(src, dst, total, 0xff, 0xff, 0xffff) + struct.pack(">HHHH", *udp, 0xffff) +
              body[:4] + b"\xff" + body[5:])
    icrc = struct.pack("<I", zlib.crc32(masked) ^ (keys.get("icrc") == "bad"))
    check = csum(ipv4(src, dst, total)) ^ (keys.get("ipsum") == "bad")
    return (b"\x02" * 6 + b"\x04" * 6 + b"\x08\0" + ipv4(src, dst, total, check=check) +
            struct.pack(">HHHH", *udp, 0) + body + icrc)


def crc16(data):
    """x^16 + x^12 + x^3 + x + 1, from ones, lowest bit first."""
    reg = 0xffff
    for byte in data:
        reg ^= byte
        for _ in range(8):
            reg = reg >> 1 ^ (0xd008 if reg & 1 else 0)
    return ~reg & 0xffff


def infiniband(src, dst, group, body, keys):
    """From the LRH to the VCRC."""
    grh = b""
    if keys["net"] == "grh":
        to = MGID + bytes([group]) if group else GID + bytes([0x90, dst])
        grh = struct.pack(">IHBB", 6 << 28, len(body) + 4, 0x1b, 64) + GID + bytes([0x90, src]) + to
    words = (8 + len(grh) + len(body) + 4) // 4
    lrh = struct.pack(">BBHHH", 0, 3 if grh else 2, 0xc000 | group if group else 0x90 | dst, words, 0x90 | src)
    masked = b"\xf0" + lrh[1:]
    if grh:
        masked += bytes([grh[0] | 15, 255, 255, 255]) + grh[4:7] + b"\xff" + grh[8:]
    masked += body[:4] + b"\xff" + body[5:]
    frame = lrh + grh + body + struct.pack("<I", zlib.crc32(masked) ^ (keys.get("icrc") == "bad"))
    return frame + struct.pack("<H", crc16(frame) ^ (keys.get("vcrc") == "bad"))


def packet(spec):
    name, *rest = spec.split(",")
    keys = dict(r.split("=", 1) for r in rest)

    def k(key, default):
        return int(keys.get(key, default), 0) if key in keys else default

    op = OPS[name] if name in OPS else int(name, 0)
    n, group, src = k("len", 0), k("group", 0), k("from", 1)
    bth = struct.pack(">BBHIII", op, k("pad", -n % 4) << 4 | k("tver", 0), k("pkey", 0xffff),
                      k("qpn", 0xffffff if group else 0x12), k("ack", 0) << 31 | k("psn", 0), 0)[:12]
    body = bth + headers(op, k) + bytes(i & 255 for i in range(n)) + bytes(-n % 4)
    frame = (infiniband if "net" in keys else roce)(src, 3 - src, group, body, keys)
    return frame[:len(frame) - k("cut", 0)]


with open(sys.argv[1], "wb") as f:
    f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 247 if ",net=" in sys.argv[2] else 1))
    for i, spec in enumerate(sys.argv[2:]):
        b = packet(spec)
        f.write(struct.pack("<IIII", 0, i, len(b), len(b)) + b)
