#!/bin/bash
# SPDX-License-Identifier: MIT
# settings: one: programs of one process
# waits
# The checker finds each seeded mistake, in the line that makes it, and says nothing of the twin without it.
. "$(dirname "$0")/../../lib/lib.sh"

# CHECK_REPEATS=50 shows that nothing of this is luck (make check-seeds): so many processes, one after the other, make
# each mistake in one run.
REPEATS=${CHECK_REPEATS:-1}
LIMIT=$((LIMIT * (1 + REPEATS / 10)))

# REPEATS COUNT NAME TEXT PROGRAM... - each process and its children have COUNT findings, of which one has this name and
# text (both texts are EREs)
# shellcheck disable=SC2016
REPEAT='
	shopt -s nullglob
	declare -A seen
	n=$1 count=$2 name=$3 text=$4
	shift 4
	for ((i = 1; i <= n; i++)); do
		"$@" || exit
		new=()
		for file in "$RDMAEMU_CHECK_DIR"/*; do
			[ -n "${seen[$file]}" ] || new+=("$file")
			seen[$file]=1
		done
		reports=$(cat "${new[@]}" /dev/null)
		[[ $(grep -c "^finding" <<<"$reports") =~ ^$count$ ]] || { echo "process $i of $n: $reports" && exit 1; }
		[ -z "$name" ] || grep -x -A 1 "finding $name" <<<"$reports" | grep -qE "^text $text" ||
			{ echo "process $i of $n has no report" && exit 1; }
	done
'

# program COUNT NAME TEXT PROGRAM ARGS... - under the check
program() {
	local repeat=()
	[ "$REPEATS" = 1 ] || repeat=(bash -c "$REPEAT" repeat "$REPEATS" "$1" "$2" "$3")
	limit "$RDMAEMU" run "${CHECK[@]}" -- "${repeat[@]}" "${@:4}" 2>&1
}

# seed FILE NAME MISTAKE TEXT [COUNT] - the program with the mistake has this finding only, whose text matches, at COUNT
# places (both EREs)
seed() {
	local out status=0 want=0 file=$1 count=${5:-1}
	shift
	out=$(program "$count" "$1" "$3" "$T/app_check_$file" "$2" wrong) || status=$?
	grep -q "^rdmaemu: error" <<<"$out" && want=99
	echo "$out"
	# Two threads, or two processes, may have the same finding at places that are not the same each time.
	[ "$REPEATS" = 1 ] || count='[1-9][0-9]*'
	[ $status = $want ] && [[ $(grep -c "^rdmaemu: [a-z]* [A-Z]*:" <<<"$out") =~ ^$count$ ]] &&
		grep -qE "^rdmaemu: (error|warning|info) $1: app_check_$file\[[0-9]*\]: $3" <<<"$out" &&
		grep -q "seed_$2 (tests/verbs/check/$file.c:[0-9]*)" <<<"$out"
}

# twin FILE MISTAKE - the same program without it
twin() {
	local out status=0
	out=$(program 0 "" "" "$T/app_check_$1" "$2" right) || status=$?
	echo "$out"
	[ "$status:$out" = 0: ]
}

# seeds [each] - those of stdin, lines FILE NAME MISTAKE TEXT, by the check of CHECK, or each by that of its NAME only;
# some at a time, as most of them wait
seeds() {
	local file name mistake text n=0
	while read -r file name mistake text; do
		[ $# = 0 ] || CHECK=(--check="$name")
		[ $((n++)) -lt 4 ] || wait -n
		{
			check "$name: $mistake" seed "$file" "$name" "$mistake" "$text"
			check "$mistake: its twin" twin "$file" "$mistake"
		} >"$TEST_DIR/$mistake.checks" &
	done
	wait
	cat "$TEST_DIR"/*.checks
	FAILED=$((FAILED + $(cat "$TEST_DIR"/*.checks | grep -c "^not ok")))
	rm "$TEST_DIR"/*.checks
}

CHECK=(--check)
seeds <<'END'
seeded QP:DESTROY:OUTSTANDING destroy_outstanding qp1 is destroyed; the completions of 1 of its 1 outstanding send requests
seeded MR:DEREG:OUTSTANDING dereg_outstanding mr1 is deregistered; send request wr_id 0x1 of qp1 still names it
seeded MR:DEREG:POSTED dereg_posted mr1 is deregistered; receive request wr_id 0x1 of qp2 still names it
events CQ:NOTIFY:LOST notify_lost cq1 was armed after it was polled, and not emptied since
events CQ:NOTIFY:LOST notify_partial cq1 was armed after it was polled, and not emptied since
events CQ:NOTIFY:LOST notify_epoll cq1 was armed after it was polled, and not emptied since
events CQ:EVENT:UNACKED event_unacked cq1 is destroyed with 1 event that nobody
events CQ:EVENT:SURPLUS surplus cq1: 1 events are acknowledged that were never taken
events OBJECT:EVENT:UNACKED async_unacked qp[12] is destroyed with 1 event that nobody
seeded OBJECT:DESTROY:BUSY busy pd1 is not destroyed \(EBUSY\): qp2 uses it
seeded OBJECT:DESTROY:BUSY busy_window mr2 is not destroyed \(EBUSY\): another object uses it
seeded CQ:SIZE:OUTSTANDING cq_small cq1 has [0-9]* entries, and
seeded QP:MODIFY:INVALID modify qp1, .*RESET: attr_mask lacks .*ACCESS_FLAGS
seeded WR:LKEY:INVALID lkey_outside qp1, wr_id 0x1: sg_list\[0\] .* it ends 16 bytes after mr1
seeded WR:LKEY:INVALID lkey_stale qp1, wr_id 0x1: sg_list\[0\] .* was that of mr2, which is deregistered
seeded WR:RKEY:INVALID rkey_stale qp1, wr_id 0x1: remote memory .* was that of mr2, which is deregistered
seeded WR:RKEY:INVALID rkey_swapped qp1, wr_id 0x1: remote memory .* the same bytes in the other order
seeded WR:RKEY:INVALID addr_swapped qp1, wr_id 0x1: remote memory .* in which it is with its bytes swapped
seeded WR:RKEY:INVALID addr_truncated qp1, wr_id 0x1: remote memory .* with the upper 32 bits of the region
requests QP:POST:STATE early qp1 is in IBV_QPS_INIT: it takes no send requests before IBV_QPS_RTS
requests WR:FENCE:MISSING no_fence qp1, wr_id 0x2 sends memory to which wr_id 0x1, which is outstanding, still writes
requests WR:POST:INVALID inline_large qp1 refuses wr_id 0x0: [0-9]* bytes with IBV_SEND_INLINE: at most [0-9]*
requests WR:POST:INVALID segments qp2 refuses wr_id 0x0: num_sge is [0-9]*: at most
requests WR:ATOMIC:ALIGN atomic qp1, wr_id 0x1: the remote address 0x[0-9a-f]* of an atomic is not a multiple of 8
requests WR:RECEIVE:SHORT short qp2: a message is longer than receive wr_id 0x1, which has 64 bytes
requests WR:RNR:EXCEEDED no_receive qp1, wr_id 0x2: the peer has no receive for it
requests MR:DEREG:OUTSTANDING datagram_dereg mr2 is deregistered; send request wr_id 0x1 of qp3 still names it
requests QP:QKEY:PEER qkey qp3, wr_id 0x1: a datagram with Q_Key 0x2 goes to qp3, which has Q_Key 0x1 and drops it
requests WR:RNR:SAVED rnr_saved qp2: receive wr_id 0x1 is posted [0-9]* ms after message 1 of qp1, which found none
requests QP:SQ:UNSIGNALED unsignaled qp1: all 8 places of its send queue have unsignaled requests
requests WC:STATUS:IGNORED ignored qp1: 9 send requests were posted after a completion with IBV_WC_REM_ACCESS_ERR
requests AH:DESTROY:OUTSTANDING handle_gone ah1 is destroyed; send request wr_id 0x1 of qp3 still names it
identifiers ID:ACCEPT:DEPTH depth id[0-9]* is accepted with initiator_depth 3: the peer takes 2
identifiers ID:PRIVATE:LONG private id[0-9]* is connected with 57 bytes of private data: at most 56
identifiers ID:DESTROY:QP qp_left id[0-9]* is destroyed before its queue pair qp2
processes OBJECT:THREAD:CONCURRENT single_threaded a thread polls cq2, which has no locks, and another one does so at the same time
processes OBJECT:THREAD:CONCURRENT thread_domain a thread polls cq2, which has no locks
processes OBJECT:FORK:CHILD fork_child the child of a fork makes a call about qp1 of its parent
states QP:READS:PEER reads qp1 has max_rd_atomic 5, and its peer qp2 has max_dest_rd_atomic 4
states WC:FIELD:UNDEFINED field_read cq2: ibv_wc_read_opcode\(\) of the completion of wr_id 0x7, which has .*WR_FLUSH_ERR
states QP:MODIFY:INVALID gid_family qp1, .*INIT: ah_attr.grh.sgid_index is [0-9]*, the GID of an IPv[46] address, and dgid is an IPv[46] one
states QP:GID:PEER gid_type qp2 has a GID of RoCE v1, and its peer qp1 one of RoCE v2
states QP:MTU:PEER mtu qp2 has a path MTU of 1024 bytes, and its peer qp1 of 512
END
# All regions of these have all rights.
CHECK=(--check=infos,-MR:RIGHTS:UNUSED)
seeds <<'END'
identifiers ID:ACCEPT:EMPTY empty id[0-9]* is accepted, and qp2 has no receives
requests WR:RECEIVE:TIGHT tight qp2: a message of 62 bytes has nearly filled receive wr_id 0x1, which has 64 bytes
requests WR:SEND:EARLY send_early qp1, wr_id 0x2: message 1 is sent, and its peer has posted 0 receives until now
requests WR:ID:REPEATED wr_id qp2 has two outstanding receive requests with wr_id 0x1
states QP:TIMEOUT:INFINITE timeout qp1: timeout is 0
states QP:RETRY:NONE retry qp1: retry_cnt is 0
states QP:RNR:INFINITE rnr_retry qp1: rnr_retry is 7
states QP:RNR:LONGEST rnr_timer qp1: min_rnr_timer is 0
states QP:PSN:CONSTANT psn qp2 has sq_psn 0x1, as qp1 before
events CQ:EVENT:UNREAD unread cq1 was armed, and ch1 has an event
events DEVICE:EVENT:UNREAD async_unread ctx1 has asynchronous events, and the program has never read any
requests QP:DESTROY:UNFLUSHED unflushed qp2 is destroyed in IBV_QPS_ERR, and the completions of 0 send and 1 receive
requests WR:IMM:ORDER imm qp1, wr_id 0x8: imm_data is 0x8 in the byte order of this CPU, 0x8000000 in that of the network
requests WR:POST:PARTIAL partial qp1: a list of 10 send requests is refused from wr_id 0x8 on: the 8 before it are posted
events SRQ:LIMIT:NEVER srq_limit srq1 is destroyed, and its srq_limit was never set
identifiers QP:RETRY:NONE connect_retry id[0-9]*: retry_count is 0
identifiers QP:RNR:INFINITE connect_rnr id[0-9]*: rnr_retry_count is 7
states DEVICE:PORT:UNASKED port qp1 uses a port of ctx1, whose state was not asked for
states DEVICE:LIMITS:UNASKED srq srq1: it is an SRQ, and ctx1 was not asked whether its device has that
requests WR:INLINE:UNASKED inline_unasked qp1: a request has 8 bytes of inline data, and the program asked for max_inline_data 0
processes MR:FORK:UNSAFE fork_unsafe mr1 is registered when the program forks, and ibv_fork_init\(\) was not called
states CQ:SIZE:DEPTH cq_depth cq1 has [0-9]* entries, and the queues that complete there have
END
CHECK=(--check=buffers)
seeds <<'END'
buffers WR:BUFFER:WRITTEN written qp1, wr_id 0x1: its buffer .* was written before its completion was polled
buffers WR:BUFFER:WRITTEN written_inline qp1, wr_id 0x1: its buffer .* was written before
buffers WR:BUFFER:UNMAPPED unmapped qp1, wr_id 0x1: its buffer .* was unmapped before
buffers WR:BUFFER:WRITTEN page_written qp1, wr_id 0x1: the device reads .*, which is written at 0x[0-9a-f]*388 before
buffers WR:BUFFER:WRITTEN shared_written qp[0-9], wr_id 0x1: the device reads .*, which is written at 0x[0-9a-f]*384 before
buffers WR:BUFFER:EARLY response_early qp1, wr_id 0x1: the device writes .*, which is read at 0x[0-9a-f]*388 before
buffers WR:BUFFER:EARLY receive_early qp2, wr_id 0x7: the device writes .*, which is read at 0x[0-9a-f]*388 before
buffers WR:BUFFER:EARLY shared_response qp1, wr_id 0x1: the device writes .*, which is read at 0x[0-9a-f]*388 before
buffers WR:BUFFER:EARLY shared_receive qp[0-9], wr_id 0x7: the device writes .*, which is read at 0x[0-9a-f]*384 before
buffers WR:BUFFER:EARLY srq_early srq1, wr_id 0x3: the device writes .*, which is read at 0x[0-9a-f]*005 before
buffers WR:BUFFER:EARLY receive_call qp2, wr_id 0x7: the device writes .*, which is read at 0x[0-9a-f]*388 before
buffers WR:BUFFER:EARLY receive_handler qp2, wr_id 0x7: the device writes .*, which is read at 0x[0-9a-f]*388 before
buffers WR:BUFFER:UNMAPPED receive_unmapped qp2, wr_id 0x7: the device writes .*, which is unmapped at 0x[0-9a-f]*000 before
buffers WR:BUFFER:UNMAPPED receive_moved qp2, wr_id 0x7: the device writes .*, which is unmapped at 0x[0-9a-f]*388 before
buffers WR:RECEIVE:OVERLAP overlap qp2: receive wr_id 0x2 has memory of wr_id 0x1, which is outstanding
END
# Nothing is lent where buffers are watched.
RDMAEMU_LEND=1 seeds <<'END'
buffers WR:BUFFER:EARLY response_early qp1, wr_id 0x1: the device writes .*, which is read at 0x[0-9a-f]*388 before
END
CHECK=(--check=polled)
seeds <<'END'
polled WR:WRITE:POLLED last_byte the CPU reads 0x[0-9a-f]*, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to .* is outstanding
polled WR:WRITE:POLLED shared_byte the CPU reads 0x[0-9a-f]*, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to .* is outstanding
polled WR:WRITE:POLLED other_message the CPU reads 0x[0-9a-f]*068, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:WRITE:POLLED written_out the CPU reads 0x[0-9a-f]*000, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:WRITE:POLLED passed_through the CPU reads 0x[0-9a-f]*068, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:WRITE:POLLED echo the CPU reads 0x[0-9a-f]*068, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:WRITE:POLLED call_of_thread the CPU reads 0x[0-9a-f]*068, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:WRITE:POLLED own_trap the CPU reads 0x[0-9a-f]*068, and the WRITE wr_id 0x6 of qp1 of process [0-9]* to
polled WR:ATOMIC:CPU counter the CPU writes 0x[0-9a-f]*068, and the atomic wr_id 0x6 of qp1 of process [0-9]* to
identifiers WR:WRITE:POLLED passive the CPU reads 0x[0-9a-f]*000, and the WRITE wr_id 0x2 of qp[12] to
END
# Each alone: a program has several of them at a time.
seeds each <<'END'
seeded MR:RIGHTS:UNUSED rights mr2 .* was registered with IBV_ACCESS_REMOTE_WRITE \| IBV_ACCESS_REMOTE_READ, and its peers have used IBV_ACCESS_REMOTE_WRITE
seeded QP:SQ:STUCK stuck qp1: ibv_post_send\(\) fails with ENOMEM: its 8 outstanding requests
requests WR:REMOTE:RACE race qp2, wr_id 0x2: a WRITE of .* meets the WRITE wr_id 0x1 of qp1, which is outstanding
processes WR:REMOTE:RACE process_race qp1, wr_id 0x8: a WRITE of .* meets the WRITE wr_id 0x6 of qp1 of process [0-9]*, which is outstanding
processes WR:RKEY:INVALID process_stale qp3, wr_id 0x9: remote memory .*: that was the key of mr2 .* of process [0-9]*, which is deregistered
processes QP:READS:PEER process_reads qp1 has max_rd_atomic 5, and its peer qp1 of process [0-9]* has max_dest_rd_atomic 4
processes QP:MTU:PEER process_mtu qp1 of process [0-9]* has a path MTU of 1024 bytes, and its peer qp1 of 512
performance QP:SIGNAL:EACH signal_each qp1: 256 signaled requests one after the other
performance WR:INLINE:UNUSED inline_unused qp1: 256 requests without IBV_SEND_INLINE, this one of 64 bytes
performance WR:PAYLOAD:UNALIGNED unaligned qp1: 256 data segments of 4096 bytes or more
performance WR:POST:SINGLE post_single qp2: 256 posts of one request each
processes CQ:POLL:CONTENDED contended cq2: 16 polls began while another thread polled it
performance CQ:POLL:SINGLE poll_single cq1: 256 polls for one completion
performance MR:REG:REPEATED registered memory that was registered before is registered again, 64 times
END
printf '%s\n' 'max_pkeys 4' 'pkeys 0xffff, 0x8001' >"$TEST_DIR/partitions.conf"
check "a device of two partitions" "$RDMAEMU" fabric start --fabric partitions --profile "$TEST_DIR/partitions.conf"
CHECK=(--fabric partitions --check)
seeds <<'END'
states QP:PKEY:PEER pkey qp2 has P_Key 0xffff, and its peer qp1 has 0x8001: each drops the packets of the other one
END
check "its end" "$RDMAEMU" fabric stop --fabric partitions
echo 'qp_cache 1' >"$TEST_DIR/cache.conf"
check "a device with one queue pair at hand" "$RDMAEMU" fabric start --fabric cache --profile "$TEST_DIR/cache.conf"
CHECK=(--fabric cache --check=QP:CACHE:EXCEEDED)
seeds <<'END'
performance QP:CACHE:EXCEEDED qp_cache qp2 is queue pair 2 of ctx1 that is in use, and its device keeps 1 at hand
END
check "its end" "$RDMAEMU" fabric stop --fabric cache
CHECK=(--check)
# The context, PD, channel, CQ, MR, and two QPs of one line, which a compiler may make two places of.
check "OBJECT:LEAK:EXIT: leak" seed seeded OBJECT:LEAK:EXIT leak "qp[12] exists when the program ends" "[67]"
check "leak: its twin" twin seeded leak

# Where the other process has posted its request, in its own stack.
other_stack() {
	limit "$RDMAEMU" run --check="$1" --check-exit 0 -- "$T/app_check_$2" "$3" wrong 2>&1 |
		sed -n "/^  $4\$/,/^  rule/p" | grep -q ' rc_serve (tests/lib/c/rc_side.c:'
}
check "WR:REMOTE:RACE: the stack of the other process" \
	other_stack WR:REMOTE:RACE processes process_race 'the other one posted'
check "WR:WRITE:POLLED: the stack of the other process" \
	other_stack WR:WRITE:POLLED polled other_message 'request posted'

# fields COMMAND... - the opcode of a failed completion is still there, as this command runs it: status 0 or 3
fields() {
	local status=0
	limit "$RDMAEMU" run "$@" -- "$T/app_check_states" fields wrong >/dev/null 2>&1 || status=$?
	echo $status
}
is "fields of a failed completion: as the device leaves them" "$(fields)" 0
is "with the check, a pattern" "$(fields --check='-WR:RKEY:INVALID')" 3
done_testing
