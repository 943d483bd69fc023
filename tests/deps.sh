#!/bin/sh
# SPDX-License-Identifier: MIT
#
# tests/deps.sh SET...: install with apt the packages of these sets that are missing, and print their names.
#
#	build	to compile
#	demo	to compile, and what `make demo` runs
#	test	to compile, and all programs and libraries that tests use
#	services	large programs that tests use, and those that Debian also starts as services: for CI, no set
#		of a developer
#	guest	to compile, and what makes and runs the guests of tests/guest/
#	arm64	to compile for arm64 (tests/arm64.sh has the libraries), and what runs it
#	apps	to compile, and the applications of docs/guide/applications.md
#	deb	to compile, and what `make deb` and `make check-reproducible` build packages with
#	rpm	to compile, and what `make rpm` and `make check-rpm` use
#	san	that of test, and valgrind
#	lint	to compile the tests, and what `make lint` runs
#	format	clang-format alone
set -eu

BUILD="gcc libc6-dev make libjson-c-dev nettle-dev libgmp-dev libpcap-dev libdw-dev libncurses-dev zlib1g-dev libibverbs-dev librdmacm-dev"
DEMO="perftest ibverbs-utils"
TEST="libcunit1-dev
	perftest qperf ucx-utils libfabric-bin ibverbs-utils rdmacm-utils ibverbs-providers
	python3 python3-pyverbs python3-scapy python3-pytest python3-pip python3-setuptools python3-wheel tshark gzip procps util-linux iproute2 pkg-config g++ check libcmocka-dev libgtest-dev abigail-tools
	python3-prometheus-client python3-junitparser perl tmux tidy
	python3-grpcio python3-protobuf protobuf-compiler python3-yaml patchelf"
ARM64="gcc libc6-dev make gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static dpkg tar util-linux"
GUEST="mmdebstrap e2fsprogs qemu-system-x86"
APPS="fio tgt libiscsi-bin openmpi-bin libopenmpi-dev mpich libmpich-dev hpcc qemu-system-x86
	perftest qperf ucx-utils libfabric-bin ibverbs-utils rdmacm-utils ibverbs-providers
	python3 procps util-linux iproute2"
SERVICES="prometheus prometheus-node-exporter chromium slurmctld slurmd slurm-client munge
	mininet bridge-utils libns3-dev"
DEB="build-essential debhelper dpkg-dev faketime libcunit1-dev python3"

RPM="rpm rpmlint cpio libcunit1-dev python3 ibverbs-utils"

packages=
for set; do
	case $set in
	build) packages="$packages $BUILD" ;;
	demo) packages="$packages $BUILD $DEMO" ;;
	test) packages="$packages $BUILD $TEST" ;;
	services) packages="$packages $SERVICES" ;;
	guest) packages="$packages $BUILD $GUEST" ;;
	arm64) packages="$packages $ARM64" ;;
	apps) packages="$packages $BUILD $APPS" ;;
	deb) packages="$packages $BUILD $DEB" ;;
	rpm) packages="$packages $BUILD $RPM" ;;
	san) packages="$packages $BUILD $TEST valgrind" ;;
	lint) packages="$packages $BUILD libcunit1-dev clang-tidy cppcheck" ;;
	format) packages="$packages clang-format" ;;
	*)
		echo "deps: no such set: $set; expected build, demo, test, services, guest, arm64, apps, deb, rpm, san, lint or format" >&2
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
log=$(mktemp)
trap 'rm -f "$log" "$log.failed"' EXIT
tty=
[ ! -t 1 ] || tty=1
began=$(date +%s)

# show_progress - print one line from what apt reports among its other output: state:package:percent:words
show_progress() {
	while IFS=: read -r state package percent words; do
		case $state in
		dlstatus) state=downloading ;;
		pmstatus) state=installing ;;
		*) continue ;;
		esac
		printf '\r\033[Kdeps: %s, %s %%' "$state" "${percent%%[.,]*}"
	done
	printf '\r\033[K'
}

apt() {
	$sudo env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@" 2>&1 </dev/null
}

fail() {
	[ -z "$tty" ] || printf '\r\033[K'
	cat "$log" >&2
	echo "deps: apt failed; install them by hand, or build with NO_DEPS=1" >&2
	exit 1
}

echo "deps: missing:$missing"
[ -z "$tty" ] || printf 'deps: reading the lists of packages'
apt update >"$log" || fail
[ -z "$tty" ] || printf '\r\033[K'
apt install -s --no-install-recommends $missing >"$log" || fail
count=$(grep -c '^Inst ' "$log")
# Lines of --print-uris: 'URI' FILE BYTES HASH, without what is in apt's cache already
apt install -qq --print-uris --no-install-recommends $missing >"$log" || fail
megabytes=$(awk '/^\047/ { n += $3 } END { print int(n / 1000000) + 1 }' "$log")
echo "deps: apt installs $count packages and downloads up to $megabytes MB, which may take some minutes"
{
	apt install -y --no-install-recommends -o APT::Status-Fd=1 $missing || echo failed >"$log.failed"
} | tee "$log" | if [ "$tty" ]; then show_progress; else cat >/dev/null; fi
[ ! -e "$log.failed" ] || fail
echo "deps: installed in $(($(date +%s) - began)) s"
