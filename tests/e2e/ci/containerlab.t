#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: two hosts of its own
# The containers of examples/roce.clab.yml, with their link, environment and commands: the lines of its comment run a
# program in each. A container is a network and a mount namespace.
. "$(dirname "$0")/../../lib/lib.sh"
need ip unshare nsenter ib_write_bw python3
python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"
own_netns "$@"
TOPOLOGY=$TOP/examples/roce.clab.yml

declare -A pid
stop_all() {
	local name
	for name in "${!pid[@]}"; do
		inside "$name" rdmaemu fabric stop
	done
	kill "${pid[@]}"
}
trap 'stop_all >/dev/null 2>&1; setting_end' EXIT

# topology - the nodes by name, each with env and exec, and the ends of the link, as words for bash
topology() {
	python3 - "$TOPOLOGY" <<'END'
import shlex, sys, yaml
topology = yaml.safe_load(open(sys.argv[1]))["topology"]
for name, node in topology["nodes"].items():
    kind = topology["kinds"][node["kind"]]
    assert kind["image"] == "rdmaemu" and kind["user"] == "root" and kind["cmd"] == "sleep infinity", kind
    print(f"nodes+=({name})")
    print(f"env_{name}=(" + " ".join(shlex.quote(f"{k}={v}") for k, v in {**kind["env"], **node.get("env", {})}.items()) + ")")
    print(f"exec_{name}=(" + " ".join(shlex.quote(command) for command in node["exec"]) + ")")
(link,) = topology["links"]
print("ends=(" + " ".join(link["endpoints"]) + ")")
END
}
nodes=() ends=()
eval "$(topology)"
is "two containers, and a link" "${#nodes[@]} ${#ends[@]}" "2 2"

apart() {
	[ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}
# inside NODE COMMAND... - with the environment of its container
inside() {
	local env="env_$1[@]"
	limit nsenter -t "${pid[$1]}" -n -m env "${!env}" RDMAEMU_DIR="$TEST_DIR/$1" PATH="$(dirname "$RDMAEMU"):$PATH" "${@:2}"
}
# deploy - containers first, then the link, then their commands
deploy() {
	local node command list
	for node in "${nodes[@]}"; do
		unshare -nm sleep infinity >/dev/null 2>&1 </dev/null &
		pid[$node]=$!
		wait_for 10 apart ${pid[$node]} || return
		mkdir -m 700 "$TEST_DIR/$node"
		inside "$node" ip link set lo up || return
	done
	ip link add "${ends[0]#*:}" netns "${pid[${ends[0]%:*}]}" type veth \
		peer name "${ends[1]#*:}" netns "${pid[${ends[1]%:*}]}" || return
	inside "${ends[0]%:*}" ip link set "${ends[0]#*:}" up && inside "${ends[1]%:*}" ip link set "${ends[1]#*:}" up || return
	for node in "${nodes[@]}"; do
		list="exec_$node[@]"
		for command in "${!list}"; do
			# shellcheck disable=SC2086 # containerlab splits it, too
			inside "$node" $command || return
		done
	done
}
# Not by check, which has a shell of its own.
if deploy; then
	ok "they are deployed"
else
	not_ok "they are deployed"
fi

# command_of NODE - what the comment executes in its container
command_of() {
	sed -n "s/^#.*docker exec clab-roce-$1 \\(.*[^ &]\\) *&*\$/\\1/p" "$TOPOLOGY"
}
preload=$(clock_env ib_write_bw)
[ -z "$preload" ] || export "${preload?}"
# shellcheck disable=SC2046 # words
inside server $(command_of server) >"$TEST_DIR/server.out" 2>&1 </dev/null &
server=$!
nsenter -t "${pid[server]}" -n "$T/sys_port" wait 18515 $server $((60 * SLOW * PATIENCE))
# shellcheck disable=SC2046 # words
check "the client's command" inside client $(command_of client)
wait $server
is "the server's command" $? 0
sent() {
	inside client rdmaemu status --json | json "[w for w in d['wires'] if w['address'] == '192.0.2.2' and w['sent'] > 5000][0]"
}
check "the packets took the link" sent
done_testing
