#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: the suite uses one host alone
# rdma-core's own test suite, as Debian's python3-pyverbs ships it or that of PYVERBS_SUITE: every module that is not
# about one vendor's devices. tests/e2e/third_party/pyverbs.skips says which tests no emulated device can run here.
. "$(dirname "$0")/../../lib/lib.sh"
# shellcheck source=tests/lib/pyverbs.sh
. "$TOP/tests/lib/pyverbs.sh"
suite=$TEST_DIR/suite
pyverbs_unpack "$suite"

# Three tests put memory into huge pages; root can lend them some.
pages=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages
lent=
if is_root && [ "$(cat $pages 2>/dev/null)" = 0 ] && { echo 8 >$pages; } 2>/dev/null; then
	lent=1
	trap 'echo 0 >$pages' EXIT
	trap 'exit 143' TERM
fi

# Raw packets are root's; root of a user namespace will do, as the device is the user's own.
as_root=()
if ! is_root && unshare -r true 2>/dev/null; then
	as_root=(unshare -r)
fi

"${as_root[@]}" /usr/bin/python3 "$TOP/tests/lib/py/pyverbs_run.py" "$suite" "$TOP/tests/e2e/third_party/pyverbs.skips" \
	"$RDMAEMU" run -- || FAILED=1
done_testing
