#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Lay the emulator's figures beside the machine's limits: table.py FIGURES JSON"""
import json
import sys

MB = 1048576 / 1e6  # perftest's MB are 2^20 bytes

with open(sys.argv[1], encoding="ascii") as f:
    m = {k: float(v) for k, v in (line.split() for line in f if len(line.split()) == 2)}


def vm_bw(size):
    return m[f"process_vm_writev_mbs_{size}"]


ROWS = [
    # name, figure, unit, its yardstick, the yardstick's value, target, lower is better
    ("ib_send_lat -s 2", "send_lat_us", "us", "cache-line ping-pong", m["pingpong_us"],
     3 * m["pingpong_us"] + 0.2, True),
    ("ib_write_lat -s 2", "write_lat_us", "us", "ping-pong + process_vm_writev",
     m["pingpong_us"] + m["process_vm_writev_us_8"],
     2 * (m["pingpong_us"] + m["process_vm_writev_us_8"]), True),
    ("ib_read_lat -s 2", "read_lat_us", "us", "process_vm_writev", m["process_vm_writev_us_8"],
     None, True),
    ("ib_send_lat -s 2 -e", "send_lat_event_us", "us", "two eventfd wakes", 2 * m["eventfd_us"],
     1.5 * 2 * m["eventfd_us"], True),
]
for kind in ("write", "send", "read"):
    for size in (65536, 1048576):
        key = f"{kind}_bw_{size}"
        if key in m:
            m[key] *= MB
        ROWS.append((f"ib_{kind}_bw -s {size}", key, "MB/s", "process_vm_writev", vm_bw(size),
                     0.8 * vm_bw(size), False))
ROWS += [
    ("ib_send_bw -s 64", "send_rate_64", "M/s", "", None, 5.0, False),
    ("ib_write_bw -s 64", "write_rate_64", "M/s", "", None, 2.0, False),
    ("rdmaemu run -- true", "run_true_ms", "ms", "true", m["true_ms"], m["true_ms"] + 5, True),
    ("the same, with starting the fabric", "run_fresh_true_ms", "ms", "true", m["true_ms"],
     m["true_ms"] + 30, True),
    ("fabric process meanwhile", "fabric_cpu_percent", "% CPU", "", None, 3.0, True),
]

print("The machine's own limits")
for name, key, unit in (
        ("cache-line ping-pong, one way", "pingpong_us", "us"),
        ("process_vm_writev, 8 bytes", "process_vm_writev_us_8", "us"),
        ("process_vm_writev, 64 KiB", "process_vm_writev_mbs_65536", "MB/s"),
        ("process_vm_writev, 1 MiB", "process_vm_writev_mbs_1048576", "MB/s"),
        ("memcpy, 64 KiB", "memcpy_mbs_65536", "MB/s"),
        ("memcpy, 1 MiB", "memcpy_mbs_1048576", "MB/s"),
        ("eventfd wake", "eventfd_us", "us"),
        ("futex wake", "futex_us", "us"),
        ("TCP over loopback, 1 byte, one way", "tcp_us", "us"),
        ("TCP over loopback, 64 KiB writes", "tcp_mbs_65536", "MB/s")):
    print(f"  {name:36} {m[key]:11.2f} {unit}")

print("The emulator")
print(f"  {'':36} {'measured':>11} {'':5} {'target':>10} {'':5} {'ratio':>7}")
out = []
for name, key, unit, yard, yard_value, target, lower in ROWS:
    if key not in m:
        print(f"  {name:36} {'failed':>11}")
        out.append({"name": name, "met": False})
        continue
    v = m[key]
    met = None if target is None else (v <= target if lower else v >= target)
    ratio = v / yard_value if yard_value else None
    print(f"  {name:36} {v:11.2f} {unit:5} "
          + (f"{'<=' if lower else '>='} {target:7.2f}" if target is not None else f"{'':10}")
          + f" {'' if met is None else 'ok' if met else 'MISS':5} "
          + (f"{ratio:6.2f}x {yard}" if ratio else ""))
    out.append({"name": name, "figure": key, "value": v, "unit": unit, "yardstick": yard,
                "yardstick_value": yard_value, "ratio": ratio, "target": target, "met": met})

with open(sys.argv[2], "w", encoding="ascii") as f:
    json.dump({"figures": m, "rows": out}, f, indent=2)
    f.write("\n")
