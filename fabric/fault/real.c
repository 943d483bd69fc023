/* SPDX-License-Identifier: MIT */
/**
 * DOC: which rules can hit programs on real devices, and which only these.
 *
 * The fabric of such programs has no devices and carries no packets. It answers for the calls that
 * a program makes, the work requests that it posts and the events that messages of connection
 * management cause, and it can stop processes. A rule about anything else would never hit, so it is
 * refused.
 */
#include "emulator/mad.h"
#include "fabric/fault/keys.h"
#include "fabric/fault/parse.h"

#define REAL_ACTIONS                                                                               \
	"fail, wc, defer, cq hold, cq delay, limit, cm drop, cm reject, event, kill, pause or "    \
	"resume"

#define KEYS_UNSEEN (KEY(DEVICE) | KEY(PORT) | KEY(PEER) | KEY(CONN))
#define KEYS_OF_CM  (KEY(DEVICE) | KEY(PORT) | KEY(PEER) | KEY(LINK) | KEY(DIRECTION))

#define MAD_BIT(attr) (1u << (MAD_##attr - MAD_REQ))

/* Calls that the tap does not have: libtap/newer.c and traces/calls/table.h. */
static bool real_call_is_unseen(const char *call)
{
	static const char *const unseen[] = { "rdma_resolve_addrinfo", "rdma_query_addrinfo",
					      "rdma_write_cm_event" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unseen); i++)
		if (!strcmp(call, unseen[i]))
			return true;
	return false;
}

static bool real_rule_is_on_cm(const struct fault_rule *r)
{
	return (r->act == FA_DROP || r->act == FA_REJECT) && r->where.mads;
}

static int real_check_cm(const struct fault_rule *r, struct fault_bad *bad)
{
	const u64 other = r->has & KEYS_OF_CM;

	if (other)
		return fault_refuse(bad, fault_key_name((u32)__builtin_ctzll(other)),
				    "a message, and which of them: where a real message comes from "
				    "is not known");
	if (r->has & KEY(REASON))
		return fault_refuse(bad, "reason=",
				    "none: rdma_reject() rejects with reason 28, of the consumer");
	if (r->where.mads == MAD_BIT(MRA))
		return fault_refuse(bad, "MRA", "a message that causes an event of the rdma_cm");
	return 0;
}

/* What goes with the event must be possible, or the program would see one that is not true. */
static int real_check_event(const struct fault_rule *r, struct fault_bad *bad)
{
	const u32 ev = r->what.event;

	if (ev < FAULT_EVENT_CM && ev != EV_CQ_ERR && ev != EV_SRQ_ERR && ev != EV_WQ_FATAL)
		return 0;
	return fault_refuse(bad, fault_event_name(ev),
			    "an event of a queue pair, a port or a device, or SRQ_LIMIT_REACHED: "
			    "nothing makes a real device do what goes with this one");
}

static int real_check_action(const struct fault_rule *r, struct fault_bad *bad)
{
	const char *name = fault_act_name(r);

	if (real_rule_is_on_cm(r))
		return real_check_cm(r, bad);
	switch (r->act) {
	case FA_FAIL:
	case FA_WC:
	case FA_HOLD:
	case FA_LATE:
	case FA_DEFER:
	case FA_LIMIT:
	case FA_KILL:
	case FA_PAUSE:
	case FA_RESUME:
		return 0;
	case FA_EVENT:
		return real_check_event(r, bad);
	case FA_LINK:
		return fault_refuse(bad, name,
				    REAL_ACTIONS ": the links of real devices cannot be changed");
	default:
		return fault_refuse(bad, name, REAL_ACTIONS ": a real wire cannot be touched");
	}
}

/* Limits that no call of verbs is checked against: libtap/users/limit_faults.c. */
static bool real_limit_is_unseen(const char *name)
{
	static const char *const unseen[] = { "max_sge_rd", "max_res_rd_atom", "max_mcast_grp",
					      "max_mcast_qp_attach", "max_num_tags" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(unseen); i++)
		if (!strcmp(name, unseen[i]))
			return true;
	return false;
}

static int real_check_limit(const struct fault_rule *r, struct fault_bad *bad)
{
	u32 i;

	if (r->has & KEY(DEVICE))
		return fault_refuse(bad, "device", "no device=: the rule lowers all devices");
	for (i = 0; i < r->what.n_limits; i++)
		if (real_limit_is_unseen(r->what.limit[i].name))
			return fault_refuse(bad, r->what.limit[i].name,
					    "a limit that a call of the program can exceed");
	return 0;
}

int fault_check_real(const struct fault_rule *r, struct fault_bad *bad)
{
	int ret = real_check_action(r, bad);

	if (ret)
		return ret;
	if (r->has & KEY(NODE))
		return fault_refuse(bad, r->where.node,
				    "program= or pid=: programs on real devices have no node");
	if (r->triggered)
		return fault_refuse(bad, fault_act_name(r),
				    "at=, or no condition: packets of a real wire are not seen");
	if ((r->act == FA_WC || r->act == FA_DEFER) && r->has & KEYS_UNSEEN)
		return fault_refuse(bad, fault_key_name((u32)__builtin_ctzll(r->has & KEYS_UNSEEN)),
				    "qp=, type=, opcode=, wr_id= or size=: of a real device's "
				    "connections nothing else is known");
	if (r->act == FA_WC && r->what.status == WCS_FATAL_ERR)
		return fault_refuse(bad, "status=",
				    "a status without an event of the queue pair, not FATAL_ERR");
	if (r->act == FA_HOLD && r->has & KEY(DEVICE))
		return fault_refuse(bad, "device",
				    "cq=, program= or pid=: the devices of CQs are not known");
	if (r->act == FA_LIMIT)
		return real_check_limit(r, bad);
	if (r->act == FA_FAIL && real_call_is_unseen(r->what.call))
		return fault_refuse(bad, r->what.call, "a call that is seen on real devices, too");
	return 0;
}

int fault_check_emulated(const struct fault_rule *r, struct fault_bad *bad)
{
	if (r->act == FA_LATE)
		return fault_refuse(bad, fault_act_name(r),
				    "delay: on emulated devices packets can be late");
	if (r->act == FA_DEFER && r->where.wr_ops >> WR_RECV & 1)
		return fault_refuse(bad, "opcode=",
				    "an opcode of sends: on emulated devices `rnr` makes receives "
				    "late");
	return 0;
}
