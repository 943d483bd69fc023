/* SPDX-License-Identifier: MIT */
/**
 * DOC: file descriptors that the program passed to calls. The record identifies their files.
 *
 * The command descriptor of a recorded context becomes that of the local context, in whichever
 * process it is. Every other file is replaced by an empty one, which the starting process creates
 * for all players: programs that shared a file share it again.
 */
#include "traces/replay/files.h"
#include "traces/replay/replay.h"
#include "traces/replay/world.h"
#include "traces/vtrace/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool fact_is_file(uint64_t v)
{
	return v >> 62 == VCALL_FILE >> 62;
}

/* Notes a context and its file: "ibv_open_device ... = ctx1 cmd_fd=~". */
static int files_learn_context(struct rp_world *w, uint32_t prog, const struct vt_rec *rec,
			       uint64_t file)
{
	struct rp_num *more = vt_array_room(w->cmd_fd, w->n_cmd_fd, sizeof(*more));
	const char *line, *at;
	size_t len;

	if (!more)
		return -ENOMEM;
	w->cmd_fd = more;
	line = vt_rec_line(&w->dir.prog[prog], rec, &len);
	at = strstr(line, " = ctx");
	if (!at)
		return 0;
	more[w->n_cmd_fd++] = (struct rp_num){
		.file = file, .prog = prog, .ord = (uint32_t)atoi(at + 6), .from = rec->end
	};
	return 0;
}

int rp_files_learn(struct rp_world *w, uint32_t prog, const struct vt_rec *rec)
{
	const struct vt_program *p = &w->dir.prog[prog];
	uint64_t file;
	uint32_t i;

	if (vt_rec_fact(p, rec, true, "cmd_fd", &file) && fact_is_file(file))
		return files_learn_context(w, prog, rec, file);
	if (!(vt_rec_fact(p, rec, false, "attr.fd", &file) ||
	      vt_rec_fact(p, rec, false, "fd", &file)) ||
	    !fact_is_file(file))
		return 0;
	for (i = 0; i < w->n_files && w->file[i] != file; i++)
		;
	if (i == w->n_files && i < RP_MAX_FILES)
		w->file[w->n_files++] = file;
	return 0;
}

int rp_files_make(struct rp_world *w)
{
	uint32_t i;

	for (i = 0; i < w->n_files; i++) {
		/* No MFD_CLOEXEC: all players inherit it. */
		w->share->file[i] = memfd_create("rdmaemu-replay-file", 0);
		if (w->share->file[i] < 0)
			return -errno;
	}
	return 0;
}

static int file_context_fd(const struct rp_prog *g, const struct rp_num *n)
{
	const struct rp_made *made = &g->w->made[n->prog][RP_CTX][n->ord];
	uint32_t fd = __atomic_load_n(&made->num, __ATOMIC_ACQUIRE);
	int pid = __atomic_load_n(&g->w->share->pid[n->prog], __ATOMIC_ACQUIRE), pidfd, got;

	if (!fd)
		return -1;
	if (n->prog == g->nth)
		return fcntl((int)fd - 1, F_DUPFD_CLOEXEC, 0);
	pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -1;
	got = (int)syscall(SYS_pidfd_getfd, pidfd, fd - 1, 0);
	close(pidfd);
	return got;
}

uint64_t rp_file_fd(const struct rp_prog *g, uint64_t file, uint64_t when)
{
	const struct rp_num *best = NULL;
	struct rp_world *w = g->w;
	uint32_t i;

	if (!fact_is_file(file))
		return file;
	/*
	 * The latest context with this file: an imported context has the same file as its origin.
	 */
	for (i = 0; i < w->n_cmd_fd; i++)
		if (w->cmd_fd[i].file == file && w->cmd_fd[i].from <= when &&
		    (!best || w->cmd_fd[i].from > best->from))
			best = &w->cmd_fd[i];
	if (best)
		return (uint64_t)(int64_t)file_context_fd(g, best);
	for (i = 0; i < w->n_files; i++)
		if (w->file[i] == file)
			return (uint64_t)(int64_t)w->share->file[i];
	return UINT64_MAX;
}
