/* SPDX-License-Identifier: MIT */
/* The last step of the tools that run a program under a seccomp filter. */
#ifndef TESTS_LIB_TOOLS_SECCOMP_H
#define TESTS_LIB_TOOLS_SECCOMP_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

/**
 * seccomp_exec() - become the program @argv, with the @n instructions of @filter.
 * Return: the exit status if that fails. 77: the kernel has no filters
 */
static inline int seccomp_exec(struct sock_filter *filter, size_t n, char **argv)
{
	struct sock_fprog prog = { (unsigned short)n, filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)) {
		perror("seccomp");
		return 77;
	}
	execvp(argv[0], argv);
	perror(argv[0]);
	return 127;
}

#endif
