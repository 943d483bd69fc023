/* SPDX-License-Identifier: MIT */
/* The latest work requests of a queue pair. See request_log.h. */
#include "libtap/users/request_log.h"
#include "fabric/proto/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PLACES_MAX   4096u
#define REQUEST_RECV 0xffffffffu

bool request_log_enabled;

void request_log_start(void)
{
	const char *keep = getenv(PROTO_REAL_REQUESTS_ENV);

	request_log_enabled = keep && !strcmp(keep, "1");
}

/* --- rings --- */

static void ring_make(struct request_ring *r, u32 granted)
{
	u64 places = 1;

	while (places < granted && places < PLACES_MAX)
		places *= 2;
	r->entry = granted ? calloc(places, sizeof(*r->entry)) : NULL;
	r->mask = places - 1;
}

void request_log_make(struct request_log *l, const struct ibv_qp_cap *cap)
{
	request_log_free(l);
	if (!request_log_enabled)
		return;
	ring_make(&l->sends, cap->max_send_wr);
	ring_make(&l->recvs, cap->max_recv_wr);
}

void request_log_free(struct request_log *l)
{
	free(l->sends.entry);
	free(l->recvs.entry);
	*l = (struct request_log){ .sends = { .entry = NULL } };
}

/* --- posting --- */

/* A request fails long after it was posted, so the kernel's tick is exact enough. */
static u64 request_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (u64)ts.tv_sec * 1000000000u + (u64)ts.tv_nsec;
}

static void entry_store(struct request_entry *to, const struct request_entry *e)
{
	store_relaxed(&to->wr_id, e->wr_id);
	store_relaxed(&to->when, e->when);
	store_relaxed(&to->bytes, e->bytes);
	store_relaxed(&to->remote, e->remote);
	store_relaxed(&to->keys, e->keys);
	store_relaxed(&to->shape, e->shape);
}

/* Threads that post to one queue pair at once may overwrite each other's entry. */
static void ring_add(struct request_ring *r, const struct request_entry *e)
{
	u64 n = load_relaxed(&r->posted);

	entry_store(&r->entry[n & r->mask], e);
	store_relaxed(&r->posted, n + 1);
}

static void send_keys(const struct ibv_send_wr *wr, struct request_entry *e)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		e->remote = wr->wr.rdma.remote_addr;
		e->keys |= (u64)wr->wr.rdma.rkey << 32;
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		e->remote = wr->wr.atomic.remote_addr;
		e->keys |= (u64)wr->wr.atomic.rkey << 32;
		break;
	default:
		break;
	}
}

static void log_sends(struct request_ring *r, const struct ibv_send_wr *wr)
{
	struct request_entry e = { .when = request_now() };

	for (; wr; wr = wr->next) {
		e.wr_id = wr->wr_id;
		e.bytes = sges_bytes(wr->sg_list, wr->num_sge);
		e.remote = 0;
		e.keys = wr->num_sge && !(wr->send_flags & IBV_SEND_INLINE) ? wr->sg_list->lkey : 0;
		e.shape = wr->opcode | (u64)wr->num_sge << 32;
		send_keys(wr, &e);
		ring_add(r, &e);
	}
}

static void log_receives(struct request_ring *r, const struct ibv_recv_wr *wr)
{
	struct request_entry e = { .when = request_now() };

	for (; wr; wr = wr->next) {
		e.wr_id = wr->wr_id;
		e.bytes = sges_bytes(wr->sg_list, wr->num_sge);
		e.keys = wr->num_sge ? wr->sg_list->lkey : 0;
		e.shape = REQUEST_RECV | (u64)wr->num_sge << 32;
		ring_add(r, &e);
	}
}

void request_log_post(struct request_log *l, const struct tap_post *p)
{
	if (p->queue == TAP_SEND && l->sends.entry)
		log_sends(&l->sends, p->send);
	else if (p->queue == TAP_RECV && l->recvs.entry)
		log_receives(&l->recvs, p->recv);
}

/* The request that the batch's latest opcode has begun gets entries. */
static void batch_add_entries(struct request_ring *r, u64 n, u64 bytes, u32 lkey)
{
	struct request_entry *last = &r->entry[(load_relaxed(&r->posted) - 1) & r->mask];

	store_relaxed(&last->bytes, bytes);
	store_relaxed(&last->shape, (load_relaxed(&last->shape) & 0xffffffffu) | n << 32);
	store_relaxed(&last->keys, (load_relaxed(&last->keys) & ~(u64)0xffffffffu) | lkey);
}

static u64 buffers_bytes(const struct ibv_data_buf *buf, size_t n)
{
	u64 bytes = 0;

	while (n--)
		bytes += buf++->length;
	return bytes;
}

void request_log_wr(struct request_log *l, const struct ibv_qp_ex *ex, const struct tap_wr_op *op)
{
	struct request_ring *r = &l->sends;

	if (!r->entry)
		return;
	switch (op->what) {
	case TAP_WR_OP:
		ring_add(r, &(struct request_entry){ .wr_id = ex->wr_id,
						     .when = request_now(),
						     .bytes = op->len,
						     .remote = op->addr,
						     .keys = (u64)op->key << 32,
						     .shape = op->opcode });
		break;
	case TAP_WR_SGE:
	case TAP_WR_SGE_LIST:
		batch_add_entries(r, op->n, sges_bytes(op->sge, (int)op->n),
				  op->n ? op->sge->lkey : 0);
		break;
	case TAP_WR_INLINE:
	case TAP_WR_INLINE_LIST:
		batch_add_entries(r, op->n, buffers_bytes(op->buf, op->n), 0);
		break;
	default:
		break;
	}
}

/* --- finding --- */

/** struct request_match - @n requests of a wr_id. @first, @last: their ordinals, from 1 */
struct request_match {
	struct request_entry e;
	u64 n;
	u64 first, last;
	u64 oldest, newest; /* times */
	bool shapes_differ, sizes_differ, keys_differ;
};

static void match_add(struct request_match *m, const struct request_entry *at, u64 ordinal)
{
	struct request_entry e = { .when = load_relaxed(&at->when),
				   .bytes = load_relaxed(&at->bytes),
				   .remote = load_relaxed(&at->remote),
				   .keys = load_relaxed(&at->keys),
				   .shape = load_relaxed(&at->shape) };

	if (!m->n++) {
		m->e = e;
		m->last = ordinal;
		m->newest = e.when;
	}
	m->first = ordinal;
	m->oldest = e.when;
	m->shapes_differ |= e.shape != m->e.shape;
	m->sizes_differ |= e.bytes != m->e.bytes;
	m->keys_differ |= e.keys != m->e.keys || e.remote != m->e.remote;
}

/* From the newest one on. */
static void ring_find(const struct request_ring *r, u64 wr_id, struct request_match *m)
{
	u64 posted = load_relaxed(&r->posted), i;

	for (i = posted; r->entry && i > 0 && posted - i <= r->mask; i--)
		if (load_relaxed(&r->entry[(i - 1) & r->mask].wr_id) == wr_id)
			match_add(m, &r->entry[(i - 1) & r->mask], i);
}

/** struct request_text - a text that is being written; it is truncated to its buffer. */
struct request_text {
	char *at;
	size_t left;
};

static void __attribute__((format(printf, 2, 3)))
text_add(struct request_text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= t->left)
		n = (int)t->left - 1;
	t->at += n;
	t->left -= (size_t)n;
}

static void text_match(struct request_text *t, const struct request_match *m)
{
	const u64 now = request_now(), newest = now - m->newest, oldest = now - m->oldest;
	const u64 ms = 1000000;
	const u32 lkey = (u32)m->e.keys, rkey = (u32)(m->e.keys >> 32);

	if (!m->sizes_differ)
		text_add(t, "bytes=%llu ", (unsigned long long)m->e.bytes);
	text_add(t, "entries=%u ", (u32)(m->e.shape >> 32));
	if (!m->keys_differ && lkey)
		text_add(t, "lkey=0x%x ", lkey);
	if (!m->keys_differ && rkey)
		text_add(t, "rkey=0x%x addr=0x%llx ", rkey, (unsigned long long)m->e.remote);
	text_add(t, "post=%llu", (unsigned long long)m->first);
	if (m->n > 1)
		text_add(t, "..%llu", (unsigned long long)m->last);
	text_add(t, " age=%llu", (unsigned long long)(newest / ms));
	if (oldest / ms != newest / ms)
		text_add(t, "..%llu", (unsigned long long)(oldest / ms));
	text_add(t, "ms");
}

/* Whether only a requester's completion has this status. */
static bool status_is_of_send(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_MW_BIND_ERR:
	case IBV_WC_BAD_RESP_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return true;
	default:
		return false;
	}
}

bool request_log_find(const struct request_log *l, u64 wr_id, enum ibv_wc_status status,
		      struct request_found *found, char *text, size_t size)
{
	struct request_match sends = { .n = 0 }, recvs = { .n = 0 }, *m = &sends;
	struct request_text t = { text, size };

	*text = '\0';
	ring_find(&l->sends, wr_id, &sends);
	if (!status_is_of_send(status))
		ring_find(&l->recvs, wr_id, &recvs);
	if (recvs.n)
		m = &recvs;
	/* Both sides may use the same wr_id, and the completion does not tell its side. */
	if (!m->n || (sends.n && recvs.n) || m->shapes_differ)
		return false;
	*found = (struct request_found){ .recv = m == &recvs,
					 .opcode = (u32)m->e.shape,
					 .bytes = m->e.bytes };
	text_match(&t, m);
	return true;
}
