/* SPDX-License-Identifier: MIT */
/**
 * DOC: answers of the fabric process that come as a text in a memfd.
 */
#include "fabric/cli/cli.h"

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

char *memfd_map(int fd, size_t *len)
{
	struct stat st;
	char *text;

	if (fstat(fd, &st) || !st.st_size)
		return NULL;
	text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	*len = (size_t)st.st_size;
	return text == MAP_FAILED ? NULL : text;
}

int memfd_print(int fd, FILE *out)
{
	size_t len = 0;
	char *text = memfd_map(fd, &len);
	int ret;

	close(fd);
	if (!text)
		return 0;
	ret = fwrite(text, 1, len, out) != len || fflush(out);
	munmap(text, len);
	if (ret)
		print_error("standard %s: %s", out == stderr ? "error" : "output", strerror(errno));
	return ret;
}
