/* SPDX-License-Identifier: MIT */
/**
 * DOC: HCA memory at the exit of a program under Valgrind.
 *
 * Memcheck's leak search reads every writable page of the process for pointers. HCA memory has
 * hundreds of MiB and no pointer; to read its untouched pages would also make them exist. So at
 * the exit it is declared inaccessible, and accesses by threads that still run are no errors.
 *
 * A client request is a sequence of instructions that does nothing on a CPU (Valgrind manual, "The
 * Client Request mechanism"); other tools than Memcheck ignore the two requests.
 */
#include "emulator/hca.h"
#include "libshim/client/client.h"

#define MEMCHECK_REQUEST(n)	   (('M' << 24 | 'C' << 16) + (n))
#define MEMCHECK_MAKE_NOACCESS	   MEMCHECK_REQUEST(0)
#define MEMCHECK_DISABLE_REPORTING MEMCHECK_REQUEST(14)

static void valgrind_request(u64 request, const volatile void *addr, u64 len)
{
	volatile u64 args[6] = { request, (u64)(uintptr_t)addr, len };
	volatile u64 *at = args;
	u64 result = 0;

	__asm__ volatile(
		"rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
		"xchgq %%rbx, %%rbx"
		: "+d"(result)
		: "a"(at)
		: "cc", "memory");
}

__attribute__((destructor)) static void leak_search_leave_out(void)
{
	const struct hca *hca = shim.hca;

	if (!hca || !shim.live)
		return;
	valgrind_request(MEMCHECK_DISABLE_REPORTING, hca, sizeof(*hca));
	valgrind_request(MEMCHECK_MAKE_NOACCESS, hca, sizeof(*hca));
}
