/* SPDX-License-Identifier: MIT */
/* Whether data lie where the model has put them. See tests/model/walk_verbs.h. */
#include "tests/model/walk_verbs.h"

#include <string.h>
#include <unistd.h>

#define PATIENCE_NS 60000000000ULL

static uint64_t lay(const struct ibv_sge *sge, int n, uint8_t *buf, uint64_t room)
{
	uint64_t at = 0;

	for (int i = 0; i < n && at < room; i++) {
		uint64_t len = sge[i].length < room - at ? sge[i].length : room - at;

		if (len)
			memcpy(buf + at, (void *)(uintptr_t)sge[i].addr, len);
		at += len;
	}
	return at;
}

static bool overlap(const struct vcheck *a, const struct vcheck *b)
{
	for (int i = 0; i < a->n_dst; i++)
		for (int k = 0; k < b->n_dst; k++)
			if (a->dst[i].addr < b->dst[k].addr + b->dst[k].length &&
			    b->dst[k].addr < a->dst[i].addr + a->dst[i].length)
				return true;
	return false;
}

/* Pieces of a list that lie over each other hold what came last: no telling. */
static bool tangled(const struct vcheck *c)
{
	for (int i = 0; i < c->n_dst; i++)
		for (int k = 0; k < i; k++)
			if (c->dst[i].addr < c->dst[k].addr + c->dst[k].length &&
			    c->dst[k].addr < c->dst[i].addr + c->dst[i].length)
				return true;
	return false;
}

static void __attribute__((noreturn)) bad_data(const struct vcheck *c, uint32_t n)
{
	for (int i = 0; i < c->n_src; i++)
		note("from %#lx, %u bytes", (unsigned long)c->src[i].addr, c->src[i].length);
	for (int i = 0; i < c->n_dst; i++)
		note("to   %#lx, %u bytes", (unsigned long)c->dst[i].addr, c->dst[i].length);
	for (int a = 0; a < ACTORS; a++)
		note("area of actor %d: %#lx", a, (unsigned long)(uintptr_t)wd->area[a]);
	vfail("wrong data, %u bytes: request %lu, opcode %d; %u looked at", c->len,
	      (unsigned long)c->id, c->op, n);
}

static bool data_there(const struct vcheck *c)
{
	static uint8_t want[2 * AREA_DST], got[2 * AREA_DST];

	memcpy(want, &c->word, 8);
	if (!c->is_word)
		lay(c->src, c->n_src, want, c->len);
	lay(c->dst, c->n_dst, got, c->len);
	return !memcmp(got, want, c->len);
}

static bool words_right(void)
{
	for (int a = wd->first; a < wd->first + wd->actors; a++)
		if (memcmp(wd->area[a] + AREA_WORD, wd->words[a], sizeof(wd->words[0])) != 0)
			return false;
	return true;
}

/* Nothing says when a request is done that asked for no completion: soon. */
static bool soon(bool (*there)(const struct vcheck *c), const struct vcheck *c)
{
	uint64_t end = now_ns() + PATIENCE_NS;

	while (!there(c)) {
		if (now_ns() > end)
			return false;
		usleep(50);
	}
	return true;
}

static bool words_there(const struct vcheck *c)
{
	(void)c;
	return words_right();
}

void check_data(void)
{
	uint32_t n = wd->n_check < VCHECKS ? wd->n_check : VCHECKS;

	for (uint32_t i = 0; i < n; i++) {
		const struct vcheck *c = &wd->check[(wd->n_check - 1 - i) % VCHECKS];
		bool covered = false;

		/*
		 * Others of this step may have gone over it; and what a receive holds is laid
		 * out when it is polled, which may be later than a WRITE after it.
		 */
		for (uint32_t k = 0; k < n; k++)
			covered |=
				k != i && overlap(c, &wd->check[(wd->n_check - 1 - k) % VCHECKS]);
		if (covered || !c->len || tangled(c))
			continue;
		if (!soon(data_there, c))
			bad_data(c, n);
	}
	wd->n_check = 0;
	if (!soon(words_there, NULL))
		vfail("the words are not what atomics should have made of them");
}
