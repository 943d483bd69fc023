# SPDX-License-Identifier: MIT
"""Send datagrams that no RoCE device sends to UDP port 4791.

roce_garbage.py SOURCE ADDRESS COUNT: in turn, bytes that are no packet; a packet with a wrong ICRC; and one with a right
ICRC, for a queue pair that nobody has.
"""

import binascii
import random
import socket
import struct
import sys
import time

OPCODES = (0x04, 0x06, 0x0A, 0x0C, 0x10, 0x11, 0x13, 0x64, 0xE5)
PORT = 4791


def malformed(rand):
    """Too short for a packet, or of another version."""
    if rand.random() < 0.5:
        return rand.randbytes(rand.randrange(16))
    data = bytearray(rand.randbytes(rand.randrange(16, 1400)))
    data[1] |= 0x0F
    return bytes(data)


def packet(rand):
    """All but the ICRC of a packet for a queue pair that nobody has."""
    bth = bytes((rand.choice(OPCODES), 0)) + b"\xff\xff\0\xff\xff\xff" + bytes((rand.randrange(256),))
    return bth + rand.randbytes(3 + 4 * rand.randrange(8, 300))


def icrc(source, to, port, data):
    """The ICRC of a datagram with identification 0 and DF; what routers change counts as ones."""
    ip = b"\x45\xff" + struct.pack("!HHH", 28 + len(data) + 4, 0, 0x4000) + b"\xff\x11\xff\xff"
    ip += socket.inet_aton(source) + socket.inet_aton(to)
    udp = struct.pack("!HHH", port, PORT, 8 + len(data) + 4) + b"\xff\xff"
    return struct.pack("<I", binascii.crc32(b"\xff" * 8 + ip + udp + data[:4] + b"\xff" + data[5:]))


def main():
    """Send them, not faster than they are received."""
    source, to, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    rand = random.Random(1)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER: IP_PMTUDISC_DO
    sock.bind((source, 0))
    port = sock.getsockname()[1]
    for i in range(count):
        if i % 3 == 0:
            data = malformed(rand)
        elif i % 3 == 1:
            data = packet(rand) + rand.randbytes(4)
        else:
            data = packet(rand)
            data += icrc(source, to, port, data)
        sock.sendto(data, (to, PORT))
        if i % 50 == 0:
            time.sleep(0.005)


main()
