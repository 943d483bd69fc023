/* SPDX-License-Identifier: MIT */
/*
 * Damages HCA memory, for the audit: changes the number of completion queues of the first device.
 *	sys_spoil PID 1|-1	PID: the fabric process
 */
#include "emulator/hca.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/*
 * The file of HCA memory, which nobody but its process has a name for. Return: a descriptor, or -1.
 */
static int open_hca(const char *pid)
{
	char path[300], to[64];
	struct dirent *e;
	ssize_t n;
	int fd = -1;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
	d = opendir(path);
	while (d && fd < 0 && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%.20s/fd/%.200s", pid, e->d_name);
		n = readlink(path, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		if (!strncmp(to, "/memfd:rdmaemu-hca", 18))
			fd = open(path, O_RDWR);
	}
	if (d)
		closedir(d);
	return fd;
}

int main(int argc, char **argv)
{
	const off_t at = offsetof(struct hca, dev[0].n[TAB_CQ]);
	int fd = argc == 3 ? open_hca(argv[1]) : -1;
	u32 n;

	if (fd < 0 || pread(fd, &n, sizeof(n), at) != sizeof(n)) {
		perror("sys_spoil");
		return 1;
	}
	n += (u32)atoi(argv[2]);
	return pwrite(fd, &n, sizeof(n), at) != sizeof(n);
}
