/* SPDX-License-Identifier: MIT */
/* PDs that several clients share, and commands on other contexts. See tests/model/walk.h. */
#include "tests/model/walk.h"

static bool has_imported(const struct walk *w, u32 client, const struct obj *pd)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct obj *o = &w->obj[client][K_IMP][i];

		if (o->live && o->imp.pd == pd)
			return true;
	}
	return false;
}

static u32 count(const struct walk *w, u32 client)
{
	u32 n = 0;

	for (u32 i = 0; i < KIND_MAX; i++)
		n += w->obj[client][K_PD][i].live;
	return n;
}

bool imp_fill(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	struct obj *pd = any(w, (o->client + 1 + pick(w, WALKERS - 1)) % WALKERS, K_PD);

	if (!pd || has_imported(w, o->client, pd) || count(w, o->client) > 5)
		return false;
	o->imp.pd = pd;
	cmd->import = (struct cmd_import){
		.ctx = pd->pd.ctx,
		.kind = IMPORT_PD,
		.index = pd->handle,
	};
	return true;
}

int imp_spoil(struct walk *w, struct obj *o, struct hca_cmd *cmd)
{
	(void)o;
	switch (pick(w, 3)) {
	case 0:
		cmd->import.ctx ^= 1ULL << (32 + pick(w, 32));
		return -ENOENT;
	case 1:
		cmd->import.index = chance(w, 2) ? 0 : HCA_MAX_PD + pick(w, 1 << 30);
		return -ENOENT;
	default:
		cmd->import.kind = IMPORT_DM + 1 + pick(w, 1 << 30);
		return -EINVAL;
	}
}

/* Once more is one reference that counts to two. */
static void import_again(struct walk *w, struct obj *o)
{
	struct hca_cmd cmd = { .op = CMD_IMPORT }, undo = { .op = CMD_UNIMPORT };

	cmd.import.kind = IMPORT_PD;
	cmd.import.ctx = o->imp.pd->pd.ctx;
	cmd.import.index = o->imp.pd->handle;
	command(w, o->client, &cmd, 0, "import a PD again");
	if (cmd.handle != o->handle)
		fail(w, "PD %u is imported as %u and as %u", o->imp.pd->handle, o->handle,
		     cmd.handle);
	undo.handle = o->handle;
	command(w, o->client, &undo, 0, "undo one import of two");
}

/* A region is anybody's who has its PD. */
static void import_mr(struct walk *w, struct obj *o)
{
	struct obj *mr = any(w, pick(w, WALKERS), K_MR);
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	const struct obj *pd = mr ? mr->uses[0] : NULL;
	int want;

	if (!mr || !mr->uses[0])
		return;
	cmd.import.kind = IMPORT_MR;
	cmd.import.index = mr->handle;
	want = pd->client == o->client || has_imported(w, o->client, pd) ? 0 : -ENOENT;
	if (command(w, o->client, &cmd, want, "import MR"))
		return;
	if (cmd.import.key != mr->mr.key || cmd.import.len != mr->mr.len)
		fail(w, "MR %#x of %llu bytes is imported as %#x of %llu", mr->mr.key,
		     (unsigned long long)mr->mr.len, cmd.import.key,
		     (unsigned long long)cmd.import.len);
}

static void import_dm(struct walk *w, struct obj *o)
{
	struct obj *dm = any(w, pick(w, WALKERS), K_DM);
	struct hca_cmd cmd = { .op = CMD_IMPORT };
	bool known = !chance(w, 4);

	if (!dm)
		return;
	cmd.import.kind = IMPORT_DM;
	cmd.import.index = dm->handle;
	cmd.import.ctx = known ? DM_CTX : DM_CTX + 1 + pick(w, 1000);
	if (!command(w, o->client, &cmd, known ? 0 : -ENOENT, "import DM") &&
	    cmd.import.len != w->m->hca->dm[dm->handle].len)
		fail(w, "DM %u is imported with another length", dm->handle);
}

void imp_use(struct walk *w, struct obj *o)
{
	switch (pick(w, 3)) {
	case 0:
		import_again(w, o);
		break;
	case 1:
		import_mr(w, o);
		break;
	default:
		import_dm(w, o);
	}
}

/* With a PD go all references to it. */
void pd_destroyed(struct walk *w, struct obj *pd)
{
	for (u32 c = 0; c < WALKERS; c++)
		for (u32 i = 0; i < KIND_MAX; i++) {
			struct obj *o = &w->obj[c][K_IMP][i];

			if (o->live && o->imp.pd == pd)
				o->live = false;
		}
}

bool imp_owns(const struct walk *w, u32 client, u32 pd)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		const struct obj *o = &w->obj[client][K_IMP][i];

		if (o->live && o->imp.pd->handle == pd)
			return true;
	}
	return false;
}

u32 imp_lingering(const struct hca *hca)
{
	u32 n = 0;

	for (u32 i = 0; i < hca->tab[TAB_REF].high; i++)
		n += hca->ref[i].client && hca->ref[i].kind == REF_PD && !hca->ref[i].n;
	return n;
}

/* --- the owner dies */

/*
 * Objects of others in a PD. Return: how many; *heirs: clients that have them, or have it imported.
 */
static u32 others_in(const struct walk *w, const struct obj *pd, u32 *heirs)
{
	u32 n = 0;

	*heirs = 0;
	for (u32 c = 0; c < WALKERS; c++) {
		if (c == pd->client)
			continue;
		if (has_imported(w, c, pd))
			*heirs |= 1u << c;
		for (u32 i = 0; i < KIND_MAX; i++) {
			const struct obj *mr = &w->obj[c][K_MR][i];

			if (!mr->live || mr->uses[0] != pd)
				continue;
			*heirs |= 1u << c;
			n++;
		}
	}
	return n;
}

static bool has_reference(const struct hca *hca, u32 owner, u32 pd)
{
	for (u32 i = 0; i < hca->tab[TAB_REF].high; i++)
		if (hca->ref[i].client == owner && hca->ref[i].kind == REF_PD &&
		    hca->ref[i].index == pd)
			return true;
	return false;
}

static void repoint(struct walk *w, struct obj *from, struct obj *to)
{
	for (u32 c = 0; c < WALKERS; c++)
		for (u32 i = 0; i < KIND_MAX; i++) {
			struct obj *mr = &w->obj[c][K_MR][i], *imp = &w->obj[c][K_IMP][i];

			if (mr->live && mr->uses[0] == from)
				mr->uses[0] = to;
			if (imp->live && imp->imp.pd == from)
				imp->imp.pd = to;
		}
}

void imp_leave(struct walk *w, u32 client)
{
	for (u32 i = 0; i < KIND_MAX; i++) {
		struct obj *mr = &w->obj[client][K_MR][i];

		if (mr->live && mr->uses[0] && mr->uses[0]->client != client)
			mr->uses[0]->refs--;
	}
}

/* An heir destroys the empty objects among those that it inherited. */
static void tidy(struct walk *w, u32 client)
{
	struct hca_cmd cmd = { .op = CMD_DEALLOC_PD };

	for (u32 i = 3; i < KIND_MAX; i++) {
		struct obj *pd = &w->obj[client][K_PD][i];

		if (!pd->live || pd->refs)
			continue;
		cmd.handle = pd->handle;
		command(w, client, &cmd, 0, "throw away an inherited PD");
		pd_destroyed(w, pd);
		forget(pd);
	}
}

void imp_inherit(struct walk *w, struct obj *pd)
{
	u32 heirs, n = others_in(w, pd, &heirs), owner = w->m->hca->pd[pd->handle].client;

	/* A reference that lingers may be of one who has nothing in it any more. */
	if ((heirs && !owner) || (owner && !has_reference(w->m->hca, owner, pd->handle)))
		fail(w, "PD %u of a dead client is that of owner %u; clients %#x have it",
		     pd->handle, owner, heirs);
	if (owner)
		tidy(w, owner - 1);
	for (u32 i = 0; owner && i < KIND_MAX; i++) {
		struct obj *to = &w->obj[owner - 1][K_PD][i];

		if (to->live)
			continue;
		to->live = true;
		to->handle = pd->handle;
		to->refs = n;
		to->pd = pd->pd;
		repoint(w, pd, to);
		return;
	}
	if (owner)
		fail(w, "client %u has inherited too many PDs", owner - 1);
}
