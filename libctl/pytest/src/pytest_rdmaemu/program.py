# SPDX-License-Identifier: MIT
"""Nodes of a fabric, and the programs that run there."""

import json
import os
import shlex
import signal
import subprocess
import tempfile
import time

from .command import FabricError, executable, options_of

# Seconds that a program gets after SIGTERM.
_GRACE = 5


class Program:
    """A program that runs on a node. Its standard output and error go to one file, which output reads."""

    def __init__(self, node, arguments, options, **popen):
        self.arguments = arguments
        self._output = tempfile.TemporaryFile(mode="w+", prefix="rdmaemu-")
        self._process = subprocess.Popen(
            [executable(), "run", "--node", node.name, *options, "--", *arguments],
            env={**node.fabric.env, **popen.pop("env", {})}, stdout=self._output, stderr=subprocess.STDOUT,
            stdin=popen.pop("stdin", subprocess.DEVNULL), start_new_session=True, **popen)

    @property
    def pid(self):
        """The process; with options such as --explain that of the rdmaemu command, its parent."""
        return self._process.pid

    @property
    def running(self):
        """Whether it has not ended yet."""
        return self._process.poll() is None

    @property
    def output(self):
        """What it has printed so far."""
        # The program writes at this file's offset, so that it is read by another.
        with open(f"/proc/self/fd/{self._output.fileno()}", encoding="utf-8", errors="replace") as seen:
            return seen.read()

    def wait(self, timeout=60):
        """Wait for its end. Returns its exit status, or -N if signal N ended it."""
        return self._process.wait(timeout)

    def wait_for(self, text, timeout=60):
        """Wait until it has printed this text; raise TimeoutError if it does not, or ends before."""
        __tracebackhide__ = True
        end = time.monotonic() + timeout
        while True:
            ended = not self.running
            if text in self.output:
                return
            if ended or time.monotonic() > end:
                why = f"ended with {self.wait()}" if ended else f"ran for {timeout} s"
                raise TimeoutError(f"{self.arguments[0]} {why} and has not printed '{text}':\n{self.output}")
            time.sleep(0.02)

    def signal(self, number):
        """Send it a signal, and the programs that it has started."""
        os.killpg(self.pid, number)

    def stop(self):
        """End it: by SIGTERM, and by SIGKILL if it does not end. Returns as wait()."""
        for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, None)):
            try:
                self.signal(number)
            except ProcessLookupError:
                pass
            try:
                return self.wait(seconds)
            except subprocess.TimeoutExpired:
                continue
        raise AssertionError("a process outlived SIGKILL")


class Node:
    """A node of a fabric: a host with devices and addresses of its own."""

    def __init__(self, fabric, name):
        self.fabric = fabric
        self.name = name
        self._programs = []
        self._found = []

    def _options(self, settings):
        if self.fabric.checks is None:
            return options_of(settings)
        # The file lasts until findings() has read it.
        found = tempfile.NamedTemporaryFile(mode="w+", prefix="rdmaemu-", suffix=".json")
        self._found.append(found)
        check = f"--check={self.fabric.checks}" if self.fabric.checks else "--check"
        return [check, "--check-exit", "0", "--check-json", found.name, *options_of(settings)]

    def start(self, command, options=None, **popen):
        """Start a program. command: a list of words, or a text that is split as a shell does.

        options: of `rdmaemu run`, as {"explain": True}. popen: env= is added to the environment; the rest is
        subprocess.Popen's. It ends with the test.
        """
        arguments = shlex.split(command) if isinstance(command, str) else list(map(str, command))
        program = Program(self, arguments, self._options(options or {}), **popen)
        self._programs.append(program)
        return program

    def run(self, command, timeout=60, status=0, tries=1, **more):
        """Run a program until it ends. Returns what it has printed; raises AssertionError if its exit status differs.

        tries: how often to run it, half a second apart: a client that may be there before its server. more: as of start().
        """
        __tracebackhide__ = True
        for left in range(tries, 0, -1):
            program = self.start(command, **more)
            try:
                got = program.wait(timeout)
            except subprocess.TimeoutExpired:
                program.stop()
                raise AssertionError(f"{command} did not end within {timeout} s:\n{program.output}") from None
            if got == status:
                return program.output
            if left > 1:
                time.sleep(0.5)
        raise AssertionError(f"{command} ended with {got}, not {status}:\n{program.output}")

    @property
    def addresses(self):
        """Its IP addresses; those of the host for node0, whose devices have them as GIDs."""
        for _ in range(2):
            for node in self.fabric.status()["nodes"]:
                if node["name"] == self.name:
                    return node["addresses"]
            self.run(["true"])
        raise FabricError(f"no node {self.name}")

    @property
    def address(self):
        """Its first IPv4 address."""
        return next(address for address in [*self.addresses, "127.0.0.1"] if ":" not in address)

    def findings(self):
        """What `rdmaemu run --check` has found in its programs, at error level, as texts."""
        texts = []
        for found in self._found:
            found.seek(0)
            for finding in json.loads(found.read() or "[]"):
                if finding["severity"] == "error":
                    at = next((frame for frame in finding["stack"] if frame.get("source")), None)
                    place = f" at {at['source']}:{at['line']}" if at else ""
                    texts.append(f"{finding['name']}: {finding['program']}: {finding['text']}{place}")
        return texts

    def end_programs(self):
        """End the programs that still run."""
        for program in self._programs:
            if program.running:
                program.stop()
