/* SPDX-License-Identifier: MIT */
/**
 * DOC: handles: connecting, requests, and errors.
 */
#include "libctl/ctl.h"

#include "fabric/proto/state_dir.h"
#include "fabric/proto/version.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int ctl_fail(struct rdmaemu *r, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->error, sizeof(r->error), fmt, ap);
	va_end(ap);
	errno = err;
	return -1;
}

int ctl_refused(struct rdmaemu *r, const char *what, int ret)
{
	return ctl_fail(r, -ret, "%s: %s", what, strerror(-ret));
}

static void ctl_handle_disconnect(struct rdmaemu *r)
{
	if (r->sock >= 0)
		close(r->sock);
	r->sock = -1;
}

static int ctl_handle_connect(struct rdmaemu *r)
{
	/* A forked child must not read its parent's responses. */
	if (r->pid != getpid())
		ctl_handle_disconnect(r);
	r->pid = getpid();
	if (r->sock < 0)
		r->sock = ctl_connect(r->path);
	return r->sock < 0 ? r->sock : 0;
}

int ctl_handle_ask(struct rdmaemu *r, struct proto_msg *m, int *fd)
{
	const struct proto_msg question = *m;
	bool old = r->sock >= 0;
	int ret = ctl_handle_connect(r);

	if (!ret)
		ret = ctl_ask(r->sock, m, -1, fd);
	/* The fabric has ended meanwhile; another one of that name may run. */
	if (ret == -EPIPE && old) {
		ctl_handle_disconnect(r);
		*m = question;
		ret = ctl_handle_connect(r);
		if (!ret)
			ret = ctl_ask(r->sock, m, -1, fd);
	}
	if (!ret)
		return 0;
	/* A late response must not be taken for that of the next request. */
	ctl_handle_disconnect(r);
	return ctl_fail(r, -ret, "fabric at %s: %s", r->path, strerror(-ret));
}

static struct rdmaemu *ctl_handle_open(const char *path)
{
	struct rdmaemu *r = calloc(1, sizeof(*r));
	int ret;

	if (!r)
		return NULL;
	r->sock = -1;
	ret = snprintf(r->path, sizeof(r->path), "%s", path) < (int)sizeof(r->path)
		      ? ctl_handle_connect(r)
		      : -ENAMETOOLONG;
	if (!ret)
		return r;
	free(r);
	errno = -ret;
	return NULL;
}

static const char *ctl_env_setting(const char *given, const char *env, const char *otherwise)
{
	const char *value = given && *given ? given : getenv(env);

	return value && *value ? value : otherwise;
}

struct rdmaemu *rdmaemu_open_fabric(const char *dir, const char *name)
{
	char path[PATH_MAX], sock[2 * PATH_MAX];
	int ret = statedir_find(ctl_env_setting(dir, "RDMAEMU_DIR", ""), path);

	if (ret) {
		errno = -ret;
		return NULL;
	}
	snprintf(sock, sizeof(sock), "%s/%s.sock", path,
		 ctl_env_setting(name, "RDMAEMU_FABRIC", "default"));
	return ctl_handle_open(sock);
}

struct rdmaemu *rdmaemu_open(void)
{
	const char *sock = getenv(PROTO_ENV);

	return sock && *sock ? ctl_handle_open(sock) : rdmaemu_open_fabric(NULL, NULL);
}

void rdmaemu_close(struct rdmaemu *r)
{
	if (!r)
		return;
	ctl_handle_disconnect(r);
	free(r);
}

const char *rdmaemu_error(const struct rdmaemu *r)
{
	return r->error;
}

const char *rdmaemu_version(void)
{
	return RDMAEMU_VERSION;
}
