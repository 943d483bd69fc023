# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token_queue.c
# A holder may miss a ticket that was drawn before it clears the announcement.
s/head != load_seq_cst(&q->tail)/head != load_relaxed(\&q->tail)/
