/* SPDX-License-Identifier: MIT */
/*
 * dma-bufs: refused registrations, and traffic if the machine can make a dma-buf.
 *	app_mr_dmabuf [local|remote]: where the peer lives
 *	app_mr_dmabuf local none: on a device that has no regions over dma-bufs
 */
#include "tests/lib/c/vb.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

static struct vb_side *a, *b;
static struct vb_pair p;

/* A dma-buf of @len bytes over a memory file, or -1 where the machine makes none. */
static int dmabuf_new(size_t len)
{
	int dev = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1, mem;

	if (dev < 0)
		return -1;
	mem = memfd_create("dmabuf", MFD_ALLOW_SEALING);
	if (mem >= 0 && !ftruncate(mem, (off_t)len) && !fcntl(mem, F_ADD_SEALS, F_SEAL_SHRINK)) {
		struct udmabuf_create create = { .memfd = (uint32_t)mem, .size = len };

		fd = ioctl(dev, UDMABUF_CREATE, &create);
	}
	if (mem >= 0)
		close(mem);
	close(dev);
	return fd;
}

static bool dmabuf_fails(int want, uint64_t off, size_t len, uint64_t iova, int fd, int access)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_dmabuf_mr(a->pd, off, len, iova, fd, access);
	if (!mr && errno == want)
		return true;
	note("%s, wanted %s", mr ? "a region" : strerror(errno), strerror(want));
	return false;
}

static void test_dmabuf(void)
{
	int zero_fd = open("/dev/zero", O_RDWR | O_CLOEXEC), fd = dmabuf_new(8 * PAGE);
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 5, b, b->buf, 100);
	struct ibv_mr *mr;
	struct ibv_wc wc;
	uint8_t *map;

	ok(dmabuf_fails(EBADF, 0, PAGE, 0, -1, LW) && dmabuf_fails(EBADF, 0, 0, 0, -1, 0),
	   "dma-buf: no descriptor: EBADF");
	ok(dmabuf_fails(EINVAL, 0, PAGE, 0, zero_fd, LW), "one that is no dma-buf: EINVAL");
	ok(dmabuf_fails(EINVAL, 1, PAGE, 0, -1, LW), "iova of another page offset: EINVAL");
	ok(dmabuf_fails(EINVAL, 0, PAGE, 0, -1, RW), "REMOTE_WRITE without LOCAL_WRITE: EINVAL");
	ok(dmabuf_fails(EINVAL, 0, PAGE, 0, -1, LW | IBV_ACCESS_ON_DEMAND) &&
		   dmabuf_fails(EINVAL, 0, PAGE, 0, -1, LW | IBV_ACCESS_ZERO_BASED) &&
		   dmabuf_fails(EINVAL, 0, PAGE, 0, -1, LW | IBV_ACCESS_MW_BIND),
	   "flags that dma-bufs do not have: EINVAL");
	close(zero_fd);
	if (fd < 0) {
		puts("ok a dma-buf's content # SKIP no /dev/udmabuf to make one with");
		return;
	}
	ok(dmabuf_fails(EINVAL, PAGE, 8 * PAGE, PAGE, fd, LW), "past its end: EINVAL");
	mr = ibv_reg_dmabuf_mr(a->pd, PAGE + 16, 2 * PAGE, 0x7000000010ULL, fd, ALL);
	ok(!!mr, "ibv_reg_dmabuf_mr");
	if (!mr)
		return;
	map = mmap(NULL, 8 * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	fill(b->buf, 100, 9);
	wr.rkey = mr->rkey;
	wr.raddr = 0x7000000010ULL + 50;
	ok(!vb_send(b, 1, false, &wr) && vb_done(b, 1, VB_SCQ, 5, IBV_WC_RDMA_WRITE, &wc) &&
		   filled(map + PAGE + 16 + 50, 100, 9),
	   "WRITE to it");
	ok(!ibv_dereg_mr(mr), "ibv_dereg_mr");
	munmap(map, 8 * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	vb_open_two(argc, argv, &a, &b);
	vb_pair_fresh(&p, a, b);
	if (argc > 2)
		ok(dmabuf_fails(EOPNOTSUPP, 0, PAGE, 0, -1, LW) &&
			   dmabuf_fails(EOPNOTSUPP, 1, PAGE, 0, -1, RW),
		   "dma-buf: the device has none: EOPNOTSUPP");
	else
		test_dmabuf();
	vb_pair_down(&p);
	vb_close_two(a, b);
	return tap_failed != 0;
}
