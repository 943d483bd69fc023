/* SPDX-License-Identifier: MIT */
/** DOC: the members of a mesh as fabrics of `rdmaemu top --joined`: see top.h. */
#include "fabric/cli/top/top.h"
#include "fabric/common/json.h"

#include <stdio.h>

static bool member_is_known(const struct top_source *s, const char *name)
{
	u32 i;

	for (i = 0; i < s->n_fabrics; i++)
		if (!strcmp(s->fabric[i].member, name))
			return true;
	return false;
}

void top_members_find(struct top_source *s, struct json_object *status)
{
	struct json_object *members = json_object_object_get(status, "members"), *m;
	struct top_fabric *f;
	const char *name;
	size_t i;

	for (i = 0; i < json_length(members) && s->n_fabrics < TOP_FABRICS; i++) {
		m = json_object_array_get_idx(members, i);
		name = json_get_str(m, "name");
		/* It has no name before its tables have come. */
		if (!strcmp(name, "?") || strlen(name) > NODE_NAME_MAX || member_is_known(s, name))
			continue;
		f = &s->fabric[s->n_fabrics];
		f->sock = ctl_connect(s->sock_path);
		if (f->sock < 0)
			return;
		snprintf(f->member, sizeof(f->member), "%s", name);
		top_text(f->name, sizeof(f->name), name);
		s->n_fabrics++;
	}
}

bool top_member_is_away(const struct top_fabric *f, int err)
{
	return f->member[0] && (err == -ENXIO || err == -EHOSTUNREACH || err == -EHOSTDOWN ||
				err == -EBUSY || err == -ESTALE);
}
