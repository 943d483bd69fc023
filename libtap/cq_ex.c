/* SPDX-License-Identifier: MIT */
/*
 * Extended CQs: wrappers of ibv_start_poll(), ibv_next_poll() and ibv_end_poll(), and reading the
 * current entry.
 *
 * The library below holds the CQ's lock from the first to the last. The program's own reads of an
 * entry's fields are not wrapped.
 */
#include "libtap/cq_ex.h"
#include "libtap/process.h"

#include <stdlib.h>

void tap_cqex_read(const struct tap_obj *cq, struct ibv_cq_ex *ex, struct ibv_wc *wc, u64 *ts)
{
	const struct ibv_cq_ex *low = cq->cq_ex;

	memset(wc, 0, sizeof(*wc));
	*ts = 0;
	wc->wr_id = ex->wr_id;
	wc->status = ex->status;
	wc->vendor_err = low->read_vendor_err(ex);
	if (low->read_qp_num)
		wc->qp_num = low->read_qp_num(ex);
	if (low->read_completion_ts)
		*ts = low->read_completion_ts(ex);
	else if (low->read_completion_wallclock_ns)
		*ts = low->read_completion_wallclock_ns(ex);
	/* Other fields of a failed completion are undefined. */
	if (ex->status != IBV_WC_SUCCESS)
		return;
	wc->opcode = low->read_opcode(ex);
	wc->wc_flags = low->read_wc_flags(ex);
	if (low->read_byte_len)
		wc->byte_len = low->read_byte_len(ex);
	if (low->read_imm_data && (wc->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV)))
		wc->imm_data = low->read_imm_data(ex);
	if (low->read_src_qp)
		wc->src_qp = low->read_src_qp(ex);
	if (low->read_slid)
		wc->slid = (u16)low->read_slid(ex);
	if (low->read_sl)
		wc->sl = low->read_sl(ex);
	if (low->read_dlid_path_bits)
		wc->dlid_path_bits = low->read_dlid_path_bits(ex);
}

static int tap_cqex_low(const struct tap_cqex *p)
{
	/* cppcheck-suppress ctuuninitvar ; tap_cqex_run() sets all that is read here */
	const struct ibv_cq_ex *low = p->obj->cq_ex;

	switch (p->what) {
	case TAP_CQEX_START:
		return low->start_poll(p->ex, p->attr);
	case TAP_CQEX_NEXT:
		return low->next_poll(p->ex);
	default:
		low->end_poll(p->ex);
		return 0;
	}
}

static int tap_cqex_run(enum tap_cqex_what what, struct ibv_cq_ex *ex,
			struct ibv_poll_cq_attr *attr)
{
	int saved = errno;
	struct tap_cqex p;
	bool carry_out;

	p.what = what;
	p.obj = tap_obj_find(VOBJ_CQ, ex);
	p.ex = ex;
	p.attr = attr;
	if (!tap_enter())
		return tap_cqex_low(&p);
	carry_out = TAP_BEGIN(cqex_begin, &p);
	if (carry_out) {
		errno = saved;
		p.ret = tap_cqex_low(&p);
	}
	saved = errno;
	TAP_END(cqex_end, &p);
	tap_leave();
	errno = saved;
	return p.ret;
}

static int tap_cqex_start_poll(struct ibv_cq_ex *ex, struct ibv_poll_cq_attr *attr)
{
	return tap_cqex_run(TAP_CQEX_START, ex, attr);
}

static int tap_cqex_next_poll(struct ibv_cq_ex *ex)
{
	return tap_cqex_run(TAP_CQEX_NEXT, ex, NULL);
}

static void tap_cqex_end_poll(struct ibv_cq_ex *ex)
{
	tap_cqex_run(TAP_CQEX_END, ex, NULL);
}

void tap_cqex_attach(struct tap_obj *o, struct ibv_cq_ex *ex)
{
	struct ibv_cq_ex *low = malloc(sizeof(*low));

	if (!low) {
		tap_note("cq%u: ibv_start_poll() is not recorded: %s", o->ord, strerror(ENOMEM));
		return;
	}
	*low = *ex;
	o->cq_ex = low;
	ex->start_poll = tap_cqex_start_poll;
	ex->next_poll = tap_cqex_next_poll;
	ex->end_poll = tap_cqex_end_poll;
}
