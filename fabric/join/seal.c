/* SPDX-License-Identifier: MIT */
/** DOC: see seal.h. */
#include "fabric/join/seal.h"
#include "fabric/join/keys.h"

#include <endian.h>
#include <errno.h>
#include <nettle/memops.h>
#include <string.h>
#if defined(__aarch64__)
#include <sys/auxv.h>
#endif

#define NONCE_LEN 12u

_Static_assert(GCM_IV_SIZE == NONCE_LEN && CHACHA_POLY1305_NONCE_SIZE == NONCE_LEN, "nonce");
_Static_assert(SEAL_KEY == KEYS_LEN, "a seal's secret is a key of keys.h");

static const char key_label[] = "rdmaemu join 3 key", next_label[] = "rdmaemu join 3 next";

bool seal_has_aes(void)
{
#if defined(__x86_64__) || defined(__i386__)
	return __builtin_cpu_supports("aes") && __builtin_cpu_supports("pclmul");
#elif defined(__aarch64__)
	const unsigned long aes = 1ul << 3, pmull = 1ul << 4; /* HWCAP_AES, HWCAP_PMULL */

	return (getauxval(AT_HWCAP) & (aes | pmull)) == (aes | pmull);
#else
	return false;
#endif
}

static void seal_set_key(struct seal *s)
{
	u8 key[SEAL_KEY];

	keys_expand(s->secret, key_label, sizeof(key_label) - 1, key);
	if (s->aes)
		gcm_aes128_set_key(&s->gcm, key);
	else
		chacha_poly1305_set_key(&s->chacha, key);
	explicit_bzero(key, sizeof(key));
}

void seal_begin(struct seal *s, const u8 secret[SEAL_KEY], bool aes)
{
	s->aes = aes;
	s->n = 0;
	memcpy(s->secret, secret, SEAL_KEY);
	seal_set_key(s);
}

/* Go on to the next record: its nonce and its length count in the tag. */
static void seal_next_record(struct seal *s, const u8 head[SEAL_HEAD])
{
	u8 nonce[NONCE_LEN] = { 0 }, next[SEAL_KEY];
	u64 n = htole64(s->n);

	if (s->n && s->n % SEAL_RECORDS == 0) {
		keys_expand(s->secret, next_label, sizeof(next_label) - 1, next);
		memcpy(s->secret, next, SEAL_KEY);
		explicit_bzero(next, sizeof(next));
		seal_set_key(s);
	}
	memcpy(nonce + NONCE_LEN - sizeof(n), &n, sizeof(n));
	s->n++;
	if (s->aes) {
		gcm_aes128_set_iv(&s->gcm, NONCE_LEN, nonce);
		gcm_aes128_update(&s->gcm, SEAL_HEAD, head);
	} else {
		chacha_poly1305_set_nonce(&s->chacha, nonce);
		chacha_poly1305_update(&s->chacha, SEAL_HEAD, head);
	}
}

u32 seal_write(struct seal *s, u8 *out, const u8 *text, u32 len)
{
	u32 le = htole32(len);

	memcpy(out, &le, sizeof(le));
	seal_next_record(s, out);
	if (s->aes) {
		gcm_aes128_encrypt(&s->gcm, len, out + SEAL_HEAD, text);
		gcm_aes128_digest(&s->gcm, SEAL_TAG, out + SEAL_HEAD + len);
	} else {
		chacha_poly1305_encrypt(&s->chacha, len, out + SEAL_HEAD, text);
		chacha_poly1305_digest(&s->chacha, SEAL_TAG, out + SEAL_HEAD + len);
	}
	return SEAL_HEAD + len + SEAL_TAG;
}

int seal_length(const u8 *in, u32 have)
{
	u32 le;

	if (have < SEAL_HEAD)
		return 0;
	memcpy(&le, in, sizeof(le));
	le = le32toh(le);
	return le && le <= SEAL_MAX ? (int)(SEAL_HEAD + le + SEAL_TAG) : -EBADMSG;
}

int seal_read(struct seal *s, const u8 *in, u8 *text)
{
	int all = seal_length(in, SEAL_HEAD);
	u8 tag[SEAL_TAG];
	u32 len;

	if (all < 0)
		return all;
	len = (u32)all - SEAL_HEAD - SEAL_TAG;
	seal_next_record(s, in);
	if (s->aes) {
		gcm_aes128_decrypt(&s->gcm, len, text, in + SEAL_HEAD);
		gcm_aes128_digest(&s->gcm, SEAL_TAG, tag);
	} else {
		chacha_poly1305_decrypt(&s->chacha, len, text, in + SEAL_HEAD);
		chacha_poly1305_digest(&s->chacha, SEAL_TAG, tag);
	}
	return memeql_sec(tag, in + SEAL_HEAD + len, SEAL_TAG) ? (int)len : -EBADMSG;
}
