/* SPDX-License-Identifier: MIT */
/** DOC: texts of others as text that no terminal takes for commands. */
#include "fabric/join/mesh.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ESCAPE_LEN 6u /* of "\\u001b" */

static bool char_is_plain(char c)
{
	return (c >= ' ' && c <= '~') || c == '\n';
}

/* Whether a control character, as JSON writes it, begins at @p; an escaped newline is none. */
static bool escape_is_control(const char *p, size_t n)
{
	char digits[5] = "";
	unsigned long code;
	char *end;

	if (n < ESCAPE_LEN || p[1] != 'u')
		return false;
	memcpy(digits, p + 2, 4);
	code = strtoul(digits, &end, 16);
	return end == digits + 4 && (code < ' ' || (code >= 0x7f && code <= 0x9f));
}

/* Return: bytes that are done with. */
static size_t plain_step(char *p, size_t n)
{
	if (!char_is_plain(*p)) {
		*p = '?';
		return 1;
	}
	if (*p != '\\' || n < 2 || !char_is_plain(p[1]))
		return 1;
	if (escape_is_control(p, n)) {
		memset(p, '?', ESCAPE_LEN);
		return ESCAPE_LEN;
	}
	if (p[1] == 'b' || p[1] == 'f' || p[1] == 'r')
		memset(p, '?', 2);
	return 2;
}

int text_make_plain(int fd)
{
	struct stat st;
	size_t at, len;
	char *text;

	if (fstat(fd, &st))
		return -errno;
	len = (size_t)st.st_size;
	if (!len)
		return 0;
	text = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (text == MAP_FAILED)
		return -errno;
	for (at = 0; at < len; at += plain_step(text + at, len - at))
		;
	munmap(text, len);
	return 0;
}
