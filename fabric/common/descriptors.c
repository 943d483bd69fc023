/* SPDX-License-Identifier: MIT */
/** DOC: see descriptors.h. */
#include "fabric/common/descriptors.h"

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

void descriptors_close_from(int first)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	if (!close_range((unsigned)first, ~0u, 0))
		return;
	/* A kernel without close_range(2), or a filter that refuses it. */
	dir = opendir("/proc/self/fd");
	while (dir && (d = readdir(dir))) {
		fd = atoi(d->d_name);
		if (fd >= first && fd != dirfd(dir))
			close(fd);
	}
	if (dir)
		closedir(dir);
}
