# SPDX-License-Identifier: MIT
# program: sequence
# source: fabric/core/clock.c
# The sequence number may be even before the values have changed.
s/store_release(&c->seq/store_relaxed(\&c->seq/
