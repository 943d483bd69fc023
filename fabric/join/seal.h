/* SPDX-License-Identifier: MIT */
/**
 * DOC: records: the stream of frames of a connection, encrypted and authenticated.
 *
 * A record is the length of its text (4 bytes, little-endian), the text, encrypted, and a tag of 16
 * bytes, which covers the length, too. Records are numbered, and the number is the nonce: one that
 * is repeated, left out, moved or changed has a wrong tag. Each direction has a key of its own,
 * which is replaced by one derived from it after SEAL_RECORDS records: a key that leaks opens no
 * earlier ones, and none is used beyond what the ciphers are good for.
 */
#ifndef FABRIC_JOIN_SEAL_H
#define FABRIC_JOIN_SEAL_H

#include "emulator/types.h"

#include <nettle/chacha-poly1305.h>
#include <nettle/gcm.h>

#define SEAL_KEY     32u
#define SEAL_HEAD    4u
#define SEAL_TAG     16u
#define SEAL_MAX     65536u /* text of a record */
#define SEAL_RECORD  (SEAL_HEAD + SEAL_MAX + SEAL_TAG)
#define SEAL_RECORDS (1u << 20)

/** struct seal - one direction of a connection. */
struct seal {
	bool aes; /* AES-128-GCM, otherwise ChaCha20-Poly1305 */
	u64 n; /* records so far */
	u8 secret[SEAL_KEY];
	union {
		struct gcm_aes128_ctx gcm;
		struct chacha_poly1305_ctx chacha;
	};
};

/** seal_has_aes() - whether this CPU has instructions for AES-GCM. */
bool seal_has_aes(void);
/** seal_begin() - start with the key that follows from @secret. */
void seal_begin(struct seal *s, const u8 secret[SEAL_KEY], bool aes);
/**
 * seal_write() - make a record of @len bytes, 1 to SEAL_MAX. @out: room for SEAL_RECORD bytes
 * Return: bytes of the record.
 */
u32 seal_write(struct seal *s, u8 *out, const u8 *text, u32 len);
/**
 * seal_length() - Return: bytes of the record that begins at @in, of which @have have come; 0: its
 * length has not come yet; -EBADMSG.
 */
int seal_length(const u8 *in, u32 have);
/**
 * seal_read() - open a whole record. @text: room for its text, written only if it is authentic
 * except for noise
 * Return: bytes of the text, or -EBADMSG: it is not the next record of the peer.
 */
int seal_read(struct seal *s, const u8 *in, u8 *text);

#endif
