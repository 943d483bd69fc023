# SPDX-License-Identifier: MIT
# program: copy
# source: fabric/proto/vmcopy.c
# The last bytes may be visible before the others.
s/store_release(/store_relaxed(/
