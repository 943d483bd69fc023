# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# Machines that have nothing, for scripts that do what a stranger does first: bare roots of Debian suites, one of which
# is entered at a time. tests/lib/debian_mirror.sh must be sourced, too. FRESH_MIRROR= names another mirror.

# The root that is entered, or nothing.
BARE_ROOT=

# bare_root_can - whether this process may make and enter bare roots; prints why not
bare_root_can() {
	if [ "$(id -u)" != 0 ]; then
		echo "bare roots are entered with chroot(8), which needs root" >&2
		return 1
	fi
	if ! command -v mmdebstrap >/dev/null; then
		echo "bare roots are made by mmdebstrap, which is not installed" >&2
		return 1
	fi
}

# bare_root_enter SUITE DIR PACKAGES - make the root DIR if it is not there, and mount what programs expect
bare_root_enter() {
	BARE_ROOT=$2
	mkdir -p "${2%/*}"
	if [ ! -e "$2/etc/debian_version" ]; then
		# A root that is thrown away need not survive a power cut: dpkg, here and later, waits for no disk.
		if ! mmdebstrap --quiet --variant=apt --dpkgopt=force-unsafe-io --include="$3" "$1" "$2" \
			"${FRESH_MIRROR:-$(debian_mirror)}"; then
			echo "mmdebstrap: no root of $1" >&2
			exit 1
		fi
	fi
	# unshare -m needs a root that is a mount point.
	mount --bind "$2" "$2"
	mount -t proc proc "$2/proc"
	mount -t sysfs -o ro sysfs "$2/sys"
	mount -t tmpfs -o mode=755 tmpfs "$2/dev"
	mkdir "$2/dev/shm" "$2/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$2/dev/shm"
	mount -t devpts -o newinstance,ptmxmode=0666 devpts "$2/dev/pts"
	ln -s pts/ptmx "$2/dev/ptmx"
	ln -s /proc/self/fd "$2/dev/fd"
	local node
	for node in null:3 zero:5 full:7 random:8 urandom:9; do
		mknod -m 666 "$2/dev/${node%:*}" c 1 "${node#*:}"
	done
	mknod -m 666 "$2/dev/tty" c 5 0
	cp /etc/resolv.conf "$2/etc/resolv.conf"
}

# bare_root_run COMMAND - run it there by sh, as root with the environment of a login. BARE_ROOT_BY= may hold a command
# that starts others
bare_root_run() {
	# shellcheck disable=SC2086 # its words
	${BARE_ROOT_BY-} chroot "$BARE_ROOT" env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TERM=dumb \
		sh -c "$1"
}

# bare_root_leave - unmount what bare_root_enter has mounted; again is no error
bare_root_leave() {
	local tries
	# A fabric that has just been told to stop still has files of /dev/shm open.
	for tries in 1 2 3 4 5 6 7 8 9 10; do
		[ -n "$BARE_ROOT" ] && mountpoint -q "$BARE_ROOT" || break
		umount -R "$BARE_ROOT" 2>/dev/null || sleep 1
	done
	BARE_ROOT=
}
