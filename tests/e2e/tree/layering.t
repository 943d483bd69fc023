#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: reads sources
# Which folder includes which: the table in docs/design/overview.md. Which uses symbols of which, and that
# no files need each other in a large circle: the table tests/e2e/tree/layers.
. "$(dirname "$0")/../../lib/lib.sh"
cd "$TOP" || exit 1

# sources FOLDER - its files and those of its subfolders
sources() {
	find "$1" -name '*.[ch]' | sort
}

# includes FOLDER ALLOWED - project headers that files below it include beyond the allowed (an ERE)
includes() {
	sources "$1" | xargs grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' |
		grep -vE "#[[:space:]]*include[[:space:]]*\"($2)\""
}

# system FOLDER FORBIDDEN - system headers that files below it include and must not (an ERE)
system() {
	sources "$1" | xargs grep -nE "^[[:space:]]*#[[:space:]]*include[[:space:]]*<($2)" | not_audit
}

# The audit of HCA memory is not part of the model: it counts in memory of its own.
not_audit() {
	grep -v '^emulator/audit/tables.c:.*\(<stdlib.h>\|alloc(\|free(\)'
}

# touches - functions that the model must not call
touches() {
	sources emulator | xargs grep -nwE '(fopen|open|socket|getenv|pthread_create|malloc|calloc|free)[[:space:]]*\(' |
		not_audit
}

# api_of_traces - files of formats and readers that know the API
api_of_traces() {
	local folder
	for folder in formats vtrace; do
		system traces/$folder '(infiniband|rdma)/'
	done
	system traces/calls '(infiniband|rdma)/' | grep -v '^traces/calls/\(table\|devices\|wr_flush\)\.[ch]:'
}

# not_in FOLDER COMMAND... - what the command prints of other folders
not_in() {
	local folder=$1
	shift
	"$@" | grep -v "^$folder/"
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

# A path of one of these folders.
in_folders() {
	echo "($1)/[a-z_/]*\.h"
}

nothing "emulator includes itself only" includes emulator "$(in_folders emulator)"
nothing "emulator has no I/O, threads, environment or other libraries" \
	system emulator '(sys/|fcntl|unistd|pthread|poll|signal|infiniband|rdma/|linux/|arpa|net|stdlib)'
nothing "emulator does not touch files, threads or the environment" touches
for folder in formats calls vtrace compare; do
	nothing "traces/$folder includes the formats, the short names of integers, and what GIDs are" includes traces/$folder \
		"$(in_folders 'traces/(formats|calls|vtrace|compare)')|emulator/(types|gid)\.h"
	nothing "traces/$folder knows no library but libc, zlib and libpcap" system traces/$folder '(json-c|nettle)/'
done
# table.h, devices.h and wr_flush.h: the description of the API in the API's own types.
nothing "and of traces only the table of calls knows the API" api_of_traces
nothing "fabric includes emulator, traces and itself" includes fabric \
	"$(in_folders 'emulator|fabric|traces/(formats|calls|vtrace|compare)')"
nothing "the fabric knows nothing of verbs.h" system fabric '(infiniband|rdma)/'
nothing "fabric/proto includes the emulator and itself" includes fabric/proto "$(in_folders 'emulator|fabric/proto')"
nothing "fabric/common includes nothing of the command or the fabric process" includes fabric/common \
	"$(in_folders 'emulator|traces/[a-z]*|fabric/(proto|common)')"
# The fabric process: each folder with those that it may include. Arrows run one way, and none to the command.
low='emulator|traces/[a-z]*|fabric/(proto|common|core)'
while read -r folder may; do
	nothing "fabric/$folder includes nothing of the command, and no folder above it" \
		includes "fabric/$folder" "$(in_folders "$low${may:+|fabric/($may)}")"
done <<'EOF'
core
nodes nodes
link link
fault fault|link|nodes
packet packet|link
egress egress|packet
ingress ingress|egress|packet
capture capture|nodes|packet
join join|link
roce roce|egress|ingress|link|packet
journal journal|fault
inject inject|capture|link|nodes|packet
nldev nldev
server server|inject|nldev|journal|join|roce|packet|capture|fault|link|nodes
EOF
# `fault try` asks the matcher of the fabric process, for which it makes a fabric.
nothing "fabric/cli includes nothing of the fabric process but the words of rules" \
	not_in fabric/cli/fault_try includes fabric/cli "$(in_folders 'emulator|traces/[a-z]*|fabric/(cli|proto|common)')|fabric/fault/(rule|parse|keys|packet)\.h"
# Inside the shim: interpose <- constants, lend <- client <- memory <- verbs <- cm.
below='libshim/interpose'
nothing "libshim/interpose includes the emulator, itself and the fabric's client protocol" includes libshim/interpose \
	"$(in_folders "emulator|$below|fabric/proto")"
for folder in constants lend client memory verbs cm; do
	below+="|libshim/$folder"
	nothing "libshim/$folder includes nothing of the folders above it" includes libshim/$folder \
		"$(in_folders "emulator|$below|fabric/proto")$([ $folder != client ] || echo '|fabric/(e|in)gress/(e|in)gress\.h')"
done
nothing "the tap includes itself, the table of calls, and how the shim stands between" \
	not_in libtap/check not_in libtap/users includes libtap \
	"$(in_folders 'libtap|traces/calls')|libshim/interpose/(interpose|export|maps|mr_init_attr|own_fd)\.h|emulator/types\.h"
nothing "its users include the tap, how the shim stands between, the table of calls, and the fabric's client protocol" includes libtap/users \
	"$(in_folders 'libtap|libtap/users|libshim/interpose|traces/calls|fabric/proto')|emulator/(types|seg)\.h"
nothing "its checker includes the tap, the table of calls, the table of findings, and names of variables" includes libtap/check \
	"$(in_folders 'libtap|libtap/check|traces/calls')|fabric/proto/(finding|env)\.h|emulator/(types|gid)\.h"
nothing "the tap knows no library but libc" system libtap '(json-c|nettle|zlib|pcap)'
nothing "the dispatcher includes itself, how the shim stands between, and the names of variables" includes libdispatch \
	"$(in_folders libdispatch)|libshim/interpose/(interpose|export)\.h|fabric/proto/env\.h|emulator/types\.h"
nothing "the recorder includes itself, traces, and the tap" includes traces/record \
	"$(in_folders 'traces/(record|calls|vtrace)')|libtap/(tap|devices|object_table|next_symbol)\.h|emulator/types\.h"
nothing "the replay includes itself, traces, and how to spin" includes traces/replay \
	"$(in_folders 'traces/(replay|compare|calls|vtrace)')|emulator/(types|backoff)\.h"
nothing "libctl includes itself, its header and what asks the fabric process" includes libctl \
	"$(in_folders 'libctl|include|fabric/proto')"
nothing "libctl knows nothing of verbs.h, and no library but libc" system libctl '(infiniband|rdma|json-c|nettle)/'
nothing "rdmaemu.h includes nothing of ours" grep -n '#[[:space:]]*include[[:space:]]*"' include/rdmaemu.h
nothing "no file includes by relative path" grep -rnE --include='*.[ch]' '#[[:space:]]*include[[:space:]]*"\.' \
	emulator fabric libshim libctl libtap libdispatch traces

tap python3 tests/lib/py/symbols.py --self-test
tap python3 tests/lib/py/symbols.py tests/e2e/tree/layers "$BUILD/obj"
done_testing
