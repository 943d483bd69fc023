/* SPDX-License-Identifier: MIT */
/*
 * Creates and destroys objects, and lets a queue pair fail. After each step it prints the step's
 * name, and goes on when it reads a line.
 */
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <stdlib.h>

static void step(const char *name)
{
	char line[16];

	puts(name);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static void must(bool done, const char *what)
{
	if (done)
		return;
	fprintf(stderr, "%s\n", what);
	exit(1);
}

/* With a key that is none. */
static void fail_send(struct vb_side *s)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, s, s->buf, 8);
	struct ibv_wc wc;

	wr.sge[0].lkey += 12345;
	must(!vb_send(s, 0, false, &wr), "post");
	must(vb_poll(s, 0, VB_SCQ, VB_WAIT, &wc) && wc.status == IBV_WC_LOC_PROT_ERR, "error");
}

int main(void)
{
	const struct vb_spec rc = vb_spec_of(IBV_QPT_RC), ud = vb_spec_of(IBV_QPT_UD);
	struct vb_side *s = vb_local();
	uint32_t lkey, rkey;

	vb_open(s);
	step("opened");
	must(!vb_link(s, 0, &rc, s, 1, &rc) && !vb_create(s, 2, &ud), "queue pairs");
	must(!vb_reg(s, 0, s->buf, 100, IBV_ACCESS_LOCAL_WRITE, &lkey, &rkey) &&
		     !vb_mw(s, 0, IBV_MW_TYPE_1, &rkey),
	     "memory");
	step("created");
	fail_send(s);
	step("failed");
	must(!vb_to_state(s, 0, IBV_QPS_RESET) && !vb_destroy(s, 1) && !vb_dereg(s, 0), "the end");
	step("destroyed");
	must(!vb_destroy(s, 0) && !vb_destroy(s, 2) && !vb_mw_dealloc(s, 0), "the end of the rest");
	must(!ibv_dereg_mr(s->mr) && !ibv_dealloc_pd(s->pd) && !ibv_destroy_comp_channel(s->chan) &&
		     !ibv_close_device(s->ctx),
	     "close");
	step("closed");
	return 0;
}
