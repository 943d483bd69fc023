# SPDX-License-Identifier: MIT
"""Send datagrams that no RoCE device sends to UDP port 4791.

roce_garbage.py ADDRESS COUNT: lengths from 0 to 2000; every other one begins as a packet of an RC or UD queue
pair does, and has a wrong ICRC.
"""

import random
import socket
import sys
import time

OPCODES = (0x04, 0x06, 0x0A, 0x0C, 0x10, 0x11, 0x13, 0x64, 0xE5)


def datagram(rand):
    """A datagram of random bytes, or with the BTH of a packet."""
    if rand.random() < 0.5:
        return rand.randbytes(rand.randrange(2000))
    bth = bytes((rand.choice(OPCODES), 0)) + b"\xff\xff\0\0\0" + bytes((rand.randrange(256), 0))
    return bth + rand.randbytes(3 + 4 * rand.randrange(8, 400))


def main():
    """Send them, not faster than they are received."""
    rand = random.Random(1)
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(int(sys.argv[2])):
        sock.sendto(datagram(rand), (sys.argv[1], 4791))
        if i % 50 == 0:
            time.sleep(0.005)


main()
