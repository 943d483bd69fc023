/* SPDX-License-Identifier: MIT */
/*
 * Properties of a QP beyond its attributes (ECE, data in order, rate limits), and fork safety as
 * the environment requests it.
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct vb_side *s;
static struct vb_pair p;

static bool fails(int ret, int err)
{
	return ret == err && errno == err;
}

static void test_ece(void)
{
	struct ibv_ece ece = { 1, 2, 3 }, other;
	struct ibv_qp *qp;
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	if (!ok(!vb_create(s, 5, &spec), "a QP in RESET"))
		return;
	qp = s->qp[5].qp;
	ok(!ibv_query_ece(qp, &ece) && ece.vendor_id && !ece.options && !ece.comp_mask,
	   "ibv_query_ece: vendor 0x%x, no options", ece.vendor_id);
	ok(ece.vendor_id == s->info.dev.orig_attr.vendor_id, "the device's vendor");
	other = ece;
	other.options = 0x5555;
	ok(!ibv_set_ece(qp, &other) && !other.options, "ibv_set_ece: no option is accepted");
	ok(!ibv_query_ece(qp, &other) && !other.options && other.vendor_id == ece.vendor_id,
	   "nor told of");
	other = ece;
	other.comp_mask = 1;
	errno = 0;
	ok(fails(ibv_set_ece(qp, &other), EINVAL), "comp_mask: EINVAL");
	other = ece;
	other.vendor_id++;
	errno = 0;
	ok(fails(ibv_set_ece(qp, &other), EINVAL), "another vendor's: EINVAL");
	other.vendor_id = 0;
	errno = 0;
	ok(fails(ibv_set_ece(qp, &other), EOPNOTSUPP), "no vendor: EOPNOTSUPP");
	vb_destroy(s, 5);
}

static void test_queries(void)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_SEND, IBV_WR_RDMA_WRITE,
						  IBV_WR_RDMA_READ };
	struct ibv_qp_rate_limit_attr rate = { .rate_limit = 1000 };
	struct ibv_qp_attr attr = { .rate_limit = 1000 };
	bool good = true;

	for (int i = 0; i < 3; i++)
		for (uint32_t flags = 0; flags < 2; flags++)
			good = good && !ibv_query_qp_data_in_order(s->qp[0].qp, ops[i], flags);
	ok(good, "ibv_query_qp_data_in_order: no promise");
	ok(!s->info.dev.packet_pacing_caps.qp_rate_limit_max &&
		   ibv_modify_qp_rate_limit(s->qp[0].qp, &rate) == EOPNOTSUPP,
	   "no packet pacing: EOPNOTSUPP");
	ok(ibv_modify_qp(s->qp[0].qp, &attr, IBV_QP_RATE_LIMIT) == EOPNOTSUPP,
	   "ibv_modify_qp with IBV_QP_RATE_LIMIT: EOPNOTSUPP");
	rate.comp_mask = 1;
	ok(ibv_modify_qp_rate_limit(s->qp[0].qp, &rate) == EINVAL, "its comp_mask: EINVAL");
}

/* A region is registered, and a child that came by fork() writes: the HCA sees the parent's. */
static bool fork_is_safe(void)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		memset(s->buf + VB_BUF / 2, 0x77, 64);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status && vb_pair_alive(&p);
}

/*
 * Memory of a parent stays in place when it forks, as with kernels that copy pinned pages on fork:
 * a program needs no ibv_fork_init(), and may call it late.
 */
static void test_fork(const char *when)
{
	ok(ibv_is_fork_initialized() == IBV_FORK_UNNEEDED, "%s: IBV_FORK_UNNEEDED", when);
	ok(!ibv_fork_init() && ibv_is_fork_initialized() == IBV_FORK_UNNEEDED,
	   "%s: ibv_fork_init() has nothing to do", when);
}

int main(void)
{
	struct vb_spec spec = vb_spec_of(IBV_QPT_RC);

	test_fork("first");
	s = vb_local();
	vb_open(s);
	if (vb_pair_up(&p, s, s, &spec))
		die("cannot connect: %s", strerror(errno));
	test_ece();
	test_queries();
	test_fork("after a registration");
	ok(fork_is_safe(), "and a fork harms nobody");
	vb_pair_down(&p);
	return tap_failed != 0;
}
