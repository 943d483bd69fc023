#!/bin/bash
# SPDX-License-Identifier: MIT
# slow 30
# settings: one: hosts of its own
# A cluster of Slurm, whose nodes are network namespaces with a slurmd each: examples/slurm/ starts a fabric of the
# job's user on each node of a job and joins them, and a job of three nodes passes data between them.
. "$(dirname "$0")/../../lib/lib.sh"
is_root || skip_all "Slurm's daemons change their user"
need munged slurmctld slurmd srun scontrol setpriv ip
[ "$SLOW" = 1 ] || skip_all "the programs of other users cannot reach a sanitizer's library"
own_netns "$@"
if [ -z "${IN_MOUNTS-}" ]; then
	unshare -mu true 2>/dev/null || skip_all "cannot make mount namespaces"
	IN_MOUNTS=1 exec unshare -mu "$0" "$@"
fi

# installed - as an administrator does it: rdmaemu, the scripts and a secret
installed() {
	mkdir -p "$TEST_DIR"/local/{bin,lib/rdmaemu} "$TEST_DIR/slurm" "$TEST_DIR/state" &&
		cp "$RDMAEMU" "$TEST_DIR/local/bin/" && cp "$BUILD"/lib/*.so "$TEST_DIR/local/lib/rdmaemu/" &&
		cp -r "$TOP/examples/slurm" "$TEST_DIR/slurm/rdmaemu" && slurm_conf >"$TEST_DIR/slurm/slurm.conf" &&
		(umask 077 && head -c 32 /dev/urandom | base64 >"$TEST_DIR/slurm/rdmaemu/secret") &&
		chmod -R go+rX "$TEST_DIR/local" && chmod 755 "$TEST_DIR/slurm" "$TEST_DIR"/slurm/rdmaemu{,/*.sh} &&
		printf '%s\n' '127.0.0.1 localhost' '192.0.2.1 n1' '192.0.2.2 n2' '192.0.2.3 n3' '192.0.2.9 ctl' >"$TEST_DIR/hosts" &&
		mount --bind "$TEST_DIR/local" /usr/local && mount --bind "$TEST_DIR/slurm" /etc/slurm &&
		mount --bind "$TEST_DIR/hosts" /etc/hosts && mount -t tmpfs none /run
}
slurm_conf() {
	cat <<-END
		ClusterName=test
		SlurmctldHost=ctl
		SlurmUser=root
		AuthType=auth/munge
		CredType=cred/munge
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/linear
		MpiDefault=none
		SlurmctldPidFile=/run/slurmctld.pid
		SlurmdPidFile=/run/slurmd.pid
		SlurmdSpoolDir=/run/slurmd
		StateSaveLocation=$TEST_DIR/state
		SlurmdParameters=config_overrides
		ReturnToService=2
		MessageTimeout=100
		SlurmdTimeout=0
		PrologFlags=Alloc
		Prolog=/etc/slurm/rdmaemu/prolog.sh
		TaskProlog=/etc/slurm/rdmaemu/task-prolog.sh
		Epilog=/etc/slurm/rdmaemu/epilog.sh
		NodeName=n[1-3]
		PartitionName=all Nodes=ALL Default=YES
	END
}

pids=()
# node NAME ADDRESS - a host on the bridge, with a /run of its own
node() {
	unshare -num sleep infinity >/dev/null 2>&1 </dev/null &
	local pid=$!
	pids+=("$pid")
	declare -g "pid_$1=$pid"
	wait_for 10 other_netns $pid || return
	ip link add "v$1" type veth peer name eth0 netns $pid && ip link set "v$1" master br0 up &&
		inside "$1" sh -ec '
			hostname "$1"
			ip link set lo up
			ip addr add "$2/24" dev eth0
			ip link set eth0 up
			mount -t tmpfs none /run
		' sh "$1" "$2"
}
# inside NAME COMMAND... - COMMAND on that host
inside() {
	local into
	into "$1" && "${into[@]}" "${@:2}"
}
# into NAME - leave in `into` the words before a command of that host: a daemon shall be this shell's child
into() {
	local pid=pid_$1
	into=(nsenter -t "${!pid}" -n -u -m)
}

# daemon NAME COMMAND... - one that stays in the foreground
daemon() {
	"${@:2}" >"$TEST_DIR/$1.log" 2>&1 </dev/null &
	pids+=($!)
}
# munge_here NAME WORD... - each host has its own, which knows the credentials that it has seen
munge_here() {
	"${@:2}" mkdir -m 755 /run/munge
	daemon "munged.$1" "${@:2}" munged --foreground --force --key-file "$TEST_DIR/munge.key" --pid-file /run/munged.pid \
		--seed-file /run/munged.seed
	wait_for 20 "${@:2}" munge -n
}
stop_all() {
	kill -9 "${pids[@]}" 2>/dev/null
	wait
}
cluster() {
	hostname ctl && ip link set lo up && ip link add br0 type bridge && ip addr add 192.0.2.9/24 dev br0 &&
		ip link set br0 up && installed || return
	(umask 077 && head -c 1024 /dev/urandom >"$TEST_DIR/munge.key")
	munge_here ctl || return
	daemon slurmctld slurmctld -D
	local n into
	for n in 1 2 3; do
		node n$n 192.0.2.$n && into n$n && munge_here n$n "${into[@]}" && daemon slurmd.n$n "${into[@]}" slurmd -D || return
	done
}
trap stop_all EXIT
all_idle() {
	[ "$(sinfo -h -t idle -o %D)" = 3 ]
}
if cluster >"$TEST_DIR/cluster.out" 2>&1 && wait_for 60 all_idle; then
	ok "a cluster of three nodes"
else
	not_ok "a cluster of three nodes" "$(cat "$TEST_DIR"/*.out "$TEST_DIR"/*.log)"
	done_testing
fi

# job COMMAND... - run it on each node, as a user that is not root
job() {
	limit setpriv --reuid nobody --regid nogroup --clear-groups env -i HOME=/ PATH=/usr/local/bin:/usr/bin:/bin \
		srun -N3 --chdir / "$@"
}

# Each node writes to the next one.
cat >"$TEST_DIR/slurm/ring" <<'END'
set -eu
cd "$RDMAEMU_DIR"
next=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | sed -n $(((SLURM_NODEID + 1) % SLURM_NNODES + 1))p)
rdmaemu run ib_write_bw -F -n 100 >server 2>&1 &
# Until the next one listens, a minute at least.
tries=0
until rdmaemu run ib_write_bw -F -n 100 "$next" >client 2>&1; do
	tries=$((tries + 1))
	[ $tries -lt 300 ] || { cat client; exit 1; }
	sleep 0.2
done
wait $!
echo "$(id -un) on $SLURMD_NODENAME to $next: $(awk '$1 == 65536 { print $2 }' client)"
END
ring() {
	job sh /etc/slurm/ring >"$TEST_DIR/ring.out" 2>&1
	sort "$TEST_DIR/ring.out" | diff - <(printf 'nobody on %s: 100\n' 'n1 to n2' 'n2 to n3' 'n3 to n1')
}
if command -v ib_write_bw >/dev/null; then
	check "each node of a job writes to the next one" ring
else
	skip "each node of a job writes to the next one" "perftest is not installed"
fi

# Epilogs run when srun has ended.
left() {
	local n
	for n in n1 n2 n3; do
		inside $n ls /run/rdmaemu
	done
}
none_left() {
	[ -z "$(left)" ]
}
wait_for 60 none_left
is "no job leaves its fabric" "$(left)" ""
done_testing
