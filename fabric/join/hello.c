/* SPDX-License-Identifier: MIT */
/** DOC: the handshake of joined fabrics: versions, and proofs that both sides have the token. */
#include "fabric/join/mesh.h"
#include "fabric/common/opts.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
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

/* The proof of a side that has the token of @len bytes: ours, or with 0 none. */
static void hello_proof_make(const struct fabric *f, const struct jconn *c, bool mine, u32 len,
			     u8 mac[JOIN_MAC])
{
	static const char label[] = "rdmaemu join 1";
	const struct join *j = f->join;
	const u8 role = mine == c->out ? 'C' : 'A';
	struct hmac_sha256_ctx ctx;
	u8 ids[16];

	join_u64_put(ids, mine ? j->id : c->peer);
	join_u64_put(ids + 8, mine ? c->peer : j->id);
	hmac_sha256_set_key(&ctx, len, j->token);
	hmac_sha256_update(&ctx, sizeof(label) - 1, (const u8 *)label);
	hmac_sha256_update(&ctx, 1, &role);
	hmac_sha256_update(&ctx, JOIN_NONCE, mine ? c->nonce : c->hello.nonce);
	hmac_sha256_update(&ctx, JOIN_NONCE, mine ? c->hello.nonce : c->nonce);
	hmac_sha256_update(&ctx, sizeof(ids), ids);
	hmac_sha256_digest(&ctx, JOIN_MAC, mac);
}

static void hello_proof(const struct fabric *f, const struct jconn *c, bool mine, u8 mac[JOIN_MAC])
{
	hello_proof_make(f, c, mine, f->join->token_len, mac);
}

/* Why the proof of the other side is refused. */
static const char *hello_proof_trouble(const struct fabric *f, const struct jconn *c,
				       const u8 *body)
{
	u8 mac[JOIN_MAC];

	if (!f->join->token_len)
		return "this fabric has no token, the other one has: --token-file on both sides";
	hello_proof_make(f, c, false, 0, mac);
	if (memeql_sec(mac, body, JOIN_MAC))
		return "no token: --token-file is missing";
	return "wrong token";
}

void hello_send(struct fabric *f, struct jconn *c)
{
	struct join_hello h = { .version = JOIN_VERSION,
				.port = f->join->port,
				.ppm = f->clock.ppm };
	u8 body[JOIN_HELLO];

	if (getrandom(c->nonce, sizeof(c->nonce), 0) != sizeof(c->nonce)) {
		jconn_close(f, c, "no random numbers");
		return;
	}
	memcpy(h.nonce, c->nonce, sizeof(h.nonce));
	snprintf(h.name, sizeof(h.name), "%s", f->node_name);
	join_hello_put(body, &h);
	jconn_send(f, c, JT_HELLO, f->join->id, 0, body, sizeof(body));
}

static void hello_proof_send(struct fabric *f, struct jconn *c)
{
	u8 mac[JOIN_MAC];

	hello_proof(f, c, true, mac);
	jconn_send(f, c, JT_PROOF, f->join->id, 0, mac, sizeof(mac));
}

static void hello_received(struct fabric *f, struct jconn *c, const struct join_hdr *h,
			   const u8 *body)
{
	int ret = join_hello_get(body, h->len - JOIN_HDR, &c->hello);

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
	c->state = JC_PROOF;
	/* The connecting side proves first that it has the token. */
	if (c->out)
		hello_proof_send(f, c);
}

static void hello_proof_received(struct fabric *f, struct jconn *c, const struct join_hdr *h,
				 const u8 *body)
{
	u8 mac[JOIN_MAC];

	hello_proof(f, c, false, mac);
	if (h->len != JOIN_HDR + JOIN_MAC || h->src != c->peer) {
		jconn_refuse(f, c, "wrong token");
		return;
	}
	if (!memeql_sec(mac, body, JOIN_MAC)) {
		jconn_refuse(f, c, "%s", hello_proof_trouble(f, c, body));
		return;
	}
	if (!c->out)
		hello_proof_send(f, c);
	c->state = JC_UP;
	mesh_conn_up(f, c);
}

void hello_input(struct fabric *f, struct jconn *c, const struct join_hdr *h, const u8 *body)
{
	char text[JOIN_TEXT + 1];
	u32 i, len = h->len - JOIN_HDR;

	if (h->type == JT_REFUSE) {
		for (i = 0; i < len && i < JOIN_TEXT; i++)
			text[i] = isprint(body[i]) ? (char)body[i] : '?';
		text[i] = '\0';
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
