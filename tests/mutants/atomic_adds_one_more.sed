# SPDX-License-Identifier: MIT
# source: emulator/transport/atomic.c
# An atomic adds, or compares with, one more than the request says.
s/\bb->compare_add,/b->compare_add + 1,/
