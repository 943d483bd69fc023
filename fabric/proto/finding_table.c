/* SPDX-License-Identifier: MIT */
/* The findings of the checker. docs/reference/checks.md has a section for each. */
#include "fabric/proto/finding.h"

/* Most findings have no group, and leave it out; clang takes that for an oversight. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

const struct finding_def finding_defs[FINDING_COUNT] = {
	[FINDING_AH_DESTROY_OUTSTANDING] = { "AH:DESTROY:OUTSTANDING", FINDING_ERROR,
					     "An address handle is destroyed that an outstanding "
					     "request uses",
					     "ibv_post_send(3), notes: address handles stay until "
					     "the completion was polled",
					     "Poll the completion of the request, or of a later "
					     "one of this queue, first" },
	[FINDING_CQ_EVENT_SURPLUS] = { "CQ:EVENT:SURPLUS", FINDING_ERROR,
				       "More completion events are acknowledged than were taken",
				       "ibv_get_cq_event(3): ibv_destroy_cq() waits until as many "
				       "are acknowledged as there were",
				       "Acknowledge one event for each successful "
				       "ibv_get_cq_event(), not one for each completion" },
	[FINDING_CQ_EVENT_UNACKED] = { "CQ:EVENT:UNACKED", FINDING_ERROR,
				       "A CQ is destroyed before its completion events are "
				       "acknowledged",
				       "ibv_get_cq_event(3): ibv_destroy_cq() waits for all events "
				       "to be acknowledged",
				       "Call ibv_ack_cq_events() for each event of "
				       "ibv_get_cq_event() first" },
	[FINDING_CQ_EVENT_UNREAD] = { "CQ:EVENT:UNREAD", FINDING_INFO,
				      "A CQ was armed, and nobody ever reads its channel",
				      "ibv_req_notify_cq(3): the notification is an event of the "
				      "channel",
				      "Read the channel by ibv_get_cq_event(), or do not arm the "
				      "CQ" },
	[FINDING_CQ_NOTIFY_LOST] = { "CQ:NOTIFY:LOST", FINDING_ERROR,
				     "A thread waits for an event of a CQ that nobody polled after "
				     "it was armed",
				     "ibv_get_cq_event(3), example: request notification, then "
				     "empty the CQ, then wait",
				     "Poll the CQ until it is empty between ibv_req_notify_cq() "
				     "and ibv_get_cq_event()" },
	[FINDING_CQ_POLL_CONTENDED] = { "CQ:POLL:CONTENDED", FINDING_INFO,
					"Threads often poll one CQ at the same time",
					"ibv_poll_cq(3): a CQ has a lock",
					"Give each thread a CQ of its own", "perf" },
	[FINDING_CQ_POLL_SINGLE] = { "CQ:POLL:SINGLE", FINDING_INFO,
				     "Completions that are there are polled one at a time",
				     "ibv_poll_cq(3), num_entries: several completions by one call",
				     "Poll with an array of several completions", "perf" },
	[FINDING_CQ_SIZE_DEPTH] = { "CQ:SIZE:DEPTH", FINDING_INFO,
				    "The queues of a CQ are together deeper than the CQ",
				    "ibv_create_cq(3): a CQ that overruns fails with "
				    "IBV_EVENT_CQ_ERR",
				    "Create the CQ with the sum of the depths of its queues, or "
				    "never post as much" },
	[FINDING_CQ_SIZE_OUTSTANDING] = { "CQ:SIZE:OUTSTANDING", FINDING_WARNING,
					  "More work requests are outstanding than their CQ has "
					  "entries",
					  "ibv_create_cq(3), IBTA 10.2.3.1: a CQ that overruns "
					  "fails with IBV_EVENT_CQ_ERR",
					  "Create the CQ with the sum of the depths of its queues, "
					  "or post less" },
	[FINDING_DEVICE_EVENT_UNREAD] = { "DEVICE:EVENT:UNREAD", FINDING_INFO,
					  "Asynchronous events were never read",
					  "ibv_get_async_event(3): errors of queues and ports are "
					  "told by such events only",
					  "Read the asynchronous events of each context, in a "
					  "thread or by poll(2) of async_fd" },
	[FINDING_DEVICE_LIMITS_UNASKED] = { "DEVICE:LIMITS:UNASKED", FINDING_INFO,
					    "A program uses what not every device has, without "
					    "asking",
					    "ibv_query_device(3): devices may have one data "
					    "segment, no atomics, no SRQ, no windows, no paging",
					    "Call ibv_query_device() or ibv_query_device_ex() "
					    "first, and heed the answer" },
	[FINDING_DEVICE_PORT_UNASKED] = { "DEVICE:PORT:UNASKED", FINDING_INFO,
					  "A queue pair is connected by a port whose state the "
					  "program never asked for",
					  "ibv_query_port(3): only a port in IBV_PORT_ACTIVE "
					  "carries packets",
					  "Call ibv_query_port(), and look at state, active_mtu "
					  "and link_layer" },
	[FINDING_ID_ACCEPT_DEPTH] = { "ID:ACCEPT:DEPTH", FINDING_WARNING,
				      "A connection is accepted with more READs than the peer "
				      "takes",
				      "rdma_accept(3), initiator_depth: at most that of the "
				      "connect request event",
				      "Take the smaller one of both values" },
	[FINDING_ID_ACCEPT_EMPTY] = { "ID:ACCEPT:EMPTY", FINDING_INFO,
				      "A connection is accepted before receives are posted",
				      "rdma_accept(3); ibv_modify_qp(3), rnr_retry",
				      "Post receives before rdma_accept(), unless the peer sends "
				      "nothing at first" },
	[FINDING_ID_DESTROY_QP] = { "ID:DESTROY:QP", FINDING_WARNING,
				    "An identifier is destroyed before its queue pair",
				    "rdma_destroy_id(3), notes: users must free any associated QP "
				    "first",
				    "Call rdma_destroy_qp() first" },
	[FINDING_ID_PRIVATE_LONG] = { "ID:PRIVATE:LONG", FINDING_WARNING,
				      "Private data is longer than other transports have",
				      "rdma_connect(3), notes: 56 bytes for RDMA_PS_TCP, 180 for "
				      "RDMA_PS_UDP",
				      "Send the rest in a message after the connection is made" },
	[FINDING_MR_DEREG_OUTSTANDING] = { "MR:DEREG:OUTSTANDING", FINDING_ERROR,
					   "Memory is deregistered that an outstanding send "
					   "request uses",
					   "ibv_post_send(3): buffers may be reused after the "
					   "request is fully executed",
					   "Poll the completion of the request, or of a later one "
					   "of this queue, first" },
	[FINDING_MR_DEREG_POSTED] = { "MR:DEREG:POSTED", FINDING_WARNING,
				      "Memory is deregistered that a posted receive request names",
				      "ibv_post_recv(3): buffers may be reused after the request "
				      "is fully executed",
				      "Move the queue pair to IBV_QPS_ERR or destroy it first" },
	[FINDING_MR_FORK_UNSAFE] = { "MR:FORK:UNSAFE", FINDING_INFO,
				     "A program forks with registered memory, and has not called "
				     "ibv_fork_init()",
				     "ibv_fork_init(3): without it a fork may corrupt registered "
				     "memory",
				     "Call ibv_fork_init() before anything else, or set "
				     "RDMAV_FORK_SAFE=1" },
	[FINDING_MR_REG_REPEATED] = { "MR:REG:REPEATED", FINDING_INFO,
				      "The same memory is registered again and again",
				      "ibv_reg_mr(3): registering pins pages and enters a system "
				      "call",
				      "Register memory once, keep its region, and reuse it",
				      "perf" },
	[FINDING_MR_RIGHTS_UNUSED] = { "MR:RIGHTS:UNUSED", FINDING_INFO,
				       "A region has remote rights that no peer has used",
				       "ibv_reg_mr(3), access: whoever has the rkey has all rights "
				       "of the region",
				       "Register the memory with the rights that its peers need, "
				       "and no others" },
	[FINDING_OBJECT_DESTROY_BUSY] = { "OBJECT:DESTROY:BUSY", FINDING_WARNING,
					  "An object is not destroyed, because others use it",
					  "ibv_dealloc_pd(3), ibv_destroy_cq(3): the call fails if "
					  "any other resource uses it",
					  "Destroy the other object first, and look at the result "
					  "of the call" },
	[FINDING_OBJECT_EVENT_UNACKED] = { "OBJECT:EVENT:UNACKED", FINDING_ERROR,
					   "An object is destroyed before its events are "
					   "acknowledged",
					   "ibv_get_async_event(3), rdma_destroy_id(3): the call "
					   "waits until all are acknowledged",
					   "Call ibv_ack_async_event() or rdma_ack_cm_event() for "
					   "each event first" },
	[FINDING_OBJECT_FORK_CHILD] = { "OBJECT:FORK:CHILD", FINDING_ERROR,
					"A child uses an object of its parent",
					"ibv_fork_init(3); fork(2): the mappings of queues and "
					"doorbells are not inherited (MADV_DONTFORK)",
					"Open the device in the child, or use verbs in one of both "
					"processes only, after the fork" },
	[FINDING_OBJECT_LEAK_EXIT] = { "OBJECT:LEAK:EXIT", FINDING_WARNING,
				       "Objects still exist when the program ends",
				       "the man page of the call that creates it names the one "
				       "that destroys it",
				       "Destroy the object" },
	[FINDING_OBJECT_THREAD_CONCURRENT] = { "OBJECT:THREAD:CONCURRENT", FINDING_ERROR,
					       "Two threads use an object at the same time that "
					       "has no locks",
					       "ibv_alloc_td(3), ibv_create_cq_ex(3), "
					       "IBV_CREATE_CQ_ATTR_SINGLE_THREADED: locks are "
					       "disabled",
					       "Use the object in one thread, protect it by a "
					       "mutex, or create it without the flag or thread "
					       "domain" },
	[FINDING_QP_CACHE_EXCEEDED] = { "QP:CACHE:EXCEEDED", FINDING_INFO,
					"More queue pairs are used than the device keeps at hand",
					"rdmaemu-profile(5), qp_cache: the state of other queue "
					"pairs is fetched from the host's memory",
					"Share connections between threads, or use datagrams, "
					"XRC, or fewer queue pairs for each peer",
					"perf" },
	[FINDING_QP_DESTROY_OUTSTANDING] = { "QP:DESTROY:OUTSTANDING", FINDING_WARNING,
					     "A QP is destroyed before the completions of its send "
					     "requests were polled",
					     "IBTA 10.2.4.4: outstanding work requests of a "
					     "destroyed QP may never be executed",
					     "Poll the completion of the last request, or move the "
					     "QP to IBV_QPS_ERR, first" },
	[FINDING_QP_DESTROY_UNFLUSHED] = { "QP:DESTROY:UNFLUSHED", FINDING_INFO,
					   "A QP in IBV_QPS_ERR is destroyed before its flushed "
					   "requests were polled",
					   "ibv_modify_qp(3), IBV_QPS_ERR: outstanding requests "
					   "complete with IBV_WC_WR_FLUSH_ERR",
					   "Poll the completions of all requests after "
					   "rdma_disconnect() or IBV_QPS_ERR, and then free what "
					   "they use" },
	[FINDING_QP_GID_PEER] = { "QP:GID:PEER", FINDING_ERROR,
				  "A queue pair has a GID of another type than its peer",
				  "ibv_query_gid_ex(3), gid_type; IBTA annex A17: a RoCE v2 packet "
				  "has other headers",
				  "Choose the sgid_index whose GID has the type that the peer "
				  "uses" },
	[FINDING_QP_MODIFY_INVALID] = { "QP:MODIFY:INVALID", FINDING_ERROR,
					"ibv_modify_qp() fails with EINVAL",
					"ibv_modify_qp(3), the tables of attributes; IBTA 11.2.5.2",
					"Set the attribute as described" },
	[FINDING_QP_MTU_PEER] = { "QP:MTU:PEER", FINDING_WARNING,
				  "A queue pair has a larger path MTU than its peer",
				  "ibv_modify_qp(3), path_mtu; IBTA 9.7.4.1.6: a packet above the "
				  "path MTU is an invalid request",
				  "Set the smaller MTU on both sides" },
	[FINDING_QP_PKEY_PEER] = { "QP:PKEY:PEER", FINDING_ERROR,
				   "Two connected queue pairs have partition keys that do not "
				   "match",
				   "ibv_modify_qp(3), pkey_index; IBTA 10.9.3: a packet whose "
				   "P_Key does not match is dropped silently",
				   "Take a pkey_index with the same partition on both sides, as a "
				   "full member on one of them" },
	[FINDING_QP_POST_STATE] = { "QP:POST:STATE", FINDING_ERROR,
				    "A request is posted to a queue pair whose state does not take "
				    "it",
				    "IBTA 10.3.1: sends are posted from IBV_QPS_RTS on, receives "
				    "from IBV_QPS_INIT on",
				    "Move the queue pair first, and look at the result of "
				    "ibv_modify_qp()" },
	[FINDING_QP_PSN_CONSTANT] = { "QP:PSN:CONSTANT", FINDING_INFO,
				      "A second queue pair starts with the same PSN",
				      "ibv_modify_qp(3), sq_psn; IBTA 9.7.1: late packets of an "
				      "earlier connection must not fit into a new one",
				      "Take a random sq_psn of 24 bits for each connection" },
	[FINDING_QP_QKEY_PEER] = { "QP:QKEY:PEER", FINDING_ERROR,
				   "A datagram has another Q_Key than its target",
				   "ibv_post_send(3), wr.ud.remote_qkey; IBTA 3.5.3, Q_Keys: a "
				   "datagram "
				   "with another Q_Key is dropped silently",
				   "Send the qkey that the target was given by ibv_modify_qp()" },
	[FINDING_QP_READS_PEER] = { "QP:READS:PEER", FINDING_WARNING,
				    "A queue pair may have more READs in flight than its peer "
				    "takes",
				    "ibv_modify_qp(3): max_rd_atomic as initiator, "
				    "max_dest_rd_atomic as destination",
				    "Set max_rd_atomic to at most the max_dest_rd_atomic of the "
				    "peer" },
	[FINDING_QP_RETRY_NONE] = { "QP:RETRY:NONE", FINDING_INFO, "A connection has no retries",
				    "ibv_modify_qp(3), retry_cnt",
				    "Set retry_cnt to 7, unless losses are meant to be fatal" },
	[FINDING_QP_RNR_INFINITE] = { "QP:RNR:INFINITE", FINDING_INFO,
				      "A connection waits indefinitely for receives of its peer",
				      "ibv_modify_qp(3), rnr_retry: 7 means infinite",
				      "Set rnr_retry below 7 to notice a peer that posts no "
				      "receives" },
	[FINDING_QP_RNR_LONGEST] = { "QP:RNR:LONGEST", FINDING_INFO,
				     "A connection has the longest RNR timer",
				     "ibv_modify_qp(3), min_rnr_timer: 0 means 655.36 ms",
				     "Set min_rnr_timer to 1 (0.01 ms) or above, such as 12 (0.64 "
				     "ms)" },
	[FINDING_QP_SIGNAL_EACH] = { "QP:SIGNAL:EACH", FINDING_INFO,
				     "Each send request is signaled, while others are outstanding",
				     "ibv_post_send(3), IBV_SEND_SIGNALED: one completion may "
				     "stand for all requests before it",
				     "Signal each tenth request or so, and the last one", "perf" },
	[FINDING_QP_SQ_STUCK] = { "QP:SQ:STUCK", FINDING_ERROR,
				  "The send queue is full of requests of which none will complete "
				  "visibly",
				  "ibv_post_send(3), IBV_SEND_SIGNALED: a place is free again "
				  "after a later completion",
				  "Set IBV_SEND_SIGNALED at least once in max_send_wr requests, "
				  "and poll" },
	[FINDING_QP_SQ_UNSIGNALED] = { "QP:SQ:UNSIGNALED", FINDING_WARNING,
				       "A send queue is full, and none of its requests is signaled",
				       "ibv_post_send(3), IBV_SEND_SIGNALED: a place is free again "
				       "after a later completion",
				       "Set IBV_SEND_SIGNALED at least once in max_send_wr "
				       "requests, and poll" },
	[FINDING_QP_TIMEOUT_INFINITE] = { "QP:TIMEOUT:INFINITE", FINDING_INFO,
					  "A connection has no timeout",
					  "ibv_modify_qp(3), timeout: 0 means infinite",
					  "Set timeout to 14 (67 ms), or what the network needs" },
	[FINDING_SRQ_LIMIT_NEVER] = { "SRQ:LIMIT:NEVER", FINDING_INFO,
				      "An SRQ is used without a limit",
				      "ibv_modify_srq(3), srq_limit: IBV_EVENT_SRQ_LIMIT_REACHED "
				      "tells that receives run short",
				      "Set srq_limit, and post receives when its event comes" },
	[FINDING_WC_FIELD_UNDEFINED] = { "WC:FIELD:UNDEFINED", FINDING_WARNING,
					 "A field of a failed completion is read, which is "
					 "undefined",
					 "ibv_poll_cq(3): other than wr_id, status, qp_num and "
					 "vendor_err no field is valid then",
					 "Look at status first, and keep what else is needed by "
					 "wr_id" },
	[FINDING_WC_STATUS_IGNORED] = { "WC:STATUS:IGNORED", FINDING_WARNING,
					"A program goes on posting after it has polled a failed "
					"completion",
					"ibv_poll_cq(3): status says whether the request was "
					"executed",
					"Look at the status of each completion, and connect again "
					"after a failure" },
	[FINDING_WR_ATOMIC_ALIGN] = { "WR:ATOMIC:ALIGN", FINDING_ERROR,
				      "The target of an atomic is not aligned",
				      "ibv_post_send(3), atomics; IBTA 9.4.5: the address is a "
				      "multiple of 8 bytes",
				      "Align the remote address of atomics to 8 bytes" },
	[FINDING_WR_ATOMIC_CPU] = { "WR:ATOMIC:CPU", FINDING_WARNING,
				    "The CPU writes memory to which an atomic of a peer is "
				    "outstanding",
				    "ibv_query_device(3), atomic_cap: IBV_ATOMIC_HCA is atomic "
				    "among "
				    "requests of one HCA, not with the CPU",
				    "Change the memory by atomics of a queue pair only, or ask for "
				    "IBV_ATOMIC_GLOB",
				    "polled" },
	[FINDING_WR_BUFFER_EARLY] = { "WR:BUFFER:EARLY", FINDING_ERROR,
				      "The buffer of an outstanding receive, READ or atomic is "
				      "used",
				      "ibv_post_recv(3), ibv_post_send(3), notes: buffers may be "
				      "used after the completion was polled",
				      "Poll the completion of the request first", "buffers" },
	[FINDING_WR_BUFFER_UNMAPPED] = { "WR:BUFFER:UNMAPPED", FINDING_ERROR,
					 "The buffer of an outstanding send is unmapped",
					 "ibv_post_send(3), notes: buffers may be reused after the "
					 "completion was polled",
					 "Poll the completion of the request, or of a later one of "
					 "this queue, first",
					 "buffers" },
	[FINDING_WR_BUFFER_WRITTEN] = { "WR:BUFFER:WRITTEN", FINDING_ERROR,
					"The buffer of an outstanding send is written",
					"ibv_post_send(3), notes: buffers may be reused after the "
					"completion was polled",
					"Poll the completion of the request first, or set "
					"IBV_SEND_INLINE",
					"buffers" },
	[FINDING_WR_FENCE_MISSING] = { "WR:FENCE:MISSING", FINDING_ERROR,
				       "A request sends memory to which an outstanding READ or "
				       "atomic writes",
				       "ibv_post_send(3), IBV_SEND_FENCE; IBTA 10.8.3.3, ordering "
				       "of work requests",
				       "Set IBV_SEND_FENCE, or poll the completion of the READ "
				       "first" },
	[FINDING_WR_ID_REPEATED] = { "WR:ID:REPEATED", FINDING_INFO,
				     "Two outstanding requests of a queue have the same wr_id",
				     "ibv_poll_cq(3): a failed completion is known by wr_id and "
				     "qp_num only",
				     "Give each outstanding request a wr_id of its own" },
	[FINDING_WR_IMM_ORDER] = { "WR:IMM:ORDER", FINDING_INFO,
				   "Immediate data seems to be in the byte order of the CPU",
				   "ibv_post_send(3), imm_data: in network byte order",
				   "Convert it by htonl(), and the imm_data of completions by "
				   "ntohl()" },
	[FINDING_WR_INLINE_UNASKED] = { "WR:INLINE:UNASKED", FINDING_INFO,
					"A request has more inline data than the program asked for",
					"ibv_create_qp(3), max_inline_data: a device gives at "
					"least "
					"the value of the call",
					"Request as much in ibv_create_qp(), or use at most what "
					"it returns" },
	[FINDING_WR_INLINE_UNUSED] = { "WR:INLINE:UNUSED", FINDING_INFO,
				       "Small messages are not sent inline",
				       "ibv_post_send(3), IBV_SEND_INLINE: the device need not "
				       "fetch the data, and the buffer is free at once",
				       "Set IBV_SEND_INLINE on sends and WRITEs of up to "
				       "max_inline_data bytes",
				       "perf" },
	[FINDING_WR_LKEY_INVALID] = { "WR:LKEY:INVALID", FINDING_ERROR,
				      "A work request fails with IBV_WC_LOC_PROT_ERR",
				      "ibv_post_send(3), IBTA 10.6.3.3: a data segment lies in one "
				      "region of the QP's PD",
				      "Register the memory, and keep it registered until the "
				      "request completes" },
	[FINDING_WR_PAYLOAD_UNALIGNED] = { "WR:PAYLOAD:UNALIGNED", FINDING_INFO,
					   "Large payloads do not start at a cache line",
					   "PCI Express: a read or write that crosses a boundary "
					   "takes one more transaction",
					   "Align buffers to 64 bytes", "perf" },
	[FINDING_WR_POST_INVALID] = { "WR:POST:INVALID", FINDING_ERROR,
				      "A request is refused, because it exceeds what the queue "
				      "pair was created with",
				      "ibv_post_send(3), ibv_post_recv(3); ibv_create_qp(3), "
				      "struct ibv_qp_cap",
				      "Ask for more in ibv_create_qp(), and use what it returns" },
	[FINDING_WR_POST_PARTIAL] = { "WR:POST:PARTIAL", FINDING_INFO,
				      "A list of requests was posted in part",
				      "ibv_post_send(3), bad_wr: requests before it were posted",
				      "Look at bad_wr, and wait for the requests that were posted "
				      "before it" },
	[FINDING_WR_POST_SINGLE] = { "WR:POST:SINGLE", FINDING_INFO,
				     "Requests that follow each other are posted one at a time",
				     "ibv_post_send(3), wr: a list, of which the device is told "
				     "once",
				     "Chain the requests by next, and post them by one call",
				     "perf" },
	[FINDING_WR_RECEIVE_OVERLAP] = { "WR:RECEIVE:OVERLAP", FINDING_WARNING,
					 "Two outstanding receives have the same memory",
					 "ibv_post_recv(3), notes: buffers may be reused after the "
					 "completion was polled",
					 "Give each outstanding receive a buffer of its own",
					 "buffers" },
	[FINDING_WR_RECEIVE_SHORT] = { "WR:RECEIVE:SHORT", FINDING_ERROR,
				       "A message is longer than the receive that takes it",
				       "ibv_post_recv(3); IBTA 9.7.4.1.7: a message that exceeds "
				       "its receive is an invalid request",
				       "Post receives as long as the longest message of the peer" },
	[FINDING_WR_RECEIVE_TIGHT] = { "WR:RECEIVE:TIGHT", FINDING_INFO,
				       "A message of no fixed length has nearly filled its receive",
				       "ibv_post_recv(3); IBTA 9.7.4.1.7: a message that exceeds "
				       "its receive is an invalid request",
				       "Post receives as long as the longest message that the peer "
				       "may send" },
	[FINDING_WR_REMOTE_RACE] = { "WR:REMOTE:RACE", FINDING_WARNING,
				     "Two requests access the same remote memory, and nothing "
				     "orders them",
				     "IBTA 9.5, ordering of transactions: only those of one queue "
				     "pair are ordered",
				     "Poll the completion of one before the other is posted, or "
				     "send a message after it that the other one waits for",
				     "races" },
	[FINDING_WR_RKEY_INVALID] = { "WR:RKEY:INVALID", FINDING_ERROR,
				      "A work request fails with IBV_WC_REM_ACCESS_ERR",
				      "ibv_reg_mr(3), IBTA 10.6.3.3: remote memory lies in one "
				      "region with the right",
				      "Give the peer the current key, and keep the region until "
				      "the peer has finished" },
	[FINDING_WR_RNR_EXCEEDED] = { "WR:RNR:EXCEEDED", FINDING_ERROR,
				      "A message finds no receive, and its retries are used up",
				      "ibv_modify_qp(3), rnr_retry; IBTA 9.7.5.2.8, receiver not "
				      "ready",
				      "Let the peer post receives before messages are sent, or "
				      "count them (credits)" },
	[FINDING_WR_RNR_SAVED] = { "WR:RNR:SAVED", FINDING_WARNING,
				   "A message finds no receive, and only its retries save it",
				   "ibv_modify_qp(3), rnr_retry and min_rnr_timer; IBTA 9.7.5.2.8, "
				   "receiver not ready",
				   "Post receives before the peer may send, or count them "
				   "(credits)" },
	[FINDING_WR_SEND_EARLY] = { "WR:SEND:EARLY", FINDING_INFO,
				    "A message is sent before its peer has posted a receive for it",
				    "ibv_modify_qp(3), rnr_retry and min_rnr_timer: a message "
				    "without a receive is retried, and then fails",
				    "Count receives (credits), or let the peer say when it has "
				    "posted them" },
	[FINDING_WR_WRITE_POLLED] = { "WR:WRITE:POLLED", FINDING_WARNING,
				      "The CPU uses memory to which a peer's WRITE is outstanding",
				      "IBTA 9.5: the contents of a WRITE's target are defined "
				      "after a "
				      "later message has completed there",
				      "Send a message after the WRITE, or WRITE with immediate, "
				      "and "
				      "use the memory after its receive was polled",
				      "polled" },
};
