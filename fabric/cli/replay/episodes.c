/* SPDX-License-Identifier: MIT */
#include "fabric/cli/replay/episodes.h"
#include "traces/vtrace/command_line.h"

#include <stdio.h>
#include <stdlib.h>

/**
 * struct found - what the trace has for a program and a request.
 * @base: index of the program that was recorded without an episode, -1: none
 * @several: several programs have that name
 * @last: newest episode, 0: none
 * @match: newest episode of that request
 */
struct found {
	int base;
	bool several;
	u32 first, last;
	u32 match;
	bool base_match;
};

static bool program_has_line(const struct vt_program *p, const char *key, const char *value)
{
	const char *have = vt_info_get(&p->about, key);

	return have && !strcmp(have, value);
}

static bool program_is_nth(const struct vt_program *p, const char *which)
{
	char nth[16];

	snprintf(nth, sizeof(nth), "p%u", p->num);
	return !strcmp(nth, which);
}

static void episode_find(struct found *f, const struct vt_dir *d, const char *which,
			 const char *request)
{
	const struct vt_program *p;
	u32 n;

	*f = (struct found){ .base = -1 };
	for (p = d->prog; p < d->prog + d->n_progs; p++) {
		n = vt_program_episode(p);
		if (n && program_has_line(p, "as", which)) {
			f->first = f->first && f->first < n ? f->first : n;
			f->last = max_u32(f->last, n);
			if (program_has_line(p, "request", request))
				f->match = max_u32(f->match, n);
		} else if (program_is_nth(p, which) || (!n && program_has_line(p, "name", which))) {
			f->several |= f->base >= 0 && !program_is_nth(p, which);
			f->base = (int)(p - d->prog);
		}
	}
	for (p = d->prog; f->base >= 0 && p < d->prog + d->n_progs; p++)
		f->base_match |= p != &d->prog[f->base] && !vt_program_episode(p) &&
				 program_has_line(p, "command", request);
}

static void episode_take_nth(struct episode *e, const struct vt_dir *d, const char *which, u32 nth)
{
	u32 i;

	for (i = 0; i < d->n_progs; i++)
		if (vt_program_episode(&d->prog[i]) == nth &&
		    program_has_line(&d->prog[i], "as", which))
			e->part[e->n++] = i;
}

/*
 * Choose the parts to play: of that request, else the first that was recorded. Return: whether they
 * are of the request
 */
static bool episode_take_parts(struct episode *e, const struct found *f, const struct opts *o,
			       const struct vt_dir *d)
{
	e->n = 0;
	if (f->match || (f->base < 0 && f->first))
		episode_take_nth(e, d, o->as, f->match ? f->match : f->first);
	else if (f->base >= 0)
		e->part[e->n++] = (u32)f->base;
	return f->match || f->base_match;
}

/* Whether a program is on the other side of the played one. */
static bool program_is_peer(const struct vt_program *p, const struct vt_program *played)
{
	u32 nth = vt_program_episode(played);

	if (p == played || vt_program_episode(p) != nth)
		return false;
	return !nth || !vt_info_get(&p->about, "as") != !vt_info_get(&played->about, "as");
}

/* Nodes and the real command, as recorded. */
static void episode_copy_recorded(struct episode *e, const struct vt_dir *d)
{
	const struct vt_program *p = &d->prog[e->part[e->n - 1]], *played = p;
	const char *node = vt_info_get(&p->about, "node"),
		   *words = vt_info_get(&p->about, "command");
	u32 i;

	if (node && strcmp(node, "-") != 0 && hca_node_name_ok(node))
		snprintf(e->node, sizeof(e->node), "%s", node);
	for (i = d->n_progs; i-- > 0;) {
		p = &d->prog[i];
		node = vt_info_get(&p->about, "node");
		if (program_is_peer(p, played) && node && strcmp(node, "-") != 0 &&
		    hca_node_name_ok(node))
			snprintf(e->live_node, sizeof(e->live_node), "%s", node);
	}
	if (!e->command[0] && words && vt_command_is_whole(words))
		snprintf(e->command, sizeof(e->command), "%s", words);
}

static u32 episode_next_number(const struct vt_dir *d)
{
	u32 i, last = 0;

	for (i = 0; i < d->n_progs; i++)
		last = max_u32(last, vt_program_episode(&d->prog[i]));
	return last + 1;
}

static int episode_choose_recorded(struct episode *e, const struct opts *o, const struct vt_dir *d)
{
	struct found f;
	char names[512];
	bool match;

	episode_find(&f, d, o->as, e->request);
	if (f.several && !f.first)
		return print_error("replay: --as '%s': %s has several of that name: expected one "
				   "of %s",
				   o->as, d->path, vt_dir_names(d, names, sizeof(names)));
	if (f.several)
		f.base = -1;
	match = episode_take_parts(e, &f, o, d);
	if (!e->n && o->mode == MODE_NONE)
		return print_error("replay: --as '%s': expected a program of %s: %s", o->as,
				   d->path, vt_dir_names(d, names, sizeof(names)));
	if (e->n)
		episode_copy_recorded(e, d);
	e->nth = episode_next_number(d);
	e->real = o->mode == MODE_ALL || o->mode == MODE_NEW || !e->n;
	if (o->mode == MODE_ALL || (o->mode == MODE_NEW && !match))
		e->n = 0;
	return 0;
}

int episode_choose(struct episode *e, const struct opts *o, const struct vt_dir *d, char **live)
{
	*e = (struct episode){ .nth = 1, .real = true };
	snprintf(e->command, sizeof(e->command), "%s", o->command);
	snprintf(e->node, sizeof(e->node), "%s", o->node);
	snprintf(e->live_node, sizeof(e->live_node), "%s", o->live_node);
	while (*live && vt_command_add_word(e->request, sizeof(e->request), *live))
		live++;
	if (d && episode_choose_recorded(e, o, d))
		return -1;
	if (e->real && !vt_command_is_whole(e->request))
		return print_error("replay: expected a live command of at most %u characters",
				   EPISODE_REQUEST);
	if (e->real && !e->command[0])
		return print_error("replay: --as '%s': the real program is needed, and its command "
				   "is in no trace: expected --command",
				   o->as);
	return 0;
}
