#!/bin/bash
# SPDX-License-Identifier: MIT
# UD: address handles, headers, drops, errors and multicast.
. "$(dirname "$0")/lib.sh"
for where in local remote; do
	app app_ud $where
	app app_ud_data $where
	app app_ud_mcast $where
done
done_testing
