# SPDX-License-Identifier: MIT
"""tap.py: checks of a test that is a Python program; `failed` counts those that were not good."""
failed = 0


def check(name, good, detail=""):
    """Print a check, and the lines of @detail if it is not good."""
    global failed
    failed += not good
    print("ok" if good else "not ok", name, flush=True)
    for line in detail.splitlines() if not good else []:
        print("#", line)
    return good
