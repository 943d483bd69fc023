# SPDX-License-Identifier: MIT
"""Fixtures, markers and options of pytest."""

import json
import pathlib
import re

import pytest

from .command import FabricError
from .fabric import Fabric

_KEY = pytest.StashKey[Fabric]()


def pytest_addoption(parser):
    """Add the options."""
    group = parser.getgroup("rdmaemu")
    group.addoption("--rdmaemu-artifacts", metavar="DIR", help="leave journal, status and capture of failed tests in DIR")
    group.addoption("--rdmaemu-check", metavar="NAMES", nargs="?", const="",
                    help="run all programs under 'rdmaemu run --check'; a test in which one misuses verbs fails")


def pytest_configure(config):
    """Add the markers."""
    config.addinivalue_line("markers", "rdmaemu(**options): options of 'rdmaemu fabric start' for the test's fabric")
    config.addinivalue_line("markers", "rdmaemu_faults(*rules, must_fire=True): fault rules of the test's fabric")


def _settings(item):
    settings = {}
    for marker in reversed(list(item.iter_markers("rdmaemu"))):
        if marker.args:
            raise pytest.UsageError("rdmaemu(): expected option=value, not " + repr(marker.args[0]))
        settings.update(marker.kwargs)
    return settings


def _add_faults(item, fabric):
    for marker in item.iter_markers("rdmaemu_faults"):
        for rule in marker.args:
            fabric.fault(rule, must_fire=marker.kwargs.get("must_fire", True))


@pytest.fixture
def fabric(request):
    """A fabric: of this test alone, or that which `rdmaemu run -- pytest` runs on."""
    item = request.node
    settings = _settings(item)
    found = Fabric.of_run()
    if found and settings:
        raise pytest.UsageError("rdmaemu(): this fabric was started by 'rdmaemu run': give it the options there")
    found = found or Fabric.start(**settings)
    found.checks = item.config.getoption("rdmaemu_check")
    item.stash[_KEY] = found
    try:
        _add_faults(item, found)
        yield found
    finally:
        found.stop()


@pytest.fixture
def rdmaemu_capture(fabric, tmp_path):
    """The path of a pcapng file with the packets of this test so far."""
    with fabric.capture(tmp_path / "capture.pcapng") as path:
        yield path


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item):
    """Fail a test that has passed if a rule has not fired, or if a program has misused verbs."""
    found = item.stash.get(_KEY, None)
    if found:
        found.end_programs()
        found.check()


def _keep(directory, item, found):
    place = pathlib.Path(directory, re.sub(r"[^\w.-]+", "-", item.nodeid).strip("-"))
    place.mkdir(parents=True, exist_ok=True)
    (place / "log.txt").write_text(found.call("log", "--verbose"))
    (place / "log.json").write_text(found.call("log", "--json"))
    (place / "status.json").write_text(json.dumps(found.status(), indent=2))
    found.end_captures()
    for capture in found.captures:
        (place / pathlib.Path(capture).name).write_bytes(pathlib.Path(capture).read_bytes())


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Attach journal and rules to the report of a failed test."""
    outcome = yield
    report = outcome.get_result()
    found = item.stash.get(_KEY, None)
    if call.when != "call" or not report.failed or not found:
        return
    try:
        report.sections.append(("rdmaemu log", found.call("log") or "nothing happened\n"))
        if found.call_json("fault", "list")["faults"]:
            report.sections.append(("rdmaemu fault list", found.call("fault", "list")))
        if item.config.getoption("rdmaemu_artifacts"):
            _keep(item.config.getoption("rdmaemu_artifacts"), item, found)
    except (FabricError, OSError) as error:
        report.sections.append(("rdmaemu", f"nothing could be kept: {error}"))
