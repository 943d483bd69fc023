/* SPDX-License-Identifier: MIT */
/**
 * DOC: see vmcopy.h for the theory of operation.
 *
 * Both sides of a copy are first laid out as iovec arrays (struct span) of exactly the bytes to
 * move. A scatter list has at most LIM_SGE entries, so one system call takes all of them. When a
 * copy falls short, the source is read page by page to find out which side is at fault.
 */
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "emulator/transport/eth.h"
#include "fabric/proto/vmcopy.h"
#include "fabric/proto/vm_forced.h"
#include "fabric/proto/vm_span.h"

#define CACHE_LINE  64u
#define PAGE	    4096u /* the smallest page size: a good enough step */
#define BOUNCE_SIZE (64u << 10) /* stays in the cache between read and write */
/* From so many bytes on, loads and stores for the lent part repay the calls for the rest. */
#define PARTS_MIN (32u << 10)

typedef u64 __attribute__((may_alias)) any64;
typedef u32 __attribute__((may_alias)) any32;
typedef u16 __attribute__((may_alias)) any16;

/** vm_store_tail() - at most 8 bytes within an aligned word, lowest first, each store a release. */
static void vm_store_tail(u8 *dst, const u8 *src, u64 len)
{
	while (len) {
		u64 step = vm_tail_step((uintptr_t)dst, len);
		u64 w = 0;

		memcpy(&w, src, step);
		if (step == 8)
			store_release((any64 *)(void *)dst, w);
		else if (step == 4)
			store_release((any32 *)(void *)dst, *(any32 *)(void *)&w);
		else if (step == 2)
			store_release((any16 *)(void *)dst, *(any16 *)(void *)&w);
		else
			store_release(dst, *(u8 *)&w);
		dst += step;
		src += step;
		len -= step;
	}
}

/** vm_tail_len() - length of the tail of [addr, addr + len): what lies in its last aligned word. */
static u64 vm_tail_len(uintptr_t addr, u64 len)
{
	uintptr_t end = addr + len;
	uintptr_t word = (end - 1) & ~(uintptr_t)(VM_TAIL_MAX - 1);

	return word > addr ? end - word : len;
}

void vm_store(void *dst, const void *src, u64 len)
{
	u64 tail;

	if (!len)
		return;
	tail = vm_tail_len((uintptr_t)dst, len);
	/*
	 * A program may send to itself from overlapping buffers: the content is undefined, the code
	 * is not.
	 */
	memmove(dst, src, len - tail);
	vm_store_tail((u8 *)dst + len - tail, (const u8 *)src + len - tail, tail);
}

/** span_cut_tail() - make the tail the span's last entry. Return: its length. */
static u64 span_cut_tail(struct span *s)
{
	struct iovec *last = &s->v[s->n - 1];
	u64 tail = vm_tail_len((uintptr_t)last->iov_base, last->iov_len);

	if (tail < last->iov_len) {
		last->iov_len -= tail;
		last[1].iov_base = (u8 *)last->iov_base + last->iov_len;
		last[1].iov_len = tail;
		s->n++;
	}
	return tail;
}

/**
 * span_one_line() - whether the end of the span is in one cache line with the bytes before it: then
 * no order has to be enforced.
 */
static bool span_one_line(const struct span *s)
{
	const struct iovec *last = &s->v[s->n - 1];
	uintptr_t first_byte = (uintptr_t)last->iov_base;
	uintptr_t last_byte = first_byte + last->iov_len - 1;

	return first_byte / CACHE_LINE == last_byte / CACHE_LINE;
}

static ssize_t vm_read(s32 pid, const struct iovec *local, u32 nl, const struct iovec *remote,
		       u32 nr)
{
	return syscall(SYS_process_vm_readv, pid, local, (unsigned long)nl, remote,
		       (unsigned long)nr, 0UL);
}

static ssize_t vm_write(s32 pid, const struct iovec *local, u32 nl, const struct iovec *remote,
			u32 nr)
{
	return syscall(SYS_process_vm_writev, pid, local, (unsigned long)nl, remote,
		       (unsigned long)nr, 0UL);
}

/** span_readable() - whether every page of a span can be read. */
static bool span_readable(const struct span *s)
{
	s32 pid = s->pid == VM_OWN ? (s32)getpid() : s->pid;
	u32 i;

	for (i = 0; i < s->n; i++) {
		uintptr_t at = (uintptr_t)s->v[i].iov_base;
		uintptr_t last = at + s->v[i].iov_len - 1;

		for (;; at = min_u64((at | (PAGE - 1)) + 1, last)) {
			u8 byte;
			struct iovec local = { &byte, 1 }, remote = { (void *)at, 1 };

			if (vm_read(pid, &local, 1, &remote, 1) != 1)
				return false;
			if (at == last)
				break;
		}
	}
	return true;
}

/**
 * vm_failure() - the error of a call that did not move all its bytes.
 * @got: its result
 */
static int vm_failure(ssize_t got, const struct span *src)
{
	if (got < 0 && errno == ESRCH)
		return -ESRCH;
	if (got < 0 && errno != EFAULT && errno != EINVAL)
		return -EAGAIN; /* refused: EPERM, ENOSYS or another answer of a filter */
	return span_readable(src) ? -EFAULT_DST : -EFAULT_SRC;
}

/**
 * span_gather() - copy @len bytes from the cursor (@i, @at) in a list of local memory, which has
 * them.
 */
static void span_gather(u8 *dst, u64 len, const struct span *src, u32 *i, u64 *at)
{
	while (len && *i < src->n) {
		u64 n = min_u64(len, src->v[*i].iov_len - *at);

		memmove(dst, (u8 *)src->v[*i].iov_base + *at, n);
		dst += n;
		len -= n;
		*at += n;
		if (*at == src->v[*i].iov_len) {
			++*i;
			*at = 0;
		}
	}
}

static int vm_copy_local(struct span *dst, const struct span *src)
{
	u8 word[VM_TAIL_MAX];
	u64 at = 0;
	u64 tail;
	u32 i, s = 0;

	if (dst->n == 1 && src->n == 1) {
		vm_store(dst->v[0].iov_base, src->v[0].iov_base, dst->v[0].iov_len);
		return 0;
	}
	tail = span_cut_tail(dst);
	for (i = 0; i + 1 < dst->n; i++)
		span_gather(dst->v[i].iov_base, dst->v[i].iov_len, src, &s, &at);
	span_gather(word, tail, src, &s, &at);
	vm_store_tail(dst->v[i].iov_base, word, tail);
	return 0;
}

/** vm_write_tail() - copy a tail to another process, store by store as vm_store_tail() does it. */
static int vm_write_tail(const struct span *dst, u8 *word, const struct span *src)
{
	const struct iovec *last = &dst->v[dst->n - 1];
	struct iovec from = { .iov_base = word }, to = { .iov_base = last->iov_base };
	u64 len = last->iov_len, step;
	ssize_t got;

	for (; len; len -= step) {
		step = vm_tail_step((uintptr_t)to.iov_base, len);
		from.iov_len = to.iov_len = step;
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		got = vm_write(dst->pid, &from, 1, &to, 1);
		if (got != (ssize_t)step)
			return vm_failure(got, src);
		from.iov_base = (u8 *)from.iov_base + step;
		to.iov_base = (u8 *)to.iov_base + step;
	}
	return 0;
}

/**
 * vm_copy_out_weak() - copy to another process where the kernel's stores may become visible in any
 * order: the tail has calls of its own, each after a fence.
 */
static int vm_copy_out_weak(struct span *dst, const struct span *src, u64 len)
{
	u64 tail = span_cut_tail(dst), body = len - tail, at;
	u8 word[VM_TAIL_MAX];
	u32 i = 0;
	ssize_t got;

	/* The first call copies as much as the shorter list has: all but the tail. */
	if (dst->n > 1) {
		got = vm_write(dst->pid, src->v, src->n, dst->v, dst->n - 1);
		if (got != (ssize_t)body)
			return vm_failure(got, src);
	}
	while (i < src->n && body >= src->v[i].iov_len)
		body -= src->v[i++].iov_len;
	at = body;
	span_gather(word, tail, src, &i, &at);
	return vm_write_tail(dst, word, src);
}

static int vm_copy_out(struct span *dst, const struct span *src, u64 len)
{
	ssize_t got;

	if (!CPU_KEEPS_STORE_ORDER)
		return vm_copy_out_weak(dst, src, len);
	if (!span_one_line(dst))
		span_cut_tail(dst);
	got = vm_write(dst->pid, src->v, src->n, dst->v, dst->n);
	return got == (ssize_t)len ? 0 : vm_failure(got, src);
}

static int vm_copy_in(struct span *dst, const struct span *src, u64 len)
{
	u8 word[VM_TAIL_MAX];
	u64 tail = span_cut_tail(dst);
	struct iovec *last = &dst->v[dst->n - 1];
	u8 *end = last->iov_base;
	ssize_t got;

	last->iov_base = word;
	got = vm_read(src->pid, dst->v, dst->n, src->v, src->n);
	if (got != (ssize_t)len)
		return vm_failure(got, src);
	vm_store_tail(end, word, tail);
	return 0;
}

/**
 * vm_copy_across() - copy between two other processes. The last piece has the tail, and comes last.
 */
static int vm_copy_across(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
			  const struct hca_mem *src, u64 soff, u64 len)
{
	static u8 bounce[BOUNCE_SIZE] cacheline_aligned;
	struct span mid, far;
	u64 pos, n;
	int ret = 0;

	for (pos = 0; pos < len && !ret; pos += n) {
		n = min_u64(len - pos, BOUNCE_SIZE);
		mid.pid = VM_OWN;
		mid.n = 1;
		mid.v[0].iov_base = bounce;
		mid.v[0].iov_len = n;
		ret = span_make(vm, &far, src, soff + pos, n, -EFAULT_SRC);
		if (!ret)
			ret = vm_copy_in(&mid, &far, n);
		if (ret)
			break;
		mid.n = 1;
		mid.v[0].iov_base = bounce;
		mid.v[0].iov_len = n;
		ret = span_make(vm, &far, dst, doff + pos, n, -EFAULT_DST);
		if (!ret)
			ret = vm_copy_out(&far, &mid, n);
	}
	return ret;
}

/* The entry that contains byte *off; *off becomes the offset in it. NULL: the list is shorter. */
static const struct hca_iov *vm_iov_at(const struct hca_mem *mem, u64 *off)
{
	u32 i;

	for (i = 0; i < mem->n && i < LIM_SGE; i++) {
		if (*off < mem->iov[i].len)
			return &mem->iov[i];
		*off -= mem->iov[i].len;
	}
	return NULL;
}

static int vm_copy_zeros(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff, u64 len)
{
	static const u8 zeros[PAGE];
	struct span d, s = { .pid = VM_OWN, .n = 1 };
	u64 pos, n;
	int ret = 0;

	for (pos = 0; pos < len && !ret; pos += n) {
		n = min_u64(len - pos, sizeof(zeros));
		s.v[0].iov_base = (void *)(uintptr_t)zeros;
		s.v[0].iov_len = n;
		ret = span_make(vm, &d, dst, doff + pos, n, -EFAULT_DST);
		if (!ret)
			ret = d.pid == VM_OWN ? vm_copy_local(&d, &s) : vm_copy_out(&d, &s, n);
	}
	return ret;
}

/* Cut *n, bytes from byte @off of entry @iov on, to those that are lent or not, as the first is. */
static void vm_cut(const struct vm_ctx *vm, const struct hca_mem *mem, const struct hca_iov *iov,
		   u64 off, u64 *n)
{
	if (mem->kind == MEM_VM && vm->lent)
		(void)vm->lent(vm->ctx, mem->client, iov->addr + off, n);
}

/**
 * vm_copy_pieces() - copy from or to null MRs, or memory of which a part is lent, piece by piece in
 * their order. A piece lies within one entry of both lists, and all of it is lent, or nothing.
 */
static int vm_copy_pieces(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
			  const struct hca_mem *src, u64 soff, u64 len)
{
	const struct hca_iov *d, *s;
	u64 pos, n, din, sin;
	int ret = 0;

	for (pos = 0; pos < len && !ret; pos += n) {
		din = doff + pos;
		sin = soff + pos;
		d = vm_iov_at(dst, &din);
		s = vm_iov_at(src, &sin);
		if (!d || !s)
			return d ? -EFAULT_SRC : -EFAULT_DST;
		n = min_u64(len - pos, min_u64(d->len - din, s->len - sin));
		if (d->addr == IOV_NULL)
			continue;
		if (s->addr == IOV_NULL) {
			ret = vm_copy_zeros(vm, dst, doff + pos, n);
			continue;
		}
		vm_cut(vm, dst, d, din, &n);
		vm_cut(vm, src, s, sin, &n);
		ret = vm_copy(vm, dst, doff + pos, src, soff + pos, n);
	}
	return ret;
}

/** vm_ring_piece() - bytes of a segment, in one entry; NULL: they are not, or it is not at hand. */
static void *vm_ring_piece(const struct vm_ctx *vm, const struct hca_mem *src, u64 off, u64 len)
{
	u64 addr = src->iov[0].addr + off, have = src->iov[0].len;
	u8 *base = src->kind == MEM_SEG ? vm->seg(vm->ctx, src->client) : NULL;

	return base && src->n == 1 && off <= have && len <= have - off && addr <= SEG_SIZE &&
			       len <= SEG_SIZE - addr
		       ? base + addr
		       : NULL;
}

bool vm_write_line(s32 pid, u64 addr, const void *from, u64 len)
{
	struct iovec local = { (void *)(uintptr_t)from, len };
	struct iovec remote = { (void *)(uintptr_t)addr, len };

	return CPU_KEEPS_STORE_ORDER && vm_write(pid, &local, 1, &remote, 1) == (ssize_t)len;
}

/** vm_copy_line() - as vm_copy(), from a ring into one line of another process. Return: success */
static bool vm_copy_line(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
			 const struct hca_mem *src, u64 soff, u64 len)
{
	const struct hca_iov *v = &dst->iov[0];
	u64 addr = v->addr + doff, run = len;
	const void *from;
	s32 pid;

	if (dst->n != 1 || dst->kind != MEM_VM || doff > v->len || len > v->len - doff ||
	    v->addr == IOV_NULL || addr / CACHE_LINE != (addr + len - 1) / CACHE_LINE)
		return false;
	from = vm_ring_piece(vm, src, soff, len);
	if (!from || (vm->lent && vm->lent(vm->ctx, dst->client, addr, &run)))
		return false;
	pid = vm->pid(vm->ctx, dst->client);
	return pid > VM_OWN && vm_write_line(pid, addr, from, len);
}

/* The spans are those of vm_copy(); copies change them. */
static int vm_copy_spans(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff,
			 const struct hca_mem *src, u64 soff, u64 len, struct span *d,
			 struct span *s)
{
	if (s->pid == VM_OWN)
		return d->pid == VM_OWN ? vm_copy_local(d, s) : vm_copy_out(d, s, len);
	if (d->pid == VM_OWN)
		return vm_copy_in(d, s, len);
	return vm_copy_across(vm, dst, doff, src, soff, len);
}

int vm_copy(const struct vm_ctx *vm, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
	    u64 soff, u64 len)
{
	struct span d, s;
	int ret;

	if (!len)
		return 0;
	if (len <= CACHE_LINE && vm_copy_line(vm, dst, doff, src, soff, len))
		return 0;
	ret = span_make(vm, &s, src, soff, len, -EFAULT_SRC);
	if (!ret)
		ret = span_make(vm, &d, dst, doff, len, -EFAULT_DST);
	if (unlikely(ret == -NULL_IOV))
		return vm_copy_pieces(vm, dst, doff, src, soff, len);
	if (ret)
		return ret;
	if (unlikely(s.mixed || d.mixed) && len >= PARTS_MIN)
		return vm_copy_pieces(vm, dst, doff, src, soff, len);
	ret = vm_copy_spans(vm, dst, doff, src, soff, len, &d, &s);
	if (unlikely(ret == -EFAULT_SRC || ret == -EFAULT_DST))
		return vm_forced_copy(vm, dst, doff, src, soff, len, ret);
	return ret;
}

/** vm_atomic_own() - in this process: atomic for the program's own CPU atomics as well. */
static void vm_atomic_own(any64 *word, u32 op, u64 compare_add, u64 swap, struct atomic_res *res)
{
	u64 old = load_relaxed(word);
	u64 want;

	do {
		want = atomic_result(op, old, compare_add, swap);
		atomic_begin(res, old, want);
	} while (!__atomic_compare_exchange_n(word, &old, want, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
}

int vm_atomic(const struct vm_ctx *vm, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
	      struct atomic_res *res)
{
	u64 run = sizeof(u64), old, want;
	u8 *at = vm->lent ? vm->lent(vm->ctx, client, addr, &run) : NULL;
	bool lent = at && run == sizeof(u64);
	s32 pid = lent ? VM_OWN : vm->pid(vm->ctx, client);
	struct iovec remote = { (void *)(uintptr_t)addr, sizeof(u64) };
	struct iovec from = { &old, sizeof(old) }, to = { &want, sizeof(want) };
	any64 *word;

	if (pid == VM_OWN) {
		word = (any64 *)(lent ? (uintptr_t)at : (uintptr_t)addr);
		vm_atomic_own(word, op, compare_add, swap, res);
		return 0;
	}
	if (pid < 0)
		return pid == VM_GONE ? -ESRCH : -EAGAIN;
	errno = EFAULT; /* of a word of which only a part can be copied */
	if (vm_read(pid, &from, 1, &remote, 1) != sizeof(old) &&
	    !vm_forced_bytes(pid, addr, &old, sizeof(old), false))
		goto fail;
	want = atomic_result(op, old, compare_add, swap);
	atomic_begin(res, old, want);
	if (want != old && vm_write(pid, &to, 1, &remote, 1) != sizeof(want) &&
	    !vm_forced_bytes(pid, addr, &want, sizeof(want), true))
		goto fail;
	return 0;
fail:
	return errno == EFAULT ? -EFAULT_DST : errno == ESRCH ? -ESRCH : -EAGAIN;
}

int vm_probe(s32 pid, u64 cookie_addr, u64 cookie)
{
	u64 word = 0;
	struct iovec local = { &word, sizeof(word) };
	struct iovec remote = { (void *)(uintptr_t)cookie_addr, sizeof(word) };
	ssize_t got = vm_read(pid, &local, 1, &remote, 1);

	if (got == sizeof(word))
		return word == cookie ? 0 : -ENOENT;
	if (got < 0 && errno == ESRCH)
		return -ESRCH;
	return got < 0 && errno == EFAULT ? -ENOENT : -EPERM;
}
