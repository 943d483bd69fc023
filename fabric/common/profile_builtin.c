/* SPDX-License-Identifier: MIT */
/** DOC: the built-in profiles: the files of profiles/, embedded as they are. */
#include "fabric/common/profile.h"

#define EMBED(id, file)                                                                            \
	__asm__(".pushsection .rodata\n"                                                           \
		"profile_" #id "_text:\n"                                                          \
		".incbin \"" file "\"\n"                                                           \
		"profile_" #id "_end:\n"                                                           \
		".byte 0\n"                                                                        \
		".popsection\n");                                                                  \
	extern const char profile_##id##_text[], profile_##id##_end[]

EMBED(generic, "profiles/generic.conf");
EMBED(infiniband, "profiles/infiniband.conf");
EMBED(rxe, "profiles/rxe.conf");
EMBED(connectx6, "profiles/connectx6.conf");
EMBED(efa, "profiles/efa.conf");
EMBED(minimal, "profiles/minimal.conf");

static const char *const names[] = { "generic", "infiniband", "rxe", "connectx6",
				     "efa",	"minimal",    NULL };
static const struct {
	const char *text;
	const char *end;
} texts[] = {
	{ profile_generic_text, profile_generic_end },
	{ profile_infiniband_text, profile_infiniband_end },
	{ profile_rxe_text, profile_rxe_end },
	{ profile_connectx6_text, profile_connectx6_end },
	{ profile_efa_text, profile_efa_end },
	{ profile_minimal_text, profile_minimal_end },
};

const char *const *profile_builtins(void)
{
	return names;
}

const char *profile_builtin(const char *name, size_t *len)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++)
		if (!strcmp(names[i], name)) {
			*len = (size_t)(texts[i].end - texts[i].text);
			return texts[i].text;
		}
	return NULL;
}
