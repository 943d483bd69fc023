/* SPDX-License-Identifier: MIT */
/* Windows of either side, and WRITEs to them. See tests/lib/c/vb_window.h. */
#include "tests/lib/c/vb_window.h"

#include <string.h>

bool vb_window_bind(struct vb_side *s, int qp, bool ex, uint32_t srqn, uint32_t *key)
{
	struct vb_wr wr = vb_wr(IBV_WR_BIND_MW, 71, s, NULL, 0);
	struct ibv_wc wc;
	int ret = vb_mw(s, 0, IBV_MW_TYPE_2, key);

	if (!ret) {
		*key = ibv_inc_rkey(*key);
		wr.mw = 1;
		wr.bind_rkey = *key;
		wr.bind_addr = (uintptr_t)s->buf + VB_WINDOW;
		wr.bind_len = VB_WINDOW;
		wr.bind_access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
		wr.srqn = srqn;
		ret = vb_send(s, qp, ex, &wr);
	}
	if (ret) {
		note("bind: %s", strerror(ret));
		return false;
	}
	return vb_done(s, qp, VB_SCQ, 71, IBV_WC_BIND_MW, &wc);
}

bool vb_window_write(struct vb_side *from, int qp, const struct vb_side *to, uint32_t key,
		     bool wait, enum ibv_wc_status *status)
{
	uint64_t seed = now_ns();
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 72, from, from->buf, 500);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };

	wr.raddr = (uintptr_t)to->buf + VB_WINDOW + 100;
	wr.rkey = key;
	fill(from->buf, 500, seed);
	memset(to->buf + VB_WINDOW, 0, 1000);
	if (vb_send(from, qp, false, &wr) || !vb_poll(from, qp, VB_SCQ, VB_WAIT, &wc))
		note("WRITE through a window: no completion");
	*status = wc.status;
	return wait ? arrives(to->buf + VB_WINDOW + 100, 500, seed)
		    : filled(to->buf + VB_WINDOW + 100, 500, seed);
}

bool vb_window_reached(struct vb_side *from, int qp, const struct vb_side *to, uint32_t key,
		       enum ibv_wc_status *status)
{
	return vb_window_write(from, qp, to, key, true, status);
}
