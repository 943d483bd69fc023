# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# The services `server` and `client` of a Compose file, $COMPOSE of examples/, run like their containers: two hosts on
# one bridge, with the names, environment, secrets and commands of the file; sourced after tests/lib/lib.sh, in a
# network namespace of its own.

python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"

# service FILE NAME - of a file of examples/: environment, then hostname and command, as bash takes them
service() {
	python3 - "$TOP/examples/$1" "$2" <<'END'
import shlex, sys, yaml
s = yaml.safe_load(open(sys.argv[1]))["services"][sys.argv[2]]
print("env=(" + " ".join(shlex.quote(f"{k}={v}") for k, v in s["environment"].items()) + ")")
print("hostname=" + s["hostname"])
print("command=" + shlex.quote(s["command"][-1].replace("$$", "$")))
END
}

declare -A pid
bridge() {
	ip link set lo up && ip link add br0 type bridge 2>/dev/null && ip link set br0 up
}
# container NAME ADDRESS - its namespaces, an interface on the bridge, the others' names, and the secret
container() {
	unshare -num sleep 1000 >/dev/null 2>&1 </dev/null &
	pid[$1]=$!
	wait_for 10 apart "${pid[$1]}" || return
	ip link add "v$1" type veth peer name eth0 netns "${pid[$1]}" && ip link set "v$1" master br0 up &&
		inside "$1" sh -ec '
			hostname "$1"
			ip link set lo up
			ip addr add "$2/24" dev eth0
			ip link set eth0 up
			mount --bind "$3/hosts" /etc/hosts
			mount -t tmpfs none /run
			mkdir /run/secrets
			cp "$3/token" /run/secrets/rdmaemu
		' sh "$1" "$2" "$TEST_DIR"
}
apart() {
	[ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}
inside() {
	local name=$1
	shift
	RDMAEMU_DIR=$TEST_DIR/$name PATH=$(dirname "$RDMAEMU"):$PATH \
		limit nsenter -t "${pid[$name]}" -n -u -m "$@"
}
# run NAME - the command of a service of $COMPOSE
run() {
	local env=() hostname command
	eval "$(service "$COMPOSE" "$1")"
	[ "$hostname" = "$1" ] && [ -n "$command" ] && inside "$1" env "${env[@]}" sh -c "$command"
}
stop_all() {
	inside server "$RDMAEMU" fabric stop
	inside client "$RDMAEMU" fabric stop
	kill "${pid[@]}"
}

# containers_up - make both hosts. Not by check, which has a shell of its own.
containers_up() {
	printf '127.0.0.1 localhost\n192.0.2.1 server\n192.0.2.2 client\n' >"$TEST_DIR/hosts"
	echo "a long random line" >"$TEST_DIR/token"
	mkdir -m 700 "$TEST_DIR/server" "$TEST_DIR/client"
	bridge || skip_all "no bridges here"
	trap 'stop_all >/dev/null 2>&1' EXIT
	if container server 192.0.2.1 && container client 192.0.2.2; then
		ok "two hosts on a bridge"
	else
		not_ok "two hosts on a bridge"
	fi
}

# services_run - run both commands, the client's first
services_run() {
	local client
	run client >"$TEST_DIR/client.out" 2>&1 </dev/null &
	client=$!
	sleep 1
	check "the server's command" run server
	wait $client
	is "the client's command" "$?" 0
}
