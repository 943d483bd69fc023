/* SPDX-License-Identifier: MIT */
/*
 * Reads the program's memory, by process_vm_readv(): a program may register unreadable memory, and
 * may unmap registered memory.
 */
#include "traces/record/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096u

bool rec_mem_read(void *to, u64 addr, size_t len)
{
	static bool denied;
	struct iovec local = { to, len }, remote = { (void *)(uintptr_t)addr, len };

	if (!len)
		return true;
	if (likely(!load_relaxed(&denied))) {
		long n = syscall(SYS_process_vm_readv, rec.pid, &local, 1, &remote, 1, 0);

		if (n == (long)len)
			return true;
		if (n >= 0 || (errno != EPERM && errno != ENOSYS)) {
			if (n >= 0)
				memset((u8 *)to + n, 0, len - (size_t)n);
			else
				memset(to, 0, len);
			return false;
		}
		store_relaxed(&denied, true);
	}
	memcpy(to, (const void *)(uintptr_t)addr, len);
	return true;
}

u32 rec_mem_crc(u32 before, u64 addr, u64 len)
{
	u8 *b = rec_thread.bounce;
	size_t n;

	for (; len; addr += n, len -= n) {
		n = len < REC_BOUNCE ? len : REC_BOUNCE;
		rec_mem_read(b, addr, n);
		before = vt_crc(before, b, n);
	}
	return before;
}

bool rec_mem_is_readable(u64 addr, u64 len)
{
	size_t n;

	for (; len; addr += n, len -= n) {
		n = len < REC_BOUNCE ? len : REC_BOUNCE;
		if (!rec_mem_read(rec_thread.bounce, addr, n))
			return false;
	}
	return true;
}

size_t rec_mem_untouched_bytes(u64 addr, size_t len)
{
	static int fd = -2;
	u64 page = addr / PAGE, n = (addr + len - 1) / PAGE - page + 1, entry[64], i;

	if (fd == -2)
		fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	if (n > ARRAY_SIZE(entry))
		n = ARRAY_SIZE(entry);
	if (fd < 0 || syscall(SYS_pread64, fd, entry, n * 8, page * 8) != (long)(n * 8))
		return 0;
	/* Neither present nor swapped out. */
	for (i = 0; i < n && !(entry[i] >> 62); i++)
		;
	if (!i)
		return 0;
	return (page + i) * PAGE - addr < len ? (size_t)((page + i) * PAGE - addr) : len;
}
