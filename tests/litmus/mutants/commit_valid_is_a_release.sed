# SPDX-License-Identifier: MIT
# program: commit
# source: emulator/queue/commit.h
# What follows the record may become visible before the record is valid.
s/store_between(&c->valid, COMMIT_REQ)/store_release(\&c->valid, COMMIT_REQ)/
