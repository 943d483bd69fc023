# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token_queue.c
# A waiter may take the queue for announced when a holder has just found it empty.
s/!load_seq_cst(&hca->waiting)/!load_relaxed(\&hca->waiting)/
