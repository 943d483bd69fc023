# SPDX-License-Identifier: MIT
# program: sequence
# source: fabric/core/clock.c
# New values of the clock may be visible before its sequence number is odd.
s/fence_after_atomic();//
