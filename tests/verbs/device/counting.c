/* SPDX-License-Identifier: MIT */
/*
 * Verified traffic between two queue pairs of this process, without end: app_device_counting FILE
 *
 * FILE begins with a count of 64 bits: messages whose every byte has arrived. A byte that is wrong,
 * and a call that fails, end the program.
 */
#include "tests/lib/c/rc.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEN    4096u
#define OTHER  65536u /* where READs and WRITEs are */
#define REGION 1 /* index of the memory region that is registered and removed */
#define WAIT   60000 /* ms */

static struct end *a, *b;

static uint64_t *count_map(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	uint64_t *p;

	if (fd < 0 || ftruncate(fd, 4096))
		die("%s: %m", path);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("%s: %m", path);
	close(fd);
	return p;
}

static void wr_run(struct rc_wr *wr, uint64_t n)
{
	struct ibv_wc wc;

	if (end_send(a, wr) || !end_poll(a, 0, WAIT, &wc) || wc.status)
		die("message %lu: opcode %d fails", n, wr->opcode);
}

static void send_check(uint64_t n)
{
	struct rc_wr recv = wr_make(0, n, b, b->buf, LEN, NULL, NULL);
	struct rc_wr send = wr_make(IBV_WR_SEND, n, a, a->buf, LEN, NULL, NULL);
	struct ibv_wc wc;

	fill(a->buf, LEN, n);
	if (end_recv(b, &recv))
		die("message %lu: no receive", n);
	wr_run(&send, n);
	if (!end_poll(b, 1, WAIT, &wc) || wc.status || !filled(b->buf, LEN, n))
		die("message %lu: SEND", n);
}

static void write_check(uint64_t n)
{
	struct rc_wr wr = wr_make(IBV_WR_RDMA_WRITE, n, a, a->buf, LEN, b, b->buf + OTHER);
	struct rc_wr rd = wr_make(IBV_WR_RDMA_READ, n, a, a->buf + OTHER, LEN, b, b->buf + OTHER);

	fill(a->buf, LEN, n);
	wr_run(&wr, n);
	wr_run(&rd, n);
	if (!filled(b->buf + OTHER, LEN, n) || !filled(a->buf + OTHER, LEN, n))
		die("message %lu: WRITE or READ", n);
}

/* A region that comes and goes: two commands. */
static void region_check(uint64_t n)
{
	uint32_t lkey, rkey;

	if (end_reg(a, REGION, a->buf, LEN, ALL, false, &lkey, &rkey) || end_dereg(a, REGION))
		die("message %lu: a region", n);
}

int main(int argc, char **argv)
{
	uint64_t *count, n;

	if (argc != 2)
		die("one file");
	count = count_map(argv[1]);
	a = end_local();
	b = end_local();
	end_open(a);
	end_open(b);
	pair_up(a, b, &rc_defaults, &rc_defaults);
	for (n = 1;; n++) {
		if (n % 8 == 0)
			region_check(n);
		else if (n % 2)
			send_check(n);
		else
			write_check(n);
		__atomic_store_n(count, n, __ATOMIC_RELEASE);
	}
}
