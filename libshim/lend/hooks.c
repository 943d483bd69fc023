/* SPDX-License-Identifier: MIT */
/**
 * DOC: functions of libc before which lent memory becomes private again.
 *
 * madvise() and mremap() have another effect on a mapping of a file. What mlock(), mlockall() and
 * pkey_mprotect() set would be lost later, when its pages become private. The children that clone()
 * and _Fork() make run no fork handlers. Where threads cannot be stopped, pages cannot be exchanged
 * once pthread_create(), thrd_create() or clone() have made one.
 *
 * While nothing is lent, each of them costs one comparison.
 */
#include "libshim/interpose/interpose.h"
#include "libshim/interpose/syscall.h"
#include "libshim/lend/range.h"
#include "libshim/lend/region.h"
#include "libshim/lend/threads.h"

#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/mman.h>
#include <threads.h>

HOOK(int, madvise, void *addr, size_t len, int advice);
HOOK(void *, mremap, void *old, size_t old_len, size_t new_len, int flags, ...);
HOOK(int, mlock, const void *addr, size_t len);
HOOK(int, mlock2, const void *addr, size_t len, unsigned int flags);
HOOK(int, mlockall, int flags);
HOOK(int, pkey_mprotect, void *addr, size_t len, int prot, int key);
HOOK(int, pthread_create, pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
     void *arg);
HOOK(int, thrd_create, thrd_t *thread, thrd_start_t fn, void *arg);
HOOK(int, clone, int (*fn)(void *), void *stack, int flags, void *arg, ...);
HOOK(pid_t, _Fork, void);

#ifndef MREMAP_DONTUNMAP /* Linux 5.7 */
#define MREMAP_DONTUNMAP 4
#endif
/* Linux 5.14 */
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

/* Advice about access alone, which means the same for every mapping. */
static bool is_harmless_advice(int advice)
{
	return advice == MADV_NORMAL || advice == MADV_RANDOM || advice == MADV_SEQUENTIAL ||
	       advice == MADV_WILLNEED || advice == MADV_POPULATE_READ ||
	       advice == MADV_POPULATE_WRITE;
}

/* Return: whether [addr, addr + len) is private, or errno. */
static bool is_given_back(const void *addr, size_t len, int err)
{
	if (likely(!lend_give_back((uintptr_t)addr, len)))
		return true;
	errno = err;
	return false;
}

/* Whether what is lent of the memory is as this advice needs it. */
static bool is_ready_for_advice(const void *addr, size_t len, int advice)
{
	if (is_harmless_advice(advice))
		return true;
	if (advice != MADV_DONTNEED || (uintptr_t)addr % LEND_PAGE)
		return is_given_back(addr, len, EAGAIN);
	if (likely(!lend_discard((uintptr_t)addr, len)))
		return true;
	errno = EAGAIN;
	return false;
}

/* A system call: allocators call madvise() and mremap() before dlsym() can work. */
int hook_madvise(void *addr, size_t len, int advice)
{
	if (!is_ready_for_advice(addr, len, advice))
		return -1;
	return (int)syscall(SYS_madvise, addr, len, (long)advice);
}

void *hook_mremap(void *old, size_t old_len, size_t new_len, int flags, ...)
{
	void *to = NULL;
	va_list ap;

	va_start(ap, flags);
	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP))
		to = va_arg(ap, void *);
	va_end(ap);
	if (!is_given_back(old, old_len, ENOMEM))
		return MAP_FAILED;
	return (void *)syscall(SYS_mremap, old, old_len, new_len, (long)flags, to);
}

int hook_mlock(const void *addr, size_t len)
{
	return is_given_back(addr, len, EAGAIN) ? (int)syscall(SYS_mlock, addr, len) : -1;
}

int hook_mlock2(const void *addr, size_t len, unsigned int flags)
{
	if (!is_given_back(addr, len, EAGAIN))
		return -1;
	return (int)syscall(SYS_mlock2, addr, len, (long)flags);
}

int hook_mlockall(int flags)
{
	if (flags & MCL_CURRENT && !is_given_back(NULL, SIZE_MAX, EAGAIN))
		return -1;
	return (int)syscall(SYS_mlockall, (long)flags);
}

int hook_pkey_mprotect(void *addr, size_t len, int prot, int key)
{
	if (!is_given_back(addr, len, ENOMEM))
		return -1;
	return (int)syscall(SYS_pkey_mprotect, addr, len, (long)prot, (long)key);
}

/*
 * Before a thread is made that is not to be stopped. Where another one runs already, or the kernel
 * may write to memory, pages stay where they are, and a further thread changes nothing. What cannot
 * go back for another reason stays lent as well: only what moves it later will fail.
 */
static void prepare_for_thread(void)
{
	if (lent_range_count() && (!lend_signal_is_ours() || lend_signal_is_shown()))
		lend_give_back_quiet();
}

int hook_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*fn)(void *),
			void *arg)
{
	prepare_for_thread();
	return libc_next(pthread_create)(thread, attr, fn, arg);
}

int hook_thrd_create(thrd_t *thread, thrd_start_t fn, void *arg)
{
	prepare_for_thread();
	return libc_next(thrd_create)(thread, fn, arg);
}

int hook_clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	void *parent_tid, *tls, *child_tid;
	va_list ap;
	int ret = 0;

	va_start(ap, arg);
	parent_tid = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	child_tid = va_arg(ap, void *);
	va_end(ap);
	if (flags & CLONE_THREAD)
		prepare_for_thread();
	else
		ret = lend_give_back(0, UINT64_MAX);
	if (!ret && flags & CLONE_VM && !(flags & (CLONE_THREAD | CLONE_VFORK)))
		ret = lend_no_more();
	if (ret) {
		errno = ENOMEM;
		return -1;
	}
	return libc_next(clone)(fn, stack, flags, arg, parent_tid, tls, child_tid);
}

/* glibc 2.34; older programs do not call it. */
pid_t hook__Fork(void)
{
	__typeof__(&hook__Fork) next = libc_next(_Fork);
	int ret = next ? lend_give_back(0, UINT64_MAX) : -ENOSYS;

	if (!ret)
		return next();
	errno = ret == -ENOSYS ? ENOSYS : ENOMEM;
	return -1;
}
