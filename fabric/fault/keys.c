/* SPDX-License-Identifier: MIT */
/* The actions and keys of fault rules. See keys.h. */
#include "fabric/fault/keys.h"

#define PACKET (KEYS_PACKET | KEYS_WHEN)
#define RETRIES                                                                                    \
	(KEYS_WHO | KEY(PEER) | KEY(LINK) | KEY(TYPE) | KEY(OPCODE) | KEYS_CONNECTION |            \
	 KEY(SIZE) | KEYS_WHEN)
#define MESSAGE                                                                                    \
	(KEY(NODE) | KEY(DEVICE) | KEY(PORT) | KEY(PEER) | KEY(LINK) | KEY(DIRECTION) |            \
	 KEYS_WHEN | KEY(MAD))
#define TARGET	(KEYS_WHO | KEY(AT) | KEY(FOR) | KEYS_TRIGGER)
#define PROCESS (KEY(NODE) | KEY(PROGRAM) | KEY(PID) | KEY(AT) | KEYS_TRIGGER)

static const struct fault_act_def acts[] = {
	{ "drop", "discard packets", FA_DROP, FAULT_ON_WIRE, PACKET, 0, "KEY=VALUE" },
	{ "loss", "discard a share of the packets", FA_DROP, FAULT_ON_WIRE, PACKET | KEY(PERCENT),
	  KEY(PERCENT), "P% or KEY=VALUE" },
	{ "corrupt", "damage packets, which their receiver then discards", FA_CORRUPT,
	  FAULT_ON_WIRE, PACKET | KEY(PERCENT), 0, "P% or KEY=VALUE" },
	{ "duplicate", "deliver packets twice", FA_DUPLICATE, FAULT_ON_WIRE, PACKET | KEY(PERCENT),
	  0, "P% or KEY=VALUE" },
	{ "delay", "deliver packets later", FA_DELAY, FAULT_ON_WIRE,
	  PACKET | KEY(TIME) | KEY(JITTER) | KEY(DISTRIBUTION) | KEY(PERCENT), KEY(TIME),
	  "a time as 50us, P% or KEY=VALUE" },
	{ "reorder", "let later packets overtake", FA_REORDER, FAULT_ON_WIRE,
	  PACKET | KEY(PERCENT) | KEY(GAP) | KEY(TIME), 0, "P%, a time as 1ms or KEY=VALUE" },
	{ "rate", "limit how much passes in a second", FA_RATE, FAULT_ON_WIRE, PACKET | KEY(RATE),
	  KEY(RATE), "a rate as 10Gbit or KEY=VALUE" },
	{ "rnr", "answer requests with an RNR NAK", FA_RNR, FAULT_ON_WIRE, RETRIES | KEY(TIMER), 0,
	  "KEY=VALUE" },
	{ "nak", "answer requests with a NAK of a given code", FA_NAK, FAULT_ON_WIRE,
	  RETRIES | KEY(CODE), KEY(CODE), "KEY=VALUE" },
	{ "cm drop", "discard messages of connection management", FA_DROP, FAULT_ON_WIRE, MESSAGE,
	  0, "a message as REQ or KEY=VALUE" },
	{ "cm delay", "deliver messages of connection management later", FA_DELAY, FAULT_ON_WIRE,
	  MESSAGE | KEY(TIME) | KEY(JITTER) | KEY(DISTRIBUTION), KEY(TIME),
	  "a time as 2s, a message as REQ or KEY=VALUE" },
	{ "cm duplicate", "deliver messages of connection management twice", FA_DUPLICATE,
	  FAULT_ON_WIRE, MESSAGE, 0, "a message as REQ or KEY=VALUE" },
	{ "cm reject", "reject REQ and SIDR_REQ messages", FA_REJECT, FAULT_ON_WIRE,
	  MESSAGE | KEY(REASON), 0, "REQ or SIDR_REQ, or KEY=VALUE" },
	{ "cm mra", "answer a REQ with an MRA first", FA_MRA, FAULT_ON_WIRE, MESSAGE, 0,
	  "REQ or KEY=VALUE" },
	{ "partition", "cut groups of nodes off from each other", FA_PARTITION, FAULT_ON_STATE,
	  KEY(GROUPS) | KEY(AT) | KEY(FOR), KEY(GROUPS), "groups of nodes as a,b|c, or KEY=VALUE" },
	{ "fail", "let calls of programs fail with an errno", FA_FAIL, FAULT_ON_CALL,
	  KEY(NODE) | KEY(PROGRAM) | KEY(PID) | KEYS_WHEN | KEY(CALL) | KEY(ERRNO) | KEY(FORCE),
	  KEY(CALL) | KEY(ERRNO), "KEY=VALUE or force" },
	{ "wc", "complete work requests with an error status", FA_WC, FAULT_ON_WR,
	  KEYS_WHO | KEY(PEER) | KEY(TYPE) | KEY(OPCODE) | KEY(CONN) | KEY(WR_ID) | KEY(SIZE) |
		  KEYS_WHEN | KEY(STATUS),
	  KEY(STATUS), "KEY=VALUE" },
	{ "defer", "let work requests begin later", FA_DEFER, FAULT_ON_WR,
	  KEYS_WHO | KEY(PEER) | KEY(TYPE) | KEY(OPCODE) | KEY(CONN) | KEY(WR_ID) | KEY(SIZE) |
		  KEYS_WHEN | KEY(TIME) | KEY(POSTS),
	  KEY(TIME), "a time as 1ms, or KEY=VALUE" },
	{ "cq hold", "let completions arrive between a poll and the arming of the CQ", FA_HOLD,
	  FAULT_ON_CQ,
	  KEY(NODE) | KEY(DEVICE) | KEY(PROGRAM) | KEY(PID) | KEY(CQ) | KEYS_WHEN | KEY(TIME), 0,
	  "a time as 10ms, or KEY=VALUE" },
	{ "cq delay", "let completions of real devices arrive later", FA_LATE, FAULT_ON_WR,
	  KEY(PROGRAM) | KEY(PID) | KEY(QP) | KEY(TYPE) | KEY(OPCODE) | KEY(WR_ID) | KEY(SIZE) |
		  KEYS_WHEN | KEY(TIME),
	  KEY(TIME), "a time as 1ms, or KEY=VALUE" },
	{ "limit", "lower the limits of devices", FA_LIMIT, FAULT_ON_STATE,
	  KEY(NODE) | KEY(DEVICE) | KEY(AT) | KEY(FOR) | KEY(LIMIT), KEY(LIMIT),
	  "a limit as max_qp=4, or KEY=VALUE" },
	{ "event", "raise an asynchronous event or one of the rdma_cm", FA_EVENT, FAULT_ON_TIME,
	  TARGET | KEY(EVENT) | KEY(CQ) | KEY(SRQ), KEY(EVENT),
	  "IBV_EVENT_... or RDMA_CM_EVENT_..., or KEY=VALUE" },
	{ "link", "take links down or up, or let them flap", FA_LINK, FAULT_ON_TIME,
	  KEY(NODE) | KEY(DEVICE) | KEY(PORT) | KEY(LINK) | KEY(AT) | KEY(FOR) | KEY(PERIOD) |
		  KEY(STATE) | KEYS_TRIGGER,
	  KEY(STATE), "down, up, flap or KEY=VALUE" },
	{ "heal", "end partitions", FA_HEAL, FAULT_ON_TIME, KEY(AT) | KEY(HEAL) | KEYS_TRIGGER, 0,
	  "a partition's name or KEY=VALUE" },
	{ "kill", "send programs a signal", FA_KILL, FAULT_ON_TIME, PROCESS | KEY(SIGNAL), 0,
	  "KEY=VALUE" },
	{ "pause", "stop programs for a while", FA_PAUSE, FAULT_ON_TIME, PROCESS | KEY(FOR), 0,
	  "KEY=VALUE" },
	{ "resume", "let stopped programs continue", FA_RESUME, FAULT_ON_TIME, PROCESS, 0,
	  "KEY=VALUE" },
};

static const char *const keys[K_END] = {
	[K_NODE] = "node",
	[K_PEER] = "peer",
	[K_LINK] = "link",
	[K_DEVICE] = "device",
	[K_PORT] = "port",
	[K_PROGRAM] = "program",
	[K_PID] = "pid",
	[K_QP] = "qp",
	[K_TYPE] = "type",
	[K_OPCODE] = "opcode",
	[K_DIRECTION] = "direction",
	[K_CONN] = "conn",
	[K_PSN] = "psn",
	[K_ROUND] = "round",
	[K_SIZE] = "size",
	[K_WR_ID] = "wr_id",
	[K_CQ] = "cq",
	[K_SRQ] = "srq",
	[K_NTH] = "nth",
	[K_AFTER] = "after",
	[K_EVERY] = "every",
	[K_PROB] = "prob",
	[K_FOR] = "for",
	[K_AT] = "at",
	[K_SEED] = "seed",
	[K_JITTER] = "jitter",
	[K_DISTRIBUTION] = "distribution",
	[K_GAP] = "gap",
	[K_TIMER] = "timer",
	[K_CODE] = "code",
	[K_REASON] = "reason",
	[K_STATUS] = "status",
	[K_CALL] = "call",
	[K_ERRNO] = "errno",
	[K_SIGNAL] = "signal",
	[K_PERIOD] = "period",
	[K_POSTS] = "posts",
	[K_MUST_FIRE] = "must-fire",
	[K_PERCENT] = "P%",
	[K_TIME] = "a time",
	[K_RATE] = "a rate",
	[K_EVENT] = "an event",
	[K_MAD] = "a message",
	[K_GROUPS] = "groups of nodes",
	[K_STATE] = "down, up or flap",
	[K_HEAL] = "a name",
	[K_FORCE] = "force",
	[K_LIMIT] = "max_...=N",
};

_Static_assert(K_END < 64, "a bit for each");

const struct fault_act_def *fault_act_at(u32 i)
{
	return i < ARRAY_SIZE(acts) ? &acts[i] : NULL;
}

const struct fault_act_def *fault_act_def(const char *word)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(acts); i++)
		if (!strcmp(acts[i].word, word))
			return &acts[i];
	return NULL;
}

const char *fault_act_first(u32 i, size_t *len)
{
	const struct fault_act_def *d = fault_act_at(i), *before = i ? fault_act_at(i - 1) : NULL;

	if (!d)
		return NULL;
	*len = strcspn(d->word, " ");
	/* A family's rows stand together. */
	if (before && d->word[*len] && !strncmp(before->word, d->word, *len + 1))
		*len = 0;
	return d->word;
}

const char *fault_key_name(u32 key)
{
	return key < K_END ? keys[key] : "?";
}

const char *fault_act_name(const struct fault_rule *r)
{
	return r->act_word < ARRAY_SIZE(acts) ? acts[r->act_word].word : "?";
}
