# SPDX-License-Identifier: MIT
# program: commit
# source: libshim/verbs/cq_arm.h
# A client that arms may poll before its arming is visible.
s/fence_after_atomic();//
