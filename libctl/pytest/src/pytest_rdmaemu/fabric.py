# SPDX-License-Identifier: MIT
"""A fabric as a test sees it: nodes, fault rules, journal, counters, clock, captures."""

import contextlib
import os
import shutil
import tempfile
import time
from dataclasses import dataclass, field

from .command import FabricError, call, call_json, options_of
from .program import Node

# What `rdmaemu run` sets: a fabric of a test is not that of the process.
_OF_A_RUN = ("RDMAEMU_SOCKET", "RDMAEMU_FABRIC", "RDMAEMU_NODE", "RDMAEMU_NODE_NUMBER", "RDMAEMU_RUN", "RDMAEMU_SYSFS")


@dataclass(frozen=True)
class Entry:
    """An entry of the journal.

    time: of the fabric, in seconds. severity: error, notice or info. what: IBV_WC_RETRY_EXC_ERR, dropped, ...
    raw: all fields of `rdmaemu log --json`.
    """

    time: float
    severity: str
    kind: str
    what: str
    line: str
    raw: dict = field(repr=False, compare=False)

    @classmethod
    def of_json(cls, raw):
        """Make an entry from an object that `rdmaemu log --json` has printed."""
        return cls(raw["ts"] / 1e9, raw["severity"], raw["kind"], raw.get("status", ""),
                   raw.get("line", raw.get("text", "")), raw)


class Fault:
    """A fault rule of a fabric."""

    def __init__(self, fabric, ident, rule):
        self.fabric = fabric
        self.id = ident
        self.rule = rule

    def _counts(self):
        for rule in self.fabric.call_json("fault", "list")["faults"]:
            if rule["id"] == self.id:
                return rule
        raise FabricError(f"fault rule {self.id} ({self.rule}) was removed")

    @property
    def hits(self):
        """How often the rule was applied."""
        return self._counts()["hits"]

    @property
    def seen(self):
        """How many packets, calls or work requests the rule was about."""
        return self._counts()["seen"]

    def wait(self, hits=1, timeout=30):
        """Wait until the rule was applied so many times; raise TimeoutError after so many seconds."""
        end = time.monotonic() + timeout
        while self.hits < hits:
            if time.monotonic() > end:
                raise TimeoutError(f"fault rule '{self.rule}' was applied {self.hits} times, not {hits}")
            time.sleep(0.02)

    def remove(self):
        """Remove the rule."""
        self.fabric.call("fault", "remove", str(self.id))


class Fabric:
    """A fabric. Fabric.start() makes one; Fabric.of_run() is that which this process runs on."""

    def __init__(self, env, directory=None):
        self.env = env
        self.checks = None
        self.directory = directory
        self.captures = []
        self._capturing = []
        self._nodes = {}
        self._must_fire = []

    @classmethod
    def start(cls, **settings):
        """Start a fabric with these options of `rdmaemu fabric start`."""
        # The path of a socket has at most 107 bytes, which a test's own directory may exceed.
        directory = tempfile.mkdtemp(prefix="rdmaemu-")
        env = {name: value for name, value in os.environ.items() if name not in _OF_A_RUN}
        fabric = cls({**env, "RDMAEMU_DIR": directory}, directory)
        try:
            fabric.call("fabric", "start", *options_of(settings))
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
        return fabric

    @classmethod
    def of_run(cls):
        """The fabric that this process runs on by `rdmaemu run`; None: it runs on none."""
        return cls(dict(os.environ)) if os.environ.get("RDMAEMU_SOCKET") else None

    def call(self, *arguments):
        """Run `rdmaemu ARGUMENTS` for this fabric. Returns what it printed."""
        return call(arguments, self.env)

    def call_json(self, *arguments):
        """Run `rdmaemu ARGUMENTS --json` for this fabric. Returns what it printed, parsed."""
        return call_json(arguments, self.env)

    def node(self, name="node0"):
        """A node; it is made when it is first used. The default is the host itself."""
        return self._nodes.setdefault(name, Node(self, name))

    def fault(self, rule, must_fire=False):
        """Add a fault rule. must_fire: the test fails if the rule was never applied when it ends."""
        self.call("fault", "add", rule)
        newest = max(self.call_json("fault", "list")["faults"], key=lambda added: added["id"])
        fault = Fault(self, newest["id"], newest["rule"])
        if must_fire:
            self._must_fire.append(fault)
        return fault

    def log(self, **selectors):
        """The entries of the journal, the oldest first. selectors: node=, program=, qp= as of `rdmaemu log`."""
        return [Entry.of_json(raw) for raw in self.call_json("log", *options_of(selectors))]

    def errors(self, **selectors):
        """The entries of the journal that are errors."""
        return [entry for entry in self.log(**selectors) if entry.severity == "error"]

    def status(self):
        """What `rdmaemu status --json` prints."""
        return self.call_json("status")

    def counters(self, node="node0", device=None, port=1):
        """The counters of a port; device: the node's first one by default."""
        for found in self.status()["devices"]:
            if found["node"] == node and device in (None, found["name"]):
                for candidate in found["ports"]:
                    if candidate["port"] == port:
                        return candidate["counters"]
        raise FabricError(f"no port {port} of {device or 'any device'} on node {node}")

    def advance(self, seconds):
        """Move the clock of a fabric with clock="manual", which does all that is due meanwhile."""
        self.call("clock", "advance", f"{round(seconds * 1e9)}ns")

    @contextlib.contextmanager
    def capture(self, path, **options):
        """Capture packets in a pcapng file while the context lasts. options: as of `rdmaemu capture start`."""
        number = self.call("capture", "start", *options_of(options), str(path)).strip()
        self.captures.append(str(path))
        self._capturing.append(number)
        try:
            yield path
        finally:
            self.end_capture(number)

    def end_capture(self, number):
        """End a capture, whose file is complete then. Nothing happens if it has ended."""
        if number in self._capturing:
            self._capturing.remove(number)
            self.call("capture", "stop", number)

    def end_captures(self):
        """End all captures."""
        for number in list(self._capturing):
            self.end_capture(number)

    def check(self):
        """Raise AssertionError if a rule that must fire has not, or if a program has misused verbs."""
        idle = [fault.rule for fault in self._must_fire if not fault.hits]
        assert not idle, "fault rules that never fired: " + "; ".join(idle)
        findings = [finding for node in self._nodes.values() for finding in node.findings()]
        assert not findings, "\n".join(["verbs were misused:", *findings])

    def end_programs(self):
        """End the programs that still run."""
        for node in self._nodes.values():
            node.end_programs()

    def stop(self):
        """End the programs, and stop the fabric if start() made it; else remove the rules."""
        self.end_programs()
        if not self.directory:
            self.call("fault", "clear")
            return
        try:
            self.call("fabric", "stop")
        finally:
            shutil.rmtree(self.directory, ignore_errors=True)
