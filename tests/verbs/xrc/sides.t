#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# XRC: domains, targets and SRQs shared by processes.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_xrc_sides local
app app_xrc_sides remote
export RUN_FLAGS='--isolated --fabric isolated'
app app_xrc_sides remote
done_testing
