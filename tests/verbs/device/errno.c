/* SPDX-License-Identifier: MIT */
/* Verbs that return an errno value set errno, too: each call is made to fail. */
#include "tests/lib/c/fails.h"
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>

static struct vb_side *s;

static void test_busy(void)
{
	struct ibv_cq *cq = ibv_create_cq(s->ctx, 4, NULL, NULL, 0);
	struct ibv_srq_init_attr srq_attr = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->pd, &srq_attr);
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
	};
	struct ibv_qp *qp = ibv_create_qp(s->pd, &attr);
	struct ibv_qp_attr qp_attr = { .qp_state = IBV_QPS_RTS };
	struct ibv_qp_init_attr init;
	union ibv_gid gid = { .raw = { 1 } };

	if (!ok(qp && srq && cq, "a queue pair with an SRQ"))
		return;
	FAILS(ibv_dealloc_pd(s->pd), EBUSY);
	FAILS(ibv_destroy_cq(cq), EBUSY);
	FAILS(ibv_destroy_srq(srq), EBUSY);
	FAILS(ibv_modify_qp(qp, &qp_attr, IBV_QP_STATE), EINVAL);
	FAILS(ibv_resize_cq(cq, 1 << 30), EINVAL);
	srq_attr.attr.srq_limit = 1 << 20;
	FAILS(ibv_modify_srq(srq, &srq_attr.attr, IBV_SRQ_LIMIT), EINVAL);
	FAILS(ibv_attach_mcast(qp, &gid, 0), EINVAL);
	FAILS(ibv_detach_mcast(qp, &gid, 0), EINVAL);
	errno = 0;
	ok(!ibv_query_qp(qp, &qp_attr, IBV_QP_STATE, &init) && !errno, "success leaves errno");
	ok(!ibv_destroy_qp(qp) && !ibv_destroy_srq(srq) && !ibv_destroy_cq(cq), "all goes");
}

static void test_context(void)
{
	struct ibv_values_ex values = { .comp_mask = 1 << 20 };
	struct ibv_port_attr port;

	FAILS(ibv_query_port(s->ctx, 99, &port), EINVAL);
	FAILS(ibv_query_rt_values_ex(s->ctx, &values), EINVAL);
	FAILS(ibv_dereg_mr(NULL), EINVAL);
	FAILS(ibv_destroy_ah(NULL), EINVAL);
}

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Signals interrupt the wait for the fabric process's answer, which is not the program's affair. */
static void test_interrupted(void)
{
	struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(s->pd, &init);
	struct sigaction act = { .sa_handler = tick };
	uint64_t end = now_ns() + VB_WAIT * 1000000ull;
	struct ibv_srq_attr attr;
	int ret = 0;

	if (!ok(srq, "an SRQ"))
		return;
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	errno = 0;
	while (!ret && !errno && ticks < 300 && now_ns() < end)
		ret = ibv_query_srq(srq, &attr);
	setitimer(ITIMER_REAL, &never, NULL);
	if (!ok(!ret && !errno && ticks >= 300, "success leaves errno when signals arrive"))
		note("returned %d, errno %d, %d signals", ret, errno, (int)ticks);
	ok(!ibv_destroy_srq(srq), "the SRQ goes");
}

int main(void)
{
	struct vb_side *b;
	char *argv[] = { (char *)"errno", (char *)"local", NULL };

	vb_open_two(2, argv, &s, &b);
	test_busy();
	test_context();
	test_interrupted();
	vb_close_two(s, b);
	return tap_failed != 0;
}
