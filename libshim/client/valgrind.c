/* SPDX-License-Identifier: MIT */
/**
 * DOC: requests to valgrind. See libshim/client/valgrind.h.
 *
 * A request is a sequence of instructions that do nothing on a processor and that valgrind knows.
 * Sequences and numbers are a fixed interface of valgrind; with them here, no build needs its
 * headers. A tool ignores the numbers of others.
 */
#include "libshim/client/valgrind.h"

#include <link.h>

/** enum vg_request - numbers of valgrind itself, 'HG', 'DR' and 'MC'. */
enum vg_request {
	VG_RUNNING = 0x1001,
	VG_HAPPENS_BEFORE = 0x48470121, /* DRD has the same */
	VG_HAPPENS_AFTER = 0x48470122,
	VG_HELGRIND_UNTRACKED = 0x48470127,
	VG_HELGRIND_ABITS = 0x4847012e,
	VG_DRD_THREAD = 0x44520000,
	VG_DRD_SUPPRESS = 0x44520002,
	VG_MEMCHECK_NOACCESS = 0x4d430000,
	VG_MEMCHECK_DISABLE_REPORTING = 0x4d43000e,
};

bool shim_on_valgrind;
bool shim_on_thread_checker;

static u64 sync_point; /* its address stands for all queues */
static const void *volatile kept; /* memcheck's leak search finds it */

#if defined(__x86_64__)
static u64 vg_request_args(volatile u64 args[6])
{
	u64 answer;

	__asm__ volatile("rolq $3, %%rdi; rolq $13, %%rdi; rolq $61, %%rdi; rolq $51, %%rdi;"
			 "xchgq %%rbx, %%rbx"
			 : "=d"(answer)
			 : "a"(args), "0"(0ULL)
			 : "cc", "memory");
	return answer;
}

/* glibc's descriptor of a thread begins with the address of its table of TLS blocks. */
static const void *thread_tls_table(void)
{
	const void *table;

	__asm__("movq %%fs:8, %0" : "=r"(table));
	return table;
}
#elif defined(__aarch64__)
static u64 vg_request_args(volatile u64 args[6])
{
	register u64 answer __asm__("x3") = 0;
	register volatile u64 *at __asm__("x4") = args;

	__asm__ volatile("ror x12, x12, #3; ror x12, x12, #13; ror x12, x12, #51;"
			 "ror x12, x12, #61; orr x10, x10, x10"
			 : "+r"(answer)
			 : "r"(at)
			 : "cc", "memory");
	return answer;
}

static const void *thread_tls_table(void)
{
	return *(const void *const *)__builtin_thread_pointer();
}
#else
static u64 vg_request_args(volatile u64 args[6])
{
	(void)args;
	return 0;
}

static const void *thread_tls_table(void)
{
	return NULL;
}
#endif

static u64 vg_ask(enum vg_request request, u64 a, u64 b)
{
	volatile u64 args[6] = { request, a, b };

	return vg_request_args(args);
}

void shim_valgrind_exclude(const void *at, u64 size)
{
	if (likely(!shim_on_valgrind))
		return;
	vg_ask(VG_HELGRIND_UNTRACKED, (uintptr_t)at, size);
	vg_ask(VG_DRD_SUPPRESS, (uintptr_t)at, size);
}

/* Exclude the variables of the library that has @shim_on_valgrind. */
static int exclude_variables(struct dl_phdr_info *info, size_t size, void *arg)
{
	uintptr_t flag = (uintptr_t)&shim_on_valgrind, at;
	u32 i;

	(void)size;
	(void)arg;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		at = info->dlpi_addr + ph->p_vaddr;
		if (ph->p_type != PT_LOAD || flag < at || flag - at >= ph->p_memsz)
			continue;
		shim_valgrind_exclude((const void *)at, ph->p_memsz);
		return 1;
	}
	return 0;
}

/* Only helgrind knows how much of a range may be accessed, and only DRD numbers threads. */
static bool tool_checks_threads(void)
{
	volatile u8 known = 0;
	volatile u64 args[6] = { VG_HELGRIND_ABITS, (uintptr_t)&known, 0, 1 };

	return vg_request_args(args) || vg_ask(VG_DRD_THREAD, 0, 0);
}

void shim_valgrind_start(void)
{
	if (shim_on_valgrind || !vg_ask(VG_RUNNING, 0, 0))
		return;
	shim_on_valgrind = true;
	shim_on_thread_checker = tool_checks_threads();
	dl_iterate_phdr(exclude_variables, NULL);
}

void shim_valgrind_acquire(void)
{
	vg_ask(VG_HAPPENS_AFTER, (uintptr_t)&sync_point, 0);
}

void shim_valgrind_release(void)
{
	vg_ask(VG_HAPPENS_BEFORE, (uintptr_t)&sync_point, 0);
}

void shim_valgrind_keep_thread(void)
{
	const u8 *table;

	if (likely(!shim_on_valgrind))
		return;
	/* Its first entry, of 16 bytes, is before the address. Memcheck looks for the beginning. */
	table = thread_tls_table();
	kept = table ? table - 16 : NULL;
}

void shim_valgrind_leave_out(const void *at, u64 size)
{
	if (likely(!shim_on_valgrind))
		return;
	vg_ask(VG_MEMCHECK_DISABLE_REPORTING, (uintptr_t)at, size);
	vg_ask(VG_MEMCHECK_NOACCESS, (uintptr_t)at, size);
}
