# SPDX-License-Identifier: MIT
# program: sequence
# source: libshim/memory/shadow.c
# The sequence number may be even before the values have changed.
s/store_release(&s->seq/store_relaxed(\&s->seq/
