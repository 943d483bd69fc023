# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# A poster that defers its work may take a fabric process for watching that no longer does.
s/^\tif (!load_seq_cst(&hca->watching))/\tif (!load_relaxed(\&hca->watching))/
