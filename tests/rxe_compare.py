#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rxe_compare.py OURS RXE - compare a capture of ours with one of the kernel's rxe, of the same exchange, field by
field as tshark sees them.

What may differ: addresses; numbers that whoever sends picks, as long as the same number on one side is always the
same number on the other, and sequence numbers count alike; and what docs/capture.md explains (EXPLAINED). Prints a
line for each other difference, then how many packets were compared. Exits with 1 when there are any."""
import json
import re
import subprocess
import sys

# Times, what other fields are made of, checksums (tests/unit_roce.c has these), and what the programs put in.
IGNORED = re.compile(r"""^(
    eth\..*|.*_host|ip\.host|ip\.addr|ip\.checksum.*|udp\.port|udp\.stream|udp\.time.*|udp\.payload|udp\.checksum\.status
    |infiniband\.(bth|deth|reth|aeth|atomiceth|atomicacketh|mad|payload|invariant\.crc|smplid\.smpdata)
    |infiniband\.atomic(eth|acketh)\..*dt
    |infiniband\.mad\.data|infiniband\.cm\.req\.ip_cm
    |data\.data|data
    )$""", re.X)

# The same on one side wherever it is the same on the other.
NAMES = re.compile(r"""^(
    ip\.(src|dst)
    |udp\.srcport
    |infiniband\.(bth\.destqp|deth\.srcqp|reth\.va|reth\.r_key)
    |infiniband\.mad\.transactionid
    |infiniband\.cm\.(req|rep|rtu|dreq|drep|rej|mra)(\.remotecommid|\.localqpn|\.localcaguid|\.startpsn|\.remoteqpn_?eecn)?
    |infiniband\.cm\.req\.(prim_localgid|prim_remotegid)
    |infiniband\.cm\.req\.(ip_cm\..*port|ip_cm\..*ip|serviceid.*)
    |infiniband\.cm\.req\.prim_(flowlabel|reserved0|pktrate)
    )$""", re.X)

# Numbers of which the first is picked, and that then count.
COUNTS = re.compile(r"^(infiniband\.bth\.psn|ip\.id)$")

EXPLAINED = {}


def flat(tree, out, path=""):
    """Leaves of tshark's JSON: {field: [values]}."""
    for key, value in tree.items():
        for v in value if isinstance(value, list) else [value]:
            if isinstance(v, dict):
                flat(v, out, key)
            else:
                out.setdefault(key, []).append(v)
    return out


def packets(path):
    text = subprocess.run(["tshark", "-r", path, "-T", "json", "--no-duplicate-keys"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=True).stdout
    for p in json.loads(text):
        layers = p["_source"]["layers"]
        layers.pop("frame")
        yield flat(layers, {})


class Names:
    """A mapping that goes both ways."""

    def __init__(self):
        self.to, self.back = {}, {}

    def same(self, a, b):
        return self.to.setdefault(a, b) == b and self.back.setdefault(b, a) == a


names, first = Names(), {}


def alike(field, ours, rxe, flow, to):
    if NAMES.match(field):
        # Different hosts may have the same numbers.
        kind = "address" if field.startswith("ip.") else field
        host = to if field.endswith("destqp") else (None, None)
        return names.same((kind, host[0], ours), (kind, host[1], rxe))
    if COUNTS.match(field):
        a, b = int(ours, 0), int(rxe, 0)
        a0, b0 = first.setdefault((field, flow), (a, b))
        return field == "ip.id" or (a - a0 - b + b0) % (1 << 24) == 0
    return ours == rxe


def main():
    wrong = 0
    ours, rxe = (list(packets(path)) for path in sys.argv[1:])
    if len(ours) != len(rxe):
        print(f"{len(ours)} packets, rxe has {len(rxe)}")
        wrong += 1
    for i, (a, b) in enumerate(zip(ours, rxe), 1):
        # An answer's PSN counts with the requests of the other direction.
        answer = 13 <= int(b["infiniband.bth.opcode"][0]) & 31 <= 18
        to = a["ip.dst"][0], b["ip.dst"][0]
        flow = b["ip.dst" if answer else "ip.src"][0], b["infiniband.bth.destqp"][0] == "0x000001"
        for field in sorted(set(a) | set(b)):
            if IGNORED.match(field):
                continue
            x, y = a.get(field, ["none"]), b.get(field, ["none"])
            if len(x) != len(y) or not all(alike(field, s, t, flow, to) for s, t in zip(x, y)):
                print(f"packet {i}: {field} is {' '.join(x)}, rxe has {' '.join(y)}")
                wrong += 1
    print(f"{min(len(ours), len(rxe))} packets, {wrong} differences")
    sys.exit(wrong > 0)


main()
