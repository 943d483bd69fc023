#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Which folder includes which: the table in docs/design.md.
. "$(dirname "$0")/lib.sh"
cd "$TOP" || exit 1

# includes FOLDER ALLOWED - project headers that its files include beyond the allowed (an ERE)
includes() {
	grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$1"/*.[ch] |
		grep -vE "#[[:space:]]*include[[:space:]]*\"($2)\""
}

# system FOLDER FORBIDDEN - system headers that its files include and must not (an ERE)
system() {
	grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($2)" "$1"/*.[ch] | not_audit
}

# The audit of HCA memory is not part of the model: it counts in memory of its own.
not_audit() {
	grep -v '^emulator/audit.c:.*\(<stdlib.h>\|alloc(\|free(\)'
}

# touches - functions that the model must not call
touches() {
	grep -nwE '(fopen|open|socket|getenv|pthread_create|malloc|calloc|free)[[:space:]]*\(' \
		emulator/*.c | not_audit
}

api_of_traces() {
	system traces '(infiniband|rdma)/' | grep -v '^traces/calls[a-z_]*\.[ch]:'
}

# nothing NAME COMMAND... - the command must print nothing
nothing() {
	local name=$1 out
	shift
	out=$("$@")
	if [ -z "$out" ]; then
		ok "$name"
	else
		not_ok "$name" "$out"
	fi
}

nothing "emulator includes itself only" includes emulator 'emulator/[a-z_]*\.h'
nothing "emulator has no I/O, threads, environment or other libraries" \
	system emulator '(sys/|fcntl|unistd|pthread|poll|signal|infiniband|rdma/|linux/|arpa|net|stdlib)'
nothing "emulator does not touch files, threads or the environment" touches
nothing "traces includes itself, and the short names of integers" includes traces '(traces/[a-z_]*|emulator/types)\.h'
nothing "traces knows no library but libc, zlib and libpcap" system traces '(json-c|nettle)/'
# calls*.h: the description of the API in the API's own types.
nothing "and of traces only calls*.[ch] know the API" api_of_traces
nothing "fabric includes emulator and itself" includes fabric '(emulator|fabric|traces)/[a-z_]*\.h'
nothing "the fabric knows nothing of verbs.h" system fabric '(infiniband|rdma)/'
nothing "libshim includes emulator, itself and the fabric's client protocol" \
	includes libshim '(emulator|libshim|traces)/[a-z_]*\.h|fabric/(calls|proto|vmcopy|version)\.h'
nothing "librecord includes itself, traces, and how the shim stands between" \
	includes librecord '(librecord|traces)/[a-z_]*\.h|libshim/interpose\.h'
nothing "replay includes itself and traces" includes replay '(replay|traces)/[a-z_]*\.h'
nothing "libctl includes itself, its header and what asks the fabric process" \
	includes libctl '(libctl|include)/[a-z_]*\.h|fabric/(ctlcall|statedir|counters|version|realtime)\.h'
nothing "libctl knows nothing of verbs.h, and no library but libc" system libctl '(infiniband|rdma|json-c|nettle)/'
nothing "rdmaemu.h includes nothing of ours" grep -n '#[[:space:]]*include[[:space:]]*"' include/rdmaemu.h
nothing "no file includes by relative path" \
	grep -nE '#[[:space:]]*include[[:space:]]*"\.' emulator/*.[ch] fabric/*.[ch] libshim/*.[ch] libctl/*.[ch] traces/*.[ch] librecord/*.[ch]
done_testing
