# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# A holder that gives the token back may read an old value of the doorbells.
s/\bload_seq_cst(&hca->pending)/load_relaxed(\&hca->pending)/
