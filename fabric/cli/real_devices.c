/* SPDX-License-Identifier: MIT */
/**
 * DOC: see fabric/cli/real_devices.h.
 *
 * libibverbs is loaded in a child process, which opens each device that it lists: a provider may
 * crash or hang, and one that is visible need not work (a container without the device's file, a
 * bond without a port). The child writes a line per device, "+NAME" or "-NAME: REASON", "?NAME" for
 * one that is not requested, or "!REASON" if there is no list.
 */
#include "fabric/cli/real_devices.h"
#include "fabric/cli/probe.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSFS_DEVICES "/sys/class/infiniband"

bool verbs_calls_find(struct verbs_calls *c, void *handle)
{
	c->get_list = (void **(*)(int *))dlsym(handle, "ibv_get_device_list");
	c->get_name = (const char *(*)(void *))dlsym(handle, "ibv_get_device_name");
	c->open_device = (void *(*)(void *))dlsym(handle, "ibv_open_device");
	c->close_device = (int (*)(void *))dlsym(handle, "ibv_close_device");
	return c->get_list && c->get_name && c->open_device && c->close_device;
}

/* --- in the child ----------------------------------------------------------------------------- */

/* The libraries' own complaints are not this command's. */
static void devices_silence(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0 && dup2(null, 1) == 1 && dup2(null, 2) == 2)
		close(null);
}

static bool devices_has_name(const char *names, const char *name)
{
	size_t len = strlen(name), n;

	for (; *names; names += n + (names[n] == ',')) {
		n = strcspn(names, ",");
		if (n == len && !memcmp(names, name, n))
			return true;
	}
	return false;
}

static void devices_print_one(const struct verbs_calls *c, void *device, const char *names, int out)
{
	const char *name = c->get_name(device);
	void *context;

	if (*names && !devices_has_name(names, name)) {
		dprintf(out, "?%s\n", name);
		return;
	}
	context = c->open_device(device);
	if (context)
		dprintf(out, "+%s\n", name);
	else
		dprintf(out, "-%s: %s\n", name, strerror(errno));
	if (context)
		c->close_device(context);
}

/* @names: as in real_devices_probe() */
static void devices_print(void *names, int out)
{
	struct verbs_calls c;
	void *handle, **list;
	int n = 0, i;

	devices_silence();
	handle = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!handle || !verbs_calls_find(&c, handle)) {
		dprintf(out, "!libibverbs cannot be loaded (%s)\n", dlerror());
		_exit(0);
	}
	list = c.get_list(&n);
	if (!list)
		dprintf(out, "!libibverbs cannot list devices (%s)\n", strerror(errno));
	for (i = 0; list && i < n; i++)
		devices_print_one(&c, list[i], names, out);
	_exit(0);
}

/* --- in this process -------------------------------------------------------------------------- */

/* Add to a list of REAL_TEXT bytes: what does not fit is left out. */
static __attribute__((format(printf, 2, 3))) void devices_add(char *list, const char *fmt, ...)
{
	size_t n = strlen(list);
	va_list ap;

	va_start(ap, fmt);
	if (n)
		n += (size_t)snprintf(list + n, REAL_TEXT - n, ", ");
	if (n < REAL_TEXT)
		vsnprintf(list + n, REAL_TEXT - n, fmt, ap);
	va_end(ap);
}

/* The kernel's list: libibverbs leaves out devices without a provider. */
static void devices_list_sysfs(char list[REAL_TEXT])
{
	DIR *dir = opendir(SYSFS_DEVICES);
	struct dirent *e;

	list[0] = '\0';
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			devices_add(list, "%s", e->d_name);
	if (dir)
		closedir(dir);
}

/* @found: what libibverbs had to say */
static void devices_explain_none(struct real_devices *d, const char *found)
{
	char sysfs[REAL_TEXT];

	devices_list_sysfs(sysfs);
	snprintf(d->why_none, sizeof(d->why_none), "%s%s%s, " SYSFS_DEVICES " has %s",
		 d->n_ghosts ? d->ghosts : found, d->others[0] ? " of these, but " : "", d->others,
		 sysfs[0] ? sysfs : "none");
}

/* Take the child's lines apart. Return: why libibverbs has no list, or NULL. */
static const char *devices_parse(struct real_devices *d, char *text)
{
	char *line, *why;

	while ((line = strsep(&text, "\n"))) {
		why = strstr(line, ": ");
		if (line[0] == '!')
			return line + 1;
		if (line[0] == '+') {
			devices_add(d->names, "%s", line + 1);
			d->n++;
		} else if (line[0] == '-' && why) {
			devices_add(d->ghosts, "%.*s cannot be opened (%s)", (int)(why - line) - 1,
				    line + 1, why + 2);
			d->n_ghosts++;
		} else if (line[0] == '?') {
			devices_add(d->others, "%s", line + 1);
		}
	}
	return NULL;
}

void real_devices_probe(struct real_devices *d, const char *names)
{
	char text[4 * REAL_TEXT], end[96] = "";
	struct probe p = { .run = devices_print,
			   .arg = (void *)(uintptr_t)names,
			   .text = text,
			   .size = sizeof(text) };
	bool ended = probe_run(&p);
	const char *why;

	memset(d, 0, sizeof(*d));
	why = devices_parse(d, text);
	if (!ended)
		snprintf(end, sizeof(end), "libibverbs does not list them within %u s", PROBE_S);
	else if (!WIFEXITED(p.status) || WEXITSTATUS(p.status))
		snprintf(end, sizeof(end),
			 "a program that lists them by libibverbs ends with %s %d",
			 WIFEXITED(p.status) ? "status" : "signal",
			 WIFEXITED(p.status) ? WEXITSTATUS(p.status) : WTERMSIG(p.status));
	if (!d->n)
		devices_explain_none(d, end[0] ? end : why ? why : "libibverbs lists none");
}
