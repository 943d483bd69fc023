/* SPDX-License-Identifier: MIT */
/*
 * Messages between two queue pairs, of which a rule defers one: prints what has become of them.
 *	app_fault_defer HOW
 * posts: the rule's is the second request, until two more were posted. err, reset, destroy, exit:
 * what ends the queue pair while it is held. full: it is the first one, and others are posted until
 * there is no room. time, batch: it is the first one, for HOLD; by ibv_wr_start(). inline: it is
 * the first one, and its data is written over after the post. receive: it is the first receive,
 * until another was posted. ah: a datagram, whose address handle is destroyed. refused: it is the
 * first one, and of an opcode that its queue pair does not have.
 */
#include "tests/lib/c/rc_load.h"
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HOLD 200000000ull /* ns, of the rule */
#define LEN  8

static struct vb_side *s;
static struct ibv_wc wc;

static void must(bool done, const char *what)
{
	if (!done)
		die("%s", what);
}

static void post_ops(uint64_t id, enum ibv_wr_opcode op, unsigned int flags, bool ex)
{
	struct vb_wr wr = vb_wr(op, id, s, s->buf, LEN);

	wr.flags |= flags;
	memset(s->buf, (int)id, LEN);
	must(!vb_send(s, 0, ex, &wr), "send");
}

static void post(uint64_t id)
{
	post_ops(id, IBV_WR_SEND, 0, false);
}

static void recv_post(uint64_t id)
{
	must(!vb_recv1(s, 1, id, s->buf + 64 * id, LEN), "receive");
}

static void link_up(uint64_t ops, uint32_t send_wr)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	spec.rnr_retry = 7;
	spec.ops = ops;
	if (send_wr)
		spec.send_wr = send_wr;
	must(!vb_link(s, 0, &spec, s, 1, &spec), "queue pairs");
}

static void set_up(void)
{
	link_up(0, 0);
	for (uint64_t id = 1; id <= 8; id++)
		recv_post(id);
}

static void came(uint64_t first, uint64_t last)
{
	for (uint64_t id = first; id <= last; id++) {
		must(vb_done(s, 1, VB_RCQ, id, IBV_WC_RECV, &wc), "a receive");
		must(vb_done(s, 0, VB_SCQ, id, IBV_WC_SEND, &wc), "a send");
		printf("%d ", (int)id);
	}
}

static void nothing(void)
{
	must(vb_nothing(s, 1, VB_RCQ) && vb_nothing(s, 0, VB_SCQ), "nothing else comes");
	printf("then nothing ");
}

static void posts(void)
{
	set_up();
	post(1);
	post(2);
	came(1, 1);
	nothing();
	post(3);
	nothing();
	post(4);
	came(2, 4);
}

static void two_held(void)
{
	set_up();
	post(1);
	post(2);
	post(3);
	came(1, 1);
	nothing();
}

static void err(void)
{
	two_held();
	must(!vb_to_state(s, 0, IBV_QPS_ERR), "ERR");
	must(vb_status(s, 0, VB_SCQ, 2, IBV_WC_WR_FLUSH_ERR), "a flush");
	must(vb_status(s, 0, VB_SCQ, 3, IBV_WC_WR_FLUSH_ERR), "a flush");
	printf("flushed ");
	nothing();
}

static void reset(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	two_held();
	for (int i = 0; i < 2; i++)
		must(!vb_to_state(s, i, IBV_QPS_RESET), "RESET");
	must(!vb_connect(s, 0, s, 1, &spec) && !vb_connect(s, 1, s, 0, &spec), "again");
	recv_post(4);
	post(4);
	came(4, 4);
	nothing();
}

static void destroy(void)
{
	two_held();
	vb_destroy(s, 0);
	vb_destroy(s, 1);
	link_up(0, 0);
	recv_post(5);
	post(5);
	came(5, 5);
	nothing();
}

static void full(void)
{
	struct vb_wr wr = vb_wr(IBV_WR_SEND, 1, s, s->buf, LEN);
	uint32_t n = 0;
	int ret;

	link_up(0, 4);
	while (!(ret = vb_send(s, 0, false, &wr)) && n < 100000)
		n++;
	printf("%s, %s ", n == s->addr[0].cap.max_send_wr ? "all places" : "other places",
	       strerrorname_np(ret));
	nothing();
	must(!vb_to_state(s, 0, IBV_QPS_ERR), "ERR");
	while (n--)
		must(vb_status(s, 0, VB_SCQ, 1, IBV_WC_WR_FLUSH_ERR), "a flush");
	printf("flushed ");
	nothing();
}

static void hold_time(bool batch)
{
	uint64_t begin;

	link_up(batch ? IBV_QP_EX_WITH_SEND : 0, 0);
	for (uint64_t id = 1; id <= 2; id++)
		recv_post(id);
	begin = now_ns();
	post_ops(1, IBV_WR_SEND, 0, batch);
	post_ops(2, IBV_WR_SEND, 0, batch);
	came(1, 2);
	printf("%s ", now_ns() - begin >= HOLD ? "later" : "too early");
}

static void inline_data(void)
{
	set_up();
	post_ops(1, IBV_WR_SEND, IBV_SEND_INLINE, false);
	memset(s->buf, 0, LEN);
	came(1, 1);
	printf("%s ", s->buf[64] == 1 && s->buf[64 + LEN - 1] == 1 ? "as posted" : "others");
}

static void receive(void)
{
	link_up(0, 0);
	recv_post(1);
	post(1);
	nothing();
	recv_post(2);
	came(1, 1);
}

static void address(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_UD);
	struct vb_pair pair;
	struct vb_wr wr;

	must(!vb_pair_up(&pair, s, s, &spec), "queue pairs");
	must(!vb_recv1(s, pair.recv, 1, s->buf + 64, LEN + pair.off), "receive");
	wr = vb_pair_send(&pair, 1, LEN);
	must(!vb_send(s, 0, false, &wr), "send");
	nothing();
	must(!vb_ah_destroy(s, 0), "ibv_destroy_ah");
	must(vb_done(s, pair.rq, pair.rcq, 1, IBV_WC_RECV, &wc), "a receive");
	printf("1 ");
}

static void refused(void)
{
	set_up();
	post_ops(1, IBV_WR_TSO, 0, false);
	post(2);
	must(vb_status(s, 0, VB_SCQ, 1, IBV_WC_WR_FLUSH_ERR), "a flush");
	must(vb_status(s, 0, VB_SCQ, 2, IBV_WC_WR_FLUSH_ERR), "a flush");
	printf("flushed ");
	nothing();
}

static void held_time(void)
{
	hold_time(false);
}

static void held_batch(void)
{
	hold_time(true);
}

static const struct {
	const char *name;
	void (*run)(void);
} hows[] = {
	{ "posts", posts },	{ "err", err },		 { "reset", reset },
	{ "destroy", destroy }, { "exit", two_held },	 { "full", full },
	{ "time", held_time },	{ "batch", held_batch }, { "inline", inline_data },
	{ "receive", receive }, { "ah", address },	 { "refused", refused },
};

int main(int argc, char **argv)
{
	void (*run)(void) = NULL;
	size_t i;

	s = vb_local();
	vb_open(s);
	for (i = 0; i < sizeof(hows) / sizeof(*hows); i++)
		if (argc > 1 && !strcmp(argv[1], hows[i].name))
			run = hows[i].run;
	if (!run)
		die("%s: no such argument", argc > 1 ? argv[1] : "none");
	run();
	printf("done\n");
	return 0;
}
