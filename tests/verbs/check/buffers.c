/* SPDX-License-Identifier: MIT */
/* Mistakes with the memory of outstanding requests. */
#include "tests/lib/c/seed.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 4 /* of whole buffers */

static sigjmp_buf fault_came;

/* Posts a WRITE from a page. Only local rights: nobody but the program writes there. */
static struct ibv_mr *seed_post_page(struct seed *s, unsigned int flags, uint8_t **page)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct ibv_mr *mr;

	seed_open(s, 32);
	*page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	seed_must(*page != MAP_FAILED, "mmap");
	**page = 1;
	mr = ibv_reg_mr(s->pd, *page, size, IBV_ACCESS_LOCAL_WRITE);
	seed_must(mr, "ibv_reg_mr");
	seed_must(!seed_write(s, 1, flags, (uintptr_t)*page, mr->lkey, s->mr->rkey), "post");
	return mr;
}

static void seed_end_page(struct seed *s, struct ibv_mr *mr)
{
	ibv_dereg_mr(mr);
	seed_close(s);
}

static void seed_written(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *page;

	mr = seed_post_page(s, IBV_SEND_SIGNALED, &page);
	if (!s->wrong)
		seed_poll(s);
	page[63] = 2;
	if (s->wrong)
		seed_poll(s);
	seed_end_page(s, mr);
}

/* Inline data was copied when the request was posted. */
static void seed_written_inline(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *page;

	mr = seed_post_page(s, IBV_SEND_SIGNALED | (s->wrong ? 0 : IBV_SEND_INLINE), &page);
	page[0] = 2;
	seed_poll(s);
	seed_end_page(s, mr);
}

static void seed_unmapped(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *page;

	mr = seed_post_page(s, IBV_SEND_SIGNALED, &page);
	if (!s->wrong)
		seed_poll(s);
	munmap(page, (size_t)sysconf(_SC_PAGESIZE));
	if (s->wrong)
		seed_poll(s);
	seed_end_page(s, mr);
}

static void seed_overlap(struct seed *s)
{
	struct ibv_sge sge;
	struct ibv_recv_wr wr = { .wr_id = 2, .sg_list = &sge, .num_sge = 1 }, *bad;

	seed_open(s, 32);
	seed_must(!seed_receive(s, 1), "post");
	sge = (struct ibv_sge){ (uintptr_t)s->buf + (s->wrong ? 63 : 64), 64, s->mr->lkey };
	seed_must(!ibv_post_recv(s->qp[1], &wr, &bad), "post");
	seed_close(s);
}

/* --- buffers of whole pages --- */

/* @kind: MAP_PRIVATE or MAP_SHARED */
static uint8_t *seed_map_pages(struct seed *s, int kind, struct ibv_mr **mr)
{
	size_t size = PAGES * (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *at = mmap(NULL, size, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0);

	seed_must(at != MAP_FAILED, "mmap");
	memset(at, 1, size);
	*mr = ibv_reg_mr(s->pd, at, size, ALL);
	seed_must(*mr, "ibv_reg_mr");
	return at;
}

static uint8_t *seed_open_pages(struct seed *s, struct ibv_mr **mr)
{
	seed_open(s, 32);
	return seed_map_pages(s, MAP_PRIVATE, mr);
}

/* From or to the second page, and a bit of those around it. */
static void seed_post_pages(struct seed *s, enum ibv_wr_opcode op, uint8_t *at, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)at + 4000, 4300, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = op }, *bad;

	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)at + 8400;
	wr.wr.rdma.rkey = mr->rkey;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
}

static void seed_receive_pages(struct seed *s, uint8_t *at, struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)at, PAGES * 4096, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	seed_must(!ibv_post_recv(s->qp[1], &wr, &bad), "post");
}

/* The same pages as the buffer of a receive. */
static uint8_t *seed_open_receive(struct seed *s, struct ibv_mr **mr)
{
	uint8_t *at = seed_open_pages(s, mr);

	seed_receive_pages(s, at, *mr);
	return at;
}

static void seed_send(struct seed *s)
{
	struct ibv_sge sge = { (uintptr_t)s->buf, SEED_BUF, s->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	wr.opcode = IBV_WR_SEND;
	wr.send_flags = IBV_SEND_SIGNALED;
	seed_must(!ibv_post_send(s->qp[0], &wr, &bad), "post");
	seed_must(seed_both_are_good(s), "SEND");
}

/* The peer of the same process writes to the page meanwhile, which is nobody's mistake. */
static void seed_page_written(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *at;

	at = seed_open_pages(s, &mr);
	seed_post_pages(s, IBV_WR_RDMA_WRITE, at, mr);
	if (!s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "WRITE");
	at[5000] = 2;
	if (s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "WRITE");
	seed_end_page(s, mr);
}

static void seed_response(struct seed *s, int kind)
{
	struct ibv_mr *mr;
	uint8_t *at;

	seed_open(s, 32);
	at = seed_map_pages(s, kind, &mr);
	seed_post_pages(s, IBV_WR_RDMA_READ, at, mr);
	if (!s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "READ");
	seed_must(at[5000] == 1, "content");
	if (s->wrong)
		seed_must(seed_poll(s) == IBV_WC_SUCCESS, "READ");
	seed_end_page(s, mr);
}

static void seed_response_early(struct seed *s)
{
	seed_response(s, MAP_PRIVATE);
}

static void seed_shared_response(struct seed *s)
{
	seed_response(s, MAP_SHARED);
}

static void seed_receive_early(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *at;

	at = seed_open_receive(s, &mr);
	if (s->wrong)
		seed_must(at[5000] == 1, "content");
	s->buf[5] = 9;
	seed_send(s);
	seed_must(at[5] == 9, "content");
	seed_end_page(s, mr);
}

/* The kernel would answer EFAULT. */
static void seed_receive_call(struct seed *s)
{
	int fd = open("/dev/null", O_WRONLY);
	struct ibv_mr *mr;
	uint8_t *at;

	at = seed_open_receive(s, &mr);
	if (s->wrong)
		seed_must(write(fd, at + 5000, 100) == 100, "write");
	seed_send(s);
	seed_must(write(fd, at + 5000, 100) == 100, "write");
	close(fd);
	seed_end_page(s, mr);
}

static void seed_receive_unmapped(struct seed *s)
{
	struct ibv_mr *mr;
	uint8_t *at;

	at = seed_open_receive(s, &mr);
	if (!s->wrong)
		seed_send(s);
	munmap(at + 8192, 4096);
	if (s->wrong)
		seed_send(s);
	seed_end_page(s, mr);
}

/* As realloc() of a large block does, by a call inside libc. */
static void seed_receive_moved(struct seed *s)
{
	uint8_t *to = mmap(NULL, PAGES * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *at;
	struct ibv_mr *mr;
	long moved;

	at = seed_open_receive(s, &mr);
	if (!s->wrong)
		seed_send(s);
	moved = syscall(SYS_mremap, at, PAGES * 4096L, PAGES * 4096L,
			(long)(MREMAP_MAYMOVE | MREMAP_FIXED), to);
	seed_must(moved == (long)to, "mremap");
	seed_must(to[5000] == 1, "content");
	to[9000] = 2;
	ibv_dereg_mr(mr);
	seed_close(s);
}

/* The second queue pair gets its receives from an SRQ. */
static struct ibv_srq *seed_use_srq(struct seed *s)
{
	struct ibv_srq_init_attr shared = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_qp_init_attr init = { .send_cq = s->cq, .recv_cq = s->cq };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct rc_addr addr[2] = { 0 };
	union ibv_gid gid;
	int index = rc_gid(s->ctx, &gid), i;

	init.srq = ibv_create_srq(s->pd, &shared);
	init.qp_type = IBV_QPT_RC;
	init.cap = (struct ibv_qp_cap){ SEED_DEPTH, 0, 1, 0, 0 };
	ibv_destroy_qp(s->qp[1]);
	s->qp[1] = ibv_create_qp(s->pd, &init);
	seed_must(s->qp[1] && !ibv_modify_qp(s->qp[0], &reset, IBV_QP_STATE), "SRQ");
	for (i = 0; i < 2; i++)
		addr[i] = (struct rc_addr){ .qpn = s->qp[i]->qp_num, .gid = gid };
	for (i = 0; i < 2; i++)
		seed_must(!rc_up(s->qp[i], &seed_opts, &addr[!i], index, 0), "connect");
	return init.srq;
}

/* The message takes one of two receives, which are the second and the fourth page. */
static void seed_srq_early(struct seed *s)
{
	struct ibv_recv_wr wr = { .num_sge = 1 }, *bad;
	struct ibv_sge sge;
	struct ibv_srq *srq;
	struct ibv_mr *mr;
	uint8_t *at = seed_open_pages(s, &mr);
	int i;

	srq = seed_use_srq(s);
	wr.sg_list = &sge;
	for (i = 1; i < PAGES; i += 2) {
		sge = (struct ibv_sge){ (uintptr_t)at + 4096 * (size_t)i, 4096, mr->lkey };
		wr.wr_id = (uint64_t)i;
		seed_must(!ibv_post_srq_recv(srq, &wr, &bad), "post");
	}
	s->buf[5] = 9;
	seed_send(s);
	seed_must(at[4096 + 5] == 9, "content");
	if (s->wrong)
		seed_must(at[3 * 4096 + 5] == 1, "content");
	seed_send(s);
	seed_must(at[3 * 4096 + 5] == 9, "content");
	ibv_destroy_qp(s->qp[1]);
	s->qp[1] = NULL;
	ibv_destroy_srq(srq);
	seed_end_page(s, mr);
}

static void fault_taken(int sig)
{
	(void)sig;
	siglongjmp(fault_came, 1);
}

/* The program's own handler gets its own faults, and no others. */
static void seed_receive_handler(struct seed *s)
{
	uint8_t *other = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction act = { .sa_handler = fault_taken }, old;
	volatile int faults = 0;
	struct ibv_mr *mr;
	uint8_t *at;

	seed_open(s, 32);
	sigaction(SIGSEGV, &act, NULL);
	at = seed_map_pages(s, MAP_PRIVATE, &mr);
	seed_receive_pages(s, at, mr);
	sigaction(SIGSEGV, NULL, &old);
	seed_must(old.sa_handler == fault_taken, "sigaction");
	if (!sigsetjmp(fault_came, 1)) {
		if (s->wrong)
			seed_must(at[5000] == 1, "content");
		faults = 1;
		*other = 1;
		faults = 2;
	}
	seed_must(faults == 1, "a fault of the program's own");
	signal(SIGSEGV, SIG_DFL);
	seed_send(s);
	seed_end_page(s, mr);
}

static void seed_receive_page(struct ibv_qp *qp, struct ibv_sge *page)
{
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = page, .num_sge = 1 }, *bad;

	seed_must(!ibv_post_recv(qp, &wr, &bad), "post");
}

/* Another process fills a receive of 4096 bytes. */
static void seed_send_page(struct end *other)
{
	struct rc_wr wr = wr_make(IBV_WR_SEND, 2, other, other->buf, 4096, NULL, NULL);
	struct ibv_wc wc;

	memset(other->buf, 9, 4096);
	seed_must(!end_send(other, &wr) && end_poll(other, 0, SEED_WAIT, &wc) &&
			  wc.status == IBV_WC_SUCCESS,
		  "SEND");
}

/* In shared memory. The receive takes the page while the WRITE from it is not polled. */
static void seed_shared_written(struct seed *s)
{
	struct ibv_send_wr wr = { .wr_id = 1, .num_sge = 1 }, *bad;
	struct end *other = end_fork(false);
	struct ibv_sge sge = { .length = 4096 };
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *at;

	end_open(other);
	seed_open(s, 32);
	qp = seed_connect_end(s, other);
	at = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	mr = ibv_reg_mr(s->pd, at, 8192, IBV_ACCESS_LOCAL_WRITE);
	seed_must(mr, "ibv_reg_mr");
	sge.addr = (uintptr_t)at + 4096;
	sge.lkey = mr->lkey;
	wr.opcode = IBV_WR_RDMA_WRITE;
	wr.sg_list = &sge;
	wr.send_flags = IBV_SEND_SIGNALED;
	wr.wr.rdma.remote_addr = (uintptr_t)other->buf + 8192;
	wr.wr.rdma.rkey = other->rkey;
	seed_must(!ibv_post_send(qp, &wr, &bad), "post");
	if (s->wrong) {
		at[4096 + 900] = 2;
	} else {
		seed_receive_page(qp, &sge);
		seed_send_page(other);
	}
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "WRITE");
	seed_must(s->wrong || seed_poll(s) == IBV_WC_SUCCESS, "receive");
	seed_must(at[4096 + 900] == (s->wrong ? 2 : 9), "content");
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	end_close(other);
	seed_close(s);
}

/* A page of shared memory is received, from another process. */
static void seed_shared_receive(struct seed *s)
{
	struct end *other = end_fork(false);
	struct ibv_mr *mr;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	uint8_t *at;

	end_open(other);
	seed_open(s, 32);
	qp = seed_connect_end(s, other);
	at = seed_map_pages(s, MAP_SHARED, &mr);
	sge = (struct ibv_sge){ (uintptr_t)at + 4096, 4096, mr->lkey };
	seed_receive_page(qp, &sge);
	if (s->wrong)
		seed_must(at[4096 + 900] == 1, "content");
	seed_send_page(other);
	seed_must(seed_poll(s) == IBV_WC_SUCCESS, "receive");
	seed_must(at[4096] == 9 && at[4096 + 4095] == 9 && at[4095] == 1 && at[8192] == 1,
		  "content");
	ibv_destroy_qp(qp);
	ibv_dereg_mr(mr);
	end_close(other);
	seed_close(s);
}

/* A fault that has nothing to do with a request, while a receive is outstanding. */
static void seed_own_fault(struct seed *s)
{
	volatile uint8_t *other = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr;

	seed_open_receive(s, &mr);
	if (s->wrong)
		*other = 1;
	seed_send(s);
	seed_end_page(s, mr);
}

static const struct seed_case seeds[] = {
	{ "page_written", seed_page_written },
	{ "response_early", seed_response_early },
	{ "receive_early", seed_receive_early },
	{ "srq_early", seed_srq_early },
	{ "own_fault", seed_own_fault },
	{ "shared_written", seed_shared_written },
	{ "shared_receive", seed_shared_receive },
	{ "shared_response", seed_shared_response },
	{ "receive_call", seed_receive_call },
	{ "receive_unmapped", seed_receive_unmapped },
	{ "receive_moved", seed_receive_moved },
	{ "receive_handler", seed_receive_handler },
	{ "written", seed_written },
	{ "written_inline", seed_written_inline },
	{ "unmapped", seed_unmapped },
	{ "overlap", seed_overlap },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
