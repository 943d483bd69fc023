#!/bin/bash
# SPDX-License-Identifier: MIT
#
# Builds for arm64 and their tests on a Debian machine of another kind need two things:
#
#	arm64.sh sysroot DIR		make DIR: headers, libraries and RDMA programs of Debian's arm64 packages
#	arm64.sh run DIR COMMAND...	run a command that may start programs of arm64, with the libraries of DIR
#
# Both end with 77 and a line `# SKIP why` where that is impossible.
#
# sysroot: apt gets a state directory of its own, in which nothing is installed and the architecture is arm64. It then
# downloads everything that the packages need, and dpkg-deb unpacks it. Neither needs root, and neither changes what
# is installed. The packages are those of the machine's own release, as /etc/apt names it.
#
# run: the kernel starts qemu-aarch64 for programs of arm64 where binfmt_misc says so. A user namespace has, since
# Linux 6.7, a binfmt_misc of its own, so nothing changes outside of the command. On an older kernel, the
# machine must have an entry for qemu-aarch64, as Debian's qemu-user packages make it.
set -eu -o pipefail

PACKAGES="libc6-dev libjson-c-dev nettle-dev libgmp-dev libpcap-dev libdw-dev libncurses-dev zlib1g-dev libibverbs-dev librdmacm-dev libcunit1-dev
	ibverbs-providers ibverbs-utils rdmacm-utils perftest"
PROGRAMS="ib_* ibv_* raw_ethernet_* rdma_* cmtime mckey rcopy riostream rping rstream ucmatose udaddy udpong"
# An ELF file for this machine, an executable or a shared object (elf(5)), and the bits that count.
MAGIC='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
MASK='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'

skip() {
	echo "# SKIP arm64: $*"
	exit 77
}

# --- sysroot -------------------------------------------------------------------------------------

# private_apt DIR ARGS... - apt-get for arm64 with all its files in DIR
private_apt() {
	local dir=$1
	shift
	apt-get -qq -o Dir::State="$dir" -o Dir::State::status="$dir/status" -o Dir::Cache="$dir" \
		-o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root \
		-o Acquire::Languages=none "$@" 2>&1 </dev/null
}

# unpack ARCHIVES ROOT - all packages, with /bin, /lib and /sbin as links to those of /usr
unpack() {
	local deb name
	for name in bin lib sbin; do
		mkdir -p "$2/usr/$name"
		ln -s "usr/$name" "$2/$name"
	done
	for deb in "$1"/*.deb; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$2"
	done
}

# link_programs ROOT - in a folder for PATH, those for RDMA: sed and tar of arm64 would only be slow
link_programs() {
	local name path
	mkdir "$1/rdma"
	for name in $PROGRAMS; do
		for path in "$1"/usr/bin/$name; do
			[ ! -e "$path" ] || ln -s "../usr/bin/${path##*/}" "$1/rdma/"
		done
	done
}

sysroot() {
	local dir=$1 new=$1.new log=$1.log
	[ ! -e "$dir/rdma" ] || return 0
	if ! command -v apt-get >/dev/null || ! command -v dpkg-deb >/dev/null; then
		skip "this system has no apt and dpkg"
	fi
	rm -rf "$new" "$dir"
	mkdir -p "$new/apt/lists/partial" "$new/apt/archives/partial" "$new/root"
	new=$(cd "$new" && pwd)
	: >"$new/apt/status"
	# Sources without arm64 make the update fail; whether the packages are there is what counts.
	private_apt "$new/apt" update >"$log" || true
	# shellcheck disable=SC2086 # a list
	if ! private_apt "$new/apt" install -y --download-only --no-install-recommends $PACKAGES >>"$log"; then
		rm -rf "$new"
		skip "apt cannot download the packages: $(grep '^[EW]:' "$log" | tail -n 1)"
	fi
	unpack "$new/apt/archives" "$new/root"
	link_programs "$new/root"
	mv "$new/root" "$dir"
	rm -rf "$new" "$log"
}

# --- run -----------------------------------------------------------------------------------------

BINFMT=/proc/sys/fs/binfmt_misc

# enter_namespace - as the first process of a user namespace: let its kernel start qemu
enter_namespace() {
	local qemu=$1
	mount -t binfmt_misc binfmt_misc $BINFMT
	printf ':rdmaemu-aarch64:M::%s:%s:%s:PF' "$MAGIC" "$MASK" "$qemu" >$BINFMT/register
}

# can_run PROGRAM ARGS... - whether the kernel executes it, however it ends
can_run() {
	local status=0
	"$@" >/dev/null 2>&1 || status=$?
	[ $status -lt 126 ]
}

run() {
	local dir qemu=
	dir=$(cd "$1" && pwd)
	shift
	export QEMU_LD_PREFIX=$dir PATH=$dir/rdma:$PATH
	# Where this machine runs them already, there is nothing to do.
	! can_run "$dir/usr/bin/ibv_devinfo" -h || exec "$@"
	qemu=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || skip "qemu-aarch64 is not installed"
	unshare --user --map-root-user --mount "$0" namespace "$qemu" true 2>/dev/null ||
		skip "no entry of binfmt_misc for arm64, and no namespace with one of its own (Linux 6.7)"
	exec unshare --user --map-root-user --mount "$0" namespace "$qemu" "$@"
}

case ${1-} in
sysroot | run)
	"$@"
	;;
namespace)
	enter_namespace "$2"
	shift 2
	exec "$@"
	;;
*)
	echo "usage: $0 sysroot DIR | run DIR COMMAND..." >&2
	exit 2
	;;
esac
