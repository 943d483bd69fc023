/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the commands of the verbs share, and what recovery needs of them.
 */
#ifndef EMULATOR_VERBS_VERBS_H
#define EMULATOR_VERBS_VERBS_H

#include "emulator/engine.h"
#include "emulator/verbs/cmd.h"

/**
 * typedef cmd_fn - carries out a command of a client, see emulator/verbs/cmd.h. Return: 0 or
 * -errno.
 */
typedef int cmd_fn(struct engine *e, u32 client, struct hca_cmd *cmd);

#define CMD_FN(op, fn) cmd_fn cmd_##fn;
HCA_COMMANDS(CMD_FN)
#undef CMD_FN

/** qp_sq_stride() - bytes of a send queue's slot. */
static inline u32 qp_sq_stride(const struct cmd_qp *c)
{
	return sq_stride(c->max_sge, c->max_inline) + ALIGN_UP(c->max_tso_hdr, 64u);
}

/* --- mr.c --- */

/** own_pd() - a PD that the client made or imported, or NULL. */
struct hca_pd *own_pd(struct hca *hca, u32 client, u32 handle);
/**
 * mr_find_slot() - a free slot for a region or window of @dev, of which there may be @limit: that
 * of the requested key.
 * Return: as tab_want().
 */
int mr_find_slot(struct hca *hca, const struct cmd_reg_mr *c, u32 dev, u32 limit);
/**
 * mr_next_key() - the next key of a region's or window's slot: its low byte changes, it is never 0.
 */
u32 mr_next_key(const struct hca *hca, const struct hca_mr *mr);

/* --- mw.c --- */

/** mw_is_orphan() - whether it is a window over a region of @owner, a dead client. */
bool mw_is_orphan(const struct hca *hca, const struct hca_mr *mw, u32 owner);
/** mw_unbind_qp() - unbind the type 2 windows of a QP that goes. */
void mw_unbind_qp(struct hca *hca, const struct hca_qp *qp);

/* --- cq.c --- */

struct hca_cq *own_cq(struct hca *hca, u32 client, u32 handle);

/* --- srq.c --- */

struct hca_srq *own_srq(struct hca *hca, u32 client, u32 handle);

/* --- qp.c --- */

/** own_qp() - the client's QP in slot @handle, or NULL. */
struct hca_qp *own_qp(struct hca *hca, u32 client, u32 handle);
/** shared_qp() - own_qp(), or the target QP behind a reference when it was @opened. */
struct hca_qp *shared_qp(struct hca *hca, u32 client, u32 handle, bool opened);
/** qp_refs_add() - count what a QP refers to, @d 1, or uncount it, @d -1. */
void qp_refs_add(struct hca *hca, const struct hca_qp *qp, int d);
/** qp_retire() - free a QP's slot; what it counted stays with the device. */
void qp_retire(struct hca *hca, struct hca_qp *qp);
/** qp_adopt() - a target QP becomes that of the client who has opened it. */
void qp_adopt(struct hca *hca, struct hca_qp *qp, struct hca_ref *r);
/** qp_adopt_redo() - finish an adoption in which a holder died. */
void qp_adopt_redo(struct hca *hca, struct hca_qp *qp);

/* --- qp_modify.c --- */

/** qp_clear() - a QP in RESET has no attributes, and nothing under way. */
void qp_clear(struct engine *e, struct hca_qp *qp);

/* --- mcast.c --- */

/** mcast_move() - a queue pair has a port: wires of it join the groups that it is in already. */
void mcast_move(struct engine *e);

/* --- mcast_wire.c --- */

#define HCA_WIRE_GROUPS 32u /* multicast groups that all wires join */

/**
 * mcast_has_wire_room() - whether the wires of a QP's port, or of all ports that a QP in RESET may
 * be given, can join a group that it is to be in: it has a place, or there is one for it, which is
 * not left to other clients.
 */
bool mcast_has_wire_room(struct hca *hca, u32 client, const struct hca_qp *qp, const u8 gid[16]);

/* --- xrcd.c --- */

/** ref_target() - what a client's reference of @kind names, index + 1; 0: it has no such one. */
u32 ref_target(struct hca *hca, u32 client, u32 handle, enum hca_ref_kind kind);
/** ref_use() - something is made through the reference @xref (index + 1), @d 1, or ends, @d -1. */
void ref_use(struct hca *hca, u32 xref, int d);
/** ref_new() - a reference for a client. Return: its handle or -ENOMEM. */
int ref_new(struct hca *hca, u32 client, u32 dev, enum hca_ref_kind kind, u32 index,
	    u32 async_chan);
/** ref_next() - another client's reference to the same object, or NULL. */
struct hca_ref *ref_next(struct hca *hca, enum hca_ref_kind kind, u32 index, u32 not_owner);

/* --- dm.c --- */

/**
 * dm_find_imported() - the device memory @handle, made on context @ctx of a device of the client's
 * node.
 */
struct hca_dm *dm_find_imported(struct hca *hca, u32 client, u32 handle, u64 ctx);
/** dm_hand_over() - device memory of a dead owner stays while others have regions on it. */
void dm_hand_over(struct hca *hca, u32 owner);

/* --- import.c --- */

/** pd_is_imported() - whether the client has imported the PD, and not given it back. */
bool pd_is_imported(const struct hca *hca, u32 client, u32 pd);
/** pd_free_import_refs() - a PD is no more: nobody has it imported. */
void pd_free_import_refs(struct hca *hca, u32 pd);

#endif
