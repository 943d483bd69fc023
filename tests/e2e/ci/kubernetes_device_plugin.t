#!/bin/bash
# SPDX-License-Identifier: MIT
# waits
# settings: one: hosts of its own
# The device plugin of packaging/kubernetes registers with kubelet, again when kubelet has restarted, and lists its
# devices; two containers that have what it answers run ib_write_bw by the address of a pod. tests/lib/py/kubelet.py
# speaks for kubelet; a container is a network and a mount namespace, without the files of the build.
. "$(dirname "$0")/../../lib/lib.sh"
need ib_write_bw protoc patchelf python3
# Debian's libraries are those of Debian's Python, which need not be the first in PATH.
for python in python3 /usr/bin/python3 none; do
	! "$python" -c 'import grpc, google.protobuf, yaml' 2>/dev/null || break
done
[ "$python" != none ] || skip_all "python3-grpcio, python3-protobuf or python3-yaml is not installed"
own_netns "$@"

plugin=$TOP/packaging/kubernetes
kubelet_dir=$TEST_DIR/kubelet
export PYTHONPATH=$TEST_DIR/python PYTHONDONTWRITEBYTECODE=1
mkdir "$TEST_DIR/python" "$kubelet_dir"
protoc --proto_path="$plugin" --python_out="$TEST_DIR/python" deviceplugin.proto || skip_all "protoc cannot make Python"
printf 'for this test' >"$TEST_DIR/token"

declare -A pid
daemon=
end_all() {
	kill ${daemon:+"$daemon"} "${pid[@]}"
	wait ${daemon:+"$daemon"} "${pid[@]}"
}
trap 'end_all >/dev/null 2>&1; setting_end' EXIT

# --- the plugin and kubelet -----------------------------------------------------------------------

tree() {
	env -u MAKEFLAGS -u MFLAGS make -C "$TOP" --no-print-directory BUILD="$BUILD" PREFIX=/opt/rdmaemu \
		DESTDIR="$TEST_DIR/image" install && "$plugin/tree.sh" "$TEST_DIR/image/opt/rdmaemu"
}
check "the tree for containers" tree || { done_testing; exit; }

kubelet() {
	limit "$python" "$TOP/tests/lib/py/kubelet.py" "$kubelet_dir" rdmaemu.io/hca "$@"
}
# As the DaemonSet starts it, but for the places of files.
mapfile -t arguments < <(NODE=worker "$python" - "$plugin/device-plugin.yaml" <<'PYTHON'
import os, sys, yaml
for document in yaml.safe_load_all(open(sys.argv[1])):
    if document["kind"] == "DaemonSet":
        for argument in document["spec"]["template"]["spec"]["containers"][0]["args"]:
            print(argument.replace("$(NODE)", os.environ["NODE"]))
PYTHON
)
"$python" "$plugin/device_plugin.py" "${arguments[@]}" --token-file "$TEST_DIR/token" --devices 2 \
	--tree "$TEST_DIR/image/opt/rdmaemu" --host-dir "$TEST_DIR/host" --kubelet-dir "$kubelet_dir" \
	>"$TEST_DIR/plugin.out" 2>&1 &
daemon=$!

# hex TAG STRING - a field of a message of protocol buffers
hex() {
	printf '%s%02x%s' "$1" ${#2} "$(printf '%s' "$2" | od -An -v -tx1 | tr -d ' \n')"
}
is "it registers with version, socket and resource" "$(kubelet register)" \
	"$(hex 0a v1beta1)$(hex 12 rdmaemu.sock)$(hex 1a rdmaemu.io/hca)"
is "it registers again, and lists its devices" "$(kubelet devices)" $'hca0 Healthy\nhca1 Healthy'
is "an unknown device is refused" "$(kubelet allocate hca2 2>&1)" \
	"kubelet: INVALID_ARGUMENT: expected one of hca0 to hca1 for a container, not: hca2"
is "two devices for a container, too" "$(kubelet allocate hca0,hca1 2>&1)" \
	"kubelet: INVALID_ARGUMENT: expected one of hca0 to hca1 for a container, not: hca0 hca1"
kubelet allocate hca0 hca1 >"$TEST_DIR/containers"
is "the example asks for this resource" "$("$python" -c 'import sys, yaml
print({c["resources"]["limits"].get("rdmaemu.io/hca") for d in yaml.safe_load_all(open(sys.argv[1])) if d["kind"] == "Pod"
       for c in d["spec"]["containers"]})' "$TOP/examples/kubernetes-hca.yaml")" '{1}'
is "containers have nodes of their own" "$(json "[c['envs']['RDMAEMU_NAME'] for c in d]" <"$TEST_DIR/containers")" \
	"['worker-hca0', 'worker-hca1']"

# --- two pods -------------------------------------------------------------------------------------

apart() {
	[ "$(readlink "/proc/$1/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]
}
# pod NAME ADDRESS [NUMBER] - a namespace with what the plugin has answered for a container, or for the hub nothing
pod() {
	unshare -nm sleep 1000 >/dev/null 2>&1 </dev/null &
	pid[$1]=$!
	wait_for 10 apart "${pid[$1]}" || return
	ip link add "v$1" type veth peer name eth0 netns "${pid[$1]}" && ip link set "v$1" master br0 up || return
	mkdir -p -m 700 "$TEST_DIR/$1"
	[ -z "${3-}" ] || json "'\n'.join(' '.join(m[:2]) for m in d[$3]['mounts'] if m[2])" <"$TEST_DIR/containers" \
		>"$TEST_DIR/$1/mounts"
	[ -z "${3-}" ] || json "'\n'.join('%s=%s' % e for e in d[$3]['envs'].items())" <"$TEST_DIR/containers" \
		>"$TEST_DIR/$1/envs"
	# shellcheck disable=SC2016 # of the shell there
	inside "$1" sh -ec '
		ip link set lo up
		ip addr add "$1/24" dev eth0
		ip link set eth0 up
		[ -e "$2/mounts" ] || exit 0
		mount --bind "$3" /etc/hosts
		mount -t tmpfs none /opt
		mount -t tmpfs none /run
		while read -r host container; do
			mkdir -p "${container%/*}"
			if [ -d "$host" ]; then mkdir "$container"; else : >"$container"; fi
			mount --bind -o ro "$host" "$container"
		done <"$2/mounts"' sh "$2" "$TEST_DIR/$1" "$TEST_DIR/hosts"
}
inside() {
	local name=$1
	shift
	RDMAEMU_DIR=$TEST_DIR/$name limit nsenter -t "${pid[$name]}" -n -m "$@"
}
# in_container NAME COMMAND... - with the environment that the plugin has answered, and no other of rdmaemu
in_container() {
	local name=$1 envs
	shift
	mapfile -t envs <"$TEST_DIR/$name/envs"
	inside "$name" env "${envs[@]}" "$@"
}
ip link set lo up && ip link add br0 type bridge 2>/dev/null && ip link set br0 up || skip_all "no bridges here"
# The hub's Service, as the DNS of a cluster has it.
printf '127.0.0.1 localhost\n192.0.2.1 rdmaemu-hub.rdmaemu.svc\n' >"$TEST_DIR/hosts"
# Not by check, which has a shell of its own.
if pod hub 192.0.2.1 && pod server 192.0.2.2 0 && pod client 192.0.2.3 1; then
	ok "a hub and two pods"
else
	not_ok "a hub and two pods"
fi
check "the hub listens" inside hub "$RDMAEMU" fabric start --name hub --listen 0.0.0.0:7471 --token-file "$TEST_DIR/token"
emulator=/opt/rdmaemu/bin/rdmaemu
is "a container cannot change the tree" "$(in_container server sh -c "echo >$emulator" 2>&1 | grep -c 'Read-only')" 1
is "the libraries that the command links come along" "$(in_container server ldd $emulator | grep '=>' |
	grep -v -e ' => /opt/rdmaemu/' -e 'lib[cm]\.so')" ''
for name in server client; do
	check "the fabric of the $name's pod" in_container $name $emulator fabric start
done

in_container server $emulator run ib_write_bw -n 1000 >"$TEST_DIR/server.out" 2>&1 </dev/null &
server=$!
# The server may not listen yet.
client() {
	until in_container client $emulator run ib_write_bw -n 1000 192.0.2.2; do
		kill -0 $server 2>/dev/null || return
		sleep 0.5
	done
}
client >"$TEST_DIR/client.out" 2>&1
is "ib_write_bw by the pod's address" $? 0
wait $server
is "the server's end" $? 0
check "it has figures" grep -E '^ *65536 +1000 ' "$TEST_DIR/client.out"
passed() {
	inside hub "$RDMAEMU" status --json | json "sorted(n['name'] for n in d['nodes'])"
}
is "the hub knows the pods' nodes" "$(passed)" "['hub', 'worker-hca0', 'worker-hca1']"
for name in client server hub; do
	inside $name "$RDMAEMU" fabric stop >/dev/null 2>&1
done
is "the plugin had no trouble" "$(grep -v -e '^registered 2 of rdmaemu.io/hca' -e '^kubelet has removed the socket' \
	-e 'cannot register with kubelet' "$TEST_DIR/plugin.out")" ''
done_testing
