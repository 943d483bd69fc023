/* SPDX-License-Identifier: MIT */
/* Mistakes with the memory of outstanding requests. */
#include "tests/lib/c/seed.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

static const struct seed_case seeds[] = {
	{ "written", seed_written },
	{ "written_inline", seed_written_inline },
	{ "unmapped", seed_unmapped },
	{ "overlap", seed_overlap },
};

int main(int argc, char **argv)
{
	return seed_main(argc, argv, seeds, sizeof(seeds) / sizeof(seeds[0]));
}
