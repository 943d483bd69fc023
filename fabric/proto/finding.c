/* SPDX-License-Identifier: MIT */
/* The table of what the checker finds. */
#include "fabric/proto/finding.h"

#include <string.h>

const struct finding_def finding_defs[FINDING_COUNT] = {
	[FINDING_CQ_EVENT_UNACKED] = { "CQ:EVENT:UNACKED", FINDING_ERROR,
				       "A CQ is destroyed before its completion events are "
				       "acknowledged",
				       "ibv_get_cq_event(3): ibv_destroy_cq() waits for all events "
				       "to be acknowledged",
				       "Call ibv_ack_cq_events() for each event of "
				       "ibv_get_cq_event() first" },
	[FINDING_CQ_NOTIFY_LOST] = { "CQ:NOTIFY:LOST", FINDING_ERROR,
				     "A thread waits for an event of a CQ that nobody polled after "
				     "it was armed",
				     "ibv_get_cq_event(3), example: request notification, then "
				     "empty the CQ, then wait",
				     "Poll the CQ until it is empty between ibv_req_notify_cq() "
				     "and ibv_get_cq_event()" },
	[FINDING_CQ_SIZE_OUTSTANDING] = { "CQ:SIZE:OUTSTANDING", FINDING_WARNING,
					  "More work requests are outstanding than their CQ has "
					  "entries",
					  "ibv_create_cq(3), IBTA 10.2.3.1: a CQ that overruns "
					  "fails with IBV_EVENT_CQ_ERR",
					  "Create the CQ with the sum of the depths of its queues, "
					  "or post less" },
	[FINDING_MR_DEREG_OUTSTANDING] = { "MR:DEREG:OUTSTANDING", FINDING_ERROR,
					   "Memory is deregistered that an outstanding send "
					   "request uses",
					   "ibv_post_send(3): buffers may be reused after the "
					   "request is fully executed",
					   "Poll the completion of the request, or of a later one "
					   "of this queue, first" },
	[FINDING_MR_DEREG_POSTED] = { "MR:DEREG:POSTED", FINDING_WARNING,
				      "Memory is deregistered that a posted receive request names",
				      "ibv_post_recv(3): buffers may be reused after the request "
				      "is fully executed",
				      "Move the queue pair to IBV_QPS_ERR or destroy it first" },
	[FINDING_OBJECT_DESTROY_BUSY] = { "OBJECT:DESTROY:BUSY", FINDING_WARNING,
					  "An object is not destroyed, because others use it",
					  "ibv_dealloc_pd(3), ibv_destroy_cq(3): the call fails if "
					  "any other resource uses it",
					  "Destroy the other object first, and look at the result "
					  "of the call" },
	[FINDING_OBJECT_EVENT_UNACKED] = { "OBJECT:EVENT:UNACKED", FINDING_ERROR,
					   "An object is destroyed before its events are "
					   "acknowledged",
					   "ibv_get_async_event(3), rdma_destroy_id(3): the call "
					   "waits until all are acknowledged",
					   "Call ibv_ack_async_event() or rdma_ack_cm_event() for "
					   "each event first" },
	[FINDING_OBJECT_LEAK_EXIT] = { "OBJECT:LEAK:EXIT", FINDING_WARNING,
				       "Objects still exist when the program ends",
				       "the man page of the call that creates it names the one "
				       "that destroys it",
				       "Destroy the object" },
	[FINDING_QP_DESTROY_OUTSTANDING] = { "QP:DESTROY:OUTSTANDING", FINDING_WARNING,
					     "A QP is destroyed before the completions of its send "
					     "requests were polled",
					     "IBTA 10.2.4.4: outstanding work requests of a "
					     "destroyed QP may never be executed",
					     "Poll the completion of the last request, or move the "
					     "QP to IBV_QPS_ERR, first" },
	[FINDING_QP_MODIFY_INVALID] = { "QP:MODIFY:INVALID", FINDING_ERROR,
					"ibv_modify_qp() fails with EINVAL",
					"ibv_modify_qp(3), the tables of attributes; IBTA 11.2.5.2",
					"Set the attribute as described" },
	[FINDING_QP_SQ_STUCK] = { "QP:SQ:STUCK", FINDING_ERROR,
				  "The send queue is full of requests of which none will complete "
				  "visibly",
				  "ibv_post_send(3), IBV_SEND_SIGNALED: a place is free again "
				  "after a later completion",
				  "Set IBV_SEND_SIGNALED at least once in max_send_wr requests, "
				  "and poll" },
	[FINDING_WR_LKEY_INVALID] = { "WR:LKEY:INVALID", FINDING_ERROR,
				      "A work request fails with IBV_WC_LOC_PROT_ERR",
				      "ibv_post_send(3), IBTA 10.6.3.3: a data segment lies in one "
				      "region of the QP's PD",
				      "Register the memory, and keep it registered until the "
				      "request completes" },
	[FINDING_WR_RKEY_INVALID] = { "WR:RKEY:INVALID", FINDING_ERROR,
				      "A work request fails with IBV_WC_REM_ACCESS_ERR",
				      "ibv_reg_mr(3), IBTA 10.6.3.3: remote memory lies in one "
				      "region with the right",
				      "Give the peer the current key, and keep the region until "
				      "the peer has finished" },
};

const char *finding_severity_name(enum finding_severity severity)
{
	static const char *const names[FINDING_SEVERITIES] = { "error", "warning", "info" };

	return names[severity];
}

bool finding_pattern_matches(const char *pattern, size_t len, const char *text)
{
	/* After a '*' that has matched too little, it takes one character more. */
	const char *star = NULL, *resume = NULL, *end = pattern + len;

	while (*text) {
		if (pattern < end && *pattern == '*') {
			star = ++pattern;
			resume = text;
		} else if (pattern < end && *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star;
			text = ++resume;
		} else {
			return false;
		}
	}
	while (pattern < end && *pattern == '*')
		pattern++;
	return pattern == end;
}

/* Whether a word is the plural of a severity. */
static bool finding_word_is_severity(const char *word, size_t len, enum finding_severity severity)
{
	const char *name = finding_severity_name(severity);
	size_t n = strlen(name);

	return len == n + 1 && !memcmp(word, name, n) && word[n] == 's';
}

/* The findings of a word of a list; 0: none. */
static u64 finding_word_parse(const char *word, size_t len)
{
	u64 bits = 0;
	u32 id;

	for (id = 0; id < FINDING_COUNT; id++) {
		const struct finding_def *d = &finding_defs[id];

		if ((len == 3 && !memcmp(word, "all", 3)) ||
		    finding_word_is_severity(word, len, d->severity) ||
		    finding_pattern_matches(word, len, d->name))
			bits |= 1ull << id;
	}
	return bits;
}

const char *finding_list_parse(const char *list, u64 *on)
{
	_Static_assert(FINDING_COUNT < 64, "a bit for each finding");
	const char *word = list;
	size_t len, minus;
	u64 bits;

	*on = 0;
	if (*list == '-')
		finding_list_parse(FINDING_LIST_DEFAULT, on);
	for (;; word += len + 1) {
		len = strcspn(word, ",");
		minus = *word == '-';
		bits = finding_word_parse(word + minus, len - minus);
		if (!bits)
			return word;
		*on = minus ? *on & ~bits : *on | bits;
		if (!word[len])
			return NULL;
	}
}

int finding_find(const char *name)
{
	int id;

	for (id = 0; id < FINDING_COUNT; id++)
		if (!strcmp(finding_defs[id].name, name))
			return id;
	return -1;
}
