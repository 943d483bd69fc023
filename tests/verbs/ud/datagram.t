#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one nodes fabrics
# UD: address handles, headers, drops, errors and multicast.
. "$(dirname "$0")/../../lib/lib.sh"
for where in $SIDES; do
	app app_ud_datagram "$where"
	app app_ud_data "$where"
	app app_ud_mcast "$where"
done
in_one app app_ud_grh_reused
in_one app app_ud_ah_destroyed
export RUN_FLAGS='--isolated --fabric isolated'
for what in app_ud_datagram app_ud_data app_ud_mcast; do
	app "$what" remote
done
RUN_FLAGS="--isolated --fabric isolated" in_one app app_ud_ah_destroyed
done_testing
