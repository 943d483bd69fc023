/* SPDX-License-Identifier: MIT */
/** DOC: see vb_lent.h. */
#include "tests/lib/c/vb_lent.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define LEN 100

uint8_t *vb_pages(size_t len, int prot)
{
	uint8_t *at = mmap(NULL, len, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		die("mmap: %s", strerror(errno));
	return at;
}

static size_t mapped_bytes(const void *at, size_t len, bool lent, int *lines)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, start = (unsigned long)at, end = start + len;
	char line[512];
	size_t n = 0;

	*lines = 0;
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &from, &to) != 2 || to <= start || from >= end)
			continue;
		if ((strstr(line, "rdmaemu-lent") != NULL) != lent)
			continue;
		n += (to < end ? to : end) - (from > start ? from : start);
		++*lines;
	}
	if (f)
		fclose(f);
	return n;
}

size_t vb_lent_bytes(const void *at, size_t len)
{
	int lines;

	return mapped_bytes(at, len, true, &lines);
}

size_t vb_private_bytes(const void *at, size_t len, int *lines)
{
	return mapped_bytes(at, len, false, lines);
}

bool vb_is_private(const void *at, size_t len)
{
	int lines;

	return vb_private_bytes(at, len, &lines) == len;
}

bool vb_give_back(void *at, size_t len)
{
	return !madvise(at, len, MADV_DOFORK);
}

bool vb_peer_reaches(struct vb_side *peer, uint32_t rkey, uint8_t *at)
{
	struct vb_wr wr = vb_wr(IBV_WR_RDMA_WRITE, 5, peer, peer->buf, LEN);
	struct ibv_wc wc = { .status = IBV_WC_GENERAL_ERR };
	bool good;

	wr.rkey = rkey;
	wr.raddr = (uintptr_t)at;
	fill(peer->buf, LEN, (uintptr_t)at);
	memset(at, 0, LEN);
	good = !vb_send(peer, 1, false, &wr) && vb_poll(peer, 1, VB_SCQ, VB_WAIT, &wc) &&
	       !wc.status && filled(at, LEN, (uintptr_t)at);
	fill(at, LEN, 7);
	wr.op = IBV_WR_RDMA_READ;
	wc.status = IBV_WC_GENERAL_ERR;
	return good && !vb_send(peer, 1, false, &wr) && vb_poll(peer, 1, VB_SCQ, VB_WAIT, &wc) &&
	       !wc.status && filled(peer->buf, LEN, 7);
}
