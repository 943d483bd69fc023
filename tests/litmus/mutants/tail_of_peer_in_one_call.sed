# SPDX-License-Identifier: MIT
# program: copy
# source: fabric/proto/vmcopy.c
# The kernel stores a tail of 7 bytes in any order.
s/step = vm_tail_step((uintptr_t)to.iov_base, len);/step = len;/
