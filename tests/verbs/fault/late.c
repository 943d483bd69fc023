/* SPDX-License-Identifier: MIT */
/*
 * Four messages between two queue pairs, of which a rule makes completions late: prints what the
 * polls of the sends' CQ find.
 *	app_fault_late [channel|quiet|destroy]
 * channel: the CQ has a completion channel. quiet: the first send is not signaled. destroy: the
 * queue pair is destroyed when the sends have been executed.
 */
#include "tests/lib/c/rc_load.h"
#include "tests/lib/c/vb.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define N    4
#define LATE 300000000ull /* ns, of the rule */

static struct vb_side *s;

static void must(bool done, const char *what)
{
	if (!done)
		die("%s", what);
}

static void set_up(bool channel)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	vb_open(s);
	spec.chan = channel;
	must(!vb_link(s, 0, &spec, s, 1, &spec), "queue pairs");
}

static void post(bool quiet)
{
	struct ibv_wc wc;
	struct vb_wr wr;
	int i;

	for (i = 1; i <= N; i++) {
		wr = vb_wr(IBV_WR_SEND, (uint64_t)i, s, s->buf, 8);
		if (quiet && i == 1)
			wr.flags &= ~(unsigned int)IBV_SEND_SIGNALED;
		must(!vb_recv1(s, 1, (uint64_t)i, s->buf + 64, 8), "receive");
		must(!vb_send(s, 0, false, &wr), "send");
	}
	/* The sends have been executed then. */
	for (i = 1; i <= N; i++)
		must(vb_done(s, 1, VB_RCQ, (uint64_t)i, IBV_WC_RECV, &wc), "receives");
}

/* Print the wr_ids that polls find until @n have come, and whether some of them found nothing. */
static void tell(int n)
{
	const uint64_t begin = now_ns();
	uint64_t empty = 0;
	struct ibv_wc wc[N];
	int got, i;

	while (n > 0) {
		got = ibv_poll_cq(s->qp[0].scq, N, wc);
		must(got >= 0, "poll");
		empty += !got;
		for (i = 0; i < got; i++)
			printf("%s%d ", wc[i].status ? "failed " : "", (int)wc[i].wr_id);
		n -= got;
		if (now_ns() - begin > 1000000ull * VB_WAIT)
			die("completions are missing");
	}
	printf("%s, %s\n", now_ns() - begin < LATE ? "at once" : "late",
	       empty ? "others in the meantime" : "the poll has taken the time");
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	struct ibv_cq *cq;
	struct ibv_wc wc[N];

	s = vb_local();
	set_up(!strcmp(how, "channel"));
	post(!strcmp(how, "quiet"));
	if (strcmp(how, "destroy") != 0) {
		tell(N - !strcmp(how, "quiet"));
	} else {
		cq = s->qp[0].scq;
		printf("%d\n", ibv_poll_cq(cq, N, wc));
		must(!ibv_destroy_qp(s->qp[0].qp), "destroy");
		nanosleep(&(struct timespec){ .tv_nsec = LATE + 10000000 }, NULL);
		printf("%d\n", ibv_poll_cq(cq, N, wc));
	}
	return 0;
}
