#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""
Captures of RoCE v2 over IPv4 and how they differ, for a guest that has neither tcpdump nor tshark.

    roce_exchange.py capture IFACE FILE
        prints "capturing" and its process ID, and writes the UDP datagrams to port 4791 on the interface to the pcap file until it is
        terminated
    roce_exchange.py compare DIFFERENCES NAME FILE...
        compares captures of the same exchange. The client sends the first packet; each FILE is named after the
        implementations of client and server, as rxe-emu.pcap. Prints each field in which the packets of one side and
        kind differ, with the reason that DIFFERENCES has for it; exits with 1 if a packet is malformed, or a
        difference has no reason.

DIFFERENCES has lines `packets<TAB>field<TAB>reason`, where `packets` is the beginning of a stream's name, or `any`. Each
line that was used is written to standard error, as it stands, so that a caller finds those that are not.

Numbers that senders pick count from their first, and packets that were sent again count once.
"""
import collections
import itertools
import os
import signal
import socket
import struct
import sys
import zlib

PORT = 4791
RC = ["SEND_FIRST", "SEND_MIDDLE", "SEND_LAST", "SEND_LAST_IMM", "SEND_ONLY", "SEND_ONLY_IMM", "WRITE_FIRST",
      "WRITE_MIDDLE", "WRITE_LAST", "WRITE_LAST_IMM", "WRITE_ONLY", "WRITE_ONLY_IMM", "READ_REQUEST",
      "READ_RESPONSE_FIRST", "READ_RESPONSE_MIDDLE", "READ_RESPONSE_LAST", "READ_RESPONSE_ONLY", "ACKNOWLEDGE",
      "ATOMIC_ACKNOWLEDGE", "COMPARE_SWAP", "FETCH_ADD"]
TYPES = {0: "RC", 1: "UC", 3: "UD"}


def capture(iface, path):
    """Write a pcap file until SIGTERM."""
    done = []
    signal.signal(signal.SIGTERM, lambda *_: done.append(1))
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    sock.setsockopt(socket.SOL_SOCKET, 33, 1 << 24)  # SO_RCVBUFFORCE
    sock.bind((iface, 0))
    sock.settimeout(0.1)
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        print("capturing", os.getpid(), flush=True)
        # Packets that arrived before the signal are written, too.
        while True:
            try:
                frame = sock.recv(65535)
            except socket.timeout:
                if done:
                    return
                continue
            if frame[12:14] == b"\x08\x00" and frame[23] == 17 and frame[36:38] == struct.pack(">H", PORT):
                file.write(struct.pack("<IIII", 0, 0, len(frame), len(frame)) + frame)


def frames(path):
    """The frames of a pcap file."""
    with open(path, "rb") as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16:at + 16 + size]
        at += 16 + size


def icrc(ip):
    """The ICRC of an IPv4 packet without its last four bytes, of which those that change on the way count as ones."""
    b = bytearray(ip)
    for at in (1, 8, 10, 11, 26, 27, 32):
        b[at] = 0xFF
    return zlib.crc32(b"\xff" * 8 + bytes(b))


class Packet:
    """One packet: `fields` are those that are compared."""

    def __init__(self, frame):
        length = struct.unpack_from(">H", frame, 16)[0]
        ip = frame[14:14 + length]
        self.src, self.dst = (socket.inet_ntoa(ip[at:at + 4]) for at in (12, 16))
        opcode, flags, self.pkey = struct.unpack_from(">BBH", ip, 28)
        words = struct.unpack_from(">III", ip, 28)
        self.dqpn, self.psn = words[1] & 0xFFFFFF, words[2] & 0xFFFFFF
        self.type, op = TYPES.get(opcode >> 5, f"type {opcode >> 5}"), opcode & 31
        self.op = RC[op] if op < len(RC) else f"opcode {op}"
        self.fields = {
            "TOS": ip[1], "TTL": ip[8], "DF": ip[6] >> 6 & 1, "fragment": struct.unpack_from(">H", ip, 6)[0] & 0x3FFF,
            "UDP checksum": "none" if ip[26:28] == b"\0\0" else "there",
            "IP identification": "0" if ip[4:6] == b"\0\0" else "counts",
            "opcode": self.op, "SE": flags >> 7, "MigReq": flags >> 6 & 1, "pad": flags >> 4 & 3, "TVer": flags & 15,
            "P_Key": hex(self.pkey), "FECN, BECN": ip[32], "AckReq": words[2] >> 31, "reserved": words[2] >> 24 & 0x7F,
            "UDP length": struct.unpack_from(">H", ip, 24)[0],
        }
        self.good = icrc(ip[:-4]) == struct.unpack("<I", ip[-4:])[0] and \
            struct.unpack_from(">H", ip, 24)[0] == length - 20
        self.va = None
        self.headers(ip, 40)

    def headers(self, ip, at):
        """What follows the BTH."""
        f = self.fields
        if self.type == "UD":
            f["Q_Key"] = struct.unpack_from(">I", ip, at)[0]
        elif self.op in ("WRITE_FIRST", "WRITE_ONLY", "WRITE_ONLY_IMM", "READ_REQUEST"):
            self.va, f["RETH length"] = struct.unpack_from(">QxxxxI", ip, at)
        elif self.op in ("COMPARE_SWAP", "FETCH_ADD"):
            self.va = struct.unpack_from(">Q", ip, at)[0]
            f["AtomicETH operands"] = ip[at + 12:at + 28].hex()
        elif self.op in ("READ_RESPONSE_FIRST", "READ_RESPONSE_LAST", "READ_RESPONSE_ONLY", "ACKNOWLEDGE",
                         "ATOMIC_ACKNOWLEDGE"):
            word = struct.unpack_from(">I", ip, at)[0]
            f["AETH syndrome"] = hex(word >> 24)
            self.msn = word & 0xFFFFFF

    def kind(self):
        """Which stream it belongs to."""
        if self.type == "UD" and self.dqpn == 1:
            return "MADs"
        if self.op in ("ACKNOWLEDGE", "ATOMIC_ACKNOWLEDGE") or self.op.startswith("READ_RESPONSE"):
            return "ACKs" if self.op == "ACKNOWLEDGE" else "responses"
        return "requests"


def streams(path):
    """{(side, kind): [fields of each packet]} of a capture, and complaints about its packets."""
    out, bad, seen, first, client = collections.defaultdict(list), [], set(), {}, None
    for number, frame in enumerate(frames(path), 1):
        p = Packet(frame)
        client = client or p.src
        side = "client" if p.src == client else "server"
        if not p.good:
            bad.append(f"{path}: packet {number}: wrong ICRC or length")
        # Answers count as the requests of the other side do.
        answers = p.kind() in ("ACKs", "responses")
        flow = side if not answers else "client" if side == "server" else "server"
        base = first.setdefault((flow, p.kind() == "MADs"), [p.psn, p.va])
        again = (side, p.dqpn, p.psn, p.op)
        if again in seen:
            continue
        seen.add(again)
        p.fields["PSN"] = (p.psn - base[0]) & 0xFFFFFF
        if p.va is not None:
            base[1] = p.va if base[1] is None else base[1]
            p.fields["address"] = p.va - base[1]
        if answers:
            p.fields["MSN"] = getattr(p, "msn", None)
        out[side, p.kind()].append(p.fields)
    return out, bad


def values(stream, field, distinct):
    """A field's values in a stream as one text: runs of the same as N x value, or the set."""
    found = [str(f.get(field, "-")) for f in stream]
    if distinct:
        return " ".join(sorted(set(found)))
    runs = [(value, len(list(group))) for value, group in itertools.groupby(found)]
    return " ".join(value if n == 1 else f"{n} x {value}" for value, n in runs)


def compare(differences, name, *paths):
    """Print how captures differ. Return: whether all is explained."""
    with open(differences, encoding="ascii") as file:
        reasons = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    found, fine = {}, True
    for path in paths:
        pair = os.path.basename(path).removesuffix(".pcap")
        found[pair], bad = streams(path)
        for line in bad:
            print(line)
            fine = False
    for key in sorted({key for each in found.values() for key in each}):
        stream = f"{name}: {key[1]} of the {key[0]}"
        fields = sorted({field for each in found.values() for f in each[key] for field in f})
        counts = {pair: len(each[key]) for pair, each in found.items()}
        print(f"{stream}: " + ", ".join(f"{pair} {n}" for pair, n in counts.items()))
        # How many ACKs there are depends on when they are sent.
        lists = {"packets": counts} if key[1] != "ACKs" else {}
        lists |= {field: {pair: values(each[key], field, key[1] == "ACKs") for pair, each in found.items()}
                  for field in fields if key[1] != "ACKs" or field not in ("PSN", "MSN")}
        for field, by_pair in lists.items():
            if len(set(by_pair.values())) == 1:
                continue
            reason = next((r for r in reasons if r[0] in ("any", stream[:len(r[0])]) and r[1] == field), None)
            if reason:
                print("\t".join(reason), file=sys.stderr)
            fine = fine and reason is not None
            print(f"  {field}: {reason[2] if reason else 'NOT EXPLAINED'}")
            for pair, text in by_pair.items():
                print(f"    {pair}: {text}")
    return fine


if sys.argv[1] == "capture":
    capture(*sys.argv[2:])
else:
    sys.exit(not compare(*sys.argv[2:]))
