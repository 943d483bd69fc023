/* SPDX-License-Identifier: MIT */
/** DOC: the wires that --roce names. */
#include "fabric/common/wire_list.h"

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
