/* SPDX-License-Identifier: MIT */
/** DOC: the handshake of joined fabrics: versions, and proofs that both sides have the token. */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"
#include "fabric/join/seal.h"
#include "fabric/common/opts.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/memops.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static char token_trouble[PATH_MAX + 80];

static const char *token_error(const char *path, const char *why)
{
	snprintf(token_trouble, sizeof(token_trouble), "token file %s: %s", path, why);
	return token_trouble;
}

const char *join_token_load(const char *path, u8 *token, u32 *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;
	int err;

	if (fd < 0)
		return token_error(path, strerror(errno));
	n = fstat(fd, &st) ? -1 : read(fd, token, JOIN_MAX_TOKEN);
	err = errno;
	close(fd);
	if (n < 0)
		return token_error(path, strerror(err));
	if (n == JOIN_MAX_TOKEN)
		return token_error(path, "it has more than 4095 bytes");
	while (n && isspace(token[n - 1]))
		n--;
	if (!n)
		return token_error(path, "there is no token in it");
	/* A secret on the host has to stay one; containers mount theirs with any mode. */
	if (S_ISREG(st.st_mode) && (st.st_mode & S_IWOTH))
		return token_error(path, "others may write to it");
	*len = (u32)n;
	return NULL;
}

/* The keys that follow from both greetings and @len bytes of the token. Return: 0 or -EPROTO. */
static int hello_keys(const struct fabric *f, const struct jconn *c, u32 len, struct join_keys *k)
{
	struct join_hdr h = { .len = JOIN_HDR + JOIN_HELLO, .type = JT_HELLO, .src = c->peer };
	u8 theirs[JOIN_HDR + JOIN_HELLO], digest[KEYS_LEN];
	struct sha256_ctx ctx;

	join_hdr_put(theirs, &h);
	join_hello_put(theirs + JOIN_HDR, &c->hello);
	sha256_init(&ctx);
	sha256_update(&ctx, sizeof(theirs), c->out ? c->greeting : theirs);
	sha256_update(&ctx, sizeof(theirs), c->out ? theirs : c->greeting);
	sha256_digest(&ctx, sizeof(digest), digest);
	return keys_derive(k, c->secret, c->hello.key, f->join->token, len, digest);
}

/* Why the proof of the other side is refused. */
static const char *hello_proof_trouble(const struct fabric *f, const struct jconn *c,
				       const u8 *body)
{
	struct join_keys k;

	if (!f->join->token_len)
		return "this fabric has no token, the other one has: --token-file on both sides";
	if (!hello_keys(f, c, 0, &k) && memeql_sec(k.proof[!jconn_side(c)], body, JOIN_MAC))
		return "no token: --token-file is missing";
	return "wrong token";
}

void hello_send(struct fabric *f, struct jconn *c)
{
	struct join_hello h = { .version = JOIN_VERSION,
				.port = f->join->port,
				.ppm = f->clock.ppm };
	struct join_hdr hdr = { .len = sizeof(c->greeting), .type = JT_HELLO, .src = f->join->id };

	if (getrandom(h.nonce, sizeof(h.nonce), 0) != sizeof(h.nonce) ||
	    keys_make(c->secret, h.key)) {
		jconn_close(f, c, "no random numbers");
		return;
	}
	h.flags = seal_has_aes() ? JOIN_F_AES : 0;
	if (f->join->plaintext)
		h.flags |= JOIN_F_PLAIN;
	else if (!jconn_is_loopback(c))
		h.flags |= JOIN_F_SEAL;
	c->flags = h.flags;
	snprintf(h.name, sizeof(h.name), "%s", f->node_name);
	join_hdr_put(c->greeting, &hdr);
	join_hello_put(c->greeting + JOIN_HDR, &h);
	jconn_send(f, c, JT_HELLO, f->join->id, 0, c->greeting + JOIN_HDR, JOIN_HELLO);
}

static void hello_proof_send(struct fabric *f, struct jconn *c)
{
	jconn_send(f, c, JT_PROOF, f->join->id, 0, c->keys.proof[jconn_side(c)], JOIN_MAC);
}

/*
 * Whether the connection is sealed: if one side asks for it, unless both sides can do without. Both
 * decide the same. Return: why they do not agree, or NULL.
 */
static const char *hello_agree(struct jconn *c)
{
	u8 all = c->flags | c->hello.flags;

	if (all & JOIN_F_SEAL && c->flags & JOIN_F_PLAIN)
		return "this fabric has --plaintext, the other one has not: both sides must agree";
	if (all & JOIN_F_SEAL && c->hello.flags & JOIN_F_PLAIN)
		return "the other fabric has --plaintext, this one has not: both sides must agree";
	c->sealed = all & JOIN_F_SEAL;
	return NULL;
}

static void hello_received(struct fabric *f, struct jconn *c, const struct join_hdr *h,
			   const u8 *body)
{
	int ret = join_hello_get(body, h->len - JOIN_HDR, &c->hello);
	const char *why;

	if (ret == -EPROTONOSUPPORT) {
		jconn_refuse(f, c, "it speaks version %u of the protocol, not %u", c->hello.version,
			     JOIN_VERSION);
		return;
	}
	if (ret || !h->src) {
		jconn_refuse(f, c, "this is not a fabric's greeting");
		return;
	}
	/*
	 * With clocks of different speed, timeouts of one side would be meaningless to the other.
	 */
	if ((c->hello.ppm ? c->hello.ppm : CLOCK_PPM) != f->clock.ppm) {
		jconn_refuse(f, c, "its clock runs at another --time-scale");
		return;
	}
	c->peer = h->src;
	if (!mesh_peer_found(f, c)) {
		jconn_close(f, c, c->wanted ? NULL : "it is this fabric itself");
		return;
	}
	/* A stranger that says nothing costs no key. */
	if (!c->out)
		hello_send(f, c);
	why = c->state == JC_FREE ? NULL : hello_agree(c);
	if (!why && c->state != JC_FREE && hello_keys(f, c, f->join->token_len, &c->keys))
		why = "its key is not valid";
	if (why)
		jconn_refuse(f, c, "%s", why);
	if (c->state == JC_FREE)
		return;
	c->state = JC_PROOF;
	/* The connecting side proves first that it has the token. */
	if (c->out)
		hello_proof_send(f, c);
}

static void hello_proof_received(struct fabric *f, struct jconn *c, const struct join_hdr *h,
				 const u8 *body)
{
	const u8 *proof = c->keys.proof[!jconn_side(c)];

	if (h->len != JOIN_HDR + JOIN_MAC || h->src != c->peer) {
		jconn_refuse(f, c, "wrong token");
		return;
	}
	if (!memeql_sec(proof, body, JOIN_MAC)) {
		jconn_refuse(f, c, "%s", hello_proof_trouble(f, c, body));
		return;
	}
	if (!c->out)
		hello_proof_send(f, c);
	if (c->sealed && jseal_start(c)) {
		jconn_close(f, c, "no memory");
		return;
	}
	explicit_bzero(c->secret, sizeof(c->secret));
	explicit_bzero(&c->keys, sizeof(c->keys));
	c->state = JC_UP;
	mesh_conn_up(f, c);
}

void hello_input(struct fabric *f, struct jconn *c, const struct join_hdr *h, const u8 *body)
{
	char text[JOIN_TEXT + 1];

	if (h->type == JT_REFUSE) {
		join_text_get(body, h->len - JOIN_HDR, text);
		mesh_conn_refused(f, c, text);
		return;
	}
	if (h->type == JT_HELLO && c->state == JC_HELLO)
		hello_received(f, c, h, body);
	else if (h->type == JT_PROOF && c->state == JC_PROOF)
		hello_proof_received(f, c, h, body);
	else
		jconn_refuse(f, c, "this is not a fabric's greeting");
	if (c->state != JC_FREE)
		jconn_flush(f, c);
}
