/* SPDX-License-Identifier: MIT */
/* Checks that the local devices have everything that the trace needs of the recorded ones. */
#include "traces/replay/dev_check.h"
#include "traces/replay/identity.h"
#include "traces/replay/replay.h"
#include "traces/compare/line_word.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** struct fit - the state of the check. @why: the first thing that is missing */
struct fit {
	const struct rp_prog *g;
	const struct vt_devices *here;
	char *why;
	size_t cap;
	bool bad;
};

static __attribute__((format(printf, 2, 3))) void dev_check_missing(struct fit *f, const char *fmt,
								    ...)
{
	va_list ap;
	int n;

	if (f->bad)
		return;
	f->bad = true;
	n = snprintf(f->why, f->cap, "p%u: ", f->g->p->num);
	va_start(ap, fmt);
	vsnprintf(f->why + n, f->cap - (size_t)n, fmt, ap);
	va_end(ap);
}

static const struct vt_device *dev_check_local_device(const struct fit *f, uint32_t i)
{
	return i < f->here->n ? &f->here->dev[i] : NULL;
}

static void dev_check_device_names(const struct vt_devices *d, char *text, size_t cap)
{
	size_t n = 0;
	uint32_t i;

	text[0] = '\0';
	for (i = 0; i < d->n && n < cap; i++)
		n += (size_t)snprintf(text + n, cap - n, "%s%s", i ? ", " : "", d->dev[i].name);
}

/* Checks the devices that the program opened, and the link layers of their ports. */
static void dev_check_devices(struct fit *f)
{
	const struct vt_devices *was = &f->g->p->devices;
	const struct vt_device *dev;
	const struct vt_port *port;
	char a[160], b[160];
	uint32_t i, p;

	for (i = 0; i < was->n; i++) {
		dev = dev_check_local_device(f, i);
		if (was->dev[i].n_ports && !dev) {
			dev_check_device_names(was, a, sizeof(a));
			dev_check_device_names(f->here, b, sizeof(b));
			dev_check_missing(f, "expected %u devices (%s), here are %u (%s)", was->n,
					  a, f->here->n, b);
		}
		for (p = 0; p < was->dev[i].n_ports && !f->bad; p++) {
			port = vt_device_port(dev, was->dev[i].port[p].num);
			if (port && port->link != was->dev[i].port[p].link)
				dev_check_missing(f, "%s port %u: expected %s, here %s has %s",
						  was->dev[i].name, port->num,
						  vt_link_names[was->dev[i].port[p].link],
						  dev->name, vt_link_names[port->link]);
		}
	}
}

/* Checks a port that the program names. */
static void dev_check_port(struct fit *f, uint32_t num)
{
	const struct vt_devices *was = &f->g->p->devices;
	uint32_t i;

	for (i = 0; i < was->n && !f->bad; i++)
		if (vt_device_port(&was->dev[i], num) &&
		    !vt_device_port(dev_check_local_device(f, i), num))
			dev_check_missing(
				f, "%s: expected port %u, which the program uses; here %s has %u",
				was->dev[i].name, num, dev_check_local_device(f, i)->name,
				dev_check_local_device(f, i)->n_ports);
}

static void dev_check_gid(struct fit *f, const struct vt_device *was, const struct vt_port *port,
			  const struct vt_gid *gid, const struct vt_device *dev)
{
	const struct vt_port *here = vt_device_port(dev, port->num);
	char name[80];

	if (!here || !cmp_gid_find_local(port, gid, here))
		dev_check_missing(
			f,
			"%s port %u: expected an entry like GID %u (%s) in the table of %s, which "
			"has none of its type",
			was->name, port->num, gid->index, cmp_gid_name(gid, name, sizeof(name)),
			dev->name);
}

/* Checks the GID table entries that @wanted accepts. */
static void dev_check_gids_if(struct fit *f,
			      bool (*wanted)(const struct vt_port *port, const struct vt_gid *gid,
					     const void *arg),
			      const void *arg)
{
	const struct vt_devices *was = &f->g->p->devices;
	const struct vt_port *port;
	uint32_t i, p, k;

	for (i = 0; i < was->n; i++)
		for (p = 0; p < was->dev[i].n_ports; p++) {
			port = &was->dev[i].port[p];
			for (k = 0; k < port->n_gids; k++)
				if (wanted(port, &port->gid[k], arg))
					dev_check_gid(f, &was->dev[i], port, &port->gid[k],
						      dev_check_local_device(f, i));
		}
}

static bool gid_has_bytes(const struct vt_port *port, const struct vt_gid *gid, const void *raw)
{
	(void)port;
	return !memcmp(gid->raw, raw, sizeof(gid->raw));
}

/** struct place - position of a GID table entry. */
struct place {
	uint32_t port, index;
};

static bool gid_is_at(const struct vt_port *port, const struct vt_gid *gid, const void *arg)
{
	const struct place *place = arg;

	return port->num == place->port && gid->index == place->index;
}

/* Checks the GID index of a path with a GRH. A line has no word for index 0. */
static void dev_check_path(struct fit *f, const char *line, const struct cmp_word *global)
{
	const size_t prefix = global->key - strlen("is_global");
	struct place place = { .index = 0 };
	const char *at = line, *key;
	struct cmp_word w;
	size_t len;
	uint32_t to;

	while (cmp_word_next(&at, &w, false) && w.word != strstr(line, " = ")) {
		if (w.key <= prefix || memcmp(w.word, global->word, prefix) != 0)
			continue;
		key = w.word + prefix;
		len = w.key - prefix;
		if (len == strlen("grh.sgid_index") && !memcmp(key, "grh.sgid_index", len))
			place.index = (uint32_t)strtoul(w.value, NULL, 10);
		else if (len == strlen("port_num") && !memcmp(key, "port_num", len))
			place.port = (uint32_t)strtoul(w.value, NULL, 10);
	}
	if (place.index >= VT_MAX_GIDS)
		return;
	dev_check_gids_if(f, gid_is_at, &place);
	to = f->g->map->index[place.index];
	if (to == CMP_NO_INDEX || (!place.index && to))
		dev_check_missing(
			f,
			"GID index %u, which the program uses: expected an entry of its type at "
			"the "
			"same index here, or the same other one for all ports",
			place.index);
}

static void dev_check_line(struct fit *f, const char *line, bool own)
{
	const char *at = line;
	struct cmp_word w;
	uint8_t gid[16];

	while (!f->bad && cmp_word_next(&at, &w, false) && !(w.len == 1 && *w.word == '=')) {
		if (cmp_word_gid(&w, gid))
			dev_check_gids_if(f, gid_has_bytes, gid);
		if (!own || !w.key)
			continue;
		if (cmp_word_is(&w, "port_num"))
			dev_check_port(f, (uint32_t)strtoul(w.value, NULL, 10));
		else if (cmp_word_is(&w, "is_global"))
			dev_check_path(f, line, &w);
	}
}

bool rp_devices_fit(const struct rp_prog *g, const struct vt_devices *here, char *why, size_t cap)
{
	struct fit f = { .g = g, .here = here, .why = why, .cap = cap };
	const struct vt_program *p;
	uint32_t i, line;

	dev_check_devices(&f);
	for (i = 0; i < g->w->dir.n_progs; i++) {
		p = &g->w->dir.prog[i];
		for (line = 0; line < p->n_lines && !f.bad; line++)
			dev_check_line(&f, p->line[line], i == g->nth);
	}
	return !f.bad;
}
