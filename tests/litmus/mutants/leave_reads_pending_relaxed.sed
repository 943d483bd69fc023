# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# A holder that gives the token back may read an old value of the doorbells.
s/if (!load_seq_cst(&hca->pending))/if (!load_relaxed(\&hca->pending))/
