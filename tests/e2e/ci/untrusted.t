#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: a fabric of its own
# The lines of docs/guide/ci.md that keep a program in a container, run as printed: `docker` is a script that makes
# such a container of namespaces. The program works, and has the directories of its node only.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_write_bw python3
own_netns
ip link set lo up
R=$RDMAEMU
unshare -Urmpf --mount-proc true 2>/dev/null || skip_all "cannot make mount and PID namespaces"
trap '"$R" fabric stop >/dev/null 2>&1' EXIT

mkdir "$TEST_DIR/bin" "$TEST_DIR/work"
# On a busy machine ib_write_bw cannot calibrate its clock, and ends with 1, unless it sleeps in between.
CLOCK=$(clock_env ib_write_bw)
export PATH=$TEST_DIR/bin:$(dirname "$R"):$PATH STATE=$RDMAEMU_DIR MOUNTS=$TEST_DIR/mounts CLOCK
cat >"$TEST_DIR/bin/docker" <<'END'
#!/bin/bash
# docker run --user USER --env-file FILE -v FROM:TO[:ro]... rdmaemu COMMAND... - without the state directory and shared
# memory of the host, but for what is mounted
[ "$1" = run ] || exit 125
shift
env=() volumes=()
while [[ $1 == -* ]]; do
	case $1 in
	--user) [ "$2" = "$(id -u)" ] || exit 125 ;;
	--env-file) mapfile -t env <"$2" || exit 125 ;;
	-v) volumes+=("$2") ;;
	*) exit 125 ;;
	esac
	shift 2
done
[ "$1" = rdmaemu ] || exit 125
shift
# shellcheck disable=SC2016
exec unshare -Urmpf --mount-proc bash -ec '
	n=$1 i=0
	shift
	mkdir -p "$MOUNTS"
	mount -t tmpfs none "$MOUNTS"
	volumes=("${@:1:n}")
	shift "$n"
	for v in "${volumes[@]}"; do
		mkdir "$MOUNTS/$((++i))"
		mount --bind "${v%%:*}" "$MOUNTS/$i"
	done
	mount -t tmpfs none "$STATE"
	mount -t tmpfs none /dev/shm
	i=0
	for v in "${volumes[@]}"; do
		to=${v#*:}
		mkdir -p "${to%:ro}"
		mount --bind "$MOUNTS/$((++i))" "${to%:ro}"
		[[ $to != *:ro ]] || mount -o remount,bind,ro "${to%:ro}"
	done
	umount -R "$MOUNTS"
	exec "$@"
' sh "${#volumes[@]}" "${volumes[@]}" env -i PATH="$PATH" STATE="$STATE" "$CLOCK" "${env[@]}" "$@"
END
chmod +x "$TEST_DIR/bin/docker"

sed -n '/^## Programs that you do not trust/,/^## Kubernetes/p' "$TOP/docs/guide/ci.md" |
	sed -n '/^```$/,/^```$/{ /^```/d; s/^\$ //; p; }' >"$TEST_DIR/printed"
is "the page shows a container" "$(grep -c '^docker run .*\\$' "$TEST_DIR/printed")" 1
cd "$TEST_DIR/work" || exit 1
# client SERVER - a client, again and again until its server listens, and as long as that lives
client() {
	limit env "$CLOCK" sh -c 'until "$0" run --node b -- ib_write_bw localhost; do
		kill -0 "$1" || exit
		sleep 0.5
	done' "$R" "$1"
}
# both_end_well - run the printed lines, whose server a program of another node reaches
both_end_well() {
	local server ret=0
	limit bash -e "$TEST_DIR/printed" >"$TEST_DIR/server" 2>&1 </dev/null &
	server=$!
	wait_for 60 test -S "$STATE/default.programs/c/sock"
	client $server || ret=1
	wait $server || ret=1
	[ $ret = 0 ] || tail -n 20 "$TEST_DIR/server"
	return $ret
}
# A client of perftest that ends while it connects ends its server, too, as happens on a busy machine.
one_pair_ends_well() {
	both_end_well || both_end_well || both_end_well
}
check "the printed lines, and a program of another node" one_pair_ends_well

# inside COMMAND... - the printed lines, with another command
inside() {
	sed 's/ ib_write_bw$/ "$@"/' "$TEST_DIR/printed" >"$TEST_DIR/other"
	grep -q '"\$@"' "$TEST_DIR/other" && limit bash -e "$TEST_DIR/other" "$@" </dev/null 2>&1
}
# shellcheck disable=SC2016
is "the state directory has the socket of its node" "$(inside sh -c 'cd "$STATE" && find . -type s')" \
	./default.programs/c/sock
claims='HELLO -1 LEASE -1 NLDEV -1 DEV -1'
is "another node is refused" "$(inside "$T/app_device_claims" b 0 | grep -v orphan | xargs)" "$claims"
is "its node is not" "$(inside "$T/app_device_claims" c 0 | grep -v orphan | xargs)" "${claims//-1/0}"
# shellcheck disable=SC2016
out=$(inside sh -c '"$0" status --dir "$STATE"' "$R")
is "control is out of reach" "$out" "rdmaemu: fabric default is not running"
check "the fabric goes on" "$R" status
done_testing
