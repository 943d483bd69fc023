#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes: raw frames stay within a fabric
# Raw Ethernet: frames and offloads, flow steering, receive work queues and RSS.
. "$(dirname "$0")/../../lib/lib.sh"
in_one app app_raw_frames
app app_raw_frames remote
in_one app app_raw_flow
in_one app app_raw_rss
# Where the kernel refuses process_vm_*, a helper thread lays the frames.
RUN_BY="$T/sys_noptrace" RUN_FLAGS="--fabric helped" app app_raw_frames remote
export RUN_FLAGS="--isolated --fabric isolated"
in_one app app_raw_frames
app app_raw_frames remote
in_one app app_raw_flow
in_one app app_raw_rss
# They are no packets, and in no counter of them: that they have arrived is checked above.
[ "$SETTING" = one ] || : >"$TEST_DIR/crossed"
done_testing
