/* SPDX-License-Identifier: MIT */
/**
 * DOC: a memory window of type 2 that either side of a pair binds over the second 64 KiB of its
 * buffer.
 */
#ifndef TESTS_LIB_C_VB_WINDOW_H
#define TESTS_LIB_C_VB_WINDOW_H

#include "tests/lib/c/vb.h"

#define VB_WINDOW 65536 /* offset and length of what windows are bound to */

/**
 * vb_window_bind() - make window 0 of @s, and bind it on its QP @qp. @srqn: where an XRC QP would
 * send to, which a bind ignores. @key: out: the window's key.
 */
bool vb_window_bind(struct vb_side *s, int qp, bool ex, uint32_t srqn, uint32_t *key);
/**
 * vb_window_write() - WRITE from @from to the window @key of @to. @wait: the bytes should get
 * there, and may take their time: to UC, what has left is complete. Return: whether they got there.
 */
bool vb_window_write(struct vb_side *from, int qp, const struct vb_side *to, uint32_t key,
		     bool wait, enum ibv_wc_status *status);
/** vb_window_reached() - the same for bytes that should get there. */
bool vb_window_reached(struct vb_side *from, int qp, const struct vb_side *to, uint32_t key,
		       enum ibv_wc_status *status);

#endif
