# SPDX-License-Identifier: MIT
# program: token
# source: emulator/doorbell.c
# A poster may take a fabric process that sleeps for one that is awake.
s/if (load_seq_cst(&hca->via_asleep)/if (load_relaxed(\&hca->via_asleep)/
