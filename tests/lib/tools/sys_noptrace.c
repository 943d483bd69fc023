/* SPDX-License-Identifier: MIT */
/*
 * Runs a program as a hardened container does: process_vm_readv, process_vm_writev and ptrace
 * return EPERM.
 *	sys_noptrace [-k] PROGRAM ARGS...
 * With -k the calls kill the program instead.
 */
#include "tests/lib/tools/seccomp.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>

#define REFUSE(nr)                                                                                 \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1), BPF_STMT(BPF_RET | BPF_K, action)

int main(int argc, char **argv)
{
	bool kills = argc > 1 && !strcmp(argv[1], "-k");
	unsigned int action = kills ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		REFUSE(SYS_process_vm_readv),
		REFUSE(SYS_process_vm_writev),
		REFUSE(SYS_ptrace),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	argv += kills;
	if (argc < 2 + kills)
		return 2;
	return seccomp_exec(filter, sizeof(filter) / sizeof(filter[0]), argv + 1);
}
