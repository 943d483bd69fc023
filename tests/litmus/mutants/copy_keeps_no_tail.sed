# SPDX-License-Identifier: MIT
# program: copy
# source: fabric/proto/vmcopy.c
# The copy into this process trusts the order of memmove().
s/^\tmemmove(dst, src, len - tail);/\tmemmove(dst, src, len);/
