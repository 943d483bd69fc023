/* SPDX-License-Identifier: MIT */
/* Members of a mesh in a test: see peer.h. */
#include "tests/lib/mesh/peer.h"

#include <nettle/curve25519.h>
#include <nettle/sha2.h>
#include <stdio.h>

#define PEER_MTU 1024u

struct peer *peer_new(void)
{
	return calloc(1, sizeof(struct peer));
}

void peer_reset(struct peer *p)
{
	memset(p, 0, offsetof(struct peer, text));
}

u64 peer_id(u32 who)
{
	return who + 1 + (who + 1 >= WORLD_FABRIC);
}

/* Which side of the connection the peer is. */
static enum join_side peer_side(const struct world_sock *s)
{
	return s->out ? SIDE_ACCEPTS : SIDE_CONNECTS;
}

static void peer_secret(u32 who, u8 secret[KEYS_LEN])
{
	emu_fill(secret, KEYS_LEN, 77 + who);
}

/* --- handshake --- */

static int peer_derive(const struct world_sock *s, u32 token_len, struct join_keys *k)
{
	const struct peer *p = s->peer;
	u8 secret[KEYS_LEN], digest[KEYS_LEN];
	struct join_hello h;
	struct sha256_ctx ctx;

	if (join_hello_get(p->theirs + JOIN_HDR, JOIN_HELLO, &h))
		return -EPROTO;
	peer_secret(p->who, secret);
	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(p->mine), s->out ? p->theirs : p->mine);
	sha256_update(&ctx, sizeof(p->mine), s->out ? p->mine : p->theirs);
	sha256_digest(&ctx, sizeof(digest), digest);
	return keys_derive(k, secret, h.key, (const u8 *)WORLD_TOKEN, token_len, digest);
}

/* Both greetings are known. */
static void peer_agree(struct world_sock *s)
{
	struct peer *p = s->peer;
	u8 all = p->flags | p->theirs_flags;

	if (!p->greeted || !p->heard_hello)
		return;
	p->has_keys = !peer_derive(s, sizeof(WORLD_TOKEN) - 1, &p->keys);
	p->sealed = all & JOIN_F_SEAL;
}

static void peer_seal_begin(const struct peer *p, struct seal *seal, const u8 *secret)
{
	seal_begin(seal, secret,
		   p->flags & JOIN_F_AES && p->theirs_flags & JOIN_F_AES && seal_has_aes());
}

void peer_greet(struct world_sock *s, u32 who, u8 flags, u32 odd)
{
	struct join_hello h = { .version = JOIN_VERSION + !!(odd & ODD_VERSION),
				.port = odd & ODD_PORT ? WORLD_PORT : 0,
				.ppm = CLOCK_PPM + !!(odd & ODD_SPEED),
				.flags = flags };
	struct join_hdr hdr = { .len = JOIN_HDR + JOIN_HELLO,
				.type = JT_HELLO,
				.src = odd & ODD_ID ? WORLD_FABRIC : peer_id(who) };
	u8 frame[JOIN_HDR + JOIN_HELLO], secret[KEYS_LEN];
	struct peer *p = s->peer;

	snprintf(h.name, sizeof(h.name), odd & ODD_NAME ? "\x1b[2J" : "peer%u", who);
	peer_secret(who, secret);
	if (!(odd & ODD_KEY))
		nettle_curve25519_mul_g(h.key, secret);
	emu_fill(h.nonce, sizeof(h.nonce), who);
	join_hdr_put(frame, &hdr);
	join_hello_put(frame + JOIN_HDR, &h);
	p->noise |= p->proved;
	if (!world_put(s, frame, sizeof(frame)) || p->greeted)
		return;
	p->greeted = true;
	p->who = who;
	p->flags = flags;
	memcpy(p->mine, frame, sizeof(frame));
	peer_agree(s);
}

void peer_prove(struct world_sock *s, enum peer_proof how)
{
	struct join_hdr h = { .len = JOIN_HDR + JOIN_MAC, .type = JT_PROOF };
	u8 frame[JOIN_HDR + JOIN_MAC];
	struct peer *p = s->peer;
	enum join_side us = peer_side(s);
	struct join_keys k = p->keys;

	if (!p->has_keys || p->proved)
		return;
	h.src = peer_id(p->who);
	if (how == PROOF_NO_TOKEN && peer_derive(s, 0, &k))
		return;
	if (how == PROOF_NOISE)
		emu_fill(k.proof[us], KEYS_LEN, 1);
	join_hdr_put(frame, &h);
	memcpy(frame + JOIN_HDR, k.proof[how == PROOF_REFLECTED ? !us : us], JOIN_MAC);
	if (!world_put(s, frame, sizeof(frame)) || how != PROOF_RIGHT)
		return;
	p->proved = true;
	world.proven |= BIT64(h.src);
	if (p->sealed)
		peer_seal_begin(p, &p->send, p->keys.secret[us]);
}

/* --- output --- */

static u8 scratch[SEAL_RECORD];

bool peer_put(struct world_sock *s, const u8 *data, u32 len)
{
	u32 room = WORLD_BUF - (s->in->tail - s->in->head);
	struct peer *p = s->peer;
	u32 n;

	if (!p->proved || !p->sealed)
		return world_put(s, data, len);
	if (room < len + (len / SEAL_MAX + 1) * (SEAL_HEAD + SEAL_TAG))
		return false;
	for (; len; data += n, len -= n) {
		n = min_u32(len, SEAL_MAX);
		world_put(s, scratch, seal_write(&p->send, scratch, data, n));
	}
	return true;
}

bool peer_send(struct world_sock *s, const struct join_hdr *h, const void *body, u32 len)
{
	static u8 frame[JOIN_HDR + SEAL_MAX];
	struct join_hdr hdr = *h;

	if (len > SEAL_MAX)
		return false;
	hdr.len = JOIN_HDR + len;
	join_hdr_put(frame, &hdr);
	if (len)
		memcpy(frame + JOIN_HDR, body, len);
	return peer_put(s, frame, hdr.len);
}

bool peer_say(struct world_sock *s, u8 type, const void *body, u32 len)
{
	const struct join_hdr h = { .type = type,
				    .src = peer_id(s->peer->who),
				    .dst = WORLD_FABRIC };

	return peer_send(s, &h, body, len);
}

bool peer_bad_record(struct world_sock *s, enum peer_record how)
{
	static const u8 text[JOIN_HDR] = { JOIN_HDR, 0, 0, 0, JT_PING };
	u32 len = how == RECORD_HUGE ? SEAL_MAX + 1 : 0, n;
	struct peer *p = s->peer;
	struct seal other;

	if (!p->proved || !p->sealed)
		return false;
	other = p->send;
	if (how == RECORD_OTHER_KEY)
		peer_seal_begin(p, &other, p->keys.secret[!peer_side(s)]);
	n = seal_write(&other, scratch, text, sizeof(text));
	if (how == RECORD_CHANGED)
		scratch[SEAL_HEAD + 8] ^= 1;
	if (how == RECORD_AGAIN)
		world_put(s, scratch, seal_write(&p->send, scratch, text, sizeof(text)));
	if (how == RECORD_EMPTY || how == RECORD_HUGE)
		memcpy(scratch, &len, sizeof(len));
	return world_put(s, scratch, n);
}

/* --- input --- */

static void peer_hello(struct world_sock *s, const u8 *frame, u32 len)
{
	struct peer *p = s->peer;
	struct join_hello h;

	WORLD_MUST(!p->heard_hello && len == sizeof(p->theirs));
	WORLD_MUST(!join_hello_get(frame + JOIN_HDR, JOIN_HELLO, &h));
	p->heard_hello = true;
	p->theirs_flags = h.flags;
	memcpy(p->theirs, frame, len);
	peer_agree(s);
}

/* The fabric shows its proof to nobody who has not greeted, and as the accepting side last. */
static void peer_proof(struct world_sock *s, const u8 *body, u32 len)
{
	struct peer *p = s->peer;

	WORLD_MUST(p->has_keys && !p->heard_proof && (s->out || p->proved));
	WORLD_MUST(len == JOIN_MAC && !memcmp(body, p->keys.proof[!peer_side(s)], JOIN_MAC));
	p->heard_proof = true;
	if (p->sealed)
		peer_seal_begin(p, &p->recv, p->keys.secret[!peer_side(s)]);
}

static void peer_text(struct peer *p, u8 type, const u8 *body, u32 len)
{
	if (type == JT_QUERY) {
		WORLD_MUST(!join_query_get(body, len, &p->query));
		p->n_queries++;
		return;
	}
	WORLD_MUST(!join_piece_get(body, len, &p->piece));
	memcpy(p->piece_data, p->piece.data, p->piece.len);
	p->piece.data = p->piece_data;
	p->n_pieces++;
}

/* Take a frame. Return: its bytes; 0: it is not complete. */
static u32 peer_frame(struct world_sock *s, const u8 *at, u32 have)
{
	struct peer *p = s->peer;
	struct join_hdr h;

	if (have < JOIN_HDR)
		return 0;
	WORLD_MUST(!join_hdr_get(at, p->heard_proof ? JOIN_MAX_FRAME : JOIN_MAX_EARLY, &h));
	if (have < h.len)
		return 0;
	WORLD_MUST(h.src == WORLD_FABRIC || (h.src && h.dst == peer_id(p->who)));
	if (!p->heard_proof)
		WORLD_MUST(h.type == JT_HELLO || h.type == JT_PROOF || h.type == JT_REFUSE);
	if (h.type == JT_HELLO)
		peer_hello(s, at, h.len);
	if (h.type == JT_PROOF)
		peer_proof(s, at + JOIN_HDR, h.len - JOIN_HDR);
	if (h.type == JT_BEGIN && h.src == WORLD_FABRIC)
		p->heard = join_u64_get(at + JOIN_HDR);
	if (h.src == WORLD_FABRIC && (h.type == JT_QUERY || h.type == JT_PIECE))
		peer_text(p, h.type, at + JOIN_HDR, h.len - JOIN_HDR);
	if (h.src != WORLD_FABRIC) {
		p->n_asks += h.type == JT_ASK;
		p->n_bursts += h.type == JT_BURST;
		p->n_probes += h.type == JT_PROBE;
	}
	return h.len;
}

static void peer_read_frames(struct world_sock *s)
{
	struct peer *p = s->peer;
	u32 at = 0, n;

	while ((n = peer_frame(s, p->text + at, p->text_len - at)) != 0)
		at += n;
	p->text_len -= at;
	memmove(p->text, p->text + at, p->text_len);
}

/* Take the first bytes of what has come as text. Return: whether there were any. */
static bool peer_open(struct world_sock *s)
{
	struct peer *p = s->peer;
	struct world_buf *b = s->from;
	u32 have = b->tail - b->head;
	int n;

	if (!p->heard_proof || !p->sealed) {
		/* Nothing beyond a frame: records may begin there. */
		n = (int)peer_frame(s, b->mem + b->head, have);
		b->head += (u32)n;
		return n;
	}
	n = seal_length(b->mem + b->head, have);
	WORLD_MUST(n >= 0);
	if (!n || (u32)n > have)
		return false;
	WORLD_MUST(p->text_len + SEAL_MAX <= sizeof(p->text));
	n = seal_read(&p->recv, b->mem + b->head, p->text + p->text_len);
	WORLD_MUST(n > 0);
	p->text_len += (u32)n;
	b->head += SEAL_HEAD + (u32)n + SEAL_TAG;
	peer_read_frames(s);
	return true;
}

void peer_listen(struct world_sock *s)
{
	while (peer_open(s))
		;
	if (s->from->head == s->from->tail)
		s->from->head = s->from->tail = 0;
}

/* --- as members do --- */

struct world_sock *peer_join(u32 from, u32 who, u8 flags)
{
	struct world_sock *s = world_knock(from);
	const struct jconn *c;
	u32 i;

	if (!s)
		return NULL;
	peer_greet(s, who, flags, 0);
	for (i = 0; i < 4 && !s->peer->heard_hello; i++)
		world_turn(0);
	peer_prove(s, PROOF_RIGHT);
	for (i = 0; i < 4 && !s->peer->heard_proof; i++)
		world_turn(0);
	c = world_conn(s);
	return c && c->state == JC_UP ? s : NULL;
}

bool peer_begin(struct world_sock *s)
{
	u8 body[JOIN_BEGIN];

	join_u64_put(body, ++s->peer->session);
	return peer_say(s, JT_BEGIN, body, sizeof(body));
}

struct hca_dev peer_device(u32 who, u32 index, u8 gid, u32 lid)
{
	static const u8 net[16] = { [10] = 0xff, [11] = 0xff, [12] = 203 };
	struct hca_dev d = { .index = index,
			     .guid = 0x100 * peer_id(who) + index,
			     .n_ports = 1,
			     .link_layer = LINK_ETHERNET,
			     .speed = 4,
			     .width = 2 };
	struct hca_port *p = &d.port[1];

	snprintf(d.name, sizeof(d.name), "rdmaemu%u", index);
	p->state = PORT_ACTIVE;
	p->lid = lid;
	p->active_mtu = p->max_mtu = 5;
	p->guid = d.guid;
	p->pkey[0] = IB_DEFAULT_PKEY;
	memcpy(p->gid[0].raw, net, 16);
	p->gid[0].raw[14] = (u8)peer_id(who);
	p->gid[0].raw[15] = gid;
	p->gid[0].type = 2;
	p->gid[0].valid = 1;
	return d;
}

bool peer_tables(struct world_sock *s)
{
	struct hca_dev d = peer_device(s->peer->who, 0, 1, 0);
	u8 body[JOIN_MAX_DEV];
	char name[JOIN_NAME];

	snprintf(name, sizeof(name), "peer%u", s->peer->who);
	return peer_say(s, JT_NODE, body, join_node_put(body, 0, 1, name)) &&
	       peer_say(s, JT_DEV, body, join_dev_put(body, &d)) && peer_say(s, JT_READY, NULL, 0);
}

struct burst peer_write(u32 len)
{
	const struct hca_qp *qp = &world.m->hca->qp[world.qp.slot];

	return (struct burst){ .op = BOP_WRITE,
			       .flags = BF_FIRST | BF_LAST | BF_ACK_REQ,
			       .psn = qp->resp.epsn,
			       .src_qpn = PEER_QPN,
			       .dst_qpn = world.qp.qpn,
			       .src_port = 1,
			       .dst_port = 1,
			       .pkey = IB_DEFAULT_PKEY,
			       .dst_type = QPT_RC,
			       .npkts = packets_of(len, PEER_MTU),
			       .mtu = PEER_MTU,
			       .rkey = world.m->c[0].key,
			       .va = (uintptr_t)world.m->c[0].mem,
			       .dma_len = len,
			       .len = len };
}

bool peer_burst(struct world_sock *s, const struct burst *b)
{
	static u8 body[SEAL_MAX];
	const struct join_hdr h = { .type = JT_BURST,
				    .lane = (u8)join_lane_of(b->op),
				    .src = peer_id(s->peer->who),
				    .dst = WORLD_FABRIC };
	u32 len = join_burst_size(b) + join_data_len(b);

	if (len > sizeof(body))
		return false;
	join_burst_put(body, b, b->src_dev, b->dst_dev);
	return peer_send(s, &h, body, len);
}
