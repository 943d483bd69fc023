#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/deps.sh SET...: install with apt the packages of these sets that are missing, and print their names.
#
#	build	to compile
#	demo	to compile, and what `make demo` runs
#	test	to compile, and all programs and libraries that tests use
#	san	that, and valgrind
#	lint	to compile the tests, and what `make lint` runs
#	format	clang-format alone
set -eu

BUILD="gcc libc6-dev make libjson-c-dev nettle-dev libpcap-dev zlib1g-dev libibverbs-dev librdmacm-dev"
DEMO="perftest ibverbs-utils"
TEST="libcunit1-dev
	perftest qperf ucx-utils libfabric-bin ibverbs-utils rdmacm-utils ibverbs-providers
	python3 python3-pyverbs python3-scapy tshark gzip procps util-linux iproute2 pkg-config g++"

packages=
for set; do
	case $set in
	build) packages="$packages $BUILD" ;;
	demo) packages="$packages $BUILD $DEMO" ;;
	test) packages="$packages $BUILD $TEST" ;;
	san) packages="$packages $BUILD $TEST valgrind" ;;
	lint) packages="$packages $BUILD libcunit1-dev clang-tidy cppcheck" ;;
	format) packages="$packages clang-format" ;;
	*)
		echo "deps: no such set: $set; expected build, demo, test, san, lint or format" >&2
		exit 2
		;;
	esac
done

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian-like system; install what corresponds to:" $packages >&2
	exit 0
fi

missing=
for p in $packages; do
	case $(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) in
	installed) ;;
	*) missing="$missing $p" ;;
	esac
done
[ -n "$missing" ] || exit 0

sudo=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null; then
		echo "deps: missing, and neither root nor sudo to install them:$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
echo "deps: installing with apt:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { $sudo apt-get update && $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y \
	--no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
	cat "$log" >&2
	echo "deps: apt failed; install them by hand, or build with NO_DEPS=1" >&2
	exit 1
fi
