#!/bin/sh
# SPDX-License-Identifier: MIT
# mpirun.sh PROGRAM ARGS...: Open MPI over UCX, each rank on a node of its own.
# Usage: mpirun -n 4 examples/mpirun.sh ./my-program
set -eu
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}
# Without these, UCX prefers shared memory between ranks of one host.
export UCX_TLS="${UCX_TLS:-rc_verbs,ud_verbs,self}"
export UCX_NET_DEVICES="${UCX_NET_DEVICES:-rdmaemu0:1}"
exec rdmaemu run --node "rank$rank" -- "$@"
