/* SPDX-License-Identifier: MIT */
/* VT_DM: copies to and from device memory, and compares what is read. */
#include "traces/replay/objects.h"
#include "traces/replay/play.h"
#include "traces/replay/replay.h"
#include "traces/replay/shared.h"
#include "traces/vtrace/write.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COPY_MAX (1ULL << 30)

bool rp_play_dm(struct rp_thread *t, const struct vt_rec *rec)
{
	const struct vt_dm *what = VT_BODY(vt_dm, rec);
	struct ibv_dm *dm = rp_obj(t->prog, VOBJ_DM, what->dm);
	const uint8_t *bytes = vt_dm_bytes(rec);
	char want[64], got[64];
	uint32_t crc = 0;
	uint8_t *mem;
	int ret;

	if (!dm)
		return rp_fail_rec(t, rec, "a copy of dm%u, which does not exist", what->dm);
	/* A refused copy may have had any length. */
	mem = calloc(1, what->len < COPY_MAX ? what->len + 1 : 1);
	if (!mem || (what->len >= COPY_MAX && !what->ret)) {
		free(mem);
		return rp_fail_rec(t, rec, "no memory for a copy of %llu bytes",
				   (unsigned long long)what->len);
	}
	if (bytes)
		memcpy(mem, bytes, what->len);
	ret = what->to ? ibv_memcpy_to_dm(dm, what->off, mem, what->len)
		       : ibv_memcpy_from_dm(mem, dm, what->off, what->len);
	if (!ret && !what->to && t->prog->w->full && !t->prog->w->ignore_memory)
		crc = vt_crc(0, mem, what->len);
	else
		crc = what->crc;
	free(mem);
	if (ret == what->ret && crc == what->crc)
		return true;
	snprintf(want, sizeof(want), "%d, CRC-32 %08x", what->ret, what->crc);
	snprintf(got, sizeof(got), "%d, CRC-32 %08x", ret, crc);
	return rp_diverge(t, rec, ret == what->ret ? "what was read" : "the result", want, got);
}
