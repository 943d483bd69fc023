/* SPDX-License-Identifier: MIT */
/*
 * Fields of failed completions: only wr_id, status, qp_num and vendor_err are defined, so a program
 * that uses others gets a pattern which is no value of any of them.
 *
 * The current entry of an extended CQ is read by functions of the CQ. While it is a failed one,
 * those of its undefined fields are the checker's, which also report who has called them. The
 * library holds the lock of the CQ from ibv_start_poll() to ibv_end_poll().
 */
#include "libtap/check/checks.h"
#include "libtap/process.h"
#include "traces/calls/desc.h"

#define FIELD_BYTE 0x6b
#define FIELD_WORD 0x6b6b6b6b6b6b6b6bull

void check_field_spoil(struct ibv_wc *wc)
{
	struct ibv_wc undefined;

	memset(&undefined, FIELD_BYTE, sizeof(undefined));
	undefined.wr_id = wc->wr_id;
	undefined.status = wc->status;
	undefined.vendor_err = wc->vendor_err;
	undefined.qp_num = wc->qp_num;
	*wc = undefined;
}

/* --- extended CQs --- */

/* A time stamp says when the request has failed. */
#define FIELD_NUMBERS(X)                                                                           \
	X(enum ibv_wc_opcode, opcode)                                                              \
	X(u32, byte_len)                                                                           \
	X(__be32, imm_data)                                                                        \
	X(u32, src_qp)                                                                             \
	X(unsigned int, wc_flags)                                                                  \
	X(u32, slid)                                                                               \
	X(u8, sl)                                                                                  \
	X(u8, dlid_path_bits)                                                                      \
	X(u16, cvlan)                                                                              \
	X(u32, flow_tag)

static void field_report(struct ibv_cq_ex *ex, const char *field)
{
	const struct check_obj *cq = check_obj_find(VOBJ_CQ, ex);

	if (cq)
		check_report(FINDING_WC_FIELD_UNDEFINED, (struct check_other){ NULL, 0 },
			     "cq%u: ibv_wc_read_%s() of the completion of wr_id 0x%llx, which has "
			     "%s",
			     cq->ord, field, (unsigned long long)ex->wr_id,
			     check_enum_name(&vnames_wc_status, ex->status));
}

/* In the function that the program calls: the report has its caller. */
static inline __attribute__((always_inline)) void field_read(struct ibv_cq_ex *ex,
							     const char *field)
{
	if (!tap_enter())
		return;
	field_report(ex, field);
	tap_leave();
}

#define FIELD_READER(type, field)                                                                  \
	static type field_read_##field(struct ibv_cq_ex *ex)                                       \
	{                                                                                          \
		field_read(ex, #field);                                                            \
		return (type)FIELD_WORD;                                                           \
	}
FIELD_NUMBERS(FIELD_READER)

static void field_read_tm_info(struct ibv_cq_ex *ex, struct ibv_wc_tm_info *info)
{
	field_read(ex, "tm_info");
	memset(info, FIELD_BYTE, sizeof(*info));
}

void check_field_hide(struct check_obj *cq, struct ibv_cq_ex *ex)
{
	const struct ibv_cq_ex *low = cq->tap->cq_ex;

	if (!low)
		return;
	cq->cq.hidden = true;
#define FIELD_HIDE(type, field)                                                                    \
	if (low->read_##field)                                                                     \
		ex->read_##field = field_read_##field;
	FIELD_NUMBERS(FIELD_HIDE)
	if (low->read_tm_info)
		ex->read_tm_info = field_read_tm_info;
}

void check_field_show(struct check_obj *cq, struct ibv_cq_ex *ex)
{
	const struct ibv_cq_ex *low = cq->tap->cq_ex;

	if (likely(!cq->cq.hidden))
		return;
	cq->cq.hidden = false;
#define FIELD_SHOW(type, field) ex->read_##field = low->read_##field;
	FIELD_NUMBERS(FIELD_SHOW)
	ex->read_tm_info = low->read_tm_info;
}
