# SPDX-License-Identifier: MIT
# program: sequence
# source: libshim/memory/shadow.c
# New values of a key may be visible before its sequence number is odd.
s/__atomic_thread_fence(__ATOMIC_RELEASE);//
