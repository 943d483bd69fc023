#!/bin/bash
# SPDX-License-Identifier: MIT
#
# tests/rdma_core.sh DIR: builds the libraries and examples of the rdma-core source tree DIR (any release, or a clone),
# and runs the tests that use these programs with them, as a user would: found by PATH and LD_LIBRARY_PATH, under
# `rdmaemu run`. The last line counts checks, as that of tests/run does.
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
make_rdma_core() {
	cmake -G Ninja -S "$1" -B "$built" -DIN_PLACE=1 -DNO_MAN_PAGES=1 -DNO_PYVERBS=1 -DCMAKE_BUILD_TYPE=Release &&
		ninja -C "$built" -j "$(nproc)" "${verbs[@]}" "${cm[@]}"
}
make_rdma_core "$1" >"$built/make.log" 2>&1 || {
	tail -n 20 "$built/make.log" >&2
	fail "rdma-core does not build; $built/make.log has everything"
}
echo "# rdma-core from $1, $(cd "$built/lib" && echo libibverbs.so.1.*)"

export BUILD PATH=$built/bin:$PATH LD_LIBRARY_PATH=$built/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# shellcheck disable=SC2086
exec tests/run ${TESTS:-e2e/perftest/pingpong e2e/cm =e2e/run/devinfo}
