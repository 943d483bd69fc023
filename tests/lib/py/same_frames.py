# SPDX-License-Identifier: MIT
"""Compare the RoCE v2 packets of two captures in pcap format, from the IP header on.

same_frames.py OURS WIRE SENDER: exit status 0 if both have the same packets, in any order. UDP checksums are compared
in those that come from the address SENDER.
"""

import collections
import socket
import struct
import sys

ETHERNET = 14


def header_len(ip):
    """Bytes of the IP header of a packet to UDP port 4791; 0: it is none."""
    for version, protocol, length in ((4, 9, 20), (6, 6, 40)):
        if ip and ip[0] >> 4 == version and len(ip) > length + 8 and ip[protocol] == 17:
            return length if ip[length + 2 : length + 4] == b"\x12\xb7" else 0
    return 0


def packets(path, sender):
    """Count the packets to UDP port 4791 of a capture, by their bytes."""
    with open(path, "rb") as f:
        data = f.read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    found = collections.Counter()
    at = 24
    while at + 16 <= len(data):
        kept = struct.unpack(order + "I", data[at + 8 : at + 12])[0]
        ip = data[at + 16 + ETHERNET : at + 16 + kept]
        at += 16 + kept
        head = header_len(ip)
        if not head:
            continue
        source = ip[12:16] if head == 20 else ip[8:24]
        found[ip if source == sender else ip[: head + 6] + bytes(2) + ip[head + 8 :]] += 1
    return found


def main():
    """Print the first packets that only one capture has."""
    sender = socket.inet_pton(socket.AF_INET6 if ":" in sys.argv[3] else socket.AF_INET, sys.argv[3])
    ours, wire = packets(sys.argv[1], sender), packets(sys.argv[2], sender)
    print(f"{sum(ours.values())} packets in our capture, {sum(wire.values())} on the wire")
    for name, rest in (("our capture", ours - wire), ("the wire", wire - ours)):
        for packet in list(rest)[:3]:
            print(f"only {name} has", packet[:96].hex())
    return 0 if ours and ours == wire else 1


sys.exit(main())
