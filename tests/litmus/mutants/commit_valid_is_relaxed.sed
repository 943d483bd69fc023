# SPDX-License-Identifier: MIT
# program: commit
# source: emulator/queue/commit.h
# The record may be valid before it is complete.
s/store_between(&c->valid, COMMIT_REQ)/store_relaxed(\&c->valid, COMMIT_REQ)/
