/* SPDX-License-Identifier: MIT */
/**
 * DOC: many nodes with a program each, and many connections among them: app_device_many_nodes NODES
 * QPS PID.
 *
 * Each program has QPS / NODES RC queue pairs. Number 2k of a node is connected with number 2k + 1
 * of the node that is k + 1 further round, so that every node has many peers. All programs go
 * through the phases below together, asleep until it is their turn. The cost of the queue pairs is
 * the growth of all memory between two phases: the fabric's (process PID), the segments', and the
 * programs' own.
 *
 * With a fourth argument it prints the figures and keeps the connections until its input ends: the
 * benchmark measures next to them.
 */
#include "emulator/seg.h"
#include "tests/lib/c/rc.h"

#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_NODES 1000
#define MAX_QPS	  64 /* of a node */
#define DEPTH	  16
#define MSG	  64
#define GID_INDEX 1 /* the node's IPv4 address */
#define WAIT_MS	  120000
#define AT_ONCE	  16 /* nodes that are at work; the others sleep */

/** enum phase - what all nodes do, some at a time; each ends when all have. */
enum phase {
	OPEN,
	CREATE,
	CONNECT,
	SEND,
	RECEIVE,
	PHASES,
};

/** struct shared - what the programs tell each other; mapped before they are forked. */
struct shared {
	struct {
		uint32_t phases; /* that it is to do; a futex */
		union ibv_gid gid;
		uint32_t qpn[MAX_QPS];
	} node[MAX_NODES];
};

/** struct done - a node has done its part of a phase. @err: errno's value of what failed */
struct done {
	int node;
	int err;
};

static struct shared *shared;
static int n_nodes, n_qps;
static int done[2]; /* pipe of struct done */
static pid_t pids[MAX_NODES];

/* --- A node's program */

struct prog {
	int node;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *chan;
	struct ibv_cq *scq, *rcq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[MAX_QPS];
	char (*buf)[MSG]; /* to send, then where each QP receives */
};

static int peer_of(const struct prog *p, int i)
{
	int k = i / 2 + 1;

	return (p->node + (i % 2 ? n_nodes - k : k)) % n_nodes;
}

static int do_open(struct prog *p)
{
	struct ibv_device **list;
	char name[16];
	size_t size = (size_t)(n_qps + 1) * MSG;

	snprintf(name, sizeof(name), "many%d", p->node);
	setenv("RDMAEMU_NODE", name, 1);
	list = ibv_get_device_list(NULL);
	p->ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	if (!p->ctx)
		return errno ? errno : ENODEV;
	ibv_free_device_list(list);
	p->buf = aligned_alloc(4096, (size + 4095) & ~4095UL);
	p->pd = ibv_alloc_pd(p->ctx);
	p->chan = ibv_create_comp_channel(p->ctx);
	if (!p->buf || !p->pd || !p->chan)
		return errno;
	p->scq = ibv_create_cq(p->ctx, n_qps, NULL, p->chan, 0);
	p->rcq = ibv_create_cq(p->ctx, n_qps, NULL, NULL, 0);
	if (!p->scq || !p->rcq)
		return errno;
	memset(p->buf, 0, size);
	p->mr = ibv_reg_mr(p->pd, p->buf, size, IBV_ACCESS_LOCAL_WRITE);
	if (!p->mr)
		return errno;
	return ibv_query_gid(p->ctx, 1, GID_INDEX, &shared->node[p->node].gid) ? errno : 0;
}

static int do_create(struct prog *p)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = p->scq,
		.recv_cq = p->rcq,
		.cap = { DEPTH, DEPTH, 1, 1, 0 },
		.qp_type = IBV_QPT_RC,
	};
	int i;

	for (i = 0; i < n_qps; i++) {
		p->qp[i] = ibv_create_qp(p->pd, &attr);
		if (!p->qp[i])
			return errno;
		shared->node[p->node].qpn[i] = p->qp[i]->qp_num;
	}
	return 0;
}

static int connect_qp(struct prog *p, int i)
{
	int to = peer_of(p, i), err;
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = shared->node[to].qpn[i ^ 1],
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = shared->node[to].gid,
				      .sgid_index = GID_INDEX,
				      .hop_limit = 64 } },
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 18,
		.retry_cnt = 7,
		.rnr_retry = 7,
	};

	err = ibv_modify_qp(p->qp[i], &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	attr.qp_state = IBV_QPS_RTR;
	err = err ? err
		  : ibv_modify_qp(p->qp[i], &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	attr.qp_state = IBV_QPS_RTS;
	return err ? err
		   : ibv_modify_qp(p->qp[i], &attr,
				   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					   IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					   IBV_QP_MAX_QP_RD_ATOMIC);
}

static int do_connect(struct prog *p)
{
	int i, err = 0;

	for (i = 0; i < n_qps && !err; i++) {
		struct ibv_sge sge = { (uintptr_t)p->buf[i + 1], MSG, p->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		err = connect_qp(p, i);
		if (!err)
			err = ibv_post_recv(p->qp[i], &wr, &bad);
	}
	return err;
}

/* Asleep until there are as many completions. Return: 0 or errno's value. */
static int wait_sent(struct prog *p)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;
	int todo = n_qps, n;

	while (todo) {
		if (ibv_req_notify_cq(p->scq, 0))
			return EIO;
		while ((n = ibv_poll_cq(p->scq, 1, &wc)) == 1 && wc.status == IBV_WC_SUCCESS)
			todo--;
		if (n)
			return EIO;
		if (!todo)
			break;
		if (ibv_get_cq_event(p->chan, &cq, &context))
			return errno;
		ibv_ack_cq_events(cq, 1);
	}
	return 0;
}

/* From each QP the number of its node. */
static int do_send(struct prog *p)
{
	struct ibv_sge sge = { (uintptr_t)p->buf[0], MSG, p->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	int i, err = 0;

	snprintf(p->buf[0], MSG, "from node %d", p->node);
	for (i = 0; i < n_qps && !err; i++)
		err = ibv_post_send(p->qp[i], &wr, &bad);
	return err ? err : wait_sent(p);
}

/* All has been sent, and acknowledged. */
static int do_receive(struct prog *p)
{
	struct ibv_wc wc;
	char want[MSG];
	int i;

	for (i = 0; i < n_qps; i++)
		if (ibv_poll_cq(p->rcq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
			return EIO;
	for (i = 0; i < n_qps; i++) {
		snprintf(want, MSG, "from node %d", peer_of(p, i));
		if (strcmp(p->buf[i + 1], want) != 0)
			return EBADMSG;
	}
	return 0;
}

static int (*const part[PHASES])(struct prog *p) = {
	[OPEN] = do_open, [CREATE] = do_create,	  [CONNECT] = do_connect,
	[SEND] = do_send, [RECEIVE] = do_receive,
};

static void program(int node)
{
	struct prog p = { .node = node };
	struct done d = { .node = node };
	uint32_t i, *go = &shared->node[node].phases;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < PHASES && !d.err; i++) {
		while (__atomic_load_n(go, __ATOMIC_ACQUIRE) == i)
			syscall(SYS_futex, go, FUTEX_WAIT, i, NULL);
		errno = 0;
		d.err = part[i](&p);
		if (write(done[1], &d, sizeof(d)) != sizeof(d))
			exit(1);
	}
	pause();
	exit(1);
}

/* --- All of them */

static void begin(int node, enum phase phase)
{
	uint32_t *go = &shared->node[node].phases;

	__atomic_store_n(go, phase + 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, go, FUTEX_WAKE, 1);
}

static void run_phase(enum phase phase)
{
	static const char *const names[] = { "open", "create", "connect", "send", "receive" };
	struct pollfd pfd = { .fd = done[0], .events = POLLIN };
	int i, begun = 0;
	struct done d;

	for (i = 0; i < n_nodes; i++) {
		while (begun < n_nodes && begun < i + AT_ONCE)
			begin(begun++, phase);
		if (poll(&pfd, 1, WAIT_MS) != 1 || read(done[0], &d, sizeof(d)) != sizeof(d))
			die("%s: %d of %d nodes have done it", names[phase], i, n_nodes);
		if (d.err)
			die("%s: node %d: %s", names[phase], d.node, strerror(d.err));
	}
}

static void start(void)
{
	int i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED || pipe(done))
		die("%s", strerror(errno));
	fflush(stdout);
	for (i = 0; i < n_nodes; i++) {
		pids[i] = fork();
		if (pids[i] < 0)
			die("fork: %s", strerror(errno));
		if (!pids[i])
			program(i);
	}
}

static void stop(void)
{
	int i;

	for (i = 0; i < n_nodes; i++)
		kill(pids[i], SIGKILL);
	while (wait(NULL) > 0)
		;
}

/** struct use - memory, in bytes. */
struct use {
	double hca, segments, programs, tables, fabric;
};

/* A field of a file of /proc in KiB, in bytes. */
static double field(pid_t pid, const char *file, const char *name)
{
	char path[64], line[256];
	double kib = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, file);
	f = fopen(path, "re");
	if (!f)
		die("%s: %s", path, strerror(errno));
	while (kib < 0 && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			kib = strtod(line + strlen(name), NULL);
	fclose(f);
	if (kib < 0)
		die("%s: no %s", path, name);
	return kib * 1024;
}

/* The fabric process has a descriptor of each piece of shared memory. */
static void memfds(pid_t fabric, struct use *u)
{
	char path[64], to[64];
	struct stat st;
	int fd, gap;
	ssize_t n;

	for (fd = 0, gap = 0; gap < 4096; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", fabric, fd);
		n = readlink(path, to, sizeof(to) - 1);
		gap = n < 0 ? gap + 1 : 0;
		if (n < 0)
			continue;
		to[n] = '\0';
		if (!strncmp(to, "/memfd:rdmaemu-hca", 18) && !stat(path, &st))
			u->hca += (double)st.st_blocks * 512;
		else if (!strncmp(to, "/memfd:rdmaemu-segment", 22) && !stat(path, &st))
			u->segments += (double)st.st_blocks * 512;
	}
}

static struct use used(pid_t fabric)
{
	struct use u = { 0 };
	int i;

	memfds(fabric, &u);
	u.programs = field(getpid(), "smaps_rollup", "Pss_Anon:");
	for (i = 0; i < n_nodes; i++) {
		u.programs += field(pids[i], "smaps_rollup", "Pss_Anon:");
		u.tables += field(pids[i], "status", "VmPTE:");
	}
	u.fabric = field(fabric, "smaps_rollup", "Pss_Anon:");
	if (!u.hca || !u.segments)
		die("process %d is no fabric process", fabric);
	return u;
}

/* Bytes that the work requests of a queue pair take, for the requested depths. */
static double rings(void)
{
	return (double)(2 * sizeof(struct wq_ctl) + DEPTH * (sq_stride(1, 0) + rq_stride(1)));
}

/* Return: bytes per queue pair besides its rings. */
static double growth(const char *what, struct use from, struct use to)
{
	double n = n_nodes * n_qps, segment = (to.segments - from.segments) / n - rings();
	double hca = (to.hca - from.hca) / n, fabric = (to.fabric - from.fabric) / n;
	double programs = (to.programs - from.programs) / n, tables = (to.tables - from.tables) / n;
	double sum = hca + segment + programs + tables + fabric;

	note("bytes per %s besides %.0f of rings: %.0f: HCA memory %.0f, segment %.0f, program "
	     "%.0f, its "
	     "page tables %.0f, fabric process %.0f",
	     what, rings(), sum, hca, segment, programs, tables, fabric);
	return sum;
}

/* For the benchmark: its figure, and then nothing but to be there. */
static void hold(double bytes)
{
	char c;

	printf("%.0f\n", bytes);
	fflush(stdout);
	while (read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	struct use at[PHASES];
	double bytes;
	pid_t fabric;
	int i;

	if (argc < 4)
		die("usage: %s NODES QPS PID-OF-FABRIC [hold]", argv[0]);
	n_nodes = atoi(argv[1]);
	n_qps = atoi(argv[2]) / (n_nodes > 0 ? n_nodes : 1);
	fabric = atoi(argv[3]);
	if (n_nodes < 1 || n_nodes > MAX_NODES || n_qps < 2 || n_qps > MAX_QPS || n_qps % 2)
		die("%s nodes, %s queue pairs", argv[1], argv[2]);
	start();
	for (i = 0; i <= (argc > 4 ? CONNECT : RECEIVE); i++) {
		run_phase(i);
		at[i] = used(fabric);
	}
	bytes = growth("idle queue pair", at[OPEN], at[CONNECT]);
	if (argc > 4) {
		hold(bytes);
		stop();
		return 0;
	}
	growth("used queue pair", at[OPEN], at[RECEIVE]);
	ok(true, "%d nodes with %d queue pairs each: each message came to where it belongs",
	   n_nodes, n_qps);
	/* With few of them it is each program's first ones that count. */
	if (n_qps >= 10)
		ok(bytes < 8192, "an idle one takes less than 8 KiB besides its rings");
	stop();
	return tap_failed != 0;
}
