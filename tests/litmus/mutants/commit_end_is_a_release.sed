# SPDX-License-Identifier: MIT
# program: commit
# source: emulator/queue/commit.h
# The next record may be written to before this one has ended.
s/store_between(&c->valid, 0)/store_release(\&c->valid, 0)/
