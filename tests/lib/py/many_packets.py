# SPDX-License-Identifier: MIT
"""A capture with as many packets as wanted, for tests of readers: many_packets.py N FILE

SENDs of 1 KB between two hosts, each with its ACK. Each 500th SEND meets a NAK and is sent again. Frames are cut after
their headers, so that nobody misses the ICRC.
"""
import random
import struct
import sys

HEADERS = 14 + 20 + 8 + 12
SEND_ONLY, ACK = 4, 17
NAK_SEQUENCE = 0x60


def frame(source, opcode, qpn, psn, rest, payload):
    length = HEADERS + len(rest) + payload + 4
    ip = struct.pack('>BBHHHBBHBBBBBBBB', 0x45, 0, length - 14, 0, 0x4000, 64, 17, 0, 10, 0, 0, source, 10, 0, 0, 3 - source)
    total = sum(struct.unpack('>10H', ip))
    total = (total & 0xffff) + (total >> 16)
    ip = ip[:10] + struct.pack('>H', ~(total + (total >> 16)) & 0xffff) + ip[12:]
    udp = struct.pack('>HHHH', 49152, 4791, length - 34, 0)
    bth = struct.pack('>BBHII', opcode, 0x40, 0xffff, qpn, 0x80000000 | psn)
    return b'\2\0\0\0\0' + bytes([3 - source]) + b'\2\0\0\0\0' + bytes([source]) + b'\x08\0' + ip + udp + bth + rest, length


def packets(n):
    """(ns, frame, length) of each."""
    times = random.Random(1)
    ns = psn = made = 0
    again = False
    while made < n:
        refused = psn % 500 == 499 and not again
        for opcode, aeth in ((SEND_ONLY, None), (ACK, NAK_SEQUENCE if refused else 0)):
            ns += int(times.expovariate(1 / 2000))
            source, rest, payload = (1, b'', 1024) if aeth is None else (2, struct.pack('>I', aeth << 24 | psn), 0)
            yield ns, *frame(source, opcode, 0x11 + source, psn & 0xffffff, rest, payload)
            made += 1
        again = refused
        if not refused:
            psn += 1
            ns += 200000000 if psn % 20000 == 0 else 0


def main():
    with open(sys.argv[2], 'wb') as f:
        f.write(struct.pack('<IHHiIII', 0xa1b23c4d, 2, 4, 0, 0, 128, 1))
        for ns, data, length in packets(int(sys.argv[1])):
            f.write(struct.pack('<IIII', ns // 10**9, ns % 10**9, len(data), length) + data)


main()
