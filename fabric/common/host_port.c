/* SPDX-License-Identifier: MIT */
/**
 * DOC: see host_port.h.
 */
#include "fabric/common/host_port.h"
#include "fabric/common/parse.h"

#include <string.h>

bool host_port_split(const char *s, size_t n, char *host, size_t size, char port[8])
{
	const char *colon = memrchr(s, ':', n);
	size_t h = colon ? (size_t)(colon - s) : 0, p = colon ? n - h - 1 : 0;
	u64 number;

	if (!h || !p || p >= 8)
		return false;
	if (s[0] == '[' && s[h - 1] == ']') {
		s++;
		h -= 2;
	}
	if (!h || h >= size)
		return false;
	memcpy(host, s, h);
	host[h] = '\0';
	memcpy(port, colon + 1, p);
	port[p] = '\0';
	return parse_number(port, 65535, &number);
}

bool host_port_is_list(const char *s, bool many)
{
	char host[256], port[8];
	u32 count = 0;
	size_t n;

	for (;; s += n + 1) {
		n = strcspn(s, ",");
		if (!host_port_split(s, n, host, sizeof(host), port) || ++count > HOST_PORT_MAX)
			return false;
		if (!s[n])
			return many || count == 1;
	}
}
