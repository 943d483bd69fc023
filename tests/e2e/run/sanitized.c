/* SPDX-License-Identifier: MIT */
/*
 * A program that tests/e2e/run/sanitized_programs_run.t builds under each sanitizer: two threads
 * send messages from a queue pair to itself, one posts and one polls.
 *	sanitized [fork|shell|leak|keep]...
 *		fork: a child opens the device, too; shell: print LD_PRELOAD as a shell sees it;
 *		leak: lose 77 bytes; keep: destroy nothing
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 20, LEN = 64 };

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static char *buf;

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(2);
}

static void device_open(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	must(list && list[0], "devices");
	ctx = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	must(ctx != NULL, "open");
}

static void *poll_all(void *arg)
{
	struct ibv_wc wc;
	int n = 0, got;

	while (n < 2 * MESSAGES) {
		got = ibv_poll_cq(cq, 1, &wc);
		must(got >= 0 && (!got || wc.status == IBV_WC_SUCCESS), "completion");
		n += got;
	}
	return arg;
}

static void qp_connect(void)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	union ibv_gid gid;

	must(!ibv_query_gid(ctx, 1, 0, &gid), "gid");
	must(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
	     "INIT");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = { .is_global = 1, .grh = { .dgid = gid, .hop_limit = 1 }, .port_num = 1 }
	};
	must(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7
	};
	must(!ibv_modify_qp(qp, &a,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	     "RTS");
}

static void objects_create(void)
{
	struct ibv_qp_init_attr init = { .cap = { MESSAGES, MESSAGES, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1 };

	pd = ibv_alloc_pd(ctx);
	buf = calloc(2, LEN);
	must(pd && buf, "PD");
	mr = ibv_reg_mr(pd, buf, 2 * (size_t)LEN, IBV_ACCESS_LOCAL_WRITE);
	cq = ibv_create_cq(ctx, 2 * MESSAGES, NULL, NULL, 0);
	must(mr && cq, "MR and CQ");
	init.send_cq = init.recv_cq = cq;
	qp = ibv_create_qp(pd, &init);
	must(qp != NULL, "QP");
}

static void objects_destroy(void)
{
	must(!ibv_destroy_qp(qp) && !ibv_destroy_cq(cq) && !ibv_dereg_mr(mr), "destroy");
	must(!ibv_dealloc_pd(pd) && !ibv_close_device(ctx), "close");
	free(buf);
}

static void messages_send(void)
{
	struct ibv_sge out = { (uintptr_t)buf, LEN, mr->lkey };
	struct ibv_sge in = { (uintptr_t)(buf + LEN), LEN, mr->lkey };
	struct ibv_recv_wr rwr = { .sg_list = &in, .num_sge = 1 }, *rbad;
	struct ibv_send_wr swr = { .sg_list = &out, .num_sge = 1, .opcode = IBV_WR_SEND }, *sbad;
	pthread_t poller;
	int i;

	memset(buf, 'm', LEN);
	must(!pthread_create(&poller, NULL, poll_all, NULL), "thread");
	for (i = 0; i < MESSAGES; i++) {
		must(!ibv_post_recv(qp, &rwr, &rbad), "receive");
		must(!ibv_post_send(qp, &swr, &sbad), "send");
	}
	pthread_join(poller, NULL);
	/* The data that came must count as defined. */
	must(buf[LEN] == 'm' && buf[2 * LEN - 1] == 'm', "data");
}

static void fork_child(void)
{
	int status = 0;
	pid_t pid = fork();

	if (!pid) {
		device_open();
		ibv_close_device(ctx);
		exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && !status, "child");
}

static void leak(void)
{
	static char *volatile lost;

	lost = malloc(77);
	lost[0] = 1;
	lost = NULL;
}

int main(int argc, char **argv)
{
	int i, keep = 0;

	device_open();
	objects_create();
	qp_connect();
	messages_send();
	for (i = 1; i < argc; i++) {
		keep |= !strcmp(argv[i], "keep");
		if (!strcmp(argv[i], "fork"))
			fork_child();
		if (!strcmp(argv[i], "shell"))
			must(!system("echo \"preload $LD_PRELOAD\""), "shell");
		if (!strcmp(argv[i], "leak"))
			leak();
	}
	if (!keep)
		objects_destroy();
	puts("done");
	return 0;
}
