/* SPDX-License-Identifier: MIT */
/*
 * Questions that a program asks before it uses a feature: to the device, by ibv_query_device() and
 * ibv_query_port(), and for inline data, to ibv_create_qp(). A program that asks nothing works on
 * this device; another one may have less.
 */
#include "libtap/check/checks.h"
#include "traces/calls/desc.h"

void check_asked_context(const struct tap_call *c)
{
	struct check_obj *ctx = check_obj_find(VOBJ_CTX, (void *)(uintptr_t)c->args[0]);

	if (!ctx)
		return;
	if (c->call == VCALL_ibv_query_port)
		ctx->ctx.asked_port = true;
	else
		ctx->ctx.asked_device = true;
}

void check_asked_need(const struct check_obj *user, const char *what)
{
	const struct check_obj *ctx = check_obj_of(user->tap->ctx_obj);

	if (!ctx || ctx->ctx.asked_device)
		return;
	check_report(FINDING_DEVICE_LIMITS_UNASKED,
		     (struct check_other){ "device opened", ctx->stack },
		     "%s%u: %s, and ctx%u was not asked whether its device has that",
		     vobj_names[user->tap->kind], user->ord, what, ctx->ord);
}

void check_asked_port(const struct check_obj *qp)
{
	const struct check_obj *ctx = check_obj_of(qp->tap->ctx_obj);

	if (!ctx || ctx->ctx.asked_port)
		return;
	check_report(FINDING_DEVICE_PORT_UNASKED,
		     (struct check_other){ "device opened", ctx->stack },
		     "qp%u uses a port of ctx%u, whose state was not asked for", qp->ord, ctx->ord);
}

/* --- limits of a queue pair --- */

void check_asked_qp_begin(struct tap_call *c, const void *attr)
{
	/* struct ibv_qp_init_attr_ex begins with the same members. */
	const struct ibv_qp_init_attr *init = attr;
	u64 *word = c->op.scratch[TAP_CHECK].word;

	word[0] = init ? init->cap.max_inline_data : 0;
	word[1] = init ? init->cap.max_send_sge : 0;
	word[2] = init ? init->cap.max_recv_sge : 0;
}

void check_asked_qp_end(const struct tap_call *c, const struct ibv_qp *ibqp)
{
	struct check_obj *qp = check_obj_find(VOBJ_QP, ibqp);
	const u64 *word = c->op.scratch[TAP_CHECK].word;

	if (!qp || c->failed)
		return;
	qp->qp.asked_inline = (u32)word[0];
	if (word[1] > 1 || word[2] > 1)
		check_asked_need(qp, "it has more than one data segment");
}

void check_asked_inline(const struct check_obj *qp, u64 bytes)
{
	u32 asked = qp->qp.asked_inline;

	if (bytes <= asked || bytes > qp->qp.cap.max_inline_data)
		return;
	check_report(FINDING_WR_INLINE_UNASKED,
		     (struct check_other){ "queue pair created", qp->stack },
		     "qp%u: a request has %llu bytes of inline data, and the program asked for "
		     "max_inline_data %u",
		     qp->ord, (unsigned long long)bytes, asked);
}
