/* SPDX-License-Identifier: MIT */
/**
 * DOC: what rules other than those on packets can ask for: which call can fail with which errno,
 * which work request can end with which status (IBTA 11.6.2), which events can be raised, and which
 * limits a device has.
 */
#include "emulator/cm/cm.h"
#include "emulator/engine.h"
#include "emulator/transport/wqe.h"
#include "fabric/fault/parse.h"
#include "fabric/proto/calls.h"
#include "fabric/fault/capability.h"
#include "fabric/fault/contradiction.h"
#include "fabric/fault/keys.h"

#include <stdio.h>

/* --- calls ------------------------------------------------------------------------------------ */

int fault_check_call(struct fault_rule *r, struct fault_bad *bad)
{
	int id = call_find(r->what.call);
	char errors[256];

	if (id < 0)
		return fault_refuse(
			bad, r->what.call,
			"a call of libibverbs or librdmacm that can fail, as ibv_reg_mr");
	r->what.call_id = (u32)id;
	if (r->what.force || call_may_fail((u32)id, r->what.err))
		return 0;
	return fault_refuse(bad, strerrorname_np(r->what.err), "one of %s; or `force`",
			    call_errors((u32)id, errors, sizeof(errors)));
}

/* --- work requests ---------------------------------------------------------------------------- */

#define WR(op)	 (1u << WR_##op)
#define RECV	 (1u << WR_RECV)
#define SENDS	 (WR(SEND) | WR(SEND_WITH_IMM) | WR(SEND_WITH_INV))
#define WRITES	 (WR(RDMA_WRITE) | WR(RDMA_WRITE_WITH_IMM))
#define ATOMICS	 (WR(ATOMIC_CMP_AND_SWP) | WR(ATOMIC_FETCH_AND_ADD))
#define ANSWERED (WR(RDMA_READ) | ATOMICS | WR(FLUSH) | WR(ATOMIC_WRITE))
#define REQUESTS (SENDS | WRITES | ANSWERED)
#define WINDOWS	 (WR(LOCAL_INV) | WR(BIND_MW))

#define T(type)	 (1u << QPT_##type)
#define RELIABLE (T(RC) | T(XRC_SEND))
#define TAKERS	 (T(RC) | T(UC) | T(UD) | T(XRC_RECV) | T(SRD))
#define ALL	 (RELIABLE | T(UC) | T(UD) | T(RAW_PACKET) | T(SRD))
/* Those of which the peer tells the requester what became of a request. */
#define ANSWERS (RELIABLE | T(SRD))

/**
 * struct outcome - a status that work requests can end with.
 * @types: QP types whose send queue can, a bit each; @ops: opcodes that can; @recv_types: QP types
 *	whose receives can
 */
static const struct outcome {
	u8 status; /* enum ib_wc_status */
	u32 types;
	u32 ops;
	u32 recv_types;
} outcomes[] = {
	{ WCS_LOC_LEN_ERR, ALL, REQUESTS | WR(TSO), TAKERS },
	{ WCS_LOC_QP_OP_ERR, ALL, REQUESTS | WINDOWS | WR(TSO), TAKERS },
	{ WCS_LOC_PROT_ERR, ALL, (REQUESTS & ~WR(FLUSH)) | WR(TSO), TAKERS },
	{ WCS_MW_BIND_ERR, RELIABLE | T(UC), WINDOWS, 0 },
	{ WCS_BAD_RESP_ERR, ANSWERS, ANSWERED, 0 },
	{ WCS_LOC_ACCESS_ERR, 0, 0, T(RC) | T(UC) | T(XRC_RECV) },
	{ WCS_REM_INV_REQ_ERR, ANSWERS, REQUESTS, T(RC) | T(XRC_RECV) },
	{ WCS_REM_ACCESS_ERR, ANSWERS, WR(SEND_WITH_INV) | WRITES | ANSWERED, 0 },
	{ WCS_REM_OP_ERR, RELIABLE, REQUESTS, 0 },
	{ WCS_RETRY_EXC_ERR, RELIABLE, REQUESTS, 0 },
	/* A WRITE without immediate needs nothing that a responder could lack. */
	{ WCS_RNR_RETRY_EXC_ERR, ANSWERS, REQUESTS & ~WR(RDMA_WRITE), 0 },
	{ WCS_REM_ABORT_ERR, ANSWERS, REQUESTS, 0 },
	{ WCS_FATAL_ERR, RELIABLE, REQUESTS | WINDOWS, 0 },
	{ WCS_RESP_TIMEOUT_ERR, ANSWERS, REQUESTS, 0 },
	{ WCS_REM_INV_RD_REQ_ERR, T(SRD), REQUESTS, 0 },
	{ WCS_GENERAL_ERR, ALL, REQUESTS | WINDOWS | WR(TSO), TAKERS },
};

static const struct outcome *outcome_find(u32 status)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(outcomes); i++)
		if (outcomes[i].status == status)
			return &outcomes[i];
	return NULL;
}

/* Those of @ops that QPs of at least one of the types support. */
static u32 qp_types_wr_ops(u32 types, u32 ops)
{
	u32 type, op, all = 0;

	for (type = 0; type < 32; type++)
		for (op = 0; (types >> type & 1) && op < WR_COUNT; op++)
			if (wqe_allowed(type, op))
				all |= 1u << op;
	return all & ops;
}

static int check_refuse_status(u32 status, struct fault_bad *bad)
{
	const char *name = ib_wc_status_name(status);

	if (status == WCS_WR_FLUSH_ERR)
		return fault_refuse(bad, name,
				    "another status: flushes follow from an error of the same QP");
	if (status == WCS_TM_ERR || status == WCS_TM_RNDV_INCOMPLETE)
		return fault_refuse(bad, name,
				    "another status: this one occurs with tag matching only");
	return fault_refuse(bad, name, "another status: this one occurs on RD QPs only");
}

int fault_check_work(struct fault_rule *r, struct fault_bad *bad)
{
	const struct outcome *o = outcome_find(r->what.status);
	struct fault_where *w = &r->where;
	u32 types = w->types ? w->types : ~0u, ops, recv;

	if (!o)
		return check_refuse_status(r->what.status, bad);
	recv = types & o->recv_types ? RECV : 0;
	ops = qp_types_wr_ops(types & o->types, o->ops);
	if (!ops && !recv)
		return fault_refuse(bad, "type=", "a QP type that can complete with %s",
				    ib_wc_status_name(r->what.status));
	/* Without opcode= the rule is about sends, if they can end with that status. */
	w->wr_ops = w->wr_ops ? w->wr_ops & (ops | recv) : ops ? ops : recv;
	if (!w->wr_ops)
		return fault_refuse(bad, "opcode=", "an opcode that can end with %s",
				    ib_wc_status_name(r->what.status));
	w->types = types &
		   ((w->wr_ops & ~RECV ? o->types : 0) | (w->wr_ops & RECV ? o->recv_types : 0));
	return fault_check_work_words(r, bad);
}

int fault_check_defer(struct fault_rule *r, struct fault_bad *bad)
{
	struct fault_where *w = &r->where;
	u32 types = w->types ? w->types : ~0u;
	u32 ops = qp_types_wr_ops(types & ALL, REQUESTS | WINDOWS | WR(TSO));
	u32 recv = types & TAKERS ? RECV : 0;

	w->wr_ops = w->wr_ops ? w->wr_ops & (ops | recv) : ops;
	if (!w->wr_ops)
		return fault_refuse(bad, r->has & KEY(OPCODE) ? "opcode=" : "type=",
				    "an opcode that queue pairs of these types post");
	return fault_check_work_words(r, bad);
}

/* --- events ----------------------------------------------------------------------------------- */

#define KEYS_OF_CALLS                                                                              \
	(KEY(EVENT) | KEY(NODE) | KEY(PROGRAM) | KEY(PID) | KEY(AT) | KEYS_TURN | KEY(MUST_FIRE))

int fault_check_event(struct fault_rule *r, struct fault_bad *bad)
{
	/*
	 * These are reported by a call: the rule counts the calls and makes them end with the
	 * event.
	 */
	static const struct {
		u32 event;
		u32 call;
	} of_calls[] = {
		{ CM_EV_ADDR_ERROR, CALL_rdma_resolve_addr },
		{ CM_EV_ROUTE_ERROR, CALL_rdma_resolve_route },
		{ CM_EV_MULTICAST_ERROR, CALL_rdma_join_multicast },
	};
	u32 i, cm = r->what.event - FAULT_EVENT_CM;

	if (r->what.event < FAULT_EVENT_CM || cm == CM_EV_DEVICE_REMOVAL ||
	    cm == CM_EV_ADDR_CHANGE || cm == CM_EV_UNREACHABLE || cm == CM_EV_TIMEWAIT_EXIT)
		return 0;
	for (i = 0; i < ARRAY_SIZE(of_calls); i++)
		if (of_calls[i].event == cm) {
			if (r->has & ~KEYS_OF_CALLS)
				return fault_refuse(bad, fault_event_name(r->what.event),
						    "no keys but node=, program=, pid=, at=, nth=, "
						    "after=, every=, "
						    "prob= and seed= with it");
			r->on = FAULT_ON_CALL;
			r->triggered = false;
			r->what.call_id = of_calls[i].call;
			return 0;
		}
	return fault_refuse(bad, fault_event_name(r->what.event),
			    "RDMA_CM_EVENT_ADDR_ERROR, ROUTE_ERROR, MULTICAST_ERROR, UNREACHABLE, "
			    "DEVICE_REMOVAL, ADDR_CHANGE or TIMEWAIT_EXIT; for others `cm reject`, "
			    "`cm drop` or `kill`");
}

/* --- limits ----------------------------------------------------------------------------------- */

/* The names of ibv_query_device(3) and ibv_query_device_ex(3). */
static const struct {
	const char *name;
	u16 at;
	u16 size;
} limits[] = {
#define LIMIT(name, field)                                                                         \
	{                                                                                          \
		name, offsetof(struct hca_limits, field), sizeof(((struct hca_limits *)0)->field)  \
	}
	LIMIT("max_mr_size", max_mr_size),
	LIMIT("max_qp", max_qp),
	LIMIT("max_qp_wr", max_qp_wr),
	LIMIT("max_sge", max_sge),
	LIMIT("max_sge_rd", max_sge_rd),
	LIMIT("max_inline_data", max_inline),
	LIMIT("max_cq", max_cq),
	LIMIT("max_cqe", max_cqe),
	LIMIT("max_mr", max_mr),
	LIMIT("max_pd", max_pd),
	LIMIT("max_mw", max_mw),
	LIMIT("max_ah", max_ah),
	LIMIT("max_srq", max_srq),
	LIMIT("max_srq_wr", max_srq_wr),
	LIMIT("max_srq_sge", max_srq_sge),
	LIMIT("max_qp_rd_atom", max_rd_atom),
	LIMIT("max_res_rd_atom", max_res_rd_atom),
	LIMIT("max_mcast_grp", max_mcast_grp),
	LIMIT("max_mcast_qp_attach", max_mcast_attach),
	LIMIT("max_xrcd", max_xrcd),
	LIMIT("max_wq_type_rq", max_wq),
	LIMIT("max_rwq_indirection_tables", max_ind),
	LIMIT("max_flow", max_flow),
	LIMIT("max_counters", max_ctr),
	LIMIT("max_num_tags", max_tags),
#undef LIMIT
};

static int limit_find(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(limits); i++)
		if (!strcmp(limits[i].name, name))
			return (int)i;
	return -1;
}

int fault_check_limit(const struct fault_rule *r, struct fault_bad *bad)
{
	char names[320] = "";
	size_t at = 0;
	u32 i;

	for (i = 0; i < r->what.n_limits; i++)
		if (limit_find(r->what.limit[i].name) < 0)
			break;
	if (i == r->what.n_limits)
		return 0;
	for (u32 n = 0; n < ARRAY_SIZE(limits) && at < sizeof(names); n++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", n ? ", " : "",
				       limits[n].name);
	return fault_refuse(bad, r->what.limit[i].name, "one of %s", names);
}

bool fault_limit_shrink(struct hca_limits *l, const char *name, u64 value)
{
	int which = limit_find(name);
	char *field;
	u64 now = 0;

	if (which < 0)
		return false;
	field = (char *)l + limits[which].at;
	/* Little-endian, as every supported machine is. */
	memcpy(&now, field, limits[which].size);
	if (now <= value)
		return false;
	memcpy(field, &value, limits[which].size);
	return true;
}
