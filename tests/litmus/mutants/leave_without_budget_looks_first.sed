# SPDX-License-Identifier: MIT
# program: token
# source: emulator/engine/token.c
# A holder without budget looks at the doorbells only before it gives the token back.
s/if (!load_seq_cst(&hca->pending))/if (!more || !load_seq_cst(\&hca->pending))/
s/if (unlikely(load_seq_cst(&hca->pending)))/if (more \&\& load_seq_cst(\&hca->pending))/
