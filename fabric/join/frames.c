/* SPDX-License-Identifier: MIT */
/** DOC: frames of established connections that are for this fabric, and lanes that wait. */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

#include <sys/mman.h>

/*
 * Bounds of one holding of the token. Connections that have input get equal shares of TURN_BYTES.
 * Bursts cost time by the byte, and a small one as much as FRAME_BYTES. Of other frames, small ones
 * may cost much.
 */
#define TURN_BYTES  (2u << 20)
#define SHARE_BYTES (64u << 10) /* of a connection, at least */
#define FRAME_BYTES 2048u
#define BULK_FRAMES 64u /* after a large burst, until reads of a socket are large again */
#define TURN_NS	    NSEC_PER_MSEC /* once the first frame that is no burst has come */
#define AGAIN_NS    (200 * NSEC_PER_USEC)

static bool jlane_append(struct jlane *l, const u8 *frame, u32 len)
{
	if (!l->mem) {
		l->mem = mmap(NULL, JOIN_LANE_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (l->mem == MAP_FAILED) {
			l->mem = NULL;
			return false;
		}
	}
	if (JOIN_LANE_SIZE - l->tail < len && l->head) {
		memmove(l->mem, l->mem + l->head, l->tail - l->head);
		l->tail -= l->head;
		l->head = 0;
	}
	if (JOIN_LANE_SIZE - l->tail < len)
		return false;
	memcpy(l->mem + l->tail, frame, len);
	l->tail += len;
	return true;
}

/* Retry the frames in the member's lanes. Return: false: one of them is malformed. */
static bool frames_lanes(struct fabric *f, struct member *m)
{
	struct join_hdr h;
	struct jlane *l;
	int ret;

	for (l = m->lane; l < m->lane + LANES; l++) {
		ret = 0;
		while (!ret && l->head != l->tail) {
			join_hdr_get(l->mem + l->head, JOIN_MAX_FRAME, &h);
			ret = join_burst_take(f, m, &h, l->mem + l->head + JOIN_HDR,
					      join_burst_next(l->mem + l->head, l->tail - l->head));
			if (ret == -EPROTO)
				return false;
			if (!ret)
				l->head += h.len;
		}
		if (l->head == l->tail)
			l->head = l->tail = 0;
		else
			f->join->retry_at = real_ns() + AGAIN_NS;
	}
	join_credit_send(f, m);
	return true;
}

/* Take a burst, or a batch of it and those after it. */
static const char *frames_burst(struct fabric *f, struct jconn *c, struct member *m,
				const struct join_hdr *h, const u8 *frame, u32 have)
{
	struct jlane *l = &m->lane[h->lane];
	u32 done = join_burst_train(f, m, frame, have);
	int ret = -EAGAIN;

	if (done) {
		c->rx_head += done - h->len;
		return NULL;
	}

	/* A member whose tables are incomplete has no addresses here: its packets are lost. */
	if (!m->ready)
		return NULL;
	if (l->head == l->tail)
		ret = join_burst_take(f, m, h, frame + JOIN_HDR, join_burst_next(frame, have));
	if (ret == -EPROTO)
		return "malformed burst";
	if (!ret)
		return NULL;
	f->join->retry_at = real_ns() + AGAIN_NS;
	return jlane_append(l, frame, h->len) ? NULL : "more than it has credit for";
}

static const char *frames_credit(struct fabric *f, struct member *m, const u8 *body, u32 len)
{
	u64 limit;
	u32 i;

	if (len != JOIN_CREDIT)
		return "malformed credit";
	/* Credit of an earlier session no longer counts. */
	if (join_u64_get(body) != m->session)
		return NULL;
	for (i = 0; i < LANES; i++) {
		limit = join_u64_get(body + (1 + i) * sizeof(u64));
		if (limit > m->lane[i].sent + JOIN_WINDOW)
			return "more credit than the window";
		if (limit <= m->lane[i].limit)
			continue;
		m->lane[i].limit = limit;
		m->lane[i].dry_at = 0;
	}
	wait_ring_all(f);
	f->join->retry_at = real_ns();
	return NULL;
}

/* @m refuses what this fabric sends, as the neighbour @c or through it. */
static void frames_refused(struct fabric *f, struct jconn *c, struct member *m, const u8 *body,
			   u32 len)
{
	char text[JOIN_TEXT + 1];

	join_text_get(body, len, text);
	if (m == c->member)
		mesh_conn_refused(f, c, text);
	else
		session_refused(f, m, text);
}

/*
 * Handle a frame from member @m; @have bytes have come from it on. Return: NULL, or what is wrong.
 */
static const char *frames_one(struct fabric *f, struct jconn *c, struct member *m,
			      const struct join_hdr *h, const u8 *frame, u32 have)
{
	const u8 *body = frame + JOIN_HDR;
	u32 len = h->len - JOIN_HDR;

	if (!session_accepts(m, h->type))
		return NULL;
	switch (h->type) {
	case JT_BURST:
		return frames_burst(f, c, m, h, frame, have);
	case JT_CREDIT:
		return frames_credit(f, m, body, len);
	case JT_PROBE:
	case JT_PROBED:
		return probe_input(f, m, h->type, body, len);
	case JT_NODE:
	case JT_DEV:
	case JT_READY:
		return tables_input(f, m, h->type, body, len);
	case JT_PEERS:
		if (m->conn != c || mesh_peers_input(f, c, body, len))
			return "malformed peers";
		return NULL;
	case JT_PING:
		return len ? "malformed frame" : NULL;
	case JT_BYE:
		if (len)
			return "malformed frame";
		fabric_note(f, "join: %s has left", m->name);
		m->next_try = NEVER;
		tables_withdraw(f, m);
		if (m->conn == c)
			jconn_close(f, c, NULL);
		return NULL;
	case JT_QUERY:
	case JT_PIECE:
		return texts_input(f, m, h->type, body, len);
	case JT_ASK:
	case JT_BEGIN:
		return session_input(f, m, h->type, body, len);
	case JT_REFUSE:
		frames_refused(f, c, m, body, len);
		return NULL;
	default:
		return "unexpected frame";
	}
}

/*
 * Find who has sent a frame. Return: false: there is nothing to handle, or that the neighbour may
 * not carry; @why then says so.
 */
static bool frames_find_sender(struct fabric *f, struct jconn *c, const struct join_hdr *h,
			       struct member **m, const char **why)
{
	*m = c->member;
	*why = NULL;
	if (h->src == c->peer)
		return true;
	if (!jconn_has_route_to(c, h->src)) {
		if (!mesh_peer_is_coming(c, h->src))
			*why = "a frame of another member";
		return false;
	}
	/*
	 * A member that uses another route than this fabric is about to change it, or this fabric
	 * is.
	 */
	*m = mesh_member(f, h->src);
	return *m && (*m)->via == c;
}

/* End what a member does that violates the protocol: its connection, or its session by a hub. */
static void frames_turn_away(struct fabric *f, struct jconn *c, struct member *m, const char *why)
{
	if (c->state != JC_UP)
		return;
	if (m == c->member)
		jconn_refuse(f, c, "%s", why);
	else if (m->via == c)
		session_refuse(f, m, why);
}

static void frames_route(struct fabric *f, struct jconn *c, const struct join_hdr *h,
			 const u8 *frame, u32 have)
{
	struct member *m = c->member;
	const char *why;

	if (h->dst != f->join->id && h->dst)
		why = h->src == c->peer ? forward_input(f, m, h, frame)
					: "a frame of another member";
	else if (frames_find_sender(f, c, h, &m, &why))
		why = frames_one(f, c, m, h, frame, have);
	else
		m = c->member;
	if (why)
		frames_turn_away(f, c, m, why);
}

static void jconn_make_room(struct jconn *c)
{
	u32 n = c->rx_tail - c->rx_head;

	if (!n) {
		c->rx_head = c->rx_tail = 0;
	} else if (JOIN_RX_SIZE - c->rx_tail < JOIN_MAX_FRAME) {
		memmove(c->rx, c->rx + c->rx_head, n);
		c->rx_head = 0;
		c->rx_tail = n;
	}
}

/* Take what has come of a burst whose end has not. Return: bytes, or 0. */
static u32 frames_take_part(struct fabric *f, struct jconn *c, const struct join_hdr *h)
{
	struct member *m;
	const char *why;
	u32 done = 0;

	if (h->type != JT_BURST || h->dst != f->join->id ||
	    !frames_find_sender(f, c, h, &m, &why) || !session_accepts(m, h->type))
		return 0;
	why = join_stream_take(f, c, m, h, &done);
	if (why)
		frames_turn_away(f, c, m, why);
	return done;
}

/* A whole frame has come: whether large ones do, and how to take them. */
static void frames_note_size(const struct fabric *f, struct jconn *c, const struct join_hdr *h)
{
	bool large = h->type == JT_BURST && h->len > SHARE_BYTES && h->dst == f->join->id;

	if (large && c->n_whole)
		c->n_whole--;
	else if (large)
		c->bulk = BULK_FRAMES;
	else if (c->bulk)
		c->bulk--;
}

/* @sharers: connections that have input. Return: whether there is more to handle. */
static bool frames_conn(struct fabric *f, struct jconn *c, u32 sharers)
{
	const u32 share = max_u32(TURN_BYTES / sharers, SHARE_BYTES);
	const u64 end = real_ns() + TURN_NS / sharers;
	u32 done = 0, have, from, part, parts = 0;
	struct join_hdr h;
	bool more;
	const u8 *at;

	while (c->state == JC_UP && done < share) {
		from = c->rx_head;
		have = c->rx_tail - from;
		at = c->rx + from;
		if (have < JOIN_HDR)
			break;
		if (join_hdr_get(at, JOIN_MAX_FRAME, &h)) {
			jconn_refuse(f, c, "malformed frame");
			return false;
		}
		if (have < h.len) {
			part = frames_take_part(f, c, &h);
			if (!part)
				break;
			parts += part;
			done += part;
			continue;
		}
		frames_note_size(f, c, &h);
		c->rx_head += h.len;
		frames_route(f, c, &h, at, have);
		/* A train of bursts has been handled with its first one. */
		done += max_u32(c->rx_head - from, FRAME_BYTES);
		if (h.type != JT_BURST && real_ns() >= end)
			done = share;
	}
	if (c->state != JC_UP)
		return false;
	if (parts)
		c->bulk = BULK_FRAMES;
	c->few = c->left && !parts && done < share;
	c->left = false;
	jconn_make_room(c);
	more = jconn_open(f, c);
	jconn_update_events(f, c);
	return more || done >= share;
}

static u32 frames_count_sharers(const struct join *j)
{
	u32 i, n = 0;

	for (i = 0; i < j->n_conns; i++)
		n += j->conn[i].state == JC_UP && j->conn[i].rx_head != j->conn[i].rx_tail;
	return n;
}

void join_tables_changed(struct fabric *f)
{
	if (f->join)
		f->join->tell = true;
}

bool join_due(const struct fabric *f, u64 now)
{
	const struct join *j = f->join;

	return j && (j->due || j->tell || now >= j->retry_at);
}

u64 join_next(const struct fabric *f)
{
	return f->join ? f->join->retry_at : NEVER;
}

void join_input(struct fabric *f)
{
	struct join *j = f->join;
	u32 sharers = max_u32(frames_count_sharers(j), 1), i;
	struct member *m;
	bool more = false;
	u64 now = real_ns();

	j->due = false;
	j->retry_at = NEVER;
	for (i = 0; i < j->n_conns; i++)
		if (j->conn[i].state == JC_UP) {
			mesh_peers_apply(f, &j->conn[i]);
			more |= frames_conn(f, &j->conn[i], sharers);
		}
	for (i = 0; i < JOIN_MAX_MEMBERS; i++) {
		m = j->member[i];
		if (m && m->via && !frames_lanes(f, m))
			frames_turn_away(f, m->via, m, "malformed burst");
		if (m && !m->via && !m->dead && now >= m->lost_at + JOIN_DEAD_NS) {
			fabric_note(f, "join: %s is dead", m->name);
			tables_withdraw(f, m);
		}
	}
	if (j->tell)
		tables_send_news(f);
	j->due |= more;
}
