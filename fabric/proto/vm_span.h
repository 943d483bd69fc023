/* SPDX-License-Identifier: MIT */
/**
 * DOC: one side of a copy of vmcopy.h, as addresses.
 *
 * Lent memory of another process (docs/design/lent-memory.md) is mapped here, so a side that lies
 * in it as a whole is memory of this process. Otherwise the side is addresses of its process, which
 * reach lent pages, too.
 */
#ifndef FABRIC_PROTO_VM_SPAN_H
#define FABRIC_PROTO_VM_SPAN_H

#include "fabric/proto/vmcopy.h"

#include <sys/uio.h>

#define NULL_IOV ENODATA /* internal: a list has entries of a null MR */

/**
 * struct span - one side of a copy.
 * @pid: the process whose memory @v names; VM_OWN: ours
 * @n: entries of @v; one is spare for the tail
 * @mixed: some of it is lent and mapped here, though @v names addresses of @pid
 */
struct span {
	s32 pid;
	u32 n;
	bool mixed;
	struct iovec v[LIM_SGE + 1];
};

/* --- vm_span.c --- */

/**
 * span_make() - lay out bytes [off, off + len) of @mem. @len is not 0.
 * Return: 0, -EAGAIN, -ESRCH, -NULL_IOV, or @fault when a segment offset or the list's length is
 * wrong.
 */
int span_make(const struct vm_ctx *vm, struct span *s, const struct hca_mem *mem, u64 off, u64 len,
	      int fault);

#endif
