/* SPDX-License-Identifier: MIT */
#include "fabric/cli/replay/live.h"
#include "fabric/cli/record.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static int replay_remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

void replay_remove_tree(const char *path)
{
	nftw(path, replay_remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

bool replay_live_is_new(const struct opts *o, const char *dir)
{
	struct dirent *e;
	bool empty = true;
	DIR *d;

	if (!o->as[0] || o->mode == MODE_NONE)
		return false;
	d = opendir(dir);
	if (!d)
		return errno == ENOENT;
	while (empty && (e = readdir(d)))
		empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
	closedir(d);
	return empty;
}

/*
 * A new recording needs a fabric like the recorded one, and no other process may add to the trace.
 */
static int replay_live_lock_trace(struct replay_live *a, const struct opts *o)
{
	static const enum opt_id settings[] = { OPT_PROFILE, OPT_SEED,	OPT_SCENARIO, OPT_TOPOLOGY,
						OPT_SUBNET,  OPT_CHAOS, OPT_ISOLATED };
	char path[PATH_MAX + 8];
	size_t i;

	for (i = 0; i < ARRAY_SIZE(settings); i++)
		if (o->level[settings[i]] == LEVEL_FLAG)
			return print_error("replay: --mode: what is added to %s is recorded on a "
					   "fabric like that: expected no flags that change it",
					   a->dir);
	snprintf(path, sizeof(path), "%s/trace", a->dir);
	a->joined = open(path, O_RDONLY | O_CLOEXEC);
	if (a->joined < 0 || flock(a->joined, LOCK_EX | LOCK_NB))
		return print_error("%s: %s", path,
				   errno == EWOULDBLOCK ? "it is being recorded" : strerror(errno));
	return 0;
}

int replay_live_open(struct replay_live *a, struct opts *o, const struct vt_dir *d, char *dir,
		     char **live)
{
	size_t len = strlen(dir);

	a->held = a->joined = -1;
	a->live = live;
	a->dir = dir;
	a->trace[0] = '\0';
	while (len > 1 && dir[len - 1] == '/')
		dir[--len] = '\0';
	if (episode_choose(&a->e, o, d, live))
		return -1;
	/* The fabric's first node is that of its first program. */
	o->node[0] = '\0';
	return a->e.real && d ? replay_live_lock_trace(a, o) : 0;
}

u32 replay_live_first_key(const struct replay_live *a, const struct vt_dir *d)
{
	const struct vt_program *p;
	const struct vt_rec *rec;
	u64 off, key, last = 0;
	u32 i;

	for (i = 0; i < a->e.n; i++) {
		p = &d->prog[a->e.part[i]];
		for (off = 0; (rec = vt_rec_next(p, &off));)
			if (rec->kind == VT_CALL && vt_rec_fact(p, rec, true, "rkey", &key) &&
			    key >> 8 > last)
				last = key >> 8;
	}
	return last && last + 1 < HCA_MAX_MR ? (u32)last + 1 : 0;
}

int replay_live_make_trace(struct replay_live *a, struct opts *o)
{
	int n;

	if (!a->e.real) {
		n = snprintf(a->trace, PATH_MAX, "%s/live", o->dir);
		return n < PATH_MAX ? 0 : print_error("%s: path too long", o->dir);
	}
	/* In the file system of its final place, to which it is renamed. */
	n = snprintf(a->trace, PATH_MAX, "%s%snew-%d", a->dir, a->joined < 0 ? "." : "/",
		     (int)getpid());
	if (n >= PATH_MAX)
		return print_error("%s: path too long", a->dir);
	snprintf(o->out, sizeof(o->out), "%s", a->trace);
	a->held = record_make(o, a->live);
	if (a->held < 0)
		a->trace[0] = '\0';
	return a->held < 0 ? -1 : 0;
}

static int replay_live_put_flag(char **argv, int n, int max, const char *flag, const char *value)
{
	if (!value[0] || n + 2 > max)
		return n;
	argv[n++] = (char *)flag;
	argv[n++] = (char *)value;
	return n;
}

int replay_live_argv(struct replay_live *a, const struct opts *o, char **argv, int max)
{
	int n = 0, len = 0;
	u32 i;

	for (i = 0; i < a->e.n; i++)
		len += snprintf(a->list + len, sizeof(a->list) - (size_t)len, "%s%u", i ? "," : "",
				a->e.part[i]);
	if (!a->e.n)
		a->list[0] = '\0';
	argv[n++] = "--as";
	argv[n++] = a->list;
	n = replay_live_put_flag(argv, n, max, "--live", a->trace);
	n = replay_live_put_flag(argv, n, max, "--name", o->as);
	n = replay_live_put_flag(argv, n, max, "--unexpected", o->unexpected);
	n = replay_live_put_flag(argv, n, max, "--node", a->e.node);
	n = replay_live_put_flag(argv, n, max, "--live-node", a->e.live_node);
	if (!a->e.real)
		return n;
	snprintf(a->nth, sizeof(a->nth), "%u", a->e.nth);
	n = replay_live_put_flag(argv, n, max, "--request", a->e.request);
	n = replay_live_put_flag(argv, n, max, "--real", a->e.command);
	n = replay_live_put_flag(argv, n, max, "--keep", a->dir);
	n = replay_live_put_flag(argv, n, max, "--episode", a->nth);
	if (o->live_first && n < max)
		argv[n++] = "--live-first";
	return n;
}

void replay_live_close(struct replay_live *a)
{
	if (a->held >= 0)
		close(a->held);
	if (a->e.real && a->trace[0])
		replay_remove_tree(a->trace);
	if (a->joined >= 0)
		close(a->joined);
}
