#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/rdma_core.sh DIR: builds the libraries, examples and, where cython3 and Python's headers are installed, pyverbs
# of the rdma-core source tree DIR (any release, or a clone). It runs the tests that use these programs with them, as a
# user would: found by PATH and LD_LIBRARY_PATH, under `rdmaemu run`; then the tree's own test suite; and compares its
# headers with docs/reference/newer-rdma-core.md. The last line counts checks, as that of tests/run does.
#
# BUILD=	the build directory; rdma-core is built in $BUILD/rdma-core, DIR is not written to
# SETTING=	where the two sides of a test are, as for tests/run (one)
# TESTS=	names of tests (all that use its programs)
set -eu
cd "$(dirname "$0")/.."

fail() {
	echo "rdma_core: $*" >&2
	exit 1
}

[ -n "${1-}" ] || fail "name the source tree: make test-rdma-core RDMA_CORE=DIR"
[ -e "$1/libibverbs/verbs.h" ] || fail "$1: no source tree of rdma-core: it has no libibverbs/verbs.h"
for tool in cmake ninja; do
	command -v $tool >/dev/null || fail "$tool is not installed; rdma-core is built with cmake and ninja"
done

mkdir -p "${BUILD:=build}/rdma-core"
built=$(cd "$BUILD/rdma-core" && pwd)
verbs=(ibv_devices ibv_devinfo ibv_asyncwatch ibv_{rc,uc,ud,srq,xsrq}_pingpong)
cm=(cmtime mckey rcopy rdma_{client,server,xclient,xserver} riostream rping rstream ucmatose udaddy udpong)
# Debian's interpreter, for which cython3 is
python=/usr/bin/python3
pyverbs=
! $python -c 'import Cython.Compiler.Main' 2>/dev/null || [ ! -e "$($python -c '
import sysconfig
print(sysconfig.get_path("include") + "/Python.h")')" ] || pyverbs=1

make_rdma_core() {
	local modules=()

	cmake -G Ninja -S "$1" -B "$built" -DIN_PLACE=1 -DNO_MAN_PAGES=1 -DCMAKE_BUILD_TYPE=Release \
		-DPYTHON_EXECUTABLE=$python -DNO_PYVERBS="$([ "$pyverbs" ] || echo 1)" || return
	[ -z "$pyverbs" ] || mapfile -t modules < <(ninja -C "$built" -t targets all |
		sed -n 's/^\(python\/pyverbs\/[^:]*\.so\): .*/\1/p')
	ninja -C "$built" -j "$(nproc)" "${verbs[@]}" "${cm[@]}" "${modules[@]}"
}
make_rdma_core "$1" >"$built/make.log" 2>&1 || {
	tail -n 20 "$built/make.log" >&2
	fail "rdma-core does not build; $built/make.log has everything"
}
echo "# rdma-core from $1, $(cd "$built/lib" && echo libibverbs.so.1.*)"
if [ -n "$pyverbs" ]; then
	export PYTHONPATH=$built/python${PYTHONPATH:+:$PYTHONPATH} PYVERBS_SUITE
	PYVERBS_SUITE=$(cd "$1/tests" && pwd)
else
	echo "# without its pyverbs and test suite: cython3 and python3-dev are not installed"
fi
RDMA_CORE=$(cd "$1" && pwd)

export RDMA_CORE BUILD PATH=$built/bin:$PATH LD_LIBRARY_PATH=$built/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck disable=SC2086
exec tests/run ${TESTS:-e2e/perftest/pingpong e2e/cm =e2e/run/devinfo =e2e/docs/newer_rdma_core ${pyverbs:+=e2e/third_party/pyverbs =e2e/third_party/ptp_clock}}
