/* SPDX-License-Identifier: MIT */
/*
 * What programs that were built with rdma-core 64 and newer call: ibv_alloc_buf(3),
 * ibv_reg_mr_ex(3) and their like, which installed headers may lack; longer structures; new names.
 */
#include "tests/lib/c/vb.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096u

/* enum ibv_mr_init_attr_mask */
enum { IOVA = 1, ADDR = 2, FD = 4, FD_OFFSET = 8, DMAH = 16, BUF = 32 };

struct mr_attr {
	size_t length;
	int access;
	uint64_t comp_mask;
	uint64_t iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah;
	void *buf;
};

static void *(*alloc_buf)(struct ibv_pd *pd, size_t size, void **buf);
static void (*free_buf)(void *buf);
static int (*export_fd)(void *buf);
static struct ibv_mr *(*reg_buf_mr)(struct ibv_pd *pd, void *buf, void *addr, size_t length,
				    int access);
static struct ibv_mr *(*reg_mr_ex)(struct ibv_pd *pd, struct mr_attr *attr);

static struct vb_side *a, *b;

static void find_symbols(void)
{
	alloc_buf = (__typeof__(alloc_buf))dlsym(RTLD_DEFAULT, "ibv_alloc_buf");
	free_buf = (__typeof__(free_buf))dlsym(RTLD_DEFAULT, "ibv_free_buf");
	export_fd = (__typeof__(export_fd))dlsym(RTLD_DEFAULT, "ibv_export_buf_dmabuf_fd");
	reg_buf_mr = (__typeof__(reg_buf_mr))dlsym(RTLD_DEFAULT, "ibv_reg_buf_mr");
	reg_mr_ex = (__typeof__(reg_mr_ex))dlsym(RTLD_DEFAULT, "ibv_reg_mr_ex");
}

static bool reg_fails(int want, struct ibv_pd *pd, struct mr_attr attr)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = reg_mr_ex(pd, &attr);
	if (!mr && errno == want)
		return true;
	note("%s, wanted %s", mr ? "a region" : strerror(errno), strerror(want));
	return false;
}

static void test_buf(struct vb_pair *p)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 5, b, b->buf, 100);
	struct ibv_pd *other = ibv_alloc_pd(a->ctx);
	void *buf = NULL;
	uint8_t *mem = alloc_buf(a->pd, 3 * PAGE, &buf);
	struct ibv_mr *mr;
	struct ibv_wc wc;

	if (!ok(mem && buf && (uintptr_t)mem % PAGE == 0, "ibv_alloc_buf gives whole pages"))
		return;
	mr = reg_buf_mr(a->pd, buf, mem + 16, 3 * PAGE - 16, ALL);
	ok(mr && mr->addr == mem + 16 && mr->length == 3 * PAGE - 16 && mr->pd == a->pd,
	   "ibv_reg_buf_mr registers a part of it");
	if (!mr)
		return;
	fill(b->buf, 100, 9);
	wr.rkey = mr->rkey;
	wr.raddr = (uintptr_t)mem + PAGE;
	ok(!vb_send(b, 1, false, &wr) && vb_done(b, 1, VB_SCQ, 5, IBV_WC_RDMA_WRITE, &wc) &&
		   filled(mem + PAGE, 100, 9),
	   "WRITE to it");
	ok(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	errno = 0;
	ok(!reg_buf_mr(other, buf, mem, PAGE, LW) && errno == EINVAL, "another PD: EINVAL");
	errno = 0;
	ok(!reg_buf_mr(a->pd, buf, mem + PAGE, 3 * PAGE, LW) && errno == EINVAL &&
		   !reg_buf_mr(a->pd, buf, mem - 1, PAGE, LW),
	   "not within the buffer: EINVAL");
	errno = 0;
	ok(export_fd(buf) == -1 && errno == ENODATA, "it is no dma-buf: -1, ENODATA");
	ok(reg_fails(EINVAL, a->pd,
		     (struct mr_attr){ .length = PAGE, .comp_mask = BUF, .buf = buf }) &&
		   reg_fails(EINVAL, a->pd,
			     (struct mr_attr){ .length = PAGE,
					       .comp_mask = BUF | ADDR | FD,
					       .addr = mem,
					       .buf = buf }),
	   "a buffer without an address, or with a descriptor: EINVAL");
	free_buf(buf);
	ok(!ibv_dealloc_pd(other) && vb_pair_alive(p), "ibv_free_buf");
}

static void test_reg_mr_ex(void)
{
	struct mr_attr attr = { .length = PAGE, .access = ALL, .comp_mask = ADDR, .addr = a->buf };
	int zero_fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	struct ibv_mr *mr = reg_mr_ex(a->pd, &attr);

	ok(mr && mr->addr == a->buf && mr->length == PAGE && !ibv_dereg_mr(mr),
	   "ibv_reg_mr_ex by address");
	attr.comp_mask = ADDR | IOVA;
	attr.iova = 0x700000000000 + ((uintptr_t)a->buf & (PAGE - 1));
	mr = reg_mr_ex(a->pd, &attr);
	ok(mr && mr->addr == a->buf && !ibv_dereg_mr(mr), "with an iova");
	attr.iova++;
	ok(reg_fails(EINVAL, a->pd, attr), "an iova of another page offset: EINVAL");
	attr.access = LW | (int)(VB_ACCESS_GLOBAL | VB_ACCESS_PERSISTENT);
	attr.comp_mask = ADDR;
	mr = reg_mr_ex(a->pd, &attr);
	ok(mr && !ibv_dereg_mr(mr), "the rights of FLUSH");
	attr.access = LW;
	attr.comp_mask = ADDR | DMAH;
	ok(reg_fails(EOPNOTSUPP, a->pd, attr), "a DMA handle: EOPNOTSUPP");
	attr.comp_mask = ADDR | 1ull << 40;
	ok(reg_fails(EOPNOTSUPP, a->pd, attr), "an unknown mask: EOPNOTSUPP");
	attr.comp_mask = IOVA;
	ok(reg_fails(EINVAL, a->pd, attr), "no memory: EINVAL");
	attr.comp_mask = ADDR | FD_OFFSET;
	ok(reg_fails(EINVAL, a->pd, attr), "an offset without a descriptor: EINVAL");
	attr = (struct mr_attr){ .length = PAGE, .access = LW, .comp_mask = FD, .fd = zero_fd };
	ok(reg_fails(EINVAL, a->pd, attr), "a descriptor alone: EINVAL");
	attr.comp_mask = FD | FD_OFFSET | IOVA;
	ok(reg_fails(EINVAL, a->pd, attr), "a descriptor of no dma-buf: EINVAL");
	close(zero_fd);
}

static void test_port(void)
{
	struct verbs_context *v = verbs_get_ctx(a->ctx);
	struct {
		struct ibv_port_attr attr;
		uint32_t more[8];
	} port;
	uint32_t speed_ex, i;

	memset(&port, 0xa5, sizeof(port));
	if (!ok(!v->query_port(a->ctx, 1, &port.attr, sizeof(port)), "a longer port structure"))
		return;
	memcpy(&speed_ex, (char *)&port + 52, sizeof(speed_ex));
	ok(speed_ex == port.attr.active_speed, "active_speed_ex is %u", speed_ex);
	for (i = 1; i < 8 && !port.more[i]; i++)
		;
	ok(i == 8, "what is newer is 0");
}

static void test_parent(void)
{
	struct ibv_parent_domain_init_attr attr = { .pd = a->pd, .comp_mask = 1 << 2 };
	struct ibv_pd *pd = ibv_alloc_parent_domain(a->ctx, &attr);

	ok(pd && !ibv_dealloc_pd(pd), "a parent domain that allows unprotected allocation");
}

int main(int argc, char **argv)
{
	struct vb_pair p = { 0 };

	find_symbols();
	if (!ok(alloc_buf && free_buf && export_fd && reg_buf_mr && reg_mr_ex, "the functions"))
		return 1;
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	test_buf(&p);
	test_reg_mr_ex();
	test_port();
	test_parent();
	ok(!strcmp(ibv_event_type_str((enum ibv_event_type)20), "Device link speed change"),
	   "the name of IBV_EVENT_DEVICE_SPEED_CHANGE");
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
