/* SPDX-License-Identifier: MIT */
/**
 * DOC: see queue.h.
 */
#include "fabric/link/queue.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define HASH	 LQ_ENTRIES
#define GIVEBACK ((u32)((1u << 20) / BUDDY_UNIT)) /* pages of a smaller peak are kept */

static void *linkq_map(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		       -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static void linkq_unmap(void *p, size_t n)
{
	if (p)
		munmap(p, n);
}

void linkq_destroy(struct linkq *q)
{
	u32 i;

	linkq_unmap(q->entry, LQ_ENTRIES * sizeof(*q->entry));
	linkq_unmap(q->flow, LQ_ENTRIES * sizeof(*q->flow));
	linkq_unmap(q->heap, LQ_ENTRIES * sizeof(*q->heap));
	linkq_unmap(q->hash, HASH * sizeof(*q->hash));
	linkq_unmap(q->mem, LQ_CLASSES * LQ_ARENA);
	for (i = 0; i < LQ_CLASSES; i++)
		buddy_destroy(&q->arena[i]);
	memset(q, 0, sizeof(*q));
}

int linkq_make(struct linkq *q)
{
	int ret = 0;
	u32 i;

	memset(q, 0, sizeof(*q));
	q->entry = linkq_map(LQ_ENTRIES * sizeof(*q->entry));
	q->flow = linkq_map(LQ_ENTRIES * sizeof(*q->flow));
	q->heap = linkq_map(LQ_ENTRIES * sizeof(*q->heap));
	q->hash = linkq_map(HASH * sizeof(*q->hash));
	q->mem = linkq_map(LQ_CLASSES * LQ_ARENA);
	for (i = 0; i < LQ_CLASSES && !ret; i++)
		ret = buddy_make(&q->arena[i], LQ_ARENA);
	if (ret || !q->entry || !q->flow || !q->heap || !q->hash || !q->mem) {
		linkq_destroy(q);
		return -ENOMEM;
	}
	return 0;
}

struct lq_key linkq_key(const struct burst *b)
{
	bool answer = b->op == BOP_ACK || b->op == BOP_READ_RESP || b->op == BOP_ATOMIC_ACK;

	return (struct lq_key){
		.src_dev = b->src_dev,
		.dst_dev = b->dst_dev,
		.src_qpn = b->src_qpn,
		.dst_qpn = b->dst_qpn,
		.src_port = b->src_port,
		.dst_port = b->dst_port,
		.cls = answer ? LQ_ANSWER : LQ_REQUEST,
	};
}

static u32 *linkq_hash_bucket(const struct linkq *q, const struct lq_key *k)
{
	u64 h = ((u64)k->src_qpn << 32 | k->dst_qpn) * 0x9e3779b97f4a7c15ULL;

	h ^= ((u64)k->src_dev << 34 | (u64)k->lane << 20 | (u64)k->dst_dev << 4 |
	      (u64)k->dst_port << 1 | k->cls) *
	     0xc2b2ae3d27d4eb4fULL;
	return &q->hash[(h >> 32) % HASH];
}

struct lq_flow *linkq_flow(const struct linkq *q, const struct lq_key *k)
{
	u32 at;

	for (at = *linkq_hash_bucket(q, k); at; at = q->flow[at - 1].chain)
		if (!memcmp(&q->flow[at - 1].key, k, sizeof(*k)))
			return &q->flow[at - 1];
	return NULL;
}

/* --- the heap --- */

static void linkq_heap_set(struct linkq *q, u32 place, u32 flow)
{
	q->heap[place] = flow;
	q->flow[flow].heap = place + 1;
}

static u64 linkq_heap_at(const struct linkq *q, u32 place)
{
	return q->flow[q->heap[place]].at;
}

static void linkq_heap_up(struct linkq *q, u32 place)
{
	u32 flow = q->heap[place];

	while (place && q->flow[flow].at < linkq_heap_at(q, (place - 1) / 2)) {
		linkq_heap_set(q, place, q->heap[(place - 1) / 2]);
		place = (place - 1) / 2;
	}
	linkq_heap_set(q, place, flow);
}

static void linkq_heap_down(struct linkq *q, u32 place)
{
	u32 flow = q->heap[place], child;

	while ((child = 2 * place + 1) < q->n_flows) {
		if (child + 1 < q->n_flows && linkq_heap_at(q, child + 1) < linkq_heap_at(q, child))
			child++;
		if (q->flow[flow].at <= linkq_heap_at(q, child))
			break;
		linkq_heap_set(q, place, q->heap[child]);
		place = child;
	}
	linkq_heap_set(q, place, flow);
}

static void linkq_heap_move(struct linkq *q, u32 place)
{
	linkq_heap_up(q, place);
	linkq_heap_down(q, place);
}

/* --- flows --- */

static struct lq_flow *linkq_flow_new(struct linkq *q, const struct lq_key *k, u64 at)
{
	u32 *b = linkq_hash_bucket(q, k);
	struct lq_flow *f;
	u32 i = q->free_flow;

	/* There are as many flows as entries. Flows that were never used follow those in use. */
	if (i)
		q->free_flow = q->flow[i - 1].chain;
	else
		i = q->n_flows + 1;
	f = &q->flow[i - 1];
	*f = (struct lq_flow){ .key = *k, .at = at, .head = LQ_NONE, .unsent = LQ_NONE };
	f->chain = *b;
	*b = i;
	q->n_flows++;
	linkq_heap_set(q, q->n_flows - 1, i - 1);
	linkq_heap_up(q, q->n_flows - 1);
	return f;
}

static void linkq_flow_free(struct linkq *q, struct lq_flow *f)
{
	u32 i = (u32)(f - q->flow), place = f->heap - 1, *at;

	for (at = linkq_hash_bucket(q, &f->key); *at != i + 1; at = &q->flow[*at - 1].chain)
		;
	*at = f->chain;
	q->n_flows--;
	if (place != q->n_flows) {
		linkq_heap_set(q, place, q->heap[q->n_flows]);
		linkq_heap_move(q, place);
	}
	f->heap = 0;
	f->chain = q->free_flow;
	q->free_flow = i + 1;
}

u64 linkq_backlog(struct linkq *q, struct lq_flow *f, u64 now, u64 *next)
{
	struct lq_entry *e;

	while (f->unsent != LQ_NONE) {
		e = &q->entry[f->unsent];
		if (e->left > now) {
			*next = e->left;
			return f->backlog;
		}
		f->backlog -= e->wire;
		f->unsent = e->next;
	}
	*next = now;
	return 0;
}

/* --- entries --- */

bool linkq_has_room(const struct linkq *q, const struct lq_key *k, u64 len)
{
	const struct lq_flow *f;

	if (q->n_entries + (k->cls == LQ_REQUEST ? LQ_SPARE : 0) >= LQ_ENTRIES)
		return false;
	if (len && !buddy_has_room(&q->arena[k->cls], len))
		return false;
	f = k->cls == LQ_REQUEST ? linkq_flow(q, k) : NULL;
	return !f || (f->n < LQ_FLOW && f->bytes + len <= LQ_BYTES);
}

struct lq_entry *linkq_get(struct linkq *q, const struct lq_key *k, const struct burst *b)
{
	struct lq_entry *e;
	u32 i = q->free_entry;
	u64 len = linkq_payload(b);
	int unit = 0;

	if (!linkq_has_room(q, k, len))
		return NULL;
	if (len)
		unit = buddy_alloc(&q->arena[k->cls], len);
	if (unit < 0)
		return NULL;
	/* Entries that were never used follow those in use. */
	if (i)
		q->free_entry = q->entry[i - 1].next;
	else
		i = q->n_entries + 1;
	q->n_entries++;
	if (q->arena[k->cls].used > q->dirty)
		q->dirty = q->arena[k->cls].used;
	e = &q->entry[i - 1];
	e->b = *b;
	e->next = LQ_NONE;
	e->step = e->tries = e->corrupt = e->verdict = 0;
	e->look = false;
	e->unit = len ? (u32)unit : LQ_NONE;
	e->av = b->av ? *b->av : (struct hca_av){ 0 };
	e->b.av = b->av ? &e->av : NULL;
	if (b->op != BOP_READ_REQ)
		e->b.off = 0;
	e->b.mem = len ? &e->mem : NULL;
	e->mem.client = HCA_LINK;
	e->mem.kind = MEM_SEG;
	e->mem.n = 1;
	e->mem.iov[0].addr = k->cls * LQ_ARENA + (u64)(u32)unit * BUDDY_UNIT;
	e->mem.iov[0].len = len;
	return e;
}

struct lq_entry *linkq_last(struct linkq *q, const struct lq_key *k)
{
	const struct lq_flow *f = linkq_flow(q, k);

	return f ? &q->entry[f->tail] : NULL;
}

void linkq_put(struct linkq *q, const struct lq_key *k, struct lq_entry *e)
{
	u32 i = (u32)(e - q->entry);
	struct lq_flow *f = linkq_flow(q, k);

	if (!f)
		f = linkq_flow_new(q, k, e->at);
	e->at = e->at > f->last_at ? e->at : f->last_at;
	f->last_at = e->at;
	e->flow = (u32)(f - q->flow);
	if (f->head == LQ_NONE)
		f->head = i;
	else
		q->entry[f->tail].next = i;
	f->tail = i;
	if (f->unsent == LQ_NONE)
		f->unsent = i;
	f->backlog += e->wire;
	f->bytes += linkq_payload(&e->b);
	f->n++;
}

/* When the last entry goes, the memory that a burst of traffic has used is given back. */
static void linkq_give_back(struct linkq *q)
{
	if (q->n_entries || q->dirty < GIVEBACK)
		return;
	madvise(q->mem, LQ_CLASSES * LQ_ARENA, MADV_DONTNEED);
	q->dirty = 0;
}

void linkq_drop(struct linkq *q, struct lq_entry *e)
{
	u32 cls = e->mem.iov[0].addr >= LQ_ARENA ? LQ_ANSWER : LQ_REQUEST;

	if (e->unit != LQ_NONE)
		buddy_free(&q->arena[cls], e->unit);
	e->next = q->free_entry;
	q->free_entry = (u32)(e - q->entry) + 1;
	q->n_entries--;
	linkq_give_back(q);
}

bool linkq_holds_qp(const struct linkq *q, u32 dev, u32 qpn)
{
	const struct lq_key *k;
	u32 i;

	for (i = 0; i < q->n_flows; i++) {
		k = &q->flow[q->heap[i]].key;
		if ((k->src_dev == dev && k->src_qpn == qpn) ||
		    (k->dst_dev == dev && k->dst_qpn == qpn))
			return true;
	}
	return false;
}

void linkq_each_device(const struct linkq *q, void (*fn)(void *ctx, u32 dev), void *ctx)
{
	const struct lq_key *k;
	u32 i;

	for (i = 0; i < q->n_flows; i++) {
		k = &q->flow[q->heap[i]].key;
		fn(ctx, k->src_dev);
		fn(ctx, k->dst_dev);
	}
}

u64 linkq_next(const struct linkq *q)
{
	return q->n_flows ? linkq_heap_at(q, 0) : ~0ULL;
}

struct lq_entry *linkq_due(struct linkq *q, u64 now)
{
	return linkq_next(q) <= now ? &q->entry[q->flow[q->heap[0]].head] : NULL;
}

void linkq_done(struct linkq *q, struct lq_entry *e)
{
	struct lq_flow *f = &q->flow[e->flow];

	if (f->unsent == f->head) {
		f->backlog -= e->wire;
		f->unsent = e->next;
	}
	f->head = e->next;
	f->bytes -= linkq_payload(&e->b);
	f->n--;
	if (f->head == LQ_NONE) {
		linkq_flow_free(q, f);
	} else {
		f->at = q->entry[f->head].at;
		linkq_heap_move(q, f->heap - 1);
	}
	linkq_drop(q, e);
}

void linkq_arrive_at(struct linkq *q, struct lq_entry *e, u64 at)
{
	struct lq_flow *f = &q->flow[e->flow];

	e->at = f->at = f->last_at = at;
	linkq_heap_move(q, f->heap - 1);
}

void linkq_retry_at(struct linkq *q, struct lq_entry *e, u64 at)
{
	struct lq_flow *f = &q->flow[e->flow];

	e->tries++;
	f->at = at;
	linkq_heap_move(q, f->heap - 1);
}
