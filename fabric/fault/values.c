/* SPDX-License-Identifier: MIT */
/* Parses the values of a fault rule's words. See keys.h. */
#include "fabric/fault/keys.h"
#include "fabric/common/parse.h"
#include "fabric/common/parse_link.h"
#include "fabric/common/nodes.h"
#include "fabric/common/opts.h"
#include "fabric/fault/parse.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#define TIME_MAX      (86400ULL * 1000000000) /* for at= and for= */
#define TIME_EXPECTED "a time with its unit: ns, us, ms or s"
#define TIME_A_DAY    TIME_EXPECTED ", at most 86400s"
#define COUNT_MAX     1000000000000000ULL /* at 100 million packets a second: 4 months */
#define COUNT_LIMIT   ", at most 1000000000000000"
#define LIST_MAX      16u /* names separated by commas */

static bool value_copy(char *out, size_t size, const char *value)
{
	size_t n = strlen(value);

	if (!n || n >= size)
		return false;
	memcpy(out, value, n + 1);
	return true;
}

/* "A,B,C": call @one for each name. Return: whether all are known. */
static bool list_parse(const char *value, bool (*one)(struct fault_rule *r, const char *name),
		       struct fault_rule *r)
{
	char buf[FAULT_TEXT], *p = buf, *name;
	u32 n = 0;

	if (!value_copy(buf, sizeof(buf), value))
		return false;
	while ((name = strsep(&p, ",")))
		if (n++ >= LIST_MAX || !one(r, name))
			return false;
	return true;
}

static bool list_op_parse(struct fault_rule *r, const char *name)
{
	return fault_op_parse(name, &r->where.ops, &r->where.wr_ops);
}

static bool list_type_parse(struct fault_rule *r, const char *name)
{
	return fault_type_parse(name, &r->where.types);
}

static bool list_mad_parse(struct fault_rule *r, const char *name)
{
	return fault_mad_parse(name, &r->where.mads);
}

/* "N", "N..M", "N..", "..M" */
static bool number_range_parse(const char *value, u64 max, struct fault_range *out)
{
	struct fault_range v = { .max = max, .has = true };
	char buf[64], *dots, *to;

	if (!value_copy(buf, sizeof(buf), value))
		return false;
	dots = strstr(buf, "..");
	if (!dots) {
		if (!parse_number(buf, max, &v.min))
			return false;
		v.max = v.min;
	} else {
		*dots = '\0';
		to = dots + 2;
		if ((!*buf && !*to) || (*buf && !parse_number(buf, max, &v.min)) ||
		    (*to && !parse_number(to, max, &v.max)) || v.min > v.max)
			return false;
	}
	*out = v;
	return true;
}

/*
 * With '+' before the first number, and optionally the second, PSNs are relative to the
 * connection's first.
 */
static bool psn_range_parse(const char *value, struct fault_where *w)
{
	char buf[64], *dots;

	w->psn_rel = *value == '+';
	if (!value_copy(buf, sizeof(buf), value + w->psn_rel))
		return false;
	dots = w->psn_rel ? strstr(buf, "..+") : NULL;
	if (dots)
		memmove(dots + 2, dots + 3, strlen(dots + 3) + 1);
	return number_range_parse(buf, IB_PSN_MASK, &w->psn);
}

/* "0.01" or "1%"; with @percent only the latter. */
static bool probability_parse(const char *value, bool percent, u64 *out)
{
	double v;
	char *end;

	if (!isdigit((unsigned char)*value) && *value != '.')
		return false;
	v = strtod(value, &end);
	if (!strcmp(end, "%"))
		v /= 100;
	else if (*end || percent)
		return false;
	if (!(v > 0 && v <= 1))
		return false;
	*out = (u64)(v * (double)FAULT_PROB_ONE);
	return *out > 0;
}

static bool signal_parse(const char *value, s32 *out)
{
	u64 n;
	s32 i;

	if (parse_number(value, 64, &n) && n) {
		*out = (s32)n;
		return true;
	}
	if (!strncasecmp(value, "SIG", 3))
		value += 3;
	for (i = 1; i < 32; i++)
		if (sigabbrev_np(i) && !strcasecmp(sigabbrev_np(i), value)) {
			*out = i;
			return true;
		}
	return false;
}

static const char *number_parse(const char *value, u64 min, u64 max, u64 *out, const char *expected)
{
	return parse_number(value, max, out) && *out >= min ? NULL : expected;
}

static const char *number32_parse(const char *value, u32 min, u32 max, u32 *out,
				  const char *expected)
{
	u64 n;

	expected = number_parse(value, min, max, &n, expected);
	if (!expected)
		*out = (u32)n;
	return expected;
}

/* A count or, with a unit, a time. */
static const char *for_parse(struct fault_rule *r, const char *value)
{
	if (parse_number(value, ~0ULL, &r->when.count) && r->when.count)
		return NULL;
	r->when.count = 0;
	return time_parse(value, TIME_MAX, &r->when.for_ns) && r->when.for_ns
		       ? NULL
		       : "a count, 1 or more, or " TIME_A_DAY;
}

static const char *nth_parse(struct fault_rule *r, const char *value)
{
	const char *bad =
		number_parse(value, 1, COUNT_MAX, &r->when.after, "1 or more" COUNT_LIMIT);

	if (bad)
		return bad;
	r->when.after--;
	r->when.count = 1;
	r->when.has_nth = true;
	return NULL;
}

static const char *direction_parse(struct fault_rule *r, const char *value)
{
	if (!strcasecmp(value, "tx"))
		r->where.dir = DIR_TX;
	else if (!strcasecmp(value, "rx"))
		r->where.dir = DIR_RX;
	else
		return "tx or rx";
	return NULL;
}

static const char *distribution_parse(struct fault_rule *r, const char *value)
{
	static const char *const names[] = { "uniform", "normal", "pareto" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			r->what.dist = i;
			return NULL;
		}
	return "uniform, normal or pareto";
}

/* These return NULL: parsed; "": not a key of this group; else what was expected. */
static const char *where_key_parse(struct fault_rule *r, enum fault_key key, const char *value)
{
	struct fault_where *w = &r->where;

	switch (key) {
	case K_NODE:
		return hca_node_name_ok(value) && value_copy(w->node, sizeof(w->node), value)
			       ? NULL
			       : "a node's name: " NAME_EXPECTED;
	case K_PEER:
		return hca_node_name_ok(value) && value_copy(w->peer, sizeof(w->peer), value)
			       ? NULL
			       : "a node's name: " NAME_EXPECTED;
	case K_LINK:
		return isalnum((unsigned char)value[0]) && !strpbrk(value, "|,:/") &&
				       value_copy(w->link, sizeof(w->link), value)
			       ? NULL
			       : "a node's name, or two with '-' between";
	case K_DEVICE:
		return value_copy(w->device, sizeof(w->device), value) ? NULL : "a device's name";
	case K_PORT:
		return number32_parse(value, 1, HCA_MAX_PORTS, &w->port, "a port's number, 1 or 2");
	case K_PROGRAM:
		return value_copy(w->program, sizeof(w->program), value)
			       ? NULL
			       : "a program's name of at most 31 characters";
	case K_PID:
		return number32_parse(value, 1, 0x7fffffff, &w->pid,
				      "a process's number, 1 or more");
	case K_QP:
		w->has_qpn = true;
		return number32_parse(value, 1, IB_QPN_MASK, &w->qpn,
				      "a QP's number, 1 or more, at most 0xffffff");
	case K_TYPE:
		return list_parse(value, list_type_parse, r)
			       ? NULL
			       : "RC, UC, UD, XRC, XRC_SEND, XRC_RECV or RAW_PACKET, or several, "
				 "separated by commas";
	case K_OPCODE:
		return list_parse(value, list_op_parse, r)
			       ? NULL
			       : "an opcode of packets as SEND_ONLY or of work requests as "
				 "RDMA_WRITE; or REQUEST, RESPONSE, ACKNOWLEDGE, ACK, NAK, "
				 "RNR_NAK or MAD";
	case K_DIRECTION:
		return direction_parse(r, value);
	case K_CONN:
		return number32_parse(value, 1, ~0u, &w->conn, "a connection's ordinal, 1 or more");
	case K_PSN:
		return psn_range_parse(value, w)
			       ? NULL
			       : "a PSN as 0x12, +5 from the connection's first, or +5..+9";
	case K_ROUND:
		return number_range_parse(value, ~0u, &w->round) && w->round.max
			       ? NULL
			       : "a round, 1 being the first time, or 2..3";
	case K_SIZE:
		return number_range_parse(value, ~0ULL, &w->size) ? NULL
								  : "bytes, or a range as 1..4096";
	case K_WR_ID:
		w->has_wr_id = true;
		return number_parse(value, 0, ~0ULL, &w->wr_id, "a wr_id");
	default:
		return "";
	}
}

static const char *when_key_parse(struct fault_rule *r, enum fault_key key, const char *value)
{
	struct fault_when *w = &r->when;

	switch (key) {
	case K_NTH:
		return nth_parse(r, value);
	case K_AFTER:
		return number_parse(value, 0, COUNT_MAX, &w->after,
				    "a count, 0 or more" COUNT_LIMIT);
	case K_EVERY:
		return number_parse(value, 1, COUNT_MAX, &w->every, "1 or more" COUNT_LIMIT);
	case K_PROB:
		return probability_parse(value, false, &w->prob)
			       ? NULL
			       : "a probability, more than 0 and at most 1 or 100%";
	case K_FOR:
		return for_parse(r, value);
	case K_AT:
		w->has_at = true;
		return time_parse(value, TIME_MAX, &w->at_ns) ? NULL : TIME_A_DAY;
	case K_SEED:
		w->has_seed = true;
		return number_parse(value, 0, ~0ULL, &w->seed, "a number of at most 64 bits");
	default:
		return "";
	}
}

static const char *what_key_parse(struct fault_rule *r, enum fault_key key, const char *value)
{
	struct fault_what *w = &r->what;

	switch (key) {
	case K_JITTER:
		return time_parse(value, LINK_TIME_MAX, &w->jitter_ns) && w->jitter_ns
			       ? NULL
			       : TIME_EXPECTED ", at most 10s";
	case K_DISTRIBUTION:
		return distribution_parse(r, value);
	case K_GAP:
		return number32_parse(value, 1, 1000, &w->gap, "a count of packets, 1 to 1000");
	case K_POSTS:
		return number32_parse(value, 1, 1000, &w->posts,
				      "a count of work requests, 1 to 1000");
	case K_TIMER:
		if (number32_parse(value, 0, 31, &w->timer, ""))
			return "an RNR timer code, 0 to 31";
		w->timer++;
		return NULL;
	case K_CODE:
		return fault_nak_parse(value, &w->syndrome)
			       ? NULL
			       : "PSN_SEQ_ERR, REM_INV_REQ_ERR, REM_ACCESS_ERR or REM_OP_ERR";
	case K_REASON:
		w->has_reason = true;
		return number32_parse(value, 0, 0xffff, &w->reason,
				      "a reject reason's number as 28, at most 65535");
	case K_STATUS:
		return fault_status_parse(value, &w->status)
			       ? NULL
			       : "the name of an error as RETRY_EXC_ERR, of IBV_WC_...";
	case K_CALL:
		return value_copy(w->call, sizeof(w->call), value) ? NULL : "a function's name";
	case K_ERRNO:
		return fault_errno_parse(value, &w->err) ? NULL : "an errno by its name as ENOMEM";
	case K_SIGNAL:
		return signal_parse(value, &w->signo) ? NULL
						      : "a signal as KILL, SIGTERM or 9, 1 to 64";
	case K_PERIOD:
		return time_parse(value, TIME_MAX, &w->period_ns) && w->period_ns >= 1000000
			       ? NULL
			       : TIME_EXPECTED ", at least 1ms";
	case K_CQ:
		return number32_parse(value, 0, HCA_MAX_CQ - 1, &w->cq, "a CQ's number")
			       ?: (w->cq++, NULL);
	case K_SRQ:
		return number32_parse(value, 0, HCA_MAX_SRQ - 1, &w->srq, "an SRQ's number")
			       ?: (w->srq++, NULL);
	default:
		return "";
	}
}

const char *fault_key_parse(struct fault_rule *r, enum fault_key key, const char *value)
{
	const char *bad;

	if (!*value)
		return "a value";
	bad = where_key_parse(r, key, value);
	if (bad && !*bad)
		bad = when_key_parse(r, key, value);
	return bad && !*bad ? what_key_parse(r, key, value) : bad;
}

/* "a,b|c|*" */
static bool groups_parse(struct fault_rule *r, const char *word)
{
	char buf[FAULT_GROUPS], *p = buf, *group, *name;
	u32 n = 0, stars = 0;

	if (!strchr(word, '|') || !value_copy(buf, sizeof(buf), word))
		return false;
	while ((group = strsep(&p, "|"))) {
		n++;
		if (!strcmp(group, "*")) {
			stars++;
			continue;
		}
		while ((name = strsep(&group, ",")))
			if (!hca_node_name_ok(name))
				return false;
	}
	return n > 1 && stars <= 1 && value_copy(r->what.groups, sizeof(r->what.groups), word);
}

static bool link_state_parse(struct fault_rule *r, const char *word)
{
	static const char *const names[] = { "down", "up", "flap" };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], word)) {
			r->what.link = i;
			return true;
		}
	return false;
}

/* "max_qp=4" */
static bool limit_parse(struct fault_rule *r, const char *word)
{
	const char *eq = strchr(word, '=');
	struct fault_what *w = &r->what;
	size_t n = eq ? (size_t)(eq - word) : 0;

	if (!eq || strncmp(word, "max_", 4) != 0 || n >= sizeof(w->limit[0].name) ||
	    w->n_limits >= FAULT_LIMITS ||
	    !parse_number(eq + 1, ~0ULL, &w->limit[w->n_limits].value))
		return false;
	memcpy(w->limit[w->n_limits].name, word, n);
	w->limit[w->n_limits++].name[n] = '\0';
	return true;
}

static bool bare_parse(struct fault_rule *r, u32 kind, const char *word)
{
	struct fault_what *w = &r->what;

	switch (kind) {
	case K_MUST_FIRE:
		return w->must_fire = !strcmp(word, "must-fire");
	case K_PERCENT:
		return probability_parse(word, true, &r->when.prob);
	case K_TIME:
		return time_parse(word, LINK_TIME_MAX, &w->delay_ns) && w->delay_ns;
	case K_RATE:
		return rate_parse(word, &w->rate_bps);
	case K_EVENT:
		return fault_event_parse(word, &w->event);
	case K_MAD:
		return list_parse(word, list_mad_parse, r);
	case K_GROUPS:
		return groups_parse(r, word);
	case K_STATE:
		return link_state_parse(r, word);
	case K_HEAL:
		return hca_node_name_ok(word) && value_copy(w->heal, sizeof(w->heal), word);
	case K_FORCE:
		return w->force = !strcmp(word, "force");
	case K_LIMIT:
		return limit_parse(r, word);
	default:
		return false;
	}
}

int fault_bare_parse(struct fault_rule *r, u64 kinds, const char *word)
{
	u32 kind;

	for (kind = K_BARE; kind < K_END; kind++)
		if (((kinds | KEY(MUST_FIRE)) & BIT64(kind)) && bare_parse(r, kind, word))
			return (int)kind;
	return -1;
}
