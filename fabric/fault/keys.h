/* SPDX-License-Identifier: MIT */
/** DOC: the words of a fault rule, as tables: the keys, and which of them each action takes. */
#ifndef FABRIC_FAULT_KEYS_H
#define FABRIC_FAULT_KEYS_H

#include "fabric/fault/rule.h"

/** enum fault_key - the parts of a rule: KEY=VALUE and, from K_BARE on, words without a key. */
enum fault_key {
	/* where */
	K_NODE,
	K_PEER,
	K_LINK,
	K_DEVICE,
	K_PORT,
	K_PROGRAM,
	K_PID,
	K_QP,
	K_TYPE,
	K_OPCODE,
	K_DIRECTION,
	K_CONN,
	K_PSN,
	K_ROUND,
	K_SIZE,
	K_WR_ID,
	K_CQ,
	K_SRQ,
	/* when */
	K_NTH,
	K_AFTER,
	K_EVERY,
	K_PROB,
	K_FOR,
	K_AT,
	K_SEED,
	/* what */
	K_JITTER,
	K_DISTRIBUTION,
	K_GAP,
	K_TIMER,
	K_CODE,
	K_REASON,
	K_STATUS,
	K_CALL,
	K_ERRNO,
	K_SIGNAL,
	K_PERIOD,
	K_POSTS,
	K_KEYS, /* up to here: with '=' */
	K_BARE = K_KEYS,
	K_MUST_FIRE = K_BARE, /* every action takes it */
	K_PERCENT,
	K_TIME,
	K_RATE,
	K_EVENT,
	K_MAD,
	K_GROUPS,
	K_STATE, /* down, up, flap */
	K_HEAL,
	K_FORCE,
	K_LIMIT, /* max_NAME=N */
	K_END,
};

#define KEY(k) BIT64(K_##k)

#define KEYS_WHO	(KEY(NODE) | KEY(DEVICE) | KEY(PORT) | KEY(PROGRAM) | KEY(PID) | KEY(QP))
#define KEYS_TURN	(KEY(NTH) | KEY(AFTER) | KEY(EVERY) | KEY(PROB) | KEY(SEED))
#define KEYS_WHEN	(KEYS_TURN | KEY(FOR) | KEY(AT))
#define KEYS_CONNECTION (KEY(CONN) | KEY(PSN) | KEY(ROUND))
#define KEYS_PACKET                                                                                \
	(KEYS_WHO | KEY(PEER) | KEY(LINK) | KEY(TYPE) | KEY(OPCODE) | KEY(DIRECTION) |             \
	 KEYS_CONNECTION | KEY(SIZE))
/* With one of these keys an action that fires once waits for a matching packet. */
#define KEYS_TRIGGER (KEY(OPCODE) | KEY(CONN) | KEY(PSN) | KEY(ROUND) | KEY(SIZE) | KEYS_TURN)

/**
 * struct fault_act_def - an action's word.
 * @help: what the action does, for `rdmaemu fault --help`
 * @keys: the keys it takes; @need: those it requires
 * @expected: the error message for any other word
 */
struct fault_act_def {
	const char *word;
	const char *help;
	u8 act; /* enum fault_act */
	u8 on; /* enum fault_on */
	u64 keys;
	u64 need;
	const char *expected;
};

/**
 * fault_act_def() - the action of that word, or NULL; fault_act_at() - by index, NULL after the
 * last.
 */
const struct fault_act_def *fault_act_def(const char *word);
const struct fault_act_def *fault_act_at(u32 i);
/**
 * fault_act_first() - the first word of the action at that index, of *len bytes; 0 bytes if the
 * action before begins with it, too. Return: NULL after the last.
 */
const char *fault_act_first(u32 i, size_t *len);
/** fault_key_name() - a key as it is written. */
const char *fault_key_name(u32 key);

/* --- values.c --------------------------------------------------------------------------------- */
const char *fault_key_parse(struct fault_rule *r, enum fault_key key, const char *value);
/**
 * fault_bare_parse() - a word without a key, or max_NAME=N, of one of the kinds in @kinds.
 * Return: its kind (enum fault_key), or -1: none of them.
 */
int fault_bare_parse(struct fault_rule *r, u64 kinds, const char *word);

#endif
