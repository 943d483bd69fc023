#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs with apt the packages that building and testing need and that are missing, and names them.
# It queries packages by name, so that it changes nothing on a machine that has them all. Arguments
# name further packages; with ONLY=1 it installs those alone.
set -eu

PACKAGES="gcc libc6-dev make
	libjson-c-dev nettle-dev libpcap-dev zlib1g-dev libibverbs-dev librdmacm-dev libcunit1-dev
	perftest qperf ucx-utils libfabric-bin ibverbs-utils rdmacm-utils ibverbs-providers
	python3 python3-pyverbs python3-scapy tshark gzip procps util-linux iproute2 pkg-config g++"
[ -z "${ONLY-}" ] || PACKAGES=
PACKAGES="$PACKAGES $*"

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	echo "deps: not a Debian-like system; install what corresponds to: $PACKAGES" >&2
	exit 0
fi

missing=
for p in $PACKAGES; do
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
