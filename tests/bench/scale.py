#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Measures how a fabric grows: prints the tables of docs/design/scale.md.

Usage: scale.py RDMAEMU nodes N...	a fabric of N nodes, each with a program that waits (rping)
       scale.py RDMAEMU fabrics N...	as root: N joined fabrics in network namespaces on a bridge, a full mesh
       scale.py RDMAEMU hub N...	the same, of which only the first one listens and forwards for the others

A full mesh of more than 33 needs more neighbours than the kernel keeps by default: see docs/design/scale.md.

Times are those of a machine that does nothing else; memory is the proportional set size (PSS).
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

ITERATIONS = 20  # of rping: two SENDs, a READ and a WRITE each
AT_ONCE = 8  # programs that start, or clients that run


def pss_kib(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("Pss:"))


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as f:
        fields = f.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Host:
    """A place that has a fabric: a state directory, and a network namespace if it is not this one."""

    def __init__(self, rdmaemu, directory, netns=None):
        os.mkdir(directory, 0o700)
        self.rdmaemu, self.env = rdmaemu, {**os.environ, "RDMAEMU_DIR": directory}
        self.into = ["nsenter", "-t", str(netns), "-n"] if netns else []
        self.started = []

    def start(self, *args, **kwargs):
        p = subprocess.Popen([*self.into, self.rdmaemu, *args], env=self.env, stdin=subprocess.DEVNULL, **kwargs)
        self.started.append(p)
        return p

    def call(self, *args):
        return subprocess.run(
            [*self.into, self.rdmaemu, *args], env=self.env, stdin=subprocess.DEVNULL, check=True, capture_output=True
        ).stdout

    def status(self):
        return json.loads(self.call("status", "--json"))

    def end(self):
        """Stop the fabric, if there is one, which ends its programs, and the others."""
        subprocess.run([*self.into, self.rdmaemu, "fabric", "stop"], env=self.env, stdin=subprocess.DEVNULL,
                       check=False, capture_output=True)
        for p in self.started:
            p.kill()
            p.wait()


def wait_until(what, condition, seconds=600):
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            sys.exit(f"scale: after {seconds} s: {what}")
        time.sleep(0.05)


def rping(host, node, *args):
    return host.start("run", "--node", node, "--", "rping", "-C", str(ITERATIONS), *args,
                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE if "-c" in args else subprocess.DEVNULL)


def failures(clients):
    """Wait for clients, and say on stderr how one has failed. Return: how many have."""
    failed = 0
    for p in clients:
        said = p.communicate()[1]
        if p.returncode:
            failed += 1
            print(f"# status {p.returncode}: {' '.join(p.args)}: {said.decode(errors='replace')}", file=sys.stderr)
    return failed


def nodes(rdmaemu, n, top):
    """A server on each node; then, some at a time, a client on each, to the next node's server."""
    host = Host(rdmaemu, f"{top}/state")
    try:
        measure_nodes(host, n)
    finally:
        host.end()


def measure_nodes(host, n):
    host.call("fabric", "start")
    began = time.monotonic()
    servers = []
    for i in range(n):
        servers.append(rping(host, f"n{i}", "-s", "-p", str(10000 + i)))
        if i % AT_ONCE == AT_ONCE - 1 or i == n - 1:
            wait_until("not all listen",
                       lambda: sum(x["state"] == "LISTEN" for x in host.status()["ids"]) == len(servers))
    listening = time.monotonic()
    status = host.status()
    address = {x["name"]: x["addresses"][0] for x in status["nodes"] if x["addresses"]}
    programs = [i["pid"] for i in status["ids"]]
    program_mib = sum(map(pss_kib, programs)) / len(programs) / 1024
    failed = 0
    for i in range(0, n, AT_ONCE):
        # To the next node's server.
        clients = [rping(host, f"n{k}", "-c", "-p", str(10000 + (k + 1) % n), "-a", address[f"n{(k + 1) % n}"])
                   for k in range(i, min(i + AT_ONCE, n))]
        failed += failures(clients)
    ended = time.monotonic()
    fabric = status["pid"]
    print(f"| {n} | {(listening - began) * 1000 / n:.0f} | {n * ITERATIONS * 4 / (ended - listening):.0f} | "
          f"{program_mib:.2f} | {pss_kib(fabric) / 1024:.1f} | {cpu_seconds(fabric):.1f} | {failed} |", flush=True)


def enter_namespace():
    """Start again in a network namespace of its own: interfaces of the machine would be GIDs of other fabrics here."""
    if "SCALE_NAMESPACE" not in os.environ:
        os.environ["SCALE_NAMESPACE"] = "own"
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv])


class Namespaces:
    """Network namespaces on a bridge, whose addresses are 10.99.0.1 and so on; this process is on the bridge."""

    def __init__(self, n):
        # In sessions of their own: a signal from the terminal must not end them before the fabrics in them.
        self.held = [subprocess.Popen(["unshare", "-n", "sleep", "infinity"], start_new_session=True)
                     for _ in range(n)]
        ip("link", "add", "scale0", "type", "bridge")
        ip("link", "set", "scale0", "up")
        for number, p in enumerate(self.held, 1):
            wait_until("no namespace", lambda: os.readlink(f"/proc/{p.pid}/ns/net") != os.readlink("/proc/self/ns/net"))
            ip("link", "add", f"sc{number}", "type", "veth", "peer", "name", "eth0", "netns", str(p.pid))
            ip("link", "set", f"sc{number}", "master", "scale0", "up")
            for words in (["link", "set", "lo", "up"], ["addr", "add", f"10.99.0.{number}/24", "dev", "eth0"],
                          ["link", "set", "eth0", "up"]):
                subprocess.run(["nsenter", "-t", str(p.pid), "-n", "ip", *words], check=True)

    def end(self):
        # The kernel would delete the links with the namespaces, but later.
        for number, p in enumerate(self.held, 1):
            ip("link", "delete", f"sc{number}")
            p.kill()
            p.wait()
        ip("link", "delete", "scale0")


def ip(*args):
    subprocess.run(["ip", *args], check=True)


def hub(rdmaemu, n, top):
    fabrics(rdmaemu, n, top, mesh=False)


def fabrics(rdmaemu, n, top, mesh=True):
    """A full mesh: all fabrics listen, and join the first. Otherwise that one alone listens."""
    token = f"{top}/token"
    with open(token, "w", encoding="ascii") as f:
        f.write("for this measurement")
    spaces = Namespaces(n)
    hosts = [Host(rdmaemu, f"{top}/{i}", p.pid) for i, p in enumerate(spaces.held, 1)]
    try:
        measure_fabrics(hosts, token, mesh)
    finally:
        for h in hosts:
            h.end()
        spaces.end()


def measure_fabrics(hosts, token, mesh):
    n = len(hosts)
    began = time.monotonic()
    starts = [
        h.start("fabric", "start", "--name", f"h{i}", "--token-file", token,
                *(["--listen", f"10.99.0.{i}:7471"] if mesh or i == 1 else []),
                *(["--join", "10.99.0.1:7471"] if i > 1 else []))
        for i, h in enumerate(hosts, 1)
    ]
    for p in starts:
        p.wait()
    for h in hosts:
        wait_until("not all know all",
                   lambda: sum(m["state"] in ("direct", "behind") for m in h.status()["members"]) == n - 1)
    joined = time.monotonic()
    pids = [h.status()["pid"] for h in hosts]
    before = sum(map(cpu_seconds, pids))
    time.sleep(10)
    idle = (sum(map(cpu_seconds, pids)) - before) / 10 / n * 1000
    for h in hosts:
        rping(h, "node0", "-s")
    for h in hosts:
        wait_until("not all listen", lambda: any(i["state"] == "LISTEN" for i in h.status()["ids"]))
    listening = time.monotonic()
    failed = 0
    for i in range(0, n, AT_ONCE):
        clients = [rping(h, "node0", "-c", "-a", f"10.99.0.{k % n + 1}")
                   for k, h in enumerate(hosts[i:i + AT_ONCE], i + 1)]
        failed += failures(clients)
    ended = time.monotonic()
    print(f"| {n} | {joined - began:.1f} | {n * (n - 1) // 2 if mesh else n - 1} | {sum(map(pss_kib, pids)) / n / 1024:.1f} | {idle:.2f} | "
          f"{n * ITERATIONS * 4 / (ended - listening):.0f} | {failed} |", flush=True)


def main(rdmaemu, what, *numbers):
    # SIGTERM ends what this program has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if what != "nodes":
        enter_namespace()
    for n in map(int, numbers):
        with tempfile.TemporaryDirectory() as top:
            {"nodes": nodes, "fabrics": fabrics, "hub": hub}[what](os.path.abspath(rdmaemu), n, top)


if __name__ == "__main__":
    main(*sys.argv[1:])
