# SPDX-License-Identifier: MIT
# program: sequence
# source: libshim/memory/shadow.c
# A reader may compare the sequence number before it has the values.
s/__atomic_thread_fence(__ATOMIC_ACQUIRE);//
