/* SPDX-License-Identifier: MIT */
/* Mistakes with memory to which a peer writes, or of which it makes atomics. */
#include "tests/lib/c/seed.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define POLLED_SIZE  8192u
#define POLLED_AT    4200u /* what peers write to */
#define POLLED_LEN   64u
#define POLLED_VALUE 7

/* Other processes, each connected with a queue pair of this one, whose memory is @page. */
struct polled {
	struct seed *s;
	struct end *other[2];
	struct ibv_qp *qp[2];
	volatile uint8_t *page;
	struct ibv_mr *mr;
};

/* @n: other processes; @kind: MAP_PRIVATE or MAP_SHARED */
static void polled_open_in(struct polled *p, struct seed *s, int n, int kind)
{
	int i;

	memset(p, 0, sizeof(*p));
	p->s = s;
	for (i = 0; i < n; i++)
		p->other[i] = end_fork(false);
	for (i = 0; i < n; i++)
		end_open(p->other[i]);
	seed_open(s, 32);
	for (i = 0; i < n; i++) {
		p->qp[i] = seed_connect_end(s, p->other[i]);
		memset(p->other[i]->buf, POLLED_VALUE, POLLED_LEN);
	}
	p->page = mmap(NULL, POLLED_SIZE, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);
	seed_must(p->page != MAP_FAILED, "mmap");
	p->mr = ibv_reg_mr(s->pd, (void *)p->page, POLLED_SIZE, ALL);
	seed_must(p->mr, "ibv_reg_mr");
}

static void polled_open(struct polled *p, struct seed *s, int n)
{
	polled_open_in(p, s, n, MAP_PRIVATE);
}

static void polled_close(struct polled *p)
{
	int i;

	for (i = 0; i < 2 && p->qp[i]; i++)
		ibv_destroy_qp(p->qp[i]);
	ibv_dereg_mr(p->mr);
	for (i = 0; i < 2 && p->other[i]; i++)
		end_close(p->other[i]);
	seed_close(p->s);
}

static void polled_receive(struct polled *p, int which)
{
	struct ibv_recv_wr wr = { .wr_id = 5 }, *bad;

	seed_must(!ibv_post_recv(p->qp[which], &wr, &bad), "post");
}

static void polled_request(struct polled *p, int which, enum ibv_wr_opcode opcode, uint32_t len)
{
	struct end *other = p->other[which];
	struct rc_wr wr = wr_make(opcode, 6, other, other->buf, len, NULL, NULL);

	wr.remote_addr = (uintptr_t)p->page + POLLED_AT;
	wr.rkey = p->mr->rkey;
	wr.flags = IBV_SEND_SIGNALED;
	seed_must(!end_send(other, &wr), "post");
}

static void polled_write(struct polled *p)
{
	polled_request(p, 0, IBV_WR_RDMA_WRITE, POLLED_LEN);
}

/* The other process learns that its request was executed. */
static void polled_complete(struct polled *p, int which)
{
	struct ibv_wc wc;

	seed_must(end_poll(p->other[which], 0, SEED_WAIT, &wc) && wc.status == IBV_WC_SUCCESS,
		  "completion");
}

/* The data is there: a WRITE that nobody has waited for may be late. */
static void polled_use(const struct polled *p)
{
	while (p->page[POLLED_AT] != POLLED_VALUE)
		;
}

static void *polled_write_late(void *arg)
{
	usleep(20000);
	polled_write(arg);
	return NULL;
}

/* Waits for the last byte, as ib_write_lat does. */
static void polled_last_byte(struct seed *s, int kind)
{
	struct polled p;
	pthread_t late;

	polled_open_in(&p, s, 1, kind);
	if (s->wrong) {
		seed_must(!pthread_create(&late, NULL, polled_write_late, &p), "thread");
		while (p.page[POLLED_AT + POLLED_LEN - 1] != POLLED_VALUE)
			;
		pthread_join(late, NULL);
	} else {
		polled_receive(&p, 0);
		seed_must(p.page[POLLED_AT] == 0, "content");
		polled_write(&p);
		/* Other bytes of the page are nobody's. */
		seed_must(p.page[POLLED_AT - 1] == 0 && p.page[POLLED_AT + POLLED_LEN] == 0,
			  "byte");
		polled_request(&p, 0, IBV_WR_SEND, 0);
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "message");
		seed_must(p.page[POLLED_AT + POLLED_LEN - 1] == POLLED_VALUE, "content");
	}
	polled_complete(&p, 0);
	polled_close(&p);
}

static void seed_last_byte(struct seed *s)
{
	polled_last_byte(s, MAP_PRIVATE);
}

static void seed_shared_byte(struct seed *s)
{
	polled_last_byte(s, MAP_SHARED);
}

/* A message of another queue pair says that the data is there. */
static void seed_other_message(struct seed *s)
{
	struct polled p;

	polled_open(&p, s, 2);
	polled_receive(&p, 1);
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	polled_request(&p, 1, IBV_WR_SEND, 0);
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "message");
	polled_use(&p);
	if (s->wrong)
		polled_complete(&p, 0);
	polled_close(&p);
}

/* A system call uses the data. */
static void seed_written_out(struct seed *s)
{
	int fd = open("/dev/null", O_WRONLY);
	struct polled p;

	polled_open(&p, s, 1);
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	seed_must(write(fd, (void *)(uintptr_t)p.page, POLLED_SIZE) == POLLED_SIZE, "write");
	if (s->wrong)
		polled_complete(&p, 0);
	close(fd);
	polled_close(&p);
}

/* Counts by the CPU and by atomics of a peer. Reading the counter is no mistake. */
static void seed_counter(struct seed *s)
{
	volatile uint64_t *counter;
	struct polled p;

	polled_open(&p, s, 1);
	counter = (volatile uint64_t *)(p.page + POLLED_AT);
	polled_request(&p, 0, IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
	seed_must(*counter <= 1, "counter");
	if (!s->wrong)
		polled_complete(&p, 0);
	*counter += 1;
	if (s->wrong)
		polled_complete(&p, 0);
	polled_close(&p);
}

/* All of it is read many times, also where the CPU cannot stop after one instruction. */
static void seed_passed_through(struct seed *s)
{
	unsigned int i, sum = 0;
	struct polled p;

	polled_open(&p, s, 1);
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	for (i = 0; i < 4 * POLLED_SIZE; i++)
		sum += p.page[(POLLED_AT + i) % POLLED_SIZE];
	seed_must(s->wrong || sum == 4 * POLLED_LEN * POLLED_VALUE, "sum");
	if (s->wrong)
		polled_complete(&p, 0);
	polled_close(&p);
}

/* The other process sends @len bytes to the page, and gets them back from it. */
static void polled_echo(struct polled *p, uint32_t len, uint8_t value)
{
	struct end *other = p->other[0];
	struct ibv_sge sge = { (uintptr_t)p->page + 100, len, p->mr->lkey };
	struct ibv_recv_wr receive = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad_receive;
	struct ibv_send_wr send = { .wr_id = 4, .sg_list = &sge, .num_sge = 1 }, *bad_send;
	struct rc_wr wr = wr_make(IBV_WR_SEND, 3, other, other->buf + 65536, len, NULL, NULL);
	struct ibv_wc wc;
	uint32_t i;

	memset(other->buf, value, len);
	memset(other->buf + 65536, 0, len);
	seed_must(!ibv_post_recv(p->qp[0], &receive, &bad_receive), "post");
	seed_must(!end_recv(other, &wr), "post");
	polled_request(p, 0, IBV_WR_SEND, len);
	seed_must(seed_poll(p->s) == IBV_WC_SUCCESS, "message");
	polled_complete(p, 0);
	for (i = 0; i < len; i += 61)
		seed_must(p->page[100 + i] == value, "content of a message");
	send.opcode = IBV_WR_SEND;
	send.send_flags = IBV_SEND_SIGNALED;
	seed_must(!ibv_post_send(p->qp[0], &send, &bad_send), "post");
	seed_must(end_poll(other, 1, SEED_WAIT, &wc) && wc.status == IBV_WC_SUCCESS, "answer");
	for (i = 0; i < len; i++)
		seed_must(other->buf[65536 + i] == value, "content of an answer");
	seed_must(seed_poll(p->s) == IBV_WC_SUCCESS, "completion");
}

/* Messages from and to the page have their content. */
static void seed_echo(struct seed *s)
{
	static const uint32_t lens[] = { 1, 8, 59, 64, 65, 200, 1000, 4000, 5000, 8000 };
	struct polled p;
	unsigned int i;

	polled_open(&p, s, 1);
	for (i = 0; i < 10 * sizeof(lens) / sizeof(lens[0]); i++)
		polled_echo(&p, lens[i % (sizeof(lens) / sizeof(lens[0]))], (uint8_t)(i + 1));
	memset(p.other[0]->buf, POLLED_VALUE, POLLED_LEN);
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	polled_use(&p);
	if (s->wrong)
		polled_complete(&p, 0);
	polled_close(&p);
}

struct polled_call {
	int fd;
	void *to;
	ssize_t got;
};

static void *polled_take(void *arg)
{
	struct polled_call *c = arg;

	c->got = recv(c->fd, c->to, POLLED_LEN, MSG_WAITALL);
	return NULL;
}

/* A thread is in a system call for a page, while another one calls verbs. */
static void seed_call_of_thread(struct seed *s)
{
	struct polled_call call;
	pthread_t thread;
	struct polled p;
	struct ibv_wc wc;
	uint8_t data[POLLED_LEN];
	int fds[2], i;

	polled_open(&p, s, 1);
	memset(data, 1, sizeof(data));
	seed_must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	call = (struct polled_call){ fds[0], (void *)(uintptr_t)p.page, 0 };
	seed_must(!pthread_create(&thread, NULL, polled_take, &call), "thread");
	/* The thread is in its call by then, or late and sees nothing. */
	usleep(50000);
	for (i = 0; i < 10; i++)
		seed_must(!ibv_poll_cq(s->cq, 1, &wc), "completion");
	seed_must(send(fds[1], data, sizeof(data), 0) == sizeof(data), "send");
	pthread_join(thread, NULL);
	seed_must(call.got == sizeof(data) && !memcmp(call.to, data, sizeof(data)), "recv");
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	polled_use(&p);
	if (s->wrong)
		polled_complete(&p, 0);
	close(fds[0]);
	close(fds[1]);
	polled_close(&p);
}

static volatile sig_atomic_t traps;

static void trap_taken(int sig)
{
	(void)sig;
	traps = traps + 1;
}

/* The program's own signals reach it, and those that it blocks stay blocked. */
static void seed_own_trap(struct seed *s)
{
	struct sigaction act = { .sa_handler = trap_taken };
	struct polled p;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTRAP);
	seed_must(!sigaction(SIGTRAP, &act, NULL), "sigaction");
	polled_open(&p, s, 1);
	seed_must(!pthread_sigmask(SIG_BLOCK, &set, NULL) && !raise(SIGTRAP), "raise");
	polled_write(&p);
	if (!s->wrong)
		polled_complete(&p, 0);
	polled_use(&p);
	seed_must(!traps, "a signal that was blocked");
	seed_must(!pthread_sigmask(SIG_UNBLOCK, &set, NULL) && traps == 1, "a signal");
	seed_must(!raise(SIGTRAP) && traps == 2, "a second signal");
	if (s->wrong)
		polled_complete(&p, 0);
	polled_close(&p);
}

static const struct seed_case seeds[] = {
	{ "echo", seed_echo },
	{ "call_of_thread", seed_call_of_thread },
	{ "last_byte", seed_last_byte },
	{ "shared_byte", seed_shared_byte },
	{ "other_message", seed_other_message },
	{ "written_out", seed_written_out },
	{ "counter", seed_counter },
	{ "passed_through", seed_passed_through },
	{ "own_trap", seed_own_trap },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
