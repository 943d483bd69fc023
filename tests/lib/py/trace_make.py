#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""trace_make.py KIND FILE - a small capture: the same RC SEND and its ACK, as link KIND has them."""
import socket
import struct
import sys

A4, B4 = socket.inet_aton("10.9.0.1"), socket.inet_aton("10.9.0.2")
A6, B6 = (socket.inet_pton(socket.AF_INET6, a) for a in ("fd09::1", "fd09::2"))


def bth(op, qpn, psn, rest=b"", pad=0):
    return struct.pack(">BBHIII", op, pad << 4, 0xffff, qpn, 1 << 31 | psn, 0)[:12] + rest + b"\0" * pad + b"ICRC"


def udp(b):
    return struct.pack(">HHHH", 0xc000, 4791, 8 + len(b), 0) + b


def ip4(src, dst, b, proto=17):
    return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(b), 0, 0x4000, 64, proto, 0) + src + dst + b


def ip6(src, dst, b, nxt=17):
    return struct.pack(">IHBB", 6 << 28, len(b), nxt, 64) + src + dst + b


def ether(kind, b, vlans=b""):
    return b"\x02" * 6 + b"\x04" * 6 + vlans + struct.pack(">H", kind) + b


VLAN = bytes.fromhex("88a80001" "81000002")
LRH = struct.Struct(">BBHHH")


def ib(lnh, src, dst, b):
    return LRH.pack(0, lnh, dst, (8 + len(b)) // 4, src) + b + b"VC"


def erf(kind, b):
    return struct.pack(">QBBHHH", 0, kind, 0, 16 + len(b), 0, len(b)) + b


# kind: link type, one way's frame, the other's
KINDS = {
    "eth4": (1, lambda b: ether(0x800, ip4(A4, B4, udp(b))), lambda b: ether(0x800, ip4(B4, A4, udp(b)))),
    "eth6": (1, lambda b: ether(0x86dd, ip6(A6, B6, udp(b))), lambda b: ether(0x86dd, ip6(B6, A6, udp(b)))),
    "vlan": (1, lambda b: ether(0x800, ip4(A4, B4, udp(b)), VLAN), lambda b: ether(0x800, ip4(B4, A4, udp(b)), VLAN)),
    "roce1": (1, lambda b: ether(0x8915, ip6(A6, B6, b, 27)), lambda b: ether(0x8915, ip6(B6, A6, b, 27))),
    "sll": (113, lambda b: b"\0" * 14 + b"\x08\0" + ip4(A4, B4, udp(b)),
            lambda b: b"\0" * 14 + b"\x08\0" + ip4(B4, A4, udp(b))),
    "sll2": (276, lambda b: b"\x08\0" + b"\0" * 18 + ip4(A4, B4, udp(b)),
             lambda b: b"\x08\0" + b"\0" * 18 + ip4(B4, A4, udp(b))),
    "raw": (101, lambda b: ip4(A4, B4, udp(b)), lambda b: ip4(B4, A4, udp(b))),
    "ib": (247, lambda b: ib(2, 1, 2, b), lambda b: ib(2, 2, 1, b)),
    "grh": (247, lambda b: ib(3, 1, 2, ip6(A6, B6, b, 27)), lambda b: ib(3, 2, 1, ip6(B6, A6, b, 27))),
    "erf": (197, lambda b: erf(21, ib(2, 1, 2, b)), lambda b: erf(21, ib(2, 2, 1, b))),
}


def send(psn, size=64, op=4, qpn=0x22):
    pad = -size % 4
    return bth(op, qpn, psn, b"x" * size, pad)


def ack(psn, syndrome=0x1f, qpn=0x11):
    return bth(17, qpn, psn, struct.pack(">I", syndrome << 24))


def pcap(link, frames, snap=None):
    out = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, link)
    for i, f in enumerate(frames):
        cut = f[:snap] if snap else f
        out += struct.pack("<IIII", 1000 + i, 0, len(cut), len(f)) + cut
    return out


def pcapng(link, frames):
    out = struct.pack("<IIIHHqI", 0x0a0d0d0a, 28, 0x1a2b3c4d, 1, 0, -1, 28)
    out += struct.pack("<IIHHII", 1, 20, link, 0, 65535, 20)
    for i, f in enumerate(frames):
        body = f + b"\0" * (-len(f) % 4)
        t = (1000 + i) * 1000000
        out += struct.pack("<IIIIIII", 6, 32 + len(body), 0, t >> 32, t & 0xffffffff, len(f), len(f))
        out += body + struct.pack("<I", 32 + len(body))
    return out


def go_back_n(to, back):
    """Five packets, a NAK of the third, three again; then a second connection whose PSNs are others'."""
    frames = [to(send(0xfffffe + i & 0xffffff, 100)) for i in range(5)] + [back(ack(0, 0x60))]
    frames += [to(send(i, 100)) for i in range(3)] + [back(ack(2))]
    frames += [to(send(500, 10, qpn=0x44)), back(ack(500, qpn=0x33)), back(send(900, 20, qpn=0x33))]
    return frames


def main():
    kind, path = sys.argv[1:]
    link, to, back = KINDS.get(kind, KINDS["eth4"])
    frames = [to(send(7, 61)), back(ack(7))]
    data = {
        "ng": lambda: pcapng(1, frames),
        "gbn": lambda: pcap(1, go_back_n(to, back)),
        "snap": lambda: pcap(1, [frames[0], frames[1]], 50),
        "udplen": lambda: pcap(1, [frames[0][:38] + b"\xff\xff" + frames[0][40:], frames[1]]),
        "short": lambda: pcap(1, [to(bth(4, 2, 3)[:12])]),
        "other": lambda: pcap(1, [ether(0x806, b"\0" * 28), to(bth(0x81, 2, 3)), ether(0x800, ip4(A4, B4, b"", 6))]),
        "wlan": lambda: pcap(105, frames),
    }.get(kind, lambda: pcap(link, frames))()
    with open(path, "wb") as f:
        f.write(data)


if __name__ == "__main__":
    main()
