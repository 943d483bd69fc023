/* SPDX-License-Identifier: MIT */
/**
 * DOC: large bursts whose end has not come yet.
 *
 * A burst of a megabyte would have to come as a whole before the engine could take it, into memory
 * that is in no cache by the time of the copy. But a burst is a run of packets, and a link may
 * split it (emulator/burst.c). So whole packets are taken as they come. The rest of the frame gets
 * its header anew, in front of the payload that has not been taken: a shorter frame, as the sender
 * could have sent it. At any time the rest can be handled as any other frame.
 *
 * Packets that are still in the socket stay there until the engine copies them. If it copies them
 * to lent memory, the kernel copies them to its pages directly (stream_copy_direct()); all else
 * reads them first (stream_fetch()). The engine has made all its checks when it copies. A payload
 * that it does not copy is read and dropped. The socket has the bytes by then, so nobody waits for
 * them with the token. A sealed connection's packets come from its records, opened before.
 *
 * The engine must read the payload once: where captures, links or rules read it as well, it is
 * fetched first.
 */
#include "fabric/core/memory.h"
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define HEAD	 (JOIN_HDR + JOIN_BURST)
#define PART_MIN (16u << 10) /* less is worth no step of the model */
#define PART_MAX (256u << 10) /* stays in the cache */
#define TAIL	 8u
#define WHOLE	 16u /* bursts of a connection that are taken whole after a part that had to wait */

/**
 * struct jstream - the part that is being taken.
 * @data: its payload, of which @have bytes are in the connection's input, and the others in the
 *	  socket; @left of these have not been read
 * @failed: the socket did not have them
 */
struct jstream {
	struct jconn *c;
	u8 *data;
	u32 have, len, left;
	bool failed;
};

/* Bytes that the socket has. */
static u32 stream_waiting(const struct jconn *c)
{
	int n;

	return c->seal || ioctl(c->w.fd, FIONREAD, &n) || n < 0 ? 0 : (u32)n;
}

/* Read what is left of the part into the input, after what is there. */
static bool stream_fetch(struct jstream *s)
{
	struct jconn *c = s->c;
	ssize_t n;

	while (s->left && !s->failed) {
		n = read(c->w.fd, c->rx + c->rx_tail, s->left);
		if (n < 0 && errno == EINTR)
			continue;
		s->failed = n <= 0;
		if (s->failed)
			break;
		c->rx_tail += (u32)n;
		s->have += (u32)n;
		s->left -= (u32)n;
	}
	return !s->failed;
}

/* Drop the first @len bytes of *n entries. */
static struct iovec *iov_skip(struct iovec *v, u32 *n, u64 len)
{
	while (*n && len >= v->iov_len) {
		len -= v->iov_len;
		v++;
		--*n;
	}
	if (*n) {
		v->iov_base = (u8 *)v->iov_base + len;
		v->iov_len -= len;
	}
	return v;
}

static void iov_fill(const struct iovec *v, const u8 *from, u64 len)
{
	u64 n;

	for (; len; v++) {
		n = min_u64(v->iov_len, len);
		memcpy(v->iov_base, from, n);
		from += n;
		len -= n;
	}
}

/*
 * Copy the whole part to @v, which has room for another entry: what is in the input, and the rest
 * from the socket. The last bytes land last (vmcopy.h).
 */
static bool stream_copy_direct(struct jstream *s, struct iovec *v, u32 n)
{
	struct iovec *last = &v[n - 1];
	u32 tail = (u32)min_u64(TAIL, last->iov_len), want = s->left;
	u8 word[TAIL], *end = (u8 *)last->iov_base + last->iov_len - tail;
	ssize_t got;

	iov_fill(v, s->data, s->have);
	last->iov_len -= tail;
	v[n++] = (struct iovec){ word, tail };
	v = iov_skip(v, &n, s->have);
	do {
		got = readv(s->c->w.fd, v, (int)n);
	} while (got < 0 && errno == EINTR);
	s->left -= got > 0 ? (u32)got : 0;
	s->failed = got != (ssize_t)want;
	if (!s->failed)
		memory_store(end, word, tail);
	/* NOLINTNEXTLINE(clang-analyzer-core.StackAddressEscape): nobody reads @v after this */
	return !s->failed;
}

bool join_stream_copy(struct fabric *f, const struct hca_mem *dst, u64 doff,
		      const struct hca_mem *src, u64 soff, u64 len, int *ret)
{
	struct jstream *s = f->join ? f->join->stream : NULL;
	struct iovec v[LIM_SGE + 1];
	u32 n = 0;

	if (src->client != HCA_JOIN || !s || (!s->left && !s->failed))
		return false;
	*ret = -ESRCH;
	if (s->failed)
		return true;
	if (!soff && len == s->len && len - s->have >= TAIL && !f->hca->watched)
		n = memory_lent_span(f, dst, doff, len, v, LIM_SGE);
	if (!n)
		return !stream_fetch(s);
	if (stream_copy_direct(s, v, n))
		*ret = 0;
	return true;
}

void *join_burst_payload(struct fabric *f)
{
	struct jstream *s = f->join ? f->join->stream : NULL;

	if (s && s->left)
		(void)stream_fetch(s);
	return f->join ? (void *)(uintptr_t)f->join->data : NULL;
}

/* Whether a burst, of which the header has come, can be taken in parts. */
static bool stream_may_split(const struct fabric *f, const struct member *m, const struct burst *b)
{
	const struct jlane *lane = &m->lane[join_lane_of(b->op)];

	return (b->op == BOP_SEND || b->op == BOP_WRITE || b->op == BOP_READ_RESP) &&
	       b->npkts > 1 && m->ready && lane->head == lane->tail && link_is_direct(f, b);
}

/* Put the header of the rest of the frame before what has not been taken. */
static void stream_shorten(struct jconn *c, const struct join_hdr *h, const struct burst *b, u32 n,
			   const struct jstream *s)
{
	struct join_hdr rest_h = *h;
	struct burst rest;
	u8 *at;

	c->rx_head += s->have;
	at = c->rx + c->rx_head;
	burst_split(b, n, b->npkts - n, &rest);
	rest_h.len -= s->len;
	join_hdr_put(at, &rest_h);
	join_burst_put(at + JOIN_HDR, &rest, b->src_dev, b->dst_dev);
	/* The same memory again, while it is in the cache. */
	if (c->rx_tail - c->rx_head <= PART_MIN) {
		memmove(c->rx, at, c->rx_tail - c->rx_head);
		c->rx_tail -= c->rx_head;
		c->rx_head = 0;
	}
}

/* Give the engine the first @n packets of @b. Return: whether it has taken them. */
static bool stream_deliver(struct fabric *f, struct member *m, struct jstream *s,
			   const struct burst *b, u32 n)
{
	struct hca_mem mem = { .client = HCA_JOIN, .kind = MEM_SEG, .n = 1 };
	struct burst part = *b;
	int ret;

	burst_split(b, 0, n, &part);
	mem.iov[0].len = part.len;
	part.mem = &mem;
	f->join->data = s->data;
	f->join->stream = s;
	ret = link_input(f, &part);
	f->join->stream = NULL;
	if (ret == -EAGAIN)
		return false;
	m->rx_bytes += part.len;
	m->lane[join_lane_of(b->op)].taken += part.len;
	return true;
}

/* How many packets of the burst can be taken; 0: too few. Sets what @s says of the payload. */
static u32 stream_packets(struct jstream *s, const struct burst *b)
{
	struct jconn *c = s->c;
	u32 have = c->rx_tail - c->rx_head - HEAD;
	u32 come = have + min_u32(stream_waiting(c), JOIN_RX_SIZE - c->rx_tail), n;

	n = min_u32(come, PART_MAX);
	n = n >= b->len ? b->npkts : n / b->mtu;
	s->len = (u32)min_u64((u64)n * b->mtu, b->len);
	s->have = min_u32(have, s->len);
	s->left = s->len - s->have;
	return s->len >= PART_MIN || n == b->npkts ? n : 0;
}

/* The engine has the first @n packets of @b, or has dropped them. */
static void stream_advance(struct member *m, const struct join_hdr *h, const struct burst *b, u32 n,
			   const struct jstream *s)
{
	struct jconn *c = s->c;

	if (n < b->npkts) {
		stream_shorten(c, h, b, n, s);
		return;
	}
	c->rx_head += HEAD + s->have;
	m->rx_bytes += HEAD;
	m->rx_bursts++;
	m->lane[h->lane].taken += HEAD;
}

/* Parse the frame. Return: NULL, or what is wrong with it. *n: packets to take now; 0: none */
static const char *stream_parse(struct fabric *f, struct member *m, const struct join_hdr *h,
				struct jstream *s, struct burst *b, struct burst *ours, u32 *n)
{
	struct hca_av av;
	const u8 *data;

	*n = 0;
	if (join_burst_get(s->data - JOIN_BURST, h->len - JOIN_HDR, h->lane, b, &av, &data))
		return "malformed burst";
	*ours = *b;
	if (!data)
		return NULL;
	if (!join_burst_translate(f, m, ours))
		return "malformed burst";
	if (stream_may_split(f, m, ours))
		*n = stream_packets(s, b);
	return NULL;
}

const char *join_stream_take(struct fabric *f, struct jconn *c, struct member *m,
			     const struct join_hdr *h, u32 *done)
{
	struct jstream s = { .c = c, .data = c->rx + c->rx_head + HEAD };
	u32 have = c->rx_tail - c->rx_head, n;
	struct burst b, ours;
	const char *why;
	bool taken;

	*done = 0;
	if (c->n_whole || h->len < HEAD + PART_MIN || have < HEAD ||
	    join_burst_has_av(s.data - JOIN_BURST))
		return NULL;
	why = stream_parse(f, m, h, &s, &b, &ours, &n);
	if (why || !n)
		return why;
	taken = stream_deliver(f, m, &s, &ours, n);
	/* An answer of the engine may have met an error of the connection. */
	if (c->state != JC_UP)
		return NULL;
	if (!taken && s.have + s.left == s.len) {
		c->n_whole = WHOLE;
		return NULL;
	}
	if (!taken || !stream_fetch(&s)) {
		jconn_close(f, c, "a burst broke off");
		return NULL;
	}
	stream_advance(m, h, &b, n, &s);
	*done = s.len;
	return NULL;
}
