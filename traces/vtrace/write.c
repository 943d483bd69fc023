/* SPDX-License-Identifier: MIT */
#include "traces/vtrace/write.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* A data file grows by a quarter of its size, within these bounds. */
#define GROW_MIN (1ULL << 20)
#define GROW_MAX (32ULL << 20)
/* The least that the writer accepts when the process's address space is limited. */
#define SPACE_MIN (64ULL << 20)
/* The recorder keeps its descriptors above the numbers that programs expect to get. */
#define FD_HIGH 900

uint32_t vt_crc(uint32_t before, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	while (len) {
		uInt n = len > 1u << 30 ? 1u << 30 : (uInt)len;

		before = (uint32_t)crc32(before, at, n);
		at += n;
		len -= n;
	}
	return before;
}

uint64_t vt_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t vt_order_next(struct vt_writer *w)
{
	return __atomic_fetch_add(&w->order->next, 1, __ATOMIC_SEQ_CST);
}

uint32_t vt_writer_add_thread(struct vt_writer *w)
{
	return __atomic_add_fetch(&w->threads, 1, __ATOMIC_RELAXED);
}

static int vt_fd_move_high(int fd)
{
	int up = fcntl(fd, F_DUPFD_CLOEXEC, FD_HIGH);

	if (up < 0)
		return fd;
	close(fd);
	return up;
}

/*
 * Return: the descriptor of one of our files. A program that becomes a daemon closes all
 * descriptors, and the number may belong to another file now: then the file is opened again.
 */
static int vt_own_file_fd(struct vt_writer *w, struct vt_own *own, const char *name)
{
	char path[PATH_MAX + 32];
	struct stat st;

	if (own->fd >= 0 && !fstat(own->fd, &st) && st.st_ino == own->ino && st.st_dev == own->dev)
		return own->fd;
	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	own->fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
	if (own->fd < 0)
		return -errno;
	own->fd = vt_fd_move_high(own->fd);
	return own->fd;
}

static int vt_own_file_create(struct vt_writer *w, struct vt_own *own, const char *name)
{
	char path[PATH_MAX + 32];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	own->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (own->fd < 0)
		return -errno;
	own->fd = vt_fd_move_high(own->fd);
	if (fstat(own->fd, &st))
		return -errno;
	own->dev = st.st_dev;
	own->ino = st.st_ino;
	return 0;
}

static int vt_file_write_all(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		text += n;
		len -= (size_t)n;
	}
	return 0;
}

static struct vt_head vt_file_head(void)
{
	return (struct vt_head){ .magic = VT_MAGIC, .version = VT_VERSION, .order = VT_ORDER };
}

/*
 * Maps the counter that all programs share. The caller holds the lock of its file, so that only one
 * program initializes it.
 */
static int vt_order_map(struct vt_writer *w, int fd)
{
	struct vt_head h = vt_file_head();
	struct stat st;

	h.next = 1;
	if (fstat(fd, &st))
		return -errno;
	if (!st.st_size && pwrite(fd, &h, sizeof(h), 0) != sizeof(h))
		return errno ? -errno : -EIO;
	w->order = mmap(NULL, sizeof(h), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (w->order == MAP_FAILED)
		return -errno;
	if (w->order->magic != VT_MAGIC || w->order->version != VT_VERSION ||
	    (st.st_size && st.st_size != sizeof(h))) {
		munmap(w->order, sizeof(h));
		return -EPROTO;
	}
	return 0;
}

static int vt_writer_make_dir(struct vt_writer *w, const char *dir)
{
	for (w->num = 1; w->num <= VT_MAX_PROGS; w->num++) {
		snprintf(w->dir, sizeof(w->dir), "%s/p%u", dir, w->num);
		if (!mkdir(w->dir, 0777))
			return 0;
		if (errno != EEXIST)
			return -errno;
	}
	return -EMFILE;
}

static int vt_writer_enter_dir(struct vt_writer *w, const char *dir)
{
	char path[PATH_MAX + 32], real[PATH_MAX];
	int fd, ret;

	if (!realpath(dir, real))
		return -errno;
	snprintf(path, sizeof(path), "%s/order", real);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	while ((ret = flock(fd, LOCK_EX)) && errno == EINTR)
		;
	ret = ret ? -errno : vt_order_map(w, fd);
	if (!ret)
		ret = vt_writer_make_dir(w, real);
	/* The mapping keeps the open file description, and with it the lock, until this. */
	flock(fd, LOCK_UN);
	close(fd);
	return ret;
}

/*
 * Maps more of the file. Allocates its blocks first, so that a full disk is an error here, not a
 * SIGBUS later.
 */
static int vt_writer_grow(struct vt_writer *w, uint64_t need)
{
	uint64_t by = w->mapped / 4, to;
	int fd = vt_own_file_fd(w, &w->data, "data"), err;
	void *at;

	by = by < GROW_MIN ? GROW_MIN : by > GROW_MAX ? GROW_MAX : by;
	to = (need + by - 1) / GROW_MIN * GROW_MIN + GROW_MIN;
	if (to > w->space)
		to = w->space;
	if (fd < 0)
		return fd;
	if (need > to)
		return -EFBIG;
	err = posix_fallocate(fd, (off_t)w->mapped, (off_t)(to - w->mapped));
	if (err)
		return -err;
	at = mmap(w->base + w->mapped, to - w->mapped, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_FIXED, fd, (off_t)w->mapped);
	if (at == MAP_FAILED)
		return -errno;
	w->mapped = to;
	return 0;
}

static int vt_writer_reserve_space(struct vt_writer *w)
{
	for (w->space = VT_MAX_DATA; w->space >= SPACE_MIN; w->space /= 4) {
		w->base = mmap(NULL, w->space, PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (w->base != MAP_FAILED)
			return 0;
	}
	return -ENOMEM;
}

int vt_writer_open(struct vt_writer *w, const char *dir)
{
	struct vt_head h = vt_file_head();
	int ret;

	memset(w, 0, sizeof(*w));
	w->data.fd = w->calls.fd = -1;
	pthread_mutex_init(&w->lock, NULL);
	ret = vt_writer_enter_dir(w, dir);
	if (!ret)
		ret = vt_own_file_create(w, &w->calls, "calls");
	if (!ret)
		ret = vt_own_file_create(w, &w->data, "data");
	if (!ret)
		ret = vt_writer_reserve_space(w);
	if (!ret)
		ret = vt_writer_grow(w, sizeof(h));
	if (ret) {
		w->full = -ret;
		return ret;
	}
	memcpy(w->base, &h, sizeof(h));
	w->tail = sizeof(h);
	return 0;
}

static int vt_writer_write_file(const struct vt_writer *w, const char *name, int flags,
				const char *text, size_t len)
{
	char path[PATH_MAX + 32];
	int fd, ret;

	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | flags, 0666);
	if (fd < 0)
		return -errno;
	ret = vt_file_write_all(fd, text, len);
	close(fd);
	/* A part of the file could be read as something else. */
	if (ret)
		unlink(path);
	return ret;
}

int vt_writer_put_file(struct vt_writer *w, const char *name, const char *text, size_t len)
{
	return vt_writer_write_file(w, name, O_EXCL, text, len);
}

int vt_writer_add_file(struct vt_writer *w, const char *name, const char *text, size_t len)
{
	return vt_writer_write_file(w, name, O_APPEND, text, len);
}

int vt_writer_put_dir_file(struct vt_writer *w, const char *name, const char *text, size_t len)
{
	char here[PATH_MAX + 32], there[PATH_MAX + 64];
	int ret;

	snprintf(there, sizeof(there), "%s/../%s", w->dir, name);
	if (!access(there, F_OK))
		return 0;
	ret = vt_writer_put_file(w, name, text, len);
	if (ret)
		return ret;
	snprintf(here, sizeof(here), "%s/%s", w->dir, name);
	/* EEXIST: another program was first. */
	if (link(here, there) && errno != EEXIST)
		ret = -errno;
	unlink(here);
	return ret;
}

/* The caller holds the lock. */
static struct vt_rec *vt_rec_reserve_locked(struct vt_writer *w, enum vt_kind kind, size_t body)
{
	size_t size = (sizeof(struct vt_rec) + body + 7) & ~(size_t)7;
	struct vt_rec *rec;
	int ret = 0;

	if (w->full || body > VT_MAX_REC - sizeof(*rec) - 8)
		return NULL;
	if (w->tail + size > w->mapped)
		ret = vt_writer_grow(w, w->tail + size);
	if (ret) {
		w->full = -ret;
		return NULL;
	}
	rec = (struct vt_rec *)(w->base + w->tail);
	w->tail += size;
	rec->kind = kind;
	__atomic_store_n(&rec->size, (uint32_t)size, __ATOMIC_RELEASE);
	return rec;
}

struct vt_rec *vt_rec_reserve(struct vt_writer *w, enum vt_kind kind, size_t body)
{
	struct vt_rec *rec;

	pthread_mutex_lock(&w->lock);
	rec = vt_rec_reserve_locked(w, kind, body);
	pthread_mutex_unlock(&w->lock);
	return rec;
}

void vt_rec_commit(struct vt_rec *rec)
{
	uint32_t check = vt_crc(0, &rec->kind, rec->size - offsetof(struct vt_rec, kind));

	__atomic_store_n(&rec->check, check ? check : 1, __ATOMIC_RELEASE);
}

static int vt_calls_write_line(struct vt_writer *w, const char *line, size_t len)
{
	struct iovec v[2] = { { .iov_base = (void *)line, .iov_len = len },
			      { .iov_base = "\n", .iov_len = 1 } };
	int fd = vt_own_file_fd(w, &w->calls, "calls");
	ssize_t n;

	if (fd < 0)
		return fd;
	/* One write: a signal must not leave a part of a line, which would lack its record. */
	do
		n = writev(fd, v, 2);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len + 1 ? 0 : -ENOSPC;
}

int vt_writer_put_call(struct vt_writer *w, const struct vt_rec *like, const char *line, size_t len,
		       const uint64_t *fact, uint32_t n_facts)
{
	struct vt_rec *rec = NULL;
	struct vt_call *call;
	int ret;

	if (len >= VT_MAX_LINE || n_facts > VT_MAX_FACTS)
		return -EMSGSIZE;
	pthread_mutex_lock(&w->lock);
	ret = w->full ? -w->full : vt_calls_write_line(w, line, len);
	if (ret)
		w->full = -ret;
	else
		rec = vt_rec_reserve_locked(w, VT_CALL, sizeof(*call) + n_facts * sizeof(*fact));
	if (rec) {
		call = vt_rec_body(rec);
		call->line = ++w->lines;
		call->n_facts = n_facts;
		memcpy(call->fact, fact, n_facts * sizeof(*fact));
	}
	ret = -w->full;
	pthread_mutex_unlock(&w->lock);
	if (!rec)
		return ret;
	rec->thread = like->thread;
	rec->begin = like->begin;
	rec->end = like->end;
	rec->t_begin = like->t_begin;
	rec->t_end = like->t_end;
	vt_rec_commit(rec);
	return 0;
}

static void vt_rec_stamp(struct vt_writer *w, struct vt_rec *rec, uint32_t thread)
{
	rec->thread = thread;
	rec->begin = rec->end = vt_order_next(w);
	rec->t_begin = rec->t_end = vt_now();
}

void vt_writer_put_note(struct vt_writer *w, uint32_t thread, const char *text)
{
	size_t len = strlen(text);
	struct vt_rec *rec = vt_rec_reserve(w, VT_NOTE, sizeof(struct vt_note) + len);
	struct vt_note *note;

	if (!rec) {
		__atomic_add_fetch(&w->lost_notes, 1, __ATOMIC_RELAXED);
		return;
	}
	note = vt_rec_body(rec);
	note->len = (uint32_t)len;
	memcpy(note->text, text, len);
	vt_rec_stamp(w, rec, thread);
	vt_rec_commit(rec);
}

void vt_writer_close(struct vt_writer *w)
{
	struct vt_rec *rec;
	struct vt_end *end;
	int fd;

	pthread_mutex_lock(&w->lock);
	rec = vt_rec_reserve_locked(w, VT_END, sizeof(*end));
	if (rec) {
		end = vt_rec_body(rec);
		end->notes = w->lost_notes;
		vt_rec_stamp(w, rec, 0);
		vt_rec_commit(rec);
	}
	/*
	 * Threads that are still writing have reserved their records, all of them before the tail.
	 */
	if (!w->full)
		w->full = ESHUTDOWN;
	fd = vt_own_file_fd(w, &w->data, "data");
	if (fd >= 0 && ftruncate(fd, (off_t)w->tail))
		w->full = errno;
	pthread_mutex_unlock(&w->lock);
}

void vt_writer_forget(struct vt_writer *w)
{
	struct stat st;
	struct vt_own *own[2] = { &w->data, &w->calls };
	int i;

	for (i = 0; i < 2; i++)
		if (own[i]->fd >= 0 && !fstat(own[i]->fd, &st) && st.st_ino == own[i]->ino &&
		    st.st_dev == own[i]->dev)
			close(own[i]->fd);
	if (w->base && w->base != MAP_FAILED)
		munmap(w->base, w->space);
	if (w->order && w->order != MAP_FAILED)
		munmap(w->order, sizeof(*w->order));
	memset(w, 0, sizeof(*w));
	w->full = ESHUTDOWN;
	w->data.fd = w->calls.fd = -1;
}
