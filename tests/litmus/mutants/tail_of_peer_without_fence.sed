# SPDX-License-Identifier: MIT
# program: copy
# source: fabric/proto/vmcopy.c
# The kernel may store the last bytes before the others.
s/__atomic_thread_fence(__ATOMIC_SEQ_CST);//
