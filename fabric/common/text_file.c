/* SPDX-License-Identifier: MIT */
/**
 * DOC: reading files that users write.
 */
#include "fabric/common/text_file.h"
#include "fabric/common/opts.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static char *text_file_read_all(FILE *file, const char *kind, const char *path, size_t size,
				size_t *len)
{
	char *text = calloc(1, size + 1);

	*len = text ? fread(text, 1, size, file) : 0;
	if (text && !ferror(file) && !memchr(text, '\0', *len))
		return text;
	print_error("%s %s: %s", kind, path, text ? "expected text" : strerror(ENOMEM));
	free(text);
	return NULL;
}

char *text_file_read(const char *kind, const char *path, size_t max, size_t *len)
{
	FILE *file = fopen(path, "re");
	char *text = NULL;
	struct stat st;

	if (!file || fstat(fileno(file), &st))
		print_error("%s %s: %s", kind, path, strerror(errno));
	else if (!S_ISREG(st.st_mode) || (size_t)st.st_size > max)
		print_error("%s %s: expected a file of at most %zu bytes", kind, path, max);
	else
		text = text_file_read_all(file, kind, path, (size_t)st.st_size, len);
	if (file)
		fclose(file);
	return text;
}
