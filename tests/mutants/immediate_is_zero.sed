# SPDX-License-Identifier: MIT
# source: libshim/verbs/poll.c
# Completions have 0 as their immediate data.
s/\bwc->imm_data = e->imm;/wc->imm_data = 0;/
