/* SPDX-License-Identifier: MIT */
/*
 * One of two programs that load a connection of joined fabrics in both directions, and check all
 * data: tests/torture/join.py breaks the links between them.
 *	app_qp_join_load serve|call PORT SEED TIMEOUT
 *
 * They meet by TCP at PORT of the loopback address. Each sends messages, writes with and without
 * notice, reads, atomics, ATOMIC_WRITEs and FLUSHes over an RC QP, and datagrams. Messages and
 * notices are numbered: each has to come once, in order and whole; an atomic's result says whether
 * those before were executed once. A slot is written again only after a message of the peer says
 * that the peer has checked it.
 *
 * At SIGTERM both end and compare counts. Exit status: 0: all was right; 10: RETRY_EXC_ERR, then
 * flushes; 11: flushes and IBV_EVENT_DEVICE_FATAL; 12: the peer exited before they were connected,
 * or after the end; 3: an error.
 */
#include "tests/lib/c/rc_load.h"
#include "tests/lib/c/vb.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SLOT	(1280u << 10) /* more than goes in one burst */
#define SLOTS	4 /* requests under way; places to write to */
#define RECVS	8
#define CONST	(4u << 20)
#define HANG_NS 150000000000ULL

enum { EXIT_BAD = 3, EXIT_RETRY = 10, EXIT_FATAL = 11, EXIT_ALONE = 12 };
/* All that others touch or send. */
struct area {
	uint64_t word[3]; /* of the peer's atomics, and of its ATOMIC_WRITEs */
	uint64_t result[SLOTS];
	uint8_t out[SLOTS][SLOT], in[RECVS][SLOT], window[SLOTS][SLOT];
	uint8_t constant[CONST];
};

struct hello {
	struct rc_addr rc;
	uint64_t base, seed;
	uint32_t rkey, ud_qpn;
};

struct final {
	uint64_t notices, adds, swaps, words;
};

/*
 * A message's header. @checked: how many notices of the receiver its sender has read. @words: how
 * many ATOMIC_WRITEs it has sent. @slot: the slot of the window that was written before it, or -1:
 * the message itself carries the data.
 */
struct msg {
	uint64_t seq, checked, len, words;
	int64_t slot;
};

/* A request under way. @expect: an atomic's result, or where was read */
struct request {
	enum ibv_wr_opcode op;
	uint64_t expect, len;
};

static struct area *a;
static struct hello mine, theirs;
static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;
static struct dgrams dgrams;
static struct ibv_mr *mr;
static struct request under_way[SLOTS];
static uint64_t rng, posted, done, adds, swaps, words; /* requests; they complete in order */
static uint64_t notices, got, peer_checked; /* sent; received; of those sent */
static uint64_t window_seq[SLOTS]; /* notice that it was written for + 1 */
static uint64_t recvs, recvs_done;
static int oob, timeout_exp;
static volatile int stop;
static bool dead; /* posting says that the device is lost: flushes follow */

static void on_term(int sig)
{
	(void)sig;
	stop = 1;
}

static void bad(const char *what, uint64_t x, uint64_t y)
{
	note("WRONG: %s: %llu, %llu (errno %d); %llu of %llu requests, notices %llu sent, %llu got",
	     what, (unsigned long long)x, (unsigned long long)y, errno, (unsigned long long)done,
	     (unsigned long long)posted, (unsigned long long)notices, (unsigned long long)got);
	_exit(EXIT_BAD);
}

/* --- the connection --- */

static void swap_hellos(void)
{
	if (!rc_swap(oob, &mine, &theirs, sizeof(mine)))
		_exit(EXIT_ALONE);
}

static void post_recv(uint64_t i)
{
	struct ibv_sge sge = { (uintptr_t)a->in[i % RECVS], SLOT, mr->lkey };
	struct ibv_recv_wr *bad_wr, wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 };
	int ret = ibv_post_recv(qp, &wr, &bad_wr);

	if (ret && ret != EIO)
		bad("ibv_post_recv", (uint64_t)ret, 0);
	dead |= ret;
	recvs += !ret;
}

static void make(uint64_t seed)
{
	struct ibv_qp_init_attr init = { .cap = { 2 * SLOTS, RECVS, 1, 1, 0 },
					 .qp_type = IBV_QPT_RC };

	ctx = rc_open_first();
	a = mmap(NULL, sizeof(*a), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rc_constant_fill(a->constant, CONST, seed);
	pd = ibv_alloc_pd(ctx);
	cq = ibv_create_cq(ctx, 64, NULL, NULL, 0);
	mr = pd ? ibv_reg_mr(pd, a, sizeof(*a), ALL | VB_ACCESS_GLOBAL) : NULL;
	if (!cq || !mr || !dgrams_make(&dgrams, pd))
		_exit(EXIT_ALONE); /* the fabric was killed meanwhile */
	init.send_cq = init.recv_cq = cq;
	qp = rc_qp_new_ops(pd, &init);
	if (!qp)
		_exit(EXIT_ALONE);
	mine.seed = dgrams.seed = seed;
	mine.base = (uintptr_t)a;
	mine.rkey = mr->rkey;
	mine.rc.qpn = qp->qp_num;
	mine.ud_qpn = dgrams.qp->qp_num;
	mine.rc.psn = (uint32_t)rnd(&rng) & 0xffffff;
	rc_gid(ctx, &mine.rc.gid);
}

static void up(void)
{
	struct rc_opts o = rc_defaults;
	union ibv_gid gid;
	int gid_index = rc_gid(ctx, &gid);
	int ret;

	o.timeout = (uint8_t)timeout_exp;
	o.access |= VB_ACCESS_GLOBAL;
	o.min_rnr = 6;
	o.mtu = IBV_MTU_1024;
	dgrams.peer_seed = theirs.seed;
	ret = rc_up(qp, &o, &theirs.rc, gid_index, mine.rc.psn);
	if (ret || !dgrams_up(&dgrams, pd, gid_index, &theirs.rc.gid, theirs.ud_qpn))
		_exit(EXIT_ALONE);
	for (uint64_t i = 0; i < RECVS; i++)
		post_recv(i);
}

/* --- requests --- */

static uint64_t notice_seed(uint64_t seq)
{
	return seq * 1000003 + mine.seed;
}

/* A message, or the notice of a write. @slot: -1 or the place */
static void put_msg(uint8_t *buf, uint64_t len, int64_t slot, uint64_t written)
{
	struct msg m = { notices, got, written, words, slot };

	memcpy(buf, &m, sizeof(m));
	if (slot < 0)
		fill(buf + sizeof(m), len - sizeof(m), notice_seed(notices));
}

static int free_window(void)
{
	for (int i = 0; i < SLOTS; i++)
		if (window_seq[i] <= peer_checked)
			return i;
	return -1;
}

static void count_post(int ret, int opcode)
{
	if (ret && ret != EIO)
		bad("a post", (uint64_t)ret, (uint64_t)opcode);
	dead |= ret;
	posted += !ret;
}

static void post(struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad_wr;

	count_post(ibv_post_send(qp, wr, &bad_wr), (int)wr->opcode);
}

static uint64_t at(const void *p)
{
	return theirs.base + (uint64_t)((const uint8_t *)p - (const uint8_t *)a);
}

/* The write goes before its notice, which is all that is reported. */
static void post_write(struct request *r, uint8_t *buf, int slot, bool imm)
{
	uint64_t len = rc_random_len(&rng, SLOT - sizeof(struct msg)), seq = notices;
	struct ibv_sge data = { (uintptr_t)buf + sizeof(struct msg), (uint32_t)len, mr->lkey };
	struct ibv_sge head = { (uintptr_t)buf, sizeof(struct msg), mr->lkey };
	struct ibv_send_wr notice = { .wr_id = posted,
				      .sg_list = &head,
				      .num_sge = 1,
				      .opcode = IBV_WR_SEND,
				      .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr wr = { .wr_id = posted, .sg_list = &data, .num_sge = 1 };

	fill(buf + sizeof(struct msg), len, notice_seed(seq));
	put_msg(buf, 0, slot, len);
	wr.opcode = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE;
	wr.send_flags = imm ? IBV_SEND_SIGNALED : 0;
	wr.next = imm ? NULL : &notice;
	wr.imm_data = htonl((uint32_t)slot << 28 | (uint32_t)(seq & 0xfffffff));
	wr.wr.rdma.remote_addr = at(a->window[slot]);
	wr.wr.rdma.rkey = theirs.rkey;
	r->op = imm ? wr.opcode : IBV_WR_SEND;
	window_seq[slot] = ++notices;
	post(&wr);
}

static void post_atomic(struct request *r, unsigned int slot, enum ibv_wr_opcode op)
{
	struct ibv_sge sge = { (uintptr_t)&a->result[slot], 8, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = posted, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED
	};
	bool swap = op == IBV_WR_ATOMIC_CMP_AND_SWP;

	r->op = wr.opcode = op;
	if (op == IBV_WR_ATOMIC_WRITE) {
		a->result[slot] = ++words;
		wr.wr.rdma.remote_addr = at(&a->word[2]);
		wr.wr.rdma.rkey = theirs.rkey;
	} else {
		r->expect = swap ? swaps++ : adds++;
		wr.wr.atomic.remote_addr = at(&a->word[swap]);
		wr.wr.atomic.rkey = theirs.rkey;
		wr.wr.atomic.compare_add = swap ? r->expect : 1;
		wr.wr.atomic.swap = r->expect + 1;
	}
	post(&wr);
}

static void post_flush(struct request *r, int slot)
{
	r->op = VB_WR_FLUSH;
	count_post(
		rc_flush(qp, posted, theirs.rkey, at(a->window[slot]), rc_random_len(&rng, SLOT)),
		VB_WR_FLUSH);
}

static void post_next(void)
{
	static const enum ibv_wr_opcode atomics[] = { IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD,
						      IBV_WR_ATOMIC_WRITE };
	unsigned int slot = posted % SLOTS, kind = (unsigned int)(rnd(&rng) % 8);
	struct request *r = &under_way[slot];
	uint8_t *buf = a->out[slot];
	struct ibv_sge sge = { (uintptr_t)buf, 0, mr->lkey };
	struct ibv_send_wr wr = {
		.wr_id = posted, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED
	};
	int window = free_window();

	if (kind < 2 && window >= 0) {
		post_write(r, buf, window, kind);
		return;
	}
	if (kind == 7) {
		post_flush(r, (int)slot);
		return;
	}
	if (kind > 3) {
		post_atomic(r, slot, atomics[kind - 4]);
		return;
	}
	if (kind == 3) {
		r->len = (rc_random_len(&rng, SLOT - 8) + 7) & ~7ULL;
		r->expect = rnd(&rng) % (CONST - r->len) & ~7ULL;
		wr.opcode = IBV_WR_RDMA_READ;
		wr.wr.rdma.remote_addr = at(a->constant + r->expect);
		wr.wr.rdma.rkey = theirs.rkey;
	} else {
		r->len = sizeof(struct msg) + rc_random_len(&rng, SLOT - sizeof(struct msg));
		put_msg(buf, r->len, -1, 0);
		notices++;
		wr.opcode = IBV_WR_SEND;
	}
	r->op = wr.opcode;
	sge.length = (uint32_t)r->len;
	post(&wr);
}

/* --- what comes --- */

static void completed(const struct ibv_wc *wc)
{
	unsigned int slot = done % SLOTS;
	const struct request *r = &under_way[slot];

	if (wc->wr_id != done)
		bad("a completion out of order", wc->wr_id, done);
	if ((r->op == IBV_WR_ATOMIC_FETCH_AND_ADD || r->op == IBV_WR_ATOMIC_CMP_AND_SWP) &&
	    a->result[slot] != r->expect)
		bad("an atomic's result", a->result[slot], r->expect);
	if ((r->op == VB_WR_FLUSH && wc->opcode != VB_WC_FLUSH) ||
	    (r->op == IBV_WR_ATOMIC_WRITE && wc->opcode != IBV_WC_ATOMIC_WRITE))
		bad("a completion's opcode", wc->opcode, r->op);
	if (r->op == IBV_WR_RDMA_READ &&
	    !rc_is_constant(a->out[slot], r->len, theirs.seed, r->expect))
		bad("read data", r->expect, r->len);
	done++;
}

static void received(const struct ibv_wc *wc)
{
	const uint8_t *buf = a->in[wc->wr_id % RECVS];
	uint32_t imm = ntohl(wc->imm_data);
	struct msg m;

	if (wc->wr_id != recvs_done)
		bad("a receive out of order", wc->wr_id, recvs_done);
	recvs_done++;
	if (wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM) {
		m = (struct msg){ (got & ~0xfffffffULL) | (imm & 0xfffffff), peer_checked,
				  wc->byte_len, 0, imm >> 28 };
	} else {
		memcpy(&m, buf, sizeof(m));
	}
	if (m.seq != got)
		bad("a message out of order", m.seq, got);
	if (m.slot < 0 ? !filled(buf + sizeof(m), wc->byte_len - sizeof(m),
				 m.seq * 1000003 + theirs.seed)
		       : m.slot >= SLOTS ||
				 !filled(a->window[m.slot], m.len, m.seq * 1000003 + theirs.seed))
		bad(m.slot < 0 ? "a message's data" : "written data", m.seq, wc->byte_len);
	/* It was sent after them. Later ones may have come. */
	if (__atomic_load_n(&a->word[2], __ATOMIC_ACQUIRE) < m.words)
		bad("a word that was written before", a->word[2], m.words);
	peer_checked = m.checked;
	got++;
	post_recv(recvs);
}

/* Exit if the device has failed. */
static void end_fatal(void)
{
	if (rc_is_fatal(ctx)) {
		note("lost the device after %llu requests", (unsigned long long)done);
		_exit(EXIT_FATAL);
	}
}

/* All else must be flushed; and where nothing failed before, the device must have. */
static void failed(const struct ibv_wc *first)
{
	const char *why;
	uint64_t x;

	if (first->status != IBV_WC_RETRY_EXC_ERR && first->status != IBV_WC_WR_FLUSH_ERR)
		bad(ibv_wc_status_str(first->status), first->opcode, first->vendor_err);
	why = rc_flushed(cq, (int64_t)(posted - done + recvs - recvs_done - 1), &x);
	if (why)
		bad(why, x, first->status);
	if (first->status == IBV_WC_RETRY_EXC_ERR) {
		note("lost the peer after %llu requests", (unsigned long long)done);
		_exit(EXIT_RETRY);
	}
	end_fatal();
	bad("flushed without a reason", first->wr_id, (uint64_t)first->opcode);
}

/* Return: whether there was anything. */
static bool poll_one(void)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(cq, 1, &wc);

	if (n < 0)
		bad("ibv_poll_cq", (uint64_t)-n, 0);
	if (!n)
		return false;
	if (wc.status)
		failed(&wc);
	else if (wc.opcode & IBV_WC_RECV)
		received(&wc);
	else
		completed(&wc);
	return true;
}

static void work(void)
{
	uint64_t last = now_ns(), idle = 0;
	const char *why;
	int ret = 0;

	while (dead || !stop || done < posted) {
		why = dgrams_poll(&dgrams);
		if (why)
			bad(why, dgrams.last, dgrams.sent);
		if (poll_one()) {
			last = now_ns();
			idle = 0;
		} else if (++idle > 200) {
			usleep(200);
		}
		if (!dead && !stop && posted - done < SLOTS)
			post_next();
		if (!dead && !stop && !(rnd(&rng) % 8))
			ret = dgrams_post(&dgrams);
		if (ret && ret != EIO)
			bad("ibv_post_send of a datagram", (uint64_t)ret, dgrams.sent);
		dead |= ret;
		/* All completions came before posting said so: nothing is left to be flushed. */
		if (dead && done == posted && recvs_done == recvs) {
			end_fatal();
			bad("a dead device without an event", done, recvs);
		}
		if (now_ns() - last > HANG_NS)
			bad("nothing happens any more", posted - done, dead);
	}
}

/* The peer's requests may still be under way: go on until all have come, and count. */
static void finish(void)
{
	struct final f = { notices, adds, swaps, words }, g = { 0 };
	uint64_t end = now_ns() + HANG_NS;
	size_t n = 0;
	ssize_t k;
	char c = 'd';

	fcntl(oob, F_SETFL, O_NONBLOCK);
	if (write(oob, &f, sizeof(f)) != sizeof(f))
		_exit(EXIT_ALONE);
	while (n < sizeof(g) || got < g.notices) {
		if (!poll_one())
			usleep(200);
		k = n < sizeof(g) ? read(oob, (uint8_t *)&g + n, sizeof(g) - n) : -1;
		if (!k)
			_exit(EXIT_ALONE);
		n += k > 0 ? (size_t)k : 0;
		if (now_ns() > end)
			bad("the peer does not end", got, n);
	}
	if (got != g.notices || a->word[0] != g.adds || a->word[1] != g.swaps ||
	    a->word[2] != g.words)
		bad("counts at the end", a->word[0] - g.adds, a->word[1] - g.swaps);
	fcntl(oob, F_SETFL, 0);
	if (write(oob, &c, 1) == 1)
		(void)!read(oob, &c, 1);
}

int main(int argc, char **argv)
{
	const struct sigaction term = { .sa_handler = on_term };

	if (argc != 5)
		die("usage: app_qp_join_load serve|call PORT SEED TIMEOUT");
	/* What waits for the peer is interrupted. */
	sigaction(SIGTERM, &term, NULL);
	signal(SIGPIPE, SIG_IGN);
	rng = strtoull(argv[3], NULL, 0) | 1;
	timeout_exp = atoi(argv[4]);
	make(rng);
	oob = rc_meet(!strcmp(argv[1], "serve"), (uint16_t)atoi(argv[2]), &stop);
	if (oob < 0)
		_exit(EXIT_ALONE);
	swap_hellos();
	up();
	/* Either is ready to receive before the other sends. */
	swap_hellos();
	note("connected");
	work();
	finish();
	note("%llu requests, %llu messages, datagrams %llu of %llu", (unsigned long long)done,
	     (unsigned long long)got, (unsigned long long)dgrams.in,
	     (unsigned long long)dgrams.last);
	return 0;
}
