/* SPDX-License-Identifier: MIT */
/*
 * Runs a program as a kernel before Linux 6.11 does: the ioctl(2) PROCMAP_QUERY returns ENOTTY.
 *	sys_noquery PROGRAM ARGS...
 */
#include "tests/lib/tools/seccomp.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define ARG_SIZE      104
#define PROCMAP_QUERY _IOWR('f', 17, char[ARG_SIZE])

int main(int argc, char **argv)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCMAP_QUERY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};

	if (argc < 2)
		return 2;
	return seccomp_exec(filter, sizeof(filter) / sizeof(filter[0]), argv + 1);
}
