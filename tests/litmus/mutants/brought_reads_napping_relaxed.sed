# SPDX-License-Identifier: MIT
# program: token
# source: emulator/doorbell.c
# A delivery may take a poller that sleeps for one that is awake.
s/load_seq_cst(&seg->napping)/load_relaxed(\&seg->napping)/
