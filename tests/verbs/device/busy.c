/* SPDX-License-Identifier: MIT */
/*
 * A client that always has work, and is honest: app_device_busy. Its send queue is full of
 * WRITEs from one queue pair of this process to another one, until it is killed.
 */
#include "tests/lib/c/rc.h"
#include "tests/lib/c/vb.h"

#define DEPTH 64u
#define LEN   65536u
#define WAIT  60000 /* ms */

int main(void)
{
	struct rc_opts opts = rc_defaults;
	struct end *a = end_local(), *b = end_local();
	uint64_t posted = 0, done = 0;
	struct rc_wr wr;
	struct ibv_wc wc;

	opts.send_wr = DEPTH;
	opts.scqe = DEPTH;
	end_open(a);
	end_open(b);
	pair_up(a, b, &opts, &opts);
	wr = wr_make(IBV_WR_RDMA_WRITE, 0, a, a->buf, LEN, b, b->buf);
	for (;; done++) {
		for (; posted < done + DEPTH; posted++)
			if (end_send(a, &wr))
				die("message %lu is not taken", posted);
		if (!end_poll(a, 0, WAIT, &wc) || wc.status)
			die("message %lu fails", done);
	}
}
