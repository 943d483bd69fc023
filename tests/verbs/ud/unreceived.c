/* SPDX-License-Identifier: MIT */
/*
 * Datagrams to a QP without receives: app_ud_unreceived COUNT. Their completions are good: a sender
 * learns nothing of their end. tests/e2e/run/flood_is_one_line.t reads the journal.
 */
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	struct vb_side *s = vb_local();
	struct vb_pair p = { 0 };
	struct vb_wr wr;
	struct ibv_wc wc;
	int i, n = argc > 1 ? atoi(argv[1]) : 0, good = 0;

	vb_open(s);
	if (n < 1 || vb_pair_up(&p, s, s, &spec))
		die("expected COUNT, and a pair of UD QPs");
	for (i = 0; i < n; i++) {
		wr = vb_pair_send(&p, 1 + (uint64_t)i, 64);
		good += !vb_send(s, 0, false, &wr) && vb_poll(s, 0, VB_SCQ, VB_WAIT, &wc) &&
			wc.status == IBV_WC_SUCCESS;
	}
	ok(good == n, "%d datagrams are sent", n);
	vb_pair_down(&p);
	vb_close(s);
	return tap_failed != 0;
}
