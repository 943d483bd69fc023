# SPDX-License-Identifier: MIT
"""The rdmaemu command: how the other modules reach a fabric."""

import json
import os
import shutil
import subprocess

# Seconds. A command answers in milliseconds; only a machine that is out of order needs longer.
PATIENCE = 60


class FabricError(Exception):
    """The rdmaemu command refused something. The text is what it said."""


def executable():
    """The path of the rdmaemu command."""
    path = shutil.which(os.environ.get("RDMAEMU", "rdmaemu"))
    if not path:
        raise FabricError("no command 'rdmaemu' in PATH: install rdmaemu, or set RDMAEMU")
    return path


def options_of(settings):
    """Options for settings as keyword arguments: time_scale=2 is --time-scale 2.

    True is an option without a value; False and None are no option; the items of a list are joined by commas.
    """
    options = []
    for name, value in settings.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            options.append(option)
        elif isinstance(value, (list, tuple)):
            options += [option, ",".join(str(item) for item in value)]
        elif value is not None and value is not False:
            options += [option, str(value)]
    return options


def call(arguments, env):
    """Run the rdmaemu command. Returns what it printed; raises FabricError if it failed."""
    # A name that pytest knows: the source of this function is not part of a failed test's report.
    __tracebackhide__ = True
    done = subprocess.run([executable(), *arguments], env=env, text=True, capture_output=True, timeout=PATIENCE,
                          stdin=subprocess.DEVNULL, check=False)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise FabricError(said or f"rdmaemu {' '.join(arguments)}: status {done.returncode}")
    return done.stdout


def call_json(arguments, env):
    """Run the rdmaemu command with --json. Returns what it printed, parsed."""
    return json.loads(call([*arguments, "--json"], env))
