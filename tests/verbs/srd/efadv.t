#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: a program of one process
# libefa's functions on emulated devices: those of an EFA device work, all others are refused.
. "$(dirname "$0")/../../lib/lib.sh"
RUN_FLAGS='--profile efa --fabric efa' app app_srd_efadv
RUN_FLAGS='--profile efa --fabric isolated --isolated' app app_srd_efadv
app app_srd_efadv refused
done_testing
