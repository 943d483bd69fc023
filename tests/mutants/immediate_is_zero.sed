# SPDX-License-Identifier: MIT
# source: emulator/transport/requester.c
# Messages carry 0 as their immediate data.
s/\bb->imm = w->imm;/b->imm = 0;/
