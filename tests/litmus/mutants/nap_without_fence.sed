# SPDX-License-Identifier: MIT
# program: token
# source: emulator/doorbell.c
# A poller may compare the count before its sleep is announced.
s/fence_after_atomic();//
