#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# XRC: domains, targets and SRQs shared by processes.
. "$(dirname "$0")/lib.sh"
in_one app app_xrc local
app app_xrc remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_xrc remote
done_testing
