/* SPDX-License-Identifier: MIT */
/** DOC: see vm_span.h. */
#include "fabric/proto/vm_span.h"

/** span_base() - determine how to reach a side. Return: 0, -EAGAIN, -ESRCH or @fault. */
static int span_base(const struct vm_ctx *vm, struct span *s, const struct hca_mem *mem, u8 **base,
		     int fault)
{
	*base = NULL;
	s->pid = VM_OWN;
	if (mem->kind == MEM_SEG) {
		*base = vm->seg(vm->ctx, mem->client);
		return *base ? 0 : -EAGAIN;
	}
	if (mem->kind != MEM_VM)
		return fault;
	s->pid = vm->pid(vm->ctx, mem->client);
	if (s->pid >= VM_OWN)
		return 0;
	return s->pid == VM_GONE ? -ESRCH : -EAGAIN;
}

/**
 * span_make_lent() - the same as span_make() for memory that is lent and mapped here, all of it.
 * Return: false: not all of it is. @s->mixed: but the first bytes are, or a part of their entry is.
 */
static bool span_make_lent(const struct vm_ctx *vm, struct span *s, const struct hca_mem *mem,
			   u64 off, u64 len)
{
	u32 i;

	s->pid = VM_OWN;
	s->n = 0;
	s->mixed = false;
	for (i = 0; i < mem->n && i < LIM_SGE && len; i++) {
		u64 have = mem->iov[i].len, run;
		u8 *at;

		if (off >= have) {
			off -= have;
			continue;
		}
		if (unlikely(mem->iov[i].addr == IOV_NULL))
			return false;
		run = have = min_u64(have - off, len);
		at = vm->lent(vm->ctx, mem->client, mem->iov[i].addr + off, &run);
		s->mixed |= at || run < have;
		if (!at || run < have)
			return false;
		off = 0;
		s->v[s->n].iov_base = at;
		s->v[s->n++].iov_len = have;
		len -= have;
	}
	s->mixed = false;
	return !len;
}

int span_make(const struct vm_ctx *vm, struct span *s, const struct hca_mem *mem, u64 off, u64 len,
	      int fault)
{
	u8 *base;
	u32 i;
	int ret;

	s->mixed = false;
	if (mem->kind == MEM_VM && vm->lent && span_make_lent(vm, s, mem, off, len))
		return 0;
	ret = span_base(vm, s, mem, &base, fault);
	if (ret)
		return ret;
	s->n = 0;
	for (i = 0; i < mem->n && i < LIM_SGE && len; i++) {
		u64 addr = mem->iov[i].addr, have = mem->iov[i].len;

		if (off >= have) {
			off -= have;
			continue;
		}
		if (unlikely(addr == IOV_NULL))
			return -NULL_IOV;
		addr += off;
		have = min_u64(have - off, len);
		off = 0;
		if (base && (addr > SEG_SIZE || have > SEG_SIZE - addr))
			return fault;
		s->v[s->n].iov_base = base ? (void *)(base + addr) : (void *)(uintptr_t)addr;
		s->v[s->n++].iov_len = have;
		len -= have;
	}
	return len ? fault : 0;
}

u32 vm_lent_span(const struct vm_ctx *vm, const struct hca_mem *mem, u64 off, u64 len,
		 struct iovec *v, u32 max)
{
	struct span s;

	if (mem->kind != MEM_VM || !vm->lent || !span_make_lent(vm, &s, mem, off, len) || s.n > max)
		return 0;
	memcpy(v, s.v, s.n * sizeof(*v));
	return s.n;
}

bool vm_is_lent(const struct vm_ctx *vm, const struct hca_mem *mem, u64 off, u64 len)
{
	struct span s;

	return mem->kind == MEM_VM && vm->lent && span_make_lent(vm, &s, mem, off, len);
}
