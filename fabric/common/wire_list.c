/* SPDX-License-Identifier: MIT */
/** DOC: the wires that --roce names, and the hosts that --roce-peers names. */
#include "fabric/common/wire_list.h"

#include "fabric/common/parse.h"

#include <arpa/inet.h>
#include <string.h>

bool wire_list_parse(struct wire_list *l, const char *text)
{
	size_t n;
	u32 i;

	for (l->n = 0; l->n < HCA_WIRES; text += n + 1) {
		n = strcspn(text, ",");
		if (!n || n >= sizeof(l->name[0]))
			return false;
		memcpy(l->name[l->n], text, n);
		l->name[l->n][n] = '\0';
		for (i = 0; i < l->n; i++)
			if (!strcmp(l->name[i], l->name[l->n]))
				return false;
		l->n++;
		if (!text[n])
			return true;
	}
	return false;
}

static bool gid_has_prefix(const u8 gid[16], const u8 net[16], u32 bits)
{
	u32 whole = bits / 8, rest = bits % 8;

	return !memcmp(gid, net, whole) &&
	       (!rest || !((gid[whole] ^ net[whole]) & 0xff & 0xff00 >> rest));
}

/* ADDR or ADDR/BITS. */
static bool wire_peer_parse(struct wire_peers *p, char *text)
{
	char *slash = strchr(text, '/');
	u8 ip4[4], *gid = p->net[p->n].gid;
	u64 bits = 128;
	bool v4;

	if (slash)
		*slash = '\0';
	v4 = inet_pton(AF_INET, text, ip4) == 1;
	if (v4)
		gid_map_v4(gid, ip4);
	else if (inet_pton(AF_INET6, text, gid) != 1)
		return false;
	if (slash) {
		if (!parse_number(slash + 1, v4 ? 32 : 128, &bits))
			return false;
		bits += v4 ? 96 : 0;
	}
	p->net[p->n++].bits = (u32)bits;
	return true;
}

bool wire_peers_parse(struct wire_peers *p, const char *text)
{
	char one[64];
	size_t n;

	for (p->n = 0; p->n < WIRE_PEERS_MAX; text += n + 1) {
		n = strcspn(text, ",");
		if (n >= sizeof(one))
			return false;
		memcpy(one, text, n);
		one[n] = '\0';
		if (!wire_peer_parse(p, one))
			return false;
		if (!text[n])
			return true;
	}
	return false;
}

bool wire_peers_has(const struct wire_peers *p, const u8 gid[16])
{
	u32 i;

	for (i = 0; i < p->n; i++)
		if (gid_is_v4(gid) == gid_is_v4(p->net[i].gid) &&
		    gid_has_prefix(gid, p->net[i].gid, p->net[i].bits))
			return true;
	return false;
}
