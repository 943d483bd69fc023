#!/bin/sh
# SPDX-License-Identifier: MIT
# Prolog of Slurm: starts a fabric on each node of a job, as the job's user, and joins them. task-prolog.sh leads the
# job's programs to it, and epilog.sh ends it. slurm.conf has:
#	PrologFlags=Alloc
#	Prolog=/etc/slurm/rdmaemu/prolog.sh
#	TaskProlog=/etc/slurm/rdmaemu/task-prolog.sh
#	Epilog=/etc/slurm/rdmaemu/epilog.sh
# and each node has the same secret in /etc/slurm/rdmaemu/secret, which only root reads.
#
# It ends with 0 even if no fabric starts: otherwise Slurm drains the node. What went wrong is in prolog.log of the
# job's directory, and task-prolog.sh shows it to the job.
set -eu
export PATH="${PATH:-/usr/local/bin:/usr/bin:/bin}"
export RDMAEMU_DIR="/run/rdmaemu/job-$SLURM_JOB_ID"

# knows_all NODE... - whether the fabric knows the nodes of all other members
knows_all() {
	known=$(rdmaemu status --json | tr -d ' \n') || return
	for node; do
		[ "$node" = "$SLURMD_NODENAME" ] ||
			echo "$known" | grep -q "\"name\":\"$node\",[^]}]*\"addresses\":" || return
	done
}

# start TOKEN - as the user, in the job's directory
start() {
	echo "$1" >token
	# shellcheck disable=SC2046 # names of nodes
	set -- $(scontrol show hostnames "${SLURM_JOB_NODELIST:-$SLURM_NODELIST}")
	port=$((20000 + SLURM_JOB_ID % 10000))
	if [ "$SLURMD_NODENAME" = "$1" ]; then
		rdmaemu fabric start --name "$1" --listen "0.0.0.0:$port" --token-file token
	else
		rdmaemu fabric start --name "$SLURMD_NODENAME" --listen "0.0.0.0:$port" --token-file token --join "$1:$port"
	fi
	# Programs start when all nodes can be reached, or after a minute.
	tries=0
	until knows_all "$@"; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || { echo "not all nodes of the job have a fabric: $*" && exit 1; }
		sleep 0.2
	done
	: >ready
}

umask 077
if [ "${1-}" = start ]; then
	exec >prolog.log 2>&1
	read -r token
	start "$token"
	exit
fi
mkdir -p /run/rdmaemu
chmod 755 /run/rdmaemu
mkdir "$RDMAEMU_DIR" && chown "$SLURM_JOB_UID" "$RDMAEMU_DIR" && cd "$RDMAEMU_DIR" || exit 0
# The token is the job's own. The secret comes last, so that nobody can make the token of one job from that of another.
# From here on, the user could replace files of the directory: root writes none.
{ echo "$SLURM_JOB_ID" && cat "${0%/*}/secret"; } | sha256sum |
	setpriv --reuid "$SLURM_JOB_UID" --regid "$(id -g "$SLURM_JOB_UID")" --init-groups sh "$0" start || exit 0
