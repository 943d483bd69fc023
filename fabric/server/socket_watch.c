/* SPDX-License-Identifier: MIT */
/**
 * DOC: a fabric whose socket is removed, with its directory or alone.
 *
 * No program finds it any more, so it would run indefinitely and hold its tree. It leaves when its
 * last program has ended. Another fabric may have the name by then, and the files.
 */
#include "fabric/server/server.h"

#include <errno.h>
#include <sys/inotify.h>
#include <unistd.h>

bool server_file_is_own(const char *path, const struct stat *own)
{
	struct stat st;

	return !lstat(path, &st) && st.st_nlink && st.st_ino == own->st_ino &&
	       st.st_dev == own->st_dev;
}

static void socket_on_change(struct fabric *f, struct watch *w, u32 events)
{
	char buf[1024];

	(void)events;
	while (read(w->fd, buf, sizeof(buf)) > 0)
		;
	if (f->server->vanished || server_file_is_own(f->paths.sock, &f->server->sock_file))
		return;
	f->server->vanished = true;
	fabric_note(f, "%s was removed: leaving when no program is left", f->paths.sock);
	idle_update(f);
}

int server_watch_socket(struct fabric *f)
{
	int fd;

	if (lstat(f->paths.sock, &f->server->sock_file))
		return -errno;
	fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (inotify_add_watch(fd, f->paths.sock, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF) < 0) {
		int err = -errno;

		close(fd);
		return err;
	}
	return loop_watch_add(f, &f->server->socket, fd, socket_on_change);
}
