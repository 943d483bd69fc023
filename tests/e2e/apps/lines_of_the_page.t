#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# waits
# settings: one: the page's own commands
# Each application that docs/guide/applications.md names starts with the lines shown there, prints what the page shows,
# and its data passes through the emulated device. Those that are not installed are skipped: `make test-apps` installs
# them all.
. "$(dirname "$0")/../../lib/lib.sh"
need python3
cd "$TOP" || exit 1

# The lines use fixed ports, and libfabric and QEMU an address that is not loopback.
try_netns "$@"

# Open MPI asks twice.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export PATH=${RDMAEMU%/*}:$PATH:/usr/sbin LIMIT
# The lines have no terminal, as those of a job of CI.
if [ "$(without_mpi 2>/dev/null)" ]; then
	mkdir "$TEST_DIR/bin"
	printf '#!/bin/sh\nexec %s -P 0 "$@"\n' "$(command -v ucx_perftest)" >"$TEST_DIR/bin/ucx_perftest"
	chmod +x "$TEST_DIR/bin/ucx_perftest"
	PATH=$TEST_DIR/bin:$PATH
fi
mkdir -p "$TEST_DIR/blocks"
python3 tests/lib/py/docs_pages.py run "$TOP" "$TEST_DIR/blocks" docs/guide/applications.md || FAILED=1
done_testing
