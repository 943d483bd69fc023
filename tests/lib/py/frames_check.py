#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""frames_check.py WHAT FILE - look at the frames of a pcapng file whose packets have comments "INTERFACE OPCODE",
as tests/lib/tools/sys_frames.c writes it.

  scapy   the ICRC that scapy's RoCE layer computes for each IPv4 frame
  crc     ICRC and VCRC of every frame by the bit-by-bit definition in this file
  tshark  the fields that tshark sees, and that it finds nothing malformed

Prints a line for each thing that is wrong, then how many frames were checked."""
import struct
import subprocess
import sys

wrong = 0


def bad(*what):
    global wrong
    wrong += 1
    print(*what)


def blocks(data):
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        yield kind, data[at + 8:at + length - 4]
        at += length


def frames(path):
    """(interface, opcode, frame) of each packet."""
    for kind, b in blocks(open(path, "rb").read()):
        if kind != 6:
            continue
        cap = struct.unpack_from("<I", b, 12)[0]
        frame, at = b[20:20 + cap], 20 + (cap + 3) // 4 * 4
        while True:
            code, length = struct.unpack_from("<HH", b, at)
            if code == 1:
                iface, op = b[at + 4:at + 4 + length].decode().split()
                yield iface, int(op), frame
            if not code:
                break
            at += 4 + (length + 3) // 4 * 4


# --- scapy ---------------------------------------------------------------------------------------------


def check_scapy(path):
    from scapy.contrib.roce import BTH
    from scapy.layers.l2 import Ether

    n = 0
    for iface, op, frame in frames(path):
        if iface != "ip4":
            continue
        p = Ether(frame)
        p[BTH].icrc = None
        n += 1
        if bytes(p) != frame:
            bad(f"{iface} {op}: scapy has {bytes(p)[-4:].hex()}, we {frame[-4:].hex()}")
    return n


# --- checksums by their definition ------------------------------------------------------------------------


def crc(data, width, poly):
    """All ones at the beginning, lowest bit of each byte first, complemented: as bytes in the order of the wire."""
    reg = (1 << width) - 1
    for byte in data:
        for i in range(8):
            top = reg >> width - 1 ^ byte >> i & 1
            reg = (reg << 1 & (1 << width) - 1) ^ (poly if top & 1 else 0)
    bits = [~reg >> width - 1 - i & 1 for i in range(width)]
    return bytes(sum(b << i for i, b in enumerate(bits[at:at + 8])) for at in range(0, width, 8))


def ones(data, masks):
    data = bytearray(data)
    for at, mask in masks.items():
        data[at] |= mask
    return bytes(data)


GRH = {0: 0x0f, 1: 0xff, 2: 0xff, 3: 0xff, 7: 0xff}
BTH_MASK = 0xff  # FECN, BECN, reserved


def icrc_input(iface, f):
    """What the ICRC is of: all up to it, with ones for what may change on the way, and for the LRH that is not there."""
    if iface in ("ip4", "ip6", "v1"):
        f = f[14:-4]
        if iface == "ip4":
            masks = {1: 0xff, 8: 0xff, 10: 0xff, 11: 0xff, 26: 0xff, 27: 0xff, 32: BTH_MASK}
        elif iface == "ip6":
            masks = {**GRH, 46: 0xff, 47: 0xff, 52: BTH_MASK}
        else:
            masks = {**GRH, 44: BTH_MASK}
        return b"\xff" * 8 + ones(f, masks)
    f = f[:-6]
    if iface in ("ib", "erf"):
        return ones(f, {0: 0xf0, 12: BTH_MASK})
    return ones(f, {0: 0xf0, **{8 + at: m for at, m in GRH.items()}, 52: BTH_MASK})


def check_crc(path):
    n = 0
    for iface, op, f in frames(path):
        if iface.startswith("erf"):
            f = f[16:]
        ib = iface.startswith(("ib", "erf"))
        n += 1
        want, got = crc(icrc_input(iface, f), 32, 0x04c11db7), f[-6:-2] if ib else f[-4:]
        if want != got:
            bad(f"{iface} {op}: ICRC {got.hex()}, not {want.hex()}")
        if ib and crc(f[:-2], 16, 0x100b) != f[-2:]:
            bad(f"{iface} {op}: VCRC {f[-2:].hex()}, not {crc(f[:-2], 16, 0x100b).hex()}")
    return n


# --- tshark ----------------------------------------------------------------------------------------------

# Of packet_of() in sys_frames.c, as tshark prints them. "{:x}" is formatted with a value.
NETWORK = {
    "ip4": {"ip.src": "10.1.0.1", "ip.dst": "10.1.0.2", "ip.dsfield": "0x68", "ip.ttl": "63", "ip.id": "0x4321",
            "ip.flags.df": "1", "udp.srcport": str(0xc123), "udp.dstport": "4791", "ip.checksum.status": "1"},
    "ip6": {"ipv6.src": "fd09::1", "ipv6.dst": "fd09::2", "ipv6.tclass": "0x00000068", "ipv6.flow": "0x012345",
            "ipv6.hlim": "63", "udp.srcport": str(0xc123), "udp.dstport": "4791"},
    "v1": {"infiniband.grh.sgid": "fd09::1", "infiniband.grh.dgid": "fd09::2", "infiniband.grh.tclass": str(0x68),
           "infiniband.grh.flowlabel": str(0x12345), "infiniband.grh.hoplmt": "63"},
    "erf": {"infiniband.lrh.vl": "0x03", "infiniband.lrh.sl": "5", "infiniband.lrh.slid": str(0x11),
            "infiniband.lrh.dlid": str(0x22), "infiniband.lrh.lnh": "0x02"},
}
NETWORK["erf_grh"] = {**NETWORK["erf"], **NETWORK["v1"], "infiniband.lrh.lnh": "0x03"}

RETH = {6, 10, 11, 12}
IMMDT = {3, 5, 9, 11}
AETH = {13, 15, 16, 17, 18}
IETH = {22, 23}
ATOMICETH = {19, 20}


def transport_fields(op):
    """Of the BTH, and of the headers that its opcode has, in RC, UC and UD."""
    low, ud = op & 31, op >> 5 == 3
    f = {
        "infiniband.bth.opcode": str(op), "infiniband.bth.se": str(op & 1), "infiniband.bth.m": str(op >> 1 & 1),
        "infiniband.bth.a": str(op >> 2 & 1), "infiniband.bth.tver": "0", "infiniband.bth.p_key": str(0x8001),
        "infiniband.bth.destqp": f"0x{0x10000 + op:06x}", "infiniband.bth.psn": str(0xfff000 + op),
    }
    if ud:
        f["infiniband.deth.q_key"] = f"0x{0x11223344:016x}"
        f["infiniband.deth.srcqp"] = f"0x{0x20000 + op:08x}"
    if low in RETH:
        f["infiniband.reth.va"] = f"0x{0x1122334455667700 + op:016x}"
        f["infiniband.reth.r_key"] = f"0x{0xaabb0000 + op:08x}"
        f["infiniband.reth.dmalen"] = str(300 + op)
    if low in ATOMICETH:
        f["infiniband.reth.va"] = f"0x{0x1122334455667700 + op:016x}"
        f["infiniband.reth.r_key"] = f"0x{0xaabb0000 + op:08x}"
        f["infiniband.atomiceth.swapdt"] = str(0x0102030405060700 + op)
        f["infiniband.atomiceth.cmpdt"] = str(0x0807060504030200 + op)
    if low in AETH:
        f["infiniband.aeth.syndrome"] = str(0x1f)
        f["infiniband.aeth.msn"] = str(0x40000 + op)
    if low == 18:
        f["infiniband.atomicacketh.origremdt"] = str(0x99aabbccddee0000 + op)
    if low in IMMDT:
        f["infiniband.immdt"] = f"{0xcafe0000 + op:08x}"
    if low in IETH:
        f["infiniband.ieth"] = f"{0xbeef0000 + op:08x}"
    return f


def wanted(iface, op):
    f = dict(NETWORK[iface])
    # tshark 4.0 does not know XRC, nor FLUSH, ATOMIC WRITE and CNP, and takes RD for Mellanox's DC.
    if op >> 5 in (0, 1, 3) and op & 31 < 28:
        f.update(transport_fields(op))
        f["_ws.malformed"] = ""
    else:
        f["infiniband.bth.psn"] = str(0xfff000 + op)
    return f


def same(got, want):
    got = {"True": "1", "False": "0"}.get(got, got)  # of one bit, as tshark 4.4 prints it
    if got == want:
        return True
    try:
        return int(got, 0) == int(want, 0)
    except ValueError:
        return got.replace(":", "") == want


def check_tshark(path):
    names = sorted({k for i in NETWORK for op in range(256) for k in wanted(i, op)})
    out = subprocess.run(
        ["tshark", "-r", path, "-o", "ip.check_checksum:TRUE", "-T", "fields", "-e", "frame.comment", "-E", "occurrence=f"]
        + [x for n in names for x in ("-e", n)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    n = 0
    for line in out.decode().splitlines():
        comment, *values = line.split("\t")
        iface, op = comment.split()
        # tshark does not know this link type.
        if iface.startswith("ib"):
            continue
        n += 1
        got = dict(zip(names, values))
        for name, want in wanted(iface, int(op)).items():
            if not same(got[name], want):
                bad(f"{comment}: {name} is '{got[name]}', not '{want}'")
    return n


def main():
    what, path = sys.argv[1:]
    n = {"scapy": check_scapy, "crc": check_crc, "tshark": check_tshark}[what](path)
    print(f"{n} frames, {wrong} wrong")


main()
