#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: profiles
# ibv_wc.vendor_err, of errors that occur and of injected ones.
. "$(dirname "$0")/../../lib/lib.sh"
for profile in generic connectx6; do
	export RUN_FLAGS="--fabric $profile --profile $profile"
	check "fabric start" limit "$RDMAEMU" fabric start --fabric $profile --profile $profile
	check "fault add" limit "$RDMAEMU" fault add --fabric $profile 'wc status=REM_OP_ERR wr_id=77'
	app app_qp_vendor_err
done
done_testing
