# SPDX-License-Identifier: MIT
# source: emulator/transport/wqe.c
# Messages carry 0 as their immediate data.
s/\bb->imm = w->imm;/b->imm = 0;/
