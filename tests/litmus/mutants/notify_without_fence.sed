# SPDX-License-Identifier: MIT
# program: commit
# source: emulator/queue/cq.c
# The engine may read the arming before its entry is visible.
s/__atomic_thread_fence(__ATOMIC_SEQ_CST);//
