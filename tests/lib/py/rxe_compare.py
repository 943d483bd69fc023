#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""rxe_compare.py OURS RXE - compare a capture of ours with one of the kernel's rxe, of the same exchange, field by
field as tshark sees them.

These may differ: addresses; numbers that a sender picks, as long as the same number on one side is always the
same number on the other, and sequence numbers count alike; and differences that docs/reference/capture-format.md explains (EXPLAINED). Prints a
line for each other difference, then how many packets were compared. Exits with 1 when there are any."""
import json
import re
import subprocess
import sys

# Times; fields that follow from others; checksums, which tests/unit/traces/formats/test_roce.c and
# tests/e2e/capture/others_read_frames.t check; and the programs' payload. In a REQ's path, tshark 4.0 takes the last
# bits of the flow label for other fields.
IGNORED = re.compile(r"""^(
    eth\..*|.*_host|ip\.host|ip\.addr|ip\.checksum.*|udp\.port|udp\.stream.*|udp\.time.*|udp\.payload|udp\.checksum\.status
    |infiniband\.(bth|deth|reth|aeth|atomiceth|atomicacketh|mad|payload|invariant\.crc|smplid\.smpdata)
    |infiniband\.atomic(eth|acketh)\..*dt
    |infiniband\.mad\.data|infiniband\.cm\.req\.ip_cm
    |infiniband\.cm\.req\.prim_(flowlabel|reserved0|pktrate)
    |data\.data|data
    )$""", re.X)

# The same on one side wherever it is the same on the other: what kind of name each is.
NAMES = [(re.compile(pattern), kind) for pattern, kind in (
    (r"ip\.(src|dst)$", "address"),
    (r"infiniband\.cm\.req\.(ip_cm\.[sd]ip4|prim_(local|remote)gid_ipv4)$", "address"),
    (r"infiniband\.cm\.re[qp]\.localcaguid$", "guid"),
    (r"infiniband\.cm\.req\.ip_cm\.sport$", "port"),
    (r"infiniband\.cm\.req\.(ip_cm\.dport|serviceid(\.dport)?)$", "service"),
    (r"udp\.srcport$", "flow"),
    (r"infiniband\.(bth\.destqp|cm\.(req|dreq)\.remoteqpneecn)$", "QP of the receiver"),
    (r"infiniband\.(deth\.srcqp|cm\.re[qp]\.localqpn)$", "QP of the sender"),
    (r"infiniband\.reth\.(va|r_key)$", "memory"),
    (r"infiniband\.cm\.(req|rep|rtu|dreq|drsp|rej)(\.localcommid|\.remotecommid)?$", "communication ID"),
    (r"infiniband\.cm\.re[qp]\.startpsn$", "PSN"),
    (r"infiniband\.mad\.transactionid$", "transaction"),
)]

# Numbers of which the first is picked, and that then count.
COUNTS = re.compile(r"infiniband\.bth\.psn$")
PICKED = re.compile(r"ip\.id$")

# What docs/reference/capture-format.md explains, by field: (ours, rxe's).
EXPLAINED = {
    "infiniband.bth.a": ("0", "1"),  # of MADs
    "infiniband.cm.req.pppmtu": ("0x03", "0x05"),
    "infiniband.cm.req.prim_localacktout": ("0x11", "0x13"),
}


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


def alike(field, ours, rxe, ctx):
    """@ctx: (hosts that send, hosts that receive, MAD or not, what counts together)"""
    src, dst, mad, flow = ctx
    for pattern, kind in NAMES:
        if pattern.match(field):
            # Different hosts may have the same numbers; MADs have transactions and flows of their own.
            host = {"receiver": dst, "sender": src}.get(kind.split()[-1], (None, None))
            kind = (kind, mad) if kind in ("transaction", "flow") else kind.split()[0]
            return names.same((kind, host[0], ours), (kind, host[1], rxe))
    if COUNTS.match(field):
        a, b = int(ours, 0), int(rxe, 0)
        a0, b0 = first.setdefault(flow, (a, b))
        return (a - a0 - b + b0) % (1 << 24) == 0
    return ours == rxe or PICKED.match(field) or explained(field, ours, rxe, mad)


def explained(field, ours, rxe, mad):
    if field == "infiniband.reserved":
        # The vendor ID of ECE, which tshark 4.0 does not know.
        return mad and rxe.replace(":", " ").split() == [b if b not in ("52", "56", "45") else "00"
                                                         for b in ours.replace(":", " ").split()]
    return mad and EXPLAINED.get(field) == (ours, rxe)


def main():
    wrong = 0
    ours, rxe = (list(packets(path)) for path in sys.argv[1:])
    if len(ours) != len(rxe):
        print(f"{len(ours)} packets, rxe has {len(rxe)}")
        wrong += 1
    for i, (a, b) in enumerate(zip(ours, rxe), 1):
        # An answer's PSN counts with the requests of the other direction; each transaction of MADs has its own ID.
        mad = b.get("infiniband.mad.attributeid", [None])[0]
        answer = 13 <= int(b["infiniband.bth.opcode"][0]) & 31 <= 18
        src, dst = ((a[k][0], b[k][0]) for k in ("ip.src", "ip.dst"))
        ctx = src, dst, mad and ("ends" if mad in ("0x0015", "0x0016") else "begins"), (dst if answer else src, bool(mad))
        for field in sorted(set(a) | set(b)):
            if IGNORED.match(field):
                continue
            x, y = a.get(field, ["none"]), b.get(field, ["none"])
            if len(x) != len(y) or not all(alike(field, s, t, ctx) for s, t in zip(x, y)):
                print(f"packet {i}: {field} is {' '.join(x)}, rxe has {' '.join(y)}")
                wrong += 1
    print(f"{min(len(ours), len(rxe))} packets, {wrong} differences")
    sys.exit(wrong > 0)


main()
