# SPDX-License-Identifier: MIT
"""Random scenarios of packet faults: fault_random.py SEED prints the rules, then, behind a line with
'--', the arguments of app_fault that they are for."""

import random
import sys

REQUESTS = ["SEND_ONLY", "SEND_FIRST", "SEND_MIDDLE", "RDMA_WRITE", "RDMA_WRITE_WITH_IMM", "RDMA_READ_REQUEST",
            "FETCH_ADD", "REQUEST"]
ANSWERS = ["ACK", "NAK", "RNR_NAK", "ACKNOWLEDGE", "RDMA_READ_RESPONSE", "ATOMIC_ACKNOWLEDGE", "RESPONSE"]
NAKS = ["PSN_SEQ_ERR", "REM_INV_REQ_ERR", "REM_OP_ERR"]


def turn(r, random_only=False):
    """When: a bounded number of hits, or a probability."""
    kind = r.randrange(4)
    if kind == 0 and not random_only:
        return f"nth={r.randrange(1, 20)}"
    if kind == 1 and not random_only:
        return f"after={r.randrange(10)} for={r.randrange(1, 6)}"
    if kind == 2 and not random_only:
        return f"every={r.randrange(2, 30)}"
    return f"prob={r.choice(['0.01', '0.1', '50%'])}"


def where(r):
    words = []
    if r.random() < 0.5:
        words.append("opcode=" + r.choice(REQUESTS + ANSWERS))
    elif r.random() < 0.3:
        words.append(f"psn=+{r.randrange(30)}..+{r.randrange(30, 60)}")
    if r.random() < 0.2:
        words.append(f"round={r.randrange(1, 3)}")
    if r.random() < 0.2:
        words.append("size=1..")
        words = [w for w in words if not w.startswith("opcode=") or w.split("=")[1] in
                 ("SEND_ONLY", "SEND_FIRST", "SEND_MIDDLE", "RDMA_WRITE", "REQUEST", "RESPONSE")]
    return words


def rule(r):
    action = r.choice(["drop", "drop", "corrupt", "duplicate", "delay", "reorder", "rate", "rnr", "nak"])
    if action == "rnr":
        return f"rnr {turn(r)}"
    if action == "nak":
        return f"nak code={r.choice(NAKS)} {turn(r)}"
    words = where(r)
    if action == "delay":
        words.insert(0, f"{r.randrange(1, 3000)}us")
        if r.random() < 0.5:
            words.append(f"jitter={r.randrange(1, 1000)}us")
    if action == "reorder":
        words.append(f"gap={r.randrange(1, 6)}")
    if action == "rate":
        return f"rate {r.randrange(20, 1000)}Mbit"
    return " ".join([action] + words + [turn(r)])


def main():
    r = random.Random(int(sys.argv[1]))
    for _ in range(r.randrange(1, 5)):
        print(rule(r))
    kind = r.choice(["RC", "RC", "XRC", "UC", "UD"])
    op = r.choice({"UC": ["send", "imm", "write"], "UD": ["send"]}.get(kind, ["send", "imm", "write", "read", "add"]))
    size = 8 if op == "add" else r.choice([1, 100, 1000] if kind == "UD" else [1, 100, 3000, 20000])
    print("--")
    print(kind, op, r.randrange(1, 40), size, "timeout=12", f"retry={r.randrange(1, 8)}", f"rnr={r.randrange(1, 8)}",
          "min_rnr=1")


main()
