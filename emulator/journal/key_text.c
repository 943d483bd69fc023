/* SPDX-License-Identifier: MIT */
/* Why a memory key, or an address, was refused, in words. See text.h. */
#include "emulator/journal/text.h"

#include <stdio.h>

/* The rights of @rights, "A and B". */
static void key_text_rights(u32 rights, char *buf, size_t size)
{
	static const struct {
		u32 right;
		const char *name;
	} names[] = {
		{ ACC_LOCAL_WRITE, "IBV_ACCESS_LOCAL_WRITE" },
		{ ACC_REMOTE_WRITE, "IBV_ACCESS_REMOTE_WRITE" },
		{ ACC_REMOTE_READ, "IBV_ACCESS_REMOTE_READ" },
		{ ACC_REMOTE_ATOMIC, "IBV_ACCESS_REMOTE_ATOMIC" },
		{ ACC_FLUSH_GLOBAL, "IBV_ACCESS_FLUSH_GLOBAL" },
		{ ACC_FLUSH_PERSISTENT, "IBV_ACCESS_FLUSH_PERSISTENT" },
	};
	size_t n = 0;
	u32 i;

	*buf = '\0';
	for (i = 0; i < ARRAY_SIZE(names) && n < size; i++)
		if (rights & names[i].right)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? " and " : "",
					      names[i].name);
}

static void key_text_fault(const struct journal_key *k, char *buf, size_t size)
{
	char rights[128];

	switch (k->fault) {
	case KEY_UNKNOWN:
		if (k->near_key)
			snprintf(buf, size,
				 "no region has this key; the nearest region of the PD, key 0x%x, "
				 "has %llu bytes at 0x%llx",
				 k->near_key, (unsigned long long)k->near_len,
				 (unsigned long long)k->near_addr);
		else
			snprintf(buf, size, "no region has this key, and the PD has no region");
		break;
	case KEY_OTHER_PD:
		snprintf(buf, size, "its region is of another PD");
		break;
	case KEY_OTHER_QP:
		snprintf(buf, size, "its memory window is bound for another QP");
		break;
	case KEY_KIND:
		snprintf(buf, size, "it is the key of a memory window or of a null region");
		break;
	case KEY_RIGHT:
		key_text_rights(k->need & ~k->access, rights, sizeof(rights));
		snprintf(buf, size, "its region lacks %s", rights);
		break;
	case KEY_OWNER:
		snprintf(buf, size, "its region and the one before are of two processes");
		break;
	default:
		snprintf(buf, size, "out of range of its region, which has %llu bytes at 0x%llx",
			 (unsigned long long)k->near_len, (unsigned long long)k->near_addr);
	}
}

void journal_key_text(u32 cause, const struct journal_key *k, char *buf, size_t size)
{
	char fault[192];

	if (k->fault == KEY_ALIGNMENT) {
		snprintf(buf, size, "the address of an atomic, 0x%llx, is not a multiple of 8",
			 (unsigned long long)k->va);
		return;
	}
	key_text_fault(k, fault, sizeof(fault));
	snprintf(buf, size, "%s 0x%x, %llu bytes at 0x%llx: %s",
		 cause == CAUSE_LKEY ? "lkey" : "rkey", k->key, (unsigned long long)k->len,
		 (unsigned long long)k->va, fault);
}
