#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Medians of the samples of tests/bench, beside limits and targets: report.py SAMPLES JSON.

Each line of SAMPLES is a name and a value; names of the machine's own limits begin with `limit.`.
"""
import collections
import json
import statistics
import sys

PERFTEST_MB = 2**20  # perftest's MB/sec, in bytes
ROCE_HEADERS = 32  # as in tests/bench/roce.sh

LIMITS = [
    # figure of tests/bench/limits.c, text, unit, divisor
    ("pingpong_ns", "cache-line ping-pong, one way", "us", 1e3),
    *((f"process_vm_{n}_ns", f"process_vm_writev, {n} B", "us", 1e3) for n in (2, 64)),
    ("process_vm_65536_gbs", "process_vm_writev, 64 KiB", "GB/s", 1),
    ("process_vm_1048576_gbs", "process_vm_writev, 1 MiB", "GB/s", 1),
    ("process_vm_tail_65536_gbs", "the same in two pieces, 64 KiB", "GB/s", 1),
    ("process_vm_tail_1048576_gbs", "the same in two pieces, 1 MiB", "GB/s", 1),
    ("process_vm_pieces_per_s", "the same, 64 B x 32 in a call", "M/s", 1e6),
    *((f"memcpy_{n}_ns", f"memcpy, {n} B", "us", 1e3) for n in (2, 64)),
    ("memcpy_65536_gbs", "memcpy, 64 KiB", "GB/s", 1),
    ("memcpy_1048576_gbs", "memcpy, 1 MiB", "GB/s", 1),
    ("memcpy_shared_65536_gbs", "to pages another CPU has read, 64 KiB", "GB/s", 1),
    ("memcpy_shared_1048576_gbs", "the same, 1 MiB", "GB/s", 1),
    ("eventfd_wake_ns", "eventfd wake", "us", 1e3),
    ("futex_wake_ns", "futex wake", "us", 1e3),
    ("tcp_round_trip_ns", "TCP loopback, round trip", "us", 1e3),
    ("tcp_65536_gbs", "TCP loopback, 64 KiB", "GB/s", 1),
    ("tcp_1048576_gbs", "TCP loopback, 1 MiB", "GB/s", 1),
]


class Figure:
    """Median and extremes of one figure's samples."""

    def __init__(self, values, scale=1.0):
        self.values = [v * scale for v in values]
        self.median = statistics.median(self.values)
        self.min = min(self.values)
        self.max = max(self.values)

    def json(self):
        return {"median": self.median, "min": self.min, "max": self.max, "samples": self.values}


def read_samples(path):
    samples = collections.defaultdict(list)
    with open(path, encoding="ascii") as f:
        for line in f:
            name, value = line.split()
            samples[name].append(float(value))
    return samples


def joined(limit):
    """As measures(): between two fabrics that are joined over TCP."""
    trip = limit["tcp_round_trip_ns"] / 1e3
    for kind in "send", "write":
        # perftest prints half of it.
        yield (f"join_{kind}_lat", f"joined: ib_{kind}_lat, trip", "us", 2, trip, "TCP round trip",
               2 * trip, True)
    gbs = limit["tcp_1048576_gbs"]
    for kind in "write", "send", "read":
        yield (f"join_{kind}_bw", f"joined: ib_{kind}_bw, 1 MiB", "GB/s", PERFTEST_MB / 1e9, gbs,
               "TCP", 0.7 * gbs, False)
    for kind in "send", "write":
        yield (f"join_{kind}_rate", f"joined: ib_{kind}_bw -s 64 -t 512", "M/s", 1, None, "", 1, False)


def between_nodes(samples):
    """The same for two programs on two nodes of one fabric: their limits are those of two programs on one."""
    for kind in "send", "write":
        for name, text, unit, alone, at_most in (("lat", f"ib_{kind}_lat -s 2", "us", f"{kind}_lat", True),
                                                 ("rate", f"ib_{kind}_bw -s 64", "M/s", f"{kind}_rate_64", False)):
            limit = statistics.median(samples[alone]) if alone in samples else None
            yield (f"nodes_{kind}_{name}", f"between nodes: {text}", unit, 1, limit, "on one node",
                   limit and (1.3 * limit if at_most else limit / 1.3), at_most)


def measures(limit, true_ms, rc_lat):
    """What is measured: name, text, unit, factor to the unit, limit and its text, target, at most."""
    ping = limit["pingpong_ns"] / 1e3
    wakes = 2 * limit["eventfd_wake_ns"] / 1e3
    yield "send_lat", "ib_send_lat -s 2", "us", 1, ping, "ping-pong", 2.5 * ping, True
    for name, args in ("ud", "-c UD"), ("uc", "-c UC"), ("xrc", "-c XRC"), ("srq", "--use-srq"):
        yield (f"send_lat_{name}", f"ib_send_lat {args} -s 2", "us", 1, rc_lat, "ib_send_lat -s 2",
               1.3 * rc_lat, True)
    yield "write_lat", "ib_write_lat -s 2", "us", 1, ping, "ping-pong", 3 * ping, True
    yield ("send_lat_event", "ib_send_lat -e -s 2", "us", 1, wakes, "two eventfd wakes",
           1.5 * wakes, True)
    for kind in "write", "send", "read":
        for size in 65536, 1048576:
            gbs = limit[f"memcpy_shared_{size}_gbs"]
            yield (f"{kind}_bw_{size}", f"ib_{kind}_bw -s {size}", "GB/s", PERFTEST_MB / 1e9, gbs,
                   "memcpy across CPUs", 0.7 * gbs, False)
    yield "send_rate_64", "ib_send_bw -s 64", "M/s", 1, None, "", 6, False
    yield "write_rate_64", "ib_write_bw -s 64", "M/s", 1, None, "", 8, False
    yield from joined(limit)
    yield "cm_rate", "cmtime -c 1000, connect", "k/s", 1e-3, None, "", 10, False
    yield "cm_setup", "10,000 connections, set-up", "k/s", 1e-3, None, "", 10, False
    yield "run_true", "rdmaemu run -- true", "ms", 1, true_ms, "true", 2 * true_ms, True
    yield ("run_true_cold", "the same, fabric to start", "ms", 1, true_ms, "true", true_ms + 30,
           True)
    yield "cpu_idle", "fabric process, idle", "%CPU", 1, None, "", 0, True
    # It should be next to none, which is no number to judge by.
    yield "cpu_send_bw", "fabric process, ib_send_bw", "%CPU", 1, None, "", None, True


def lending(samples, limit):
    """The same for lent memory beside memory that is not lent. Bandwidth is that of memory, not of a call."""
    gbs = limit["memcpy_65536_gbs"]
    for name, args in ("write", " -s 2"), ("read", " -s 2"), ("atomic", ""):
        alone = samples.get(f"kept_{name}_lat")
        kept = statistics.median(alone) if alone else None
        yield (f"lent_{name}_lat", f"lent: ib_{name}_lat{args}", "us", 1, kept, "without lending",
               kept and 0.5 * kept, True)
    for name in "write", "read":
        alone = samples.get(f"kept_{name}_bw")
        kept = statistics.median(alone) * PERFTEST_MB / 1e9 if alone else None
        yield (f"lent_{name}_bw", f"lent: ib_{name}_bw -s 65536", "GB/s", PERFTEST_MB / 1e9, kept, "without lending",
               0.7 * gbs, False)
    alone = samples.get("kept_register")
    kept = statistics.median(alone) if alone else None
    yield ("lent_register", "lent: register, deregister 64 KiB", "us", 1, kept, "without lending", kept and 1.5 * kept,
           True)


def ucx(samples):
    """The same for UCX over RC: its limits are UCX's own shared memory. Without ucx_perftest there are no samples."""
    gbs = PERFTEST_MB / 1e9
    for name, text, unit, factor, bar, at_most in (
            ("tag_lat", "tag_lat, 8 B", "us", 1, 2, True), ("put_lat", "ucp_put_lat, 8 B", "us", 1, 5, True),
            ("get", "ucp_get, 8 B", "us", 1, 40, True), ("fadd", "ucp_fadd, 8 B", "us", 1, 40, True),
            ("rate_64", "tag_bw, 64 B", "M/s", 1e-6, 0.4, False), ("bw_65536", "tag_bw, 64 KiB", "GB/s", gbs, 1.2, False),
            ("bw_1048576", "tag_bw, 1 MiB", "GB/s", gbs, 1.2, False)):
        if f"shm_ucx_{name}" not in samples:
            continue
        limit = statistics.median(samples[f"shm_ucx_{name}"]) * factor
        for kind, program in ("", "UCX"), ("lent_", "UCX, --lend"):
            yield (f"{kind}ucx_{name}", f"{program}: {text}", unit, factor, limit, "UCX's posix,cma", bar * limit,
                   at_most)


def captured(samples):
    """The same for what is captured: its limits are the same without a capture."""
    for size in 65536, 1048576:
        alone = samples.get(f"not_captured_bw_{size}")
        limit = statistics.median(alone) * PERFTEST_MB / 1e9 if alone else None
        yield (f"captured_bw_{size}", f"captured: ib_send_bw -s {size}", "GB/s", PERFTEST_MB / 1e9, limit,
               "without a capture", limit and 0.5 * limit, False)


def sealed(samples):
    """The same for joined fabrics that seal their traffic: their limits are those of fabrics that do not. Without
    network namespaces there are no samples."""
    if "sealed_lat" not in samples:
        return
    for name, text, unit, factor in (("lat", "ib_send_lat, trip", "us", 2),
                                     *((f"{kind}_bw", f"ib_{kind}_bw, 1 MiB", "GB/s", PERFTEST_MB / 1e9)
                                       for kind in ("write", "send", "read"))):
        alone = samples.get(f"plaintext_{name}")
        limit = statistics.median(alone) * factor if alone else None
        yield f"sealed_{name}", f"sealed: {text}", unit, factor, limit, "with --plaintext", None, name == "lat"


def roce(samples):
    """The same for fabrics with --roce: their limits are plain UDP's, whose kernel cuts datagrams of the same length.
    Without network namespaces there are no samples."""
    if "udp_round_trip_ns" not in samples:
        return
    trip = statistics.median(samples["udp_round_trip_ns"]) / 1e3
    for kind in "send", "write":
        yield f"roce_{kind}_lat", f"--roce: ib_{kind}_lat, trip", "us", 2, trip, "UDP round trip", 1.5 * trip, True
    for mtu in 1024, 4096:
        gbs = statistics.median(samples[f"udp_{mtu + ROCE_HEADERS}_gbs"])
        for kind in "write", "read":
            yield (f"roce_{kind}_bw_{mtu}", f"--roce: ib_{kind}_bw -m {mtu}", "GB/s", PERFTEST_MB / 1e9, gbs,
                   "UDP_SEGMENT", 0.6 * gbs, False)


def beside_many(samples):
    """The same for what tests/bench/run does beside_many(): its limits are the same without them."""
    yield "idle_qp", "10,000 QPs: each, + rings", "KiB", 1 / 1024, None, "", 8, True
    for name, text, unit, at_most in (("rate", "ib_send_bw -s 64 next to them", "M/s", False),
                                      ("lat", "ib_send_lat -s 2 next to them", "us", True)):
        alone = samples.get(f"{name}_default")
        limit = statistics.median(alone) if alone else None
        target = limit and (limit * 1.05 if at_most else limit / 1.05)
        yield f"{name}_many", text, unit, 1, limit, "without them", target, at_most


def instructions(samples):
    """The same for what callgrind counts; without valgrind there are no samples. Other types are beside RC."""
    for name, text, target in (("send", "instructions: SEND, 2 B", 900), ("write", "instructions: WRITE, 2 B", 800),
                               ("read", "instructions: READ, 2 B", None), ("fadd", "instructions: fetch and add", None),
                               ("poll_none", "instructions: empty poll", 25),
                               ("poll_one", "instructions: poll, one entry", 120)):
        if f"instructions_{name}" in samples:
            yield f"instructions_{name}", text, "", 1, None, "", target, True
    for kind, types in ("send", ("uc", "ud", "xrc")), ("write", ("uc", "xrc")):
        for other in types:
            alone = samples.get(f"instructions_{kind}")
            rc = statistics.median(alone) if alone else None
            if f"instructions_{kind}_{other}" in samples:
                yield (f"instructions_{kind}_{other}", f"instructions: {other.upper()} {kind.upper()}, 2 B", "", 1, rc,
                       f"RC {kind.upper()}", rc and 1.3 * rc, True)


def tapped():
    """The same for the tap on real devices, with rules that do not match: the difference to a run without it."""
    for kind, text in ("call", "on a call"), ("work", "on requests"), ("cm", "on messages"), ("all", "of all kinds"):
        for name in "poll", "post":
            yield f"tapped_{kind}_{name}", f"rules {text}: a {name}", "ns", 1, None, "", 15, True


def print_limits(figures):
    print(f"{'limit of this machine':38}{'median':>10}{'min':>10}{'max':>10}")
    for name, text, unit, divisor in LIMITS:
        f = Figure(figures[name].values, 1 / divisor)
        print(f"{text:38}{f.median:10.3f}{f.min:10.3f}{f.max:10.3f} {unit}")


def print_row(row):
    if row["value"] is None:
        print(f"{row['text']:28}    failed")
        return
    v = row["value"]
    line = f"{row['text']:28}{v['median']:9.3f}{v['min']:9.3f}{v['max']:9.3f} {row['unit']:5}"
    if row["limit"] is None:
        line += f"{'':33}{'':9}"
    else:
        line += f"{row['limit']:9.3f} {row['limit_name']:23}{row['ratio']:8.2f}x"
    if row["target"] is not None:
        line += f" {'<=' if row['at_most'] else '>='}{row['target']:8.3f}"
        line += "  met" if row["met"] else "  NOT MET"
    print(line)


def main():
    samples = read_samples(sys.argv[1])
    figures = {k.removeprefix("limit."): Figure(v) for k, v in samples.items()
               if k.startswith("limit.")}
    if "true" not in samples:
        sys.exit("bench: no time of `true`, nothing to compare with")
    limit = {k: f.median for k, f in figures.items()}
    print_limits(figures)
    print(f"\n{'measure':28}{'median':>9}{'min':>9}{'max':>9} {'':5}"
          f"{'limit':>9} {'':23}{'ratio':>9} {'target':>10}")
    rows = []
    for name, text, unit, factor, lim, lim_name, target, at_most in (
            *measures(limit, statistics.median(samples["true"]),
                      statistics.median(samples["send_lat"]) if "send_lat" in samples else 0),
            *between_nodes(samples), *ucx(samples), *lending(samples, limit), *captured(samples),
            *sealed(samples), *roce(samples),
            *beside_many(samples),
            *instructions(samples), *tapped()):
        value = Figure(samples[name], factor) if name in samples else None
        met = None
        if value and target is not None:
            met = value.median <= target if at_most else value.median >= target
        rows.append({"name": name, "text": text, "unit": unit,
                     "value": value.json() if value else None,
                     "limit": lim, "limit_name": lim_name,
                     "ratio": value.median / lim if value and lim else None,
                     "target": target, "at_most": at_most, "met": met})
        print_row(rows[-1])
    with open(sys.argv[2], "w", encoding="ascii") as f:
        json.dump({"limits": {k: v.json() for k, v in figures.items()}, "measures": rows}, f,
                  indent=2)
        f.write("\n")


main()
