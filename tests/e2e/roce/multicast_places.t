#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 2
# settings: one: fabrics of its own
# Wires join at most 32 groups of IP. A program that asks for more gets ENOMEM, and in an isolated fabric none may take
# more than half of them.
. "$(dirname "$0")/../../lib/lib.sh"
. "$TOP/tests/lib/join.sh"
. "$TOP/tests/lib/roce.sh"
roce_netns

check "a fabric with a wire" on_a fabric start --roce veth0
check "one program may take all places" on_a run -- "$T/app_ud_mcast_places" 32 no
check "the tables are consistent" on_a status --audit
check "an isolated fabric" on_b fabric start --isolated --roce veth1
check "one program leaves half of the places" on_b run -- "$T/app_ud_mcast_places" 16 yes
check "the tables are consistent" on_b status --audit
done_testing
