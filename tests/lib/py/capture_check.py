#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
# capture_check.py FILE [EXPRESSION...] - read a pcapng file of ours by other means than ours: block by block, and
# the ICRC of each whole RoCE v2 frame anew (IBTA A17.3.2, by zlib's CRC). Says what is wrong with it, and evaluates
# the expressions, a line each; in them
#
#	packets		list of Packet
#	count(OP)	packets of that opcode on interfaces of ports ("RC SEND_ONLY")
#	once(OP)	the same, without those that were sent again: by interface, queue pair and PSN
#	names		of the interfaces
#	dropped		packets on the interface "dropped"
#	stats		by interface: packets that were checked, that were lost, that the filter accepted
#	cut		bytes at the end that are no whole block
#	write_erf(F, packets)	makes a file of InfiniBand packets that tshark reads

import collections
import struct
import sys
import zlib

OPS = ("SEND_FIRST SEND_MIDDLE SEND_LAST SEND_LAST_IMM SEND_ONLY SEND_ONLY_IMM WRITE_FIRST WRITE_MIDDLE WRITE_LAST "
       "WRITE_LAST_IMM WRITE_ONLY WRITE_ONLY_IMM READ_REQ READ_RESP_FIRST READ_RESP_MIDDLE READ_RESP_LAST "
       "READ_RESP_ONLY ACK ATOMIC_ACK CMP_SWAP FETCH_ADD RESYNC SEND_LAST_INV SEND_ONLY_INV").split() + \
      ["?"] * 4 + ["FLUSH", "ATOMIC_WRITE", "?", "?"]
TRANSPORTS = ["RC", "UC", "RD", "UD", "CNP", "XRC", "?", "?"]

Packet = collections.namedtuple("Packet", "iface ns len data comment op psn dqpn ackreq ip body drops")


def fail(why):
    sys.exit(f"{sys.argv[1]}: {why}")


def blocks(data):
    at = 0
    while len(data) - at >= 12:
        kind, size = struct.unpack_from("<II", data, at)
        if size % 4 or size < 12:
            fail(f"a block of {size} bytes at {at}")
        if size > len(data) - at:
            break
        if struct.unpack_from("<I", data, at + size - 4)[0] != size:
            fail(f"a block with two lengths at {at}")
        yield kind, data[at + 8:at + size - 4]
        at += size
    blocks.cut = len(data) - at


def options(body):
    out, at = {}, 0
    while at + 4 <= len(body):
        code, size = struct.unpack_from("<HH", body, at)
        if not code:
            break
        out[code] = body[at + 4:at + 4 + size]
        at += 4 + (size + 3) // 4 * 4
    return out


def icrc(frame, v4):
    """Of a frame from the IP header on; what changes on the way counts as ones."""
    head = bytearray(frame)
    if v4:
        head[1] = head[8] = 0xff
        head[10:12] = b"\xff\xff"
        udp = 20
    else:
        head[0] |= 0x0f
        head[1:4] = b"\xff\xff\xff"
        head[7] = 0xff
        udp = 40
    head[udp + 6:udp + 8] = b"\xff\xff"
    head[udp + 12] = 0xff
    return struct.pack("<I", zlib.crc32(b"\xff" * 8 + bytes(head[:-4])))


def icrc_ib(frame):
    """Of an InfiniBand frame without its VCRC."""
    head = bytearray(frame)
    head[0] |= 0xf0
    bth = 8
    if head[1] & 3 == 3:
        head[8] |= 0x0f
        head[9:12] = b"\xff\xff\xff"
        head[15] = 0xff
        bth += 40
    head[bth + 4] = 0xff
    return struct.pack("<I", zlib.crc32(bytes(head[:-4])))


def erf(frame):
    """As DAG cards have it: tshark 4.0 reads InfiniBand in no other way."""
    return bytes(8) + struct.pack(">BBHHH", 21, 4, 16 + len(frame), 0, len(frame)) + frame


def write_erf(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 197))
        for p in packets:
            frame = erf(p.data)
            f.write(struct.pack("<IIII", p.ns // 10 ** 9, p.ns % 10 ** 9 // 1000, len(frame), len(frame)) + frame)


def decode(iface, ns, size, data, comment, drops, link):
    body = b""
    op, psn, dqpn, ackreq, ip = "", None, None, False, None
    if link == 247:
        lnh = data[1] & 3
        bth = 8 + (40 if lnh == 3 else 0)
        ip = lnh == 3
        body = data[bth:]
        if len(data) == size and icrc_ib(data[:-2]) != data[-6:-2]:
            fail(f"a packet at {ns} has a wrong ICRC: {data.hex()}")
    else:
        kind = struct.unpack(">H", data[12:14])[0] if len(data) > 14 else 0
        if kind == 0x800 and data[23] == 17:
            ip, bth = 4, 14 + 20 + 8
        elif kind == 0x86dd and data[20] == 17:
            ip, bth = 6, 14 + 40 + 8
        if ip and struct.unpack(">H", data[bth - 6:bth - 4])[0] != 4791:
            ip = None
        if ip:
            body = data[bth:]
            if len(data) == size:
                right = icrc(data[14:], ip == 4) == data[-4:]
                if right == comment.startswith("damaged"):
                    fail(f"a packet at {ns} has a {'right' if right else 'wrong'} ICRC: {data.hex()}")
    if body:
        op = f"{TRANSPORTS[body[0] >> 5]} {OPS[body[0] & 31]}"
        dqpn = int.from_bytes(body[5:8], "big")
        psn = int.from_bytes(body[9:12], "big")
        ackreq = body[8] >> 7
    return Packet(iface, ns, size, data, comment, op, psn, dqpn, ackreq, ip, body, drops)


def main():
    names, links, packets, stats = [], [], [], {}
    with open(sys.argv[1], "rb") as f:
        data = f.read()
    for n, (kind, body) in enumerate(blocks(data)):
        if (kind == 0x0a0d0d0a) != (n == 0):
            fail("a section does not begin where it should")
        if kind == 1:
            link, _, _ = struct.unpack_from("<HHI", body)
            o = options(body[8:])
            if o.get(9) != b"\x09":
                fail("times are not nanoseconds")
            names.append(o[2].decode())
            links.append(link)
        elif kind == 6:
            iface, hi, lo, cap, size = struct.unpack_from("<IIIII", body)
            o = options(body[20 + (cap + 3) // 4 * 4:])
            if iface >= len(names):
                fail("a packet of no interface")
            packets.append(decode(names[iface], hi << 32 | lo, size, body[20:20 + cap], o.get(1, b"").decode(),
                                  struct.unpack("<Q", o[4])[0] if 4 in o else 0, links[iface]))
        elif kind == 5:
            iface, = struct.unpack_from("<I", body)
            o = options(body[12:])
            stats[names[iface]] = [struct.unpack("<Q", o[c])[0] if c in o else 0 for c in (4, 5, 6)]
    dropped = [p for p in packets if p.iface == "dropped"]

    def count(op=None, iface=None):
        return sum(p.iface != "dropped" and (op is None or p.op == op) and (iface is None or p.iface == iface)
                   for p in packets)

    def once(op):
        return len({(p.iface, p.dqpn, p.psn) for p in packets if p.iface != "dropped" and p.op == op})

    scope = {"packets": packets, "count": count, "once": once, "names": names, "dropped": dropped,
             "stats": stats, "cut": blocks.cut, "write_erf": write_erf, "Counter": collections.Counter}
    for e in sys.argv[2:]:
        print(eval(e, scope))  # pylint: disable=eval-used


main()
