/* SPDX-License-Identifier: MIT */
/**
 * DOC: copies through the helper thread of a client, whose memory the kernel keeps all others out
 * of.
 *
 * Each client has one job slot and one bounce buffer in its segment. A job moves at most a buffer
 * full between the bounce buffer and the client's memory; the helper thread carries it out and
 * kicks the fabric process. A copy is therefore a number of rounds, and a round has up to two jobs:
 * read at the source, write at the destination. A side that the fabric process can reach needs no
 * job.
 *
 * The engine cannot wait: the copy returns -EAGAIN, and its QP is remembered and rung when a helper
 * has finished. The QP then asks for the same copy again, with the same key, and struct xfer knows
 * its progress. A transfer takes all the helpers that it needs for a round at once, so that no two
 * transfers wait for each other's. A stopped client only takes long; the transfers of a client that
 * dies end with it (helper_client_freed()).
 *
 * The state that a client writes into the job is not trusted: it only makes the transfer go on.
 */
#include "fabric/server/server.h"
#include "fabric/core/memory.h"
#include "fabric/link/link.h"

#include <errno.h>
#include <unistd.h>

/* The owner of a copy: the requester that runs, or a flow of the links. */
static u32 xfer_slot(struct fabric *f)
{
	return f->hca->cur_qp ? f->hca->cur_qp - 1 : HCA_MAX_QP + link_flow(f);
}

static void xfer_release_helper(struct client **cl)
{
	if (*cl)
		(*cl)->xfer = NULL;
	*cl = NULL;
}

static void xfer_end(struct fabric *f, struct xfer *x)
{
	xfer_release_helper(&x->src);
	xfer_release_helper(&x->dst);
	x->used = false;
	if (f->wait.n)
		wait_ring_all(f);
}

/*
 * Whether no one will ask for it again: its QP has gone, has failed, or drains and does not begin
 * the request that it was for.
 */
static bool xfer_is_stale(const struct fabric *f, const struct xfer *x)
{
	const struct hca_qp *qp;

	if (x->slot >= HCA_MAX_QP)
		return !link_flow_waits(f, x->slot - HCA_MAX_QP);
	qp = &f->hca->qp[x->slot];
	if (!qp->client || qp->qpn != x->qpn)
		return true;
	if (qp->state == QPS_SQD)
		return (s32)(qp->req.sent - qp->req.next) <= 0;
	return qp->state != QPS_RTS;
}

/*
 * The transfer @key, or a new one; NULL: there are too many. A QP has one transfer at a time: an
 * earlier one was abandoned (the program changed the request), and must not keep its helpers.
 */
static struct xfer *xfer_get(struct fabric *f, const struct xfer *want)
{
	struct xfer *x, *place = NULL;

	for (x = f->server->xfer; x < f->server->xfer + MAX_XFERS; x++) {
		if (x->used && x->key == want->key && x->slot == want->slot &&
		    x->qpn == want->qpn && x->len == want->len && x->doff == want->doff &&
		    x->soff == want->soff)
			return x;
		if (x->used && x->slot == want->slot)
			xfer_end(f, x);
		if (!place && (!x->used || xfer_is_stale(f, x)))
			place = x;
	}
	if (!place)
		return NULL;
	if (place->used)
		xfer_end(f, place);
	*place = *want;
	place->used = true;
	return place;
}

/*
 * Take the helper of client @id for @x alone, into *held. Return: false: it is busy or not ready.
 */
static bool xfer_take_helper(struct fabric *f, struct xfer *x, u32 id, struct client **held)
{
	struct client *cl = f->clients.by_id[id];

	if (!cl || cl->helper_fd < 0)
		return false;
	if (cl->xfer == x) {
		*held = cl;
		return true;
	}
	if (cl->xfer && !xfer_is_stale(f, cl->xfer))
		return false;
	/* It may still carry out a job of a transfer that was abandoned. */
	if (load_acquire(&cl->seg->job.state) == HELPER_BUSY)
		return false;
	if (cl->xfer)
		xfer_end(f, cl->xfer);
	cl->xfer = x;
	*held = cl;
	return true;
}

/* Have the helper copy @len bytes of @mem at @off to or from its bounce buffer. */
static void helper_job_post(struct fabric *f, struct client *cl, bool write_it,
			    const struct hca_mem *mem, u64 off, u64 len, u64 key)
{
	struct helper_job *job = &cl->seg->job;
	u32 i, n = 0;
	u64 take;
	int ret;

	for (i = 0; i < mem->n && n < ARRAY_SIZE(job->iov) && len; i++) {
		if (off >= mem->iov[i].len) {
			off -= mem->iov[i].len;
			continue;
		}
		take = min_u64(len, mem->iov[i].len - off);
		job->iov[n].addr = iov_at(&mem->iov[i], off);
		job->iov[n++].len = take;
		len -= take;
		off = 0;
	}
	job->n = n;
	job->write = write_it;
	job->key = key;
	job->result = 0;
	store_release(&job->state, HELPER_BUSY);
	ret = eventfd_signal(&f->server->signaller, cl->helper_fd);
	if (ret)
		fabric_note(f, "helper of client %u: %s", cl->id, strerror(-ret));
}

/* The bounce buffer of @cl as memory. */
static struct hca_mem helper_bounce_mem(const struct client *cl)
{
	return (struct hca_mem){ .client = cl->id,
				 .kind = MEM_SEG,
				 .n = 1,
				 .iov = { { offsetof(struct seg_hdr, bounce), SEG_BOUNCE_SIZE } } };
}

/* Return: the result of a job that the helper has finished, or -EAGAIN. */
static int helper_job_result(struct client *cl)
{
	struct helper_job *job = &cl->seg->job;

	if (load_acquire(&job->state) != HELPER_DONE)
		return -EAGAIN;
	return load_relaxed(&job->result) ? -EFAULT : 0;
}

static void xfer_round_done(struct xfer *x, u64 n)
{
	if (x->src)
		store_release(&x->src->seg->job.state, HELPER_IDLE);
	if (x->dst)
		store_release(&x->dst->seg->job.state, HELPER_IDLE);
	xfer_release_helper(&x->src);
	xfer_release_helper(&x->dst);
	x->off += n;
	x->phase = XFER_START;
}

/* Pass the bytes of this round, from the source's buffer or memory, to the destination. */
static int xfer_deliver(struct fabric *f, struct xfer *x, const struct hca_mem *dst,
			const struct hca_mem *src, u64 n)
{
	struct hca_mem from = x->src ? helper_bounce_mem(x->src) : *src, to;
	u64 at = x->src ? 0 : x->soff + x->off;
	int ret = 0;

	if (!x->dst && memory_needs_helper(f, dst, x->doff + x->off, n)) {
		/* Lent when the round began, and not any more: begin again, with the helper. */
		xfer_round_done(x, 0);
		return 0;
	}
	if (!x->dst) {
		ret = memory_copy(f, dst, x->doff + x->off, &from, at, n);
		if (!ret)
			xfer_round_done(x, n);
		return ret;
	}
	if (x->src != x->dst) {
		to = helper_bounce_mem(x->dst);
		ret = memory_copy(f, &to, 0, &from, at, n);
	}
	if (ret)
		return ret;
	helper_job_post(f, x->dst, true, dst, x->doff + x->off, n, x->key);
	x->phase = XFER_WRITE;
	return 0;
}

/* One step of a round. Return: 0 to go on, -EAGAIN to wait, or the copy's error. */
static int xfer_step(struct fabric *f, struct xfer *x, const struct hca_mem *dst,
		     const struct hca_mem *src)
{
	u64 n = min_u64(x->len - x->off, SEG_BOUNCE_SIZE);
	bool far_src = memory_needs_helper(f, src, x->soff + x->off, n);
	bool far_dst = memory_needs_helper(f, dst, x->doff + x->off, n);
	int ret;

	switch (x->phase) {
	case XFER_START:
		if ((far_src && !xfer_take_helper(f, x, src->client, &x->src)) ||
		    (far_dst && !xfer_take_helper(f, x, dst->client, &x->dst))) {
			xfer_release_helper(&x->src);
			return -EAGAIN;
		}
		if (!far_src)
			return xfer_deliver(f, x, dst, src, n);
		helper_job_post(f, x->src, false, src, x->soff + x->off, n, x->key);
		x->phase = XFER_READ;
		return 0;
	case XFER_READ:
		ret = helper_job_result(x->src);
		if (ret)
			return ret == -EAGAIN ? ret : -EFAULT_SRC;
		return xfer_deliver(f, x, dst, src, n);
	default:
		ret = helper_job_result(x->dst);
		if (ret)
			return ret == -EAGAIN ? ret : -EFAULT_DST;
		xfer_round_done(x, n);
		return 0;
	}
}

static struct xfer *xfer_get_current(struct fabric *f, u64 doff, u64 soff, u64 len, u64 key)
{
	u32 slot = xfer_slot(f);
	struct xfer want = { .slot = slot,
			     .qpn = slot < HCA_MAX_QP ? f->hca->qp[slot].qpn : 0,
			     .key = key,
			     .doff = doff,
			     .soff = soff,
			     .len = len };

	return xfer_get(f, &want);
}

int helper_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len, u64 key)
{
	struct xfer *x = xfer_get_current(f, doff, soff, len, key);
	int ret = x ? 0 : -EAGAIN;

	while (!ret && x->off < len)
		ret = xfer_step(f, x, dst, src);
	if (ret == -EAGAIN)
		wait_add_current(f);
	else
		xfer_end(f, x);
	return ret;
}

/*
 * Read, change and write while holding the helper: atomic among all accesses that go through it.
 * Other processes may access that memory without it, from where the client runs, and interleave.
 */
int helper_atomic(struct fabric *f, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		  struct atomic_res *res, u64 key)
{
	struct hca_mem word = { .client = client, .kind = MEM_VM, .n = 1, .iov = { { addr, 8 } } };
	struct xfer *x = xfer_get_current(f, addr, 0, 8, key);
	u64 value;
	int ret = -EAGAIN;

	if (x && x->phase == XFER_START && xfer_take_helper(f, x, client, &x->dst)) {
		helper_job_post(f, x->dst, false, &word, 0, 8, key);
		x->phase = XFER_READ;
	}
	if (x && x->phase == XFER_READ && !(ret = helper_job_result(x->dst))) {
		memcpy(&x->orig, x->dst->seg->bounce, 8);
		value = atomic_result(op, x->orig, compare_add, swap);
		memcpy(x->dst->seg->bounce, &value, 8);
		helper_job_post(f, x->dst, true, &word, 0, 8, key);
		x->phase = XFER_WRITE;
		ret = -EAGAIN;
	} else if (x && x->phase == XFER_WRITE) {
		ret = helper_job_result(x->dst);
	}
	if (ret == -EAGAIN) {
		wait_add_current(f);
		return ret;
	}
	res->orig = x->orig;
	store_release(&x->dst->seg->job.state, HELPER_IDLE);
	xfer_end(f, x);
	return ret ? -EFAULT_DST : 0;
}

void helpers_check_done(struct fabric *f)
{
	struct client *cl;

	if (!f->wait.n)
		return;
	for (cl = f->clients.list; cl; cl = cl->next)
		if (!cl->dead && load_acquire(&cl->seg->job.state) == HELPER_DONE) {
			wait_ring_all(f);
			return;
		}
}

void helper_ready(struct fabric *f, struct client *cl)
{
	if (f->wait.n && !cl->dead)
		wait_ring_all(f);
}

void helper_client_freed(struct fabric *f, struct client *cl)
{
	if (cl->xfer)
		xfer_end(f, cl->xfer);
	/* Transfers of its peers fail when they are continued. */
	if (f->wait.n)
		wait_ring_all(f);
}
