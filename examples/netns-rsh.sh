#!/bin/sh
# SPDX-License-Identifier: MIT
# netns-rsh.sh [-OPTION...] HOST COMMAND...: to a launcher of MPI what rsh is, where the hosts are network namespaces
# of one machine. The namespace of HOST is the file NETNS_DIR/HOST (NETNS_DIR: /run/netns, where `ip netns add` has it),
# and its fabric is that of RDMAEMU_DIR=NETNS_FABRICS/HOST.
# Usage, in a namespace that the others reach at ADDR:
#	NETNS_FABRICS=DIR mpirun.openmpi --mca plm_rsh_agent examples/netns-rsh.sh -host h1,h2 ...
#	NETNS_FABRICS=DIR mpirun.mpich -localhost ADDR -launcher rsh -launcher-exec examples/netns-rsh.sh \
#		-hosts h1,h2 ...
set -eu
while [ "${1#-}" != "$1" ]; do
	shift
done
host=$1
shift
export RDMAEMU_DIR="$NETNS_FABRICS/$host"
# Daemons of Open MPI that have one host name are taken for each other. As rsh does: the words are a line for the shell.
exec nsenter --net="${NETNS_DIR:-/run/netns}/$host" unshare --uts \
	sh -c 'hostname "$1" && exec sh -c "$2"' sh "$host" "$*"
