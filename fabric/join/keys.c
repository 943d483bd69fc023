/* SPDX-License-Identifier: MIT */
/** DOC: see keys.h. */
#include "fabric/join/keys.h"

#include <errno.h>
#include <nettle/curve25519.h>
#include <nettle/hkdf.h>
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <string.h>
#include <sys/random.h>

_Static_assert(CURVE25519_SIZE == KEYS_LEN && SHA256_DIGEST_SIZE == KEYS_LEN, "sizes");

int keys_make(u8 secret[KEYS_LEN], u8 public[KEYS_LEN])
{
	if (getrandom(secret, KEYS_LEN, 0) != KEYS_LEN)
		return -EIO;
	keys_memory_reserve();
	curve25519_mul_g(public, secret);
	return 0;
}

static void keys_extract(const u8 *salt, u32 salt_len, const u8 *in, u32 len, u8 out[KEYS_LEN])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, salt_len, salt);
	hkdf_extract(&ctx, (nettle_hash_update_func *)hmac_sha256_update,
		     (nettle_hash_digest_func *)hmac_sha256_digest, KEYS_LEN, len, in, out);
	explicit_bzero(&ctx, sizeof(ctx));
}

void keys_expand(const u8 from[KEYS_LEN], const void *info, u32 len, u8 out[KEYS_LEN])
{
	struct hmac_sha256_ctx ctx;

	hmac_sha256_set_key(&ctx, KEYS_LEN, from);
	hkdf_expand(&ctx, (nettle_hash_update_func *)hmac_sha256_update,
		    (nettle_hash_digest_func *)hmac_sha256_digest, KEYS_LEN, len, info, KEYS_LEN,
		    out);
	explicit_bzero(&ctx, sizeof(ctx));
}

/* @label: 16 bytes */
static void keys_expand_side(const u8 root[KEYS_LEN], const char *label,
			     const u8 greetings[KEYS_LEN], u8 out[KEYS_LEN])
{
	u8 info[16 + KEYS_LEN];

	memcpy(info, label, 16);
	memcpy(info + 16, greetings, KEYS_LEN);
	keys_expand(root, info, sizeof(info), out);
}

int keys_derive(struct join_keys *k, const u8 secret[KEYS_LEN], const u8 peer[KEYS_LEN],
		const u8 *token, u32 token_len, const u8 greetings[KEYS_LEN])
{
	static const u8 none[KEYS_LEN];
	u8 shared[KEYS_LEN], salt[KEYS_LEN], root[KEYS_LEN];

	keys_memory_reserve();
	curve25519_mul(shared, secret, peer);
	/* Keys of low order give this: the peer would choose the keys alone. */
	if (memeql_sec(shared, none, KEYS_LEN))
		return -EPROTO;
	keys_extract(none, KEYS_LEN, token, token_len, salt);
	keys_extract(salt, KEYS_LEN, shared, KEYS_LEN, root);
	keys_expand_side(root, "rdmaemu3 proof C", greetings, k->proof[SIDE_CONNECTS]);
	keys_expand_side(root, "rdmaemu3 proof A", greetings, k->proof[SIDE_ACCEPTS]);
	keys_expand_side(root, "rdmaemu3 seals C", greetings, k->secret[SIDE_CONNECTS]);
	keys_expand_side(root, "rdmaemu3 seals A", greetings, k->secret[SIDE_ACCEPTS]);
	explicit_bzero(shared, sizeof(shared));
	explicit_bzero(salt, sizeof(salt));
	explicit_bzero(root, sizeof(root));
	return 0;
}
