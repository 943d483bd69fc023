/* SPDX-License-Identifier: MIT */
/** DOC: the checks, on the objects that object.h describes. */
#ifndef LIBTAP_CHECK_CHECKS_H
#define LIBTAP_CHECK_CHECKS_H

#include "libtap/check/object.h"

struct pollfd;

/* --- asked.c --- */

/** check_asked_context() - the program has asked the device for what it has, or for a port. */
void check_asked_context(const struct tap_call *c);
/** check_asked_need() - an object needs what a device may not have: "it is an SRQ". */
void check_asked_need(const struct check_obj *user, const char *what);
/** check_asked_port() - a queue pair gets a port. */
void check_asked_port(const struct check_obj *qp);
/** check_asked_qp_begin(), check_asked_qp_end() - around a call that creates a queue pair. */
void check_asked_qp_begin(struct tap_call *c, const void *attr);
void check_asked_qp_end(const struct tap_call *c, const struct ibv_qp *qp);
/** check_asked_inline() - a send with inline data is posted. */
void check_asked_inline(const struct check_obj *qp, u64 bytes);

/* --- peer.c --- */

/** check_peer_connected() - a queue pair is connected. */
void check_peer_connected(struct check_obj *qp);
/** check_peer_receive() - it gets a receive. */
void check_peer_receive(struct check_obj *qp, u64 wr_id);
/** check_peer_handle() - an address handle was created. */
void check_peer_handle(struct check_obj *ah, const struct ibv_ah_attr *attr);
/** check_peer_datagram() - a datagram is posted to that address. */
void check_peer_datagram(const struct check_obj *qp, u64 wr_id, const struct ibv_ah *ibah, u32 qpn,
			 u32 qkey);
/** check_peer_refused() - a post of sends has failed. */
void check_peer_refused(struct check_obj *qp);
/** check_peer_explain() - why a request was refused by its target, in another process. */
void check_peer_explain(struct check_obj *qp, const struct check_wr *wr);
/** check_peer_send() - a send request is posted. */
void check_peer_send(struct check_obj *qp, u64 wr_id, u32 opcode);

/* --- race.c --- */

/** check_race_posted() - a send request has its data segments, and is about to be posted. */
void check_race_posted(struct check_obj *qp, struct check_wr *wr);
/**
 * check_race_find_use() - find an outstanding WRITE or atomic of a peer to bytes of a region that
 * the CPU uses, and that nobody can know to be executed. For fault handlers, too.
 */
bool check_race_find_use(u64 addr, u64 len, u32 rkey, bool write, struct check_use *found);
/** check_race_done() - it leaves its queue; check_race_withdrawn(): it was refused. */
void check_race_done(const struct check_obj *qp, const struct check_wr *wr);
void check_race_withdrawn(const struct check_obj *qp, const struct check_wr *wr);
/** check_race_failed() - the queue pair executes nothing any more. */
void check_race_failed(const struct check_obj *qp);
/** check_race_arrived() - the receive of a message was polled, under the lock of the queue pair. */
void check_race_arrived(struct check_obj *qp);
/** check_race_arrive_unseen() - its messages arrive, and the checker does not see it. */
void check_race_arrive_unseen(struct check_obj *qp);

/* --- rights.c --- */

/** check_rights_needed() - a send request is about to be posted. */
void check_rights_needed(struct check_obj *qp, const struct check_wr *wr);
/** check_rights_judge() - a region is about to be forgotten. */
void check_rights_judge(const struct check_obj *mr);
/** check_rights_finish() - the program ends: judge those that exist. */
void check_rights_finish(void);

/* --- request.c --- */

/** check_request_target() - a request is posted that accesses remote memory at @addr. */
void check_request_target(const struct check_obj *qp, u64 wr_id, u32 opcode, u64 addr);
/** check_request_state() - whether the queue pair takes such requests; it is not locked. */
void check_request_state(struct check_obj *qp, bool send);
/** check_request_fence() - @wr is about to be added. @fence: it waits for READs */
void check_request_fence(const struct check_obj *qp, const struct check_wr *wr, bool fence);
/** check_request_id() - @wr was added. */
void check_request_id(const struct check_obj *qp, const struct check_queue *q,
		      const struct check_wr *wr);
/** check_request_imm() - a request is posted, maybe with immediate data. */
void check_request_imm(struct check_obj *qp, u64 wr_id, u32 opcode, u32 imm);
/** check_request_unsignaled() - send requests were posted. */
void check_request_unsignaled(struct check_obj *qp);
/** check_request_refused() - say why a post has failed. */
void check_request_refused(const struct check_obj *qp, const struct tap_post *p);
/** check_request_ignores() - a request is posted, maybe after others have failed. */
void check_request_ignores(const struct check_obj *qp, struct check_queue *q);

/** check_request_bytes() - the length of @n data segments. */
u64 check_request_bytes(const struct ibv_sge *sge, int n);
/** check_request_reads_memory() - whether a send of this opcode reads its data segments. */
bool check_request_reads_memory(u32 opcode);
/** check_request_overlaps() - whether two requests have memory in common. */
bool check_request_overlaps(const struct check_wr *a, const struct check_wr *b);
/**
 * check_request_find_overlap() - find another request of a queue that has memory of @wr.
 * @reads: only among READs and atomics
 * Return: NULL: none.
 */
const struct check_wr *check_request_find_overlap(const struct check_queue *q,
						  const struct check_wr *wr, bool reads);

/* --- buffer.c --- */

/** check_buffer_owned() - a send has its data segments, and is about to be posted. */
void check_buffer_owned(struct check_wr *wr);
/** check_buffer_spare_targets() - no guards for shared memory of a send that a device may write. */
void check_buffer_spare_targets(struct check_wr *wr);
/** check_buffer_returned() - its completion, or that of a later one, is polled. */
void check_buffer_returned(const struct check_obj *qp, const struct check_wr *wr);
/** check_buffer_target() - the device may write to these segments. */
void check_buffer_target(const struct tap_obj *ctx, const struct ibv_sge *sge, size_t n);
/** check_buffer_receive() - a receive was added. */
void check_buffer_receive(const struct check_obj *qp, const struct check_wr *wr);

/* --- shared_queue.c --- */

/** check_srq_new() - an SRQ was created, whose receives can be followed. */
void check_srq_new(struct check_obj *srq);
/** check_srq_posted() - receives are about to be posted to it. */
void check_srq_posted(struct check_obj *srq, const struct ibv_recv_wr *wr, check_stack stack);
/**
 * check_srq_completed() - a completion of a queue pair was polled, which may have an SRQ.
 * @known: it is that of a receive; else it may be of a send
 */
void check_srq_completed(const struct check_obj *qp, u64 wr_id, bool known);
/** check_srq_lose() - which of its receives are outstanding is not known any more. */
void check_srq_lose(struct check_obj *srq);
/** check_srq_gone() - it is about to be forgotten. */
void check_srq_gone(struct check_obj *srq);

/* --- performance.c --- */

/** check_performance_break() - a call ends a run of posts or polls of this thread. */
void check_performance_break(void);
/** check_performance_added() - a send request was added to its queue. */
void check_performance_added(struct check_obj *qp, const struct check_wr *wr);
/** check_performance_unused() - the queue pair is reset, or about to be forgotten. */
void check_performance_unused(struct check_obj *qp);
/** check_performance_payload() - it has data segments, and reads them. */
void check_performance_payload(struct check_obj *qp, const struct check_wr *wr);
/** check_performance_post() - a post has begun, of one request or of several. */
void check_performance_post(const struct check_obj *qp, bool single);
/** check_performance_poll() - a poll with room for @room completions has @found as many. */
void check_performance_poll(const struct check_obj *cq, int room, int found);
/** check_performance_contended() - a poll has begun while another thread polls. */
void check_performance_contended(struct check_obj *cq);
/** check_performance_registered() - a region was registered. */
void check_performance_registered(const struct check_obj *mr);

/* --- post.c --- */

enum tap_verdict check_post_begin(struct tap_post *p);
void check_post_end(struct tap_post *p);
void check_wr_call(struct tap_obj *o, struct ibv_qp_ex *ex, const struct tap_wr_op *op);
void check_wr_batch_end(struct tap_batch *b);
/** check_post_sends_of_thread() - how often this thread has posted sends. */
u64 check_post_sends_of_thread(void);

/* --- completion.c --- */

/** check_completion() - the program gets a completion of @cq. */
void check_completion(struct check_obj *cq, const struct ibv_wc *wc);

/* --- field.c --- */

/** check_field_spoil() - overwrite what a failed completion leaves undefined. */
void check_field_spoil(struct ibv_wc *wc);
/** check_field_hide() - the current entry of an extended CQ is a failed one. */
void check_field_hide(struct check_obj *cq, struct ibv_cq_ex *ex);
/** check_field_show() - it is another one, or there is none. */
void check_field_show(struct check_obj *cq, struct ibv_cq_ex *ex);

/* --- ending.c --- */

/** check_qp_ending(), check_mr_ending(), check_ah_ending() - before one is destroyed. */
void check_qp_ending(const void *qp);
void check_mr_ending(const void *mr);
void check_ah_ending(const void *ah);
/** check_busy() - a call has failed to destroy an object, which others use. */
void check_busy(enum vobj kind, const void *obj);

/* --- event.c --- */

enum tap_verdict check_cq_begin(struct tap_cqop *p);
void check_cq_end(struct tap_cqop *p);
/** check_cq_polled() - a poll has ended. @emptied: it has found less than it could have returned */
void check_cq_polled(const struct tap_obj *cq, bool emptied);
/** check_cq_ending() - before a CQ is destroyed. */
void check_cq_ending(const void *cq);
/** check_srq_limited() - ibv_modify_srq() has succeeded; check_srq_ending(): before its end. */
void check_srq_limited(const struct tap_call *c);
void check_srq_ending(const void *srq);
/**
 * check_context_ending() - before a context is closed, or a queue pair destroyed, whose events go
 * with it; check_contexts_ending(): the program ends.
 */
void check_context_ending(const void *ctx);
void check_contexts_ending(void);
/** check_async_event() - an asynchronous event was taken (@by 1), or acknowledged (-1). */
void check_async_event(const struct ibv_async_event *event, int by);
/** check_cm_event() - the same of the rdma_cm. */
void check_cm_event(const struct rdma_cm_event *event, int by);
/** check_events_ending() - before an object is destroyed that may have such events. */
void check_events_ending(enum vobj kind, const void *obj);

/** check_cq_is_suspect() - this thread has armed a CQ that was polled, and not emptied it since. */
bool check_cq_is_suspect(const struct check_obj *c);
/** check_cq_report_lost() - it waits for that CQ now. */
void check_cq_report_lost(struct check_obj *c);

/* --- wait.c --- */

/** check_wait() - a thread is about to wait for descriptors. */
void check_wait(const struct pollfd *fds, size_t n);

/* --- modify.c --- */

/** check_modify_failed() - say why ibv_modify_qp() has returned EINVAL. */
void check_modify_failed(const struct tap_call *c);

/* --- identifier.c --- */

/** check_id_event() - the program has taken an event. */
void check_id_event(const struct rdma_cm_event *event);
/** check_id_connecting() - before rdma_connect(). @param: may be NULL */
void check_id_connecting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param);
/** check_id_accepting() - before rdma_accept(). @param: may be NULL */
void check_id_accepting(const struct rdma_cm_id *cm_id, const struct rdma_conn_param *param);
/** check_id_ending() - before rdma_destroy_id(). */
void check_id_ending(const struct rdma_cm_id *cm_id);

/* --- attribute.c --- */

/** check_modify_done() - ibv_modify_qp() has succeeded. */
void check_modify_done(const struct tap_call *c);
/** check_modify_fork() - in a child: it has no queue pairs yet. */
void check_modify_fork(void);

#endif
