/* SPDX-License-Identifier: MIT */
/**
 * DOC: sealed connections: between the socket, which has records, and the buffers of frames.
 *
 * Output goes from the connection's buffer into records when the socket takes them, so that many
 * small frames become one record, and the buffer has room again. Input is opened as it comes,
 * without the token; frames.c finds the same stream of frames as without seals.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"
#include "fabric/join/seal.h"

#include <stdlib.h>

#define OUT_SIZE (4 * SEAL_RECORD)
#define IN_SIZE	 (4 * SEAL_RECORD)

/** struct jseal - both directions of a sealed connection. */
struct jseal {
	struct seal out, in;
	u32 out_head, out_tail, in_head, in_tail;
	u8 out_mem[OUT_SIZE]; /* to be written */
	u8 in_mem[IN_SIZE]; /* that were read */
};

int jseal_start(struct jconn *c)
{
	bool aes = c->hello.flags & JOIN_F_AES && seal_has_aes();
	enum join_side us = jconn_side(c);
	struct jseal *s = malloc(sizeof(*s));
	const u8 *at;
	u32 n;

	if (!s)
		return -ENOMEM;
	s->out_head = s->out_tail = s->in_head = 0;
	seal_begin(&s->out, c->keys.secret[us], aes);
	seal_begin(&s->in, c->keys.secret[!us], aes);
	/* The end of the handshake leaves as it is. */
	while ((n = jconn_piece(c, &at)) != 0) {
		memcpy(s->out_mem + s->out_tail, at, n);
		s->out_tail += n;
		jconn_consume(c, n);
	}
	s->in_tail = c->rx_tail - c->rx_head;
	memcpy(s->in_mem, c->rx + c->rx_head, s->in_tail);
	c->rx_head = c->rx_tail = 0;
	c->seal = s;
	return 0;
}

void jseal_free(struct jconn *c)
{
	if (c->seal)
		explicit_bzero(c->seal, offsetof(struct jseal, out_mem));
	free(c->seal);
	c->seal = NULL;
}

const char *jseal_cipher(const struct jconn *c)
{
	if (!c->seal)
		return NULL;
	return c->seal->out.aes ? "AES-128-GCM" : "ChaCha20-Poly1305";
}

u8 *jseal_space(struct jconn *c, u32 *len)
{
	struct jseal *s = c->seal;

	if (s->in_head && IN_SIZE - s->in_tail < 2 * SEAL_RECORD) {
		memmove(s->in_mem, s->in_mem + s->in_head, s->in_tail - s->in_head);
		s->in_tail -= s->in_head;
		s->in_head = 0;
	}
	*len = IN_SIZE - s->in_tail;
	return s->in_mem + s->in_tail;
}

void jseal_came(struct jconn *c, u32 len)
{
	c->seal->in_tail += len;
}

int jseal_open(struct jconn *c)
{
	struct jseal *s = c->seal;
	int len, done = 0;

	for (;;) {
		len = seal_length(s->in_mem + s->in_head, s->in_tail - s->in_head);
		if (len < 0)
			return len;
		if (!len || (u32)len > s->in_tail - s->in_head ||
		    JOIN_RX_SIZE - c->rx_tail < (u32)len)
			break;
		len = seal_read(&s->in, s->in_mem + s->in_head, c->rx + c->rx_tail);
		if (len < 0)
			return len;
		s->in_head += SEAL_HEAD + (u32)len + SEAL_TAG;
		c->rx_tail += (u32)len;
		done += len;
	}
	if (s->in_head == s->in_tail)
		s->in_head = s->in_tail = 0;
	return done;
}

u32 jseal_output(struct jconn *c, const u8 **at)
{
	struct jseal *s = c->seal;
	const u8 *text;
	u32 n;

	if (s->out_head == s->out_tail)
		s->out_head = s->out_tail = 0;
	while (!s->out_head && OUT_SIZE - s->out_tail >= SEAL_RECORD &&
	       (n = jconn_piece(c, &text)) != 0) {
		n = min_u32(n, SEAL_MAX);
		s->out_tail += seal_write(&s->out, s->out_mem + s->out_tail, text, n);
		jconn_consume(c, n);
	}
	*at = s->out_mem + s->out_head;
	return s->out_tail - s->out_head;
}

void jseal_wrote(struct jconn *c, u32 len)
{
	c->seal->out_head += len;
}

u32 jseal_pending(const struct jconn *c)
{
	return c->seal->out_tail - c->seal->out_head;
}
