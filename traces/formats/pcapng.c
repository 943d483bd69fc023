/* SPDX-License-Identifier: MIT */
/* See pcapng.h. */
#include "traces/formats/pcapng_block.h"
#include "traces/formats/pcapng_output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a packet's block in addition to the captured ones. */
#define PACKET_EXTRA (96u + PCAPNG_STRING)
_Static_assert(PCAPNG_SNAPLEN + PACKET_EXTRA <= PCAPNG_BUFFER, "any block fits");
#define RING_MIN 4096u

/** struct iface - an interface. @block: its description block, repeated in each file of a ring */
struct iface {
	u8 *block;
	struct pcapng_count n; /* of the current file */
};

/**
 * struct pcapng - see pcapng.h.
 * @error: errno of the first failure; nothing is written after it
 * @ns: time of the latest packet
 * @start: offset of the section in the current file: standard output may have contents before it
 * @flushed: bytes of the current file, without the buffer
 * @file_packets: packets of the current file
 * @ended: the statistics are written
 * @section: the section header, repeated in each file of a ring
 */
struct pcapng {
	struct pcapng_output out;
	bool keep_fd; /* standard output */
	bool ended;
	bool made; /* the current file is new */
	int error;
	u64 ns;
	off_t start;
	u64 flushed;
	u64 file_packets;
	u64 ring_bytes, ring_packets;
	u32 ring_files;
	u32 mode;
	int (*claim)(void *arg, int fd, const char *path);
	void *arg;
	struct pcapng_stat stat;
	u8 *section;
	struct iface *iface;
	u32 n_ifaces, max_ifaces;
	u32 stats_len; /* of the blocks at the end of a file */
	u32 used;
	char base[PATH_MAX];
	char path[PATH_MAX + 16];
	u8 buf[PCAPNG_BUFFER];
};

static bool pcapng_has_ring(const struct pcapng *w)
{
	return w->ring_bytes || w->ring_packets;
}

/* --- output --- */

static int pcapng_fail(struct pcapng *w, int error)
{
	w->error = error;
	return -error;
}

/*
 * Return: bytes of the complete blocks among the first @len of the buffer. @packets: set to their
 * packets.
 */
static u32 pcapng_whole_blocks(const struct pcapng *w, u32 len, u64 *packets)
{
	u32 at = 0;

	for (*packets = 0; at < len && pcapng_block_len(w->buf + at) <= len - at;
	     at += pcapng_block_len(w->buf + at))
		*packets += pcapng_block_is_packet(w->buf + at);
	return at;
}

int pcapng_flush(struct pcapng *w)
{
	u64 packets = w->stat.waiting;
	u32 done, whole;
	int error;

	if (w->error)
		return -w->error;
	if (!w->used)
		return 0;
	error = pcapng_output_write(&w->out, w->buf, w->used, &done);
	whole = error ? pcapng_whole_blocks(w, done, &packets) : done;
	/* Keep the file readable: cut it off after the last complete block. */
	if (error && w->out.regular &&
	    !ftruncate(w->out.fd, w->start + (off_t)(w->flushed + whole)))
		done = whole;
	w->flushed += whole;
	w->stat.bytes += done;
	w->stat.packets += packets;
	w->stat.waiting = 0;
	w->used = 0;
	return error ? pcapng_fail(w, error) : 0;
}

/* Reserves @len bytes of the buffer for a block. Return: NULL: see w->error. */
static u8 *pcapng_reserve(struct pcapng *w, u32 len)
{
	u8 *at;

	if (w->used + len > sizeof(w->buf) && pcapng_flush(w))
		return NULL;
	if (w->error)
		return NULL;
	at = w->buf + w->used;
	w->used += len;
	return at;
}

static int pcapng_copy_block(struct pcapng *w, const u8 *block)
{
	u32 len = pcapng_block_len(block);
	u8 *at = pcapng_reserve(w, len);

	if (!at)
		return -w->error;
	memcpy(at, block, len);
	return 0;
}

/* --- files --- */

void pcapng_ring_path(const char *file, u32 nth, char *out, size_t size)
{
	const char *slash = strrchr(file, '/'), *dot = strrchr(file, '.');

	if (!dot || (slash && dot < slash))
		dot = file + strlen(file);
	snprintf(out, size, "%.*s_%05u%s", (int)(dot - file), file, nth, dot);
}

/* Return: a descriptor, or -errno. */
static int pcapng_open_path(struct pcapng *w)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
	int fd = open(w->path, flags | O_EXCL, 0666);

	w->made = fd >= 0;
	if (fd < 0 && errno == EEXIST) {
		fd = open(w->path, flags, 0666);
	} else if (fd >= 0 && w->mode && fchmod(fd, w->mode & 0777)) {
		close(fd);
		fd = -1;
	}
	return fd < 0 ? -errno : fd;
}

/* Return: 0; -errno: no file is open. */
static int pcapng_open_file(struct pcapng *w)
{
	int ret;

	if (pcapng_has_ring(w))
		pcapng_ring_path(w->base, w->stat.files + 1, w->path, sizeof(w->path));
	else
		memcpy(w->path, w->base, sizeof(w->base));
	w->out.fd = pcapng_open_path(w);
	if (w->out.fd < 0)
		return w->out.fd;
	ret = w->claim ? w->claim(w->arg, w->out.fd, w->path) : 0;
	/* A pipe has no length. */
	if (!ret && ftruncate(w->out.fd, 0) && errno != EINVAL)
		ret = -errno;
	if (!ret)
		return 0;
	close(w->out.fd);
	w->out.fd = -1;
	return ret;
}

/* Writes the blocks that every file begins with. */
static int pcapng_begin_file(struct pcapng *w)
{
	struct stat st;
	u32 i;

	w->out.regular = !fstat(w->out.fd, &st) && S_ISREG(st.st_mode);
	w->start = 0;
	if (w->out.regular)
		w->start = fcntl(w->out.fd, F_GETFL) & O_APPEND ? st.st_size
								: lseek(w->out.fd, 0, SEEK_CUR);
	w->flushed = w->file_packets = 0;
	w->out.cached = 0;
	w->stat.files++;
	if (pcapng_copy_block(w, w->section))
		return -w->error;
	for (i = 0; i < w->n_ifaces; i++) {
		w->iface[i].n = (struct pcapng_count){ 0 };
		if (pcapng_copy_block(w, w->iface[i].block))
			return -w->error;
	}
	return 0;
}

/* Writes the statistics and flushes. */
static int pcapng_end_file(struct pcapng *w, u64 ns)
{
	u32 len, i;
	u8 *at;

	for (i = 0; i < w->n_ifaces; i++) {
		len = pcapng_block_stats(NULL, i, ns, &w->iface[i].n);
		at = pcapng_reserve(w, len);
		if (!at)
			break;
		pcapng_block_stats(at, i, ns, &w->iface[i].n);
	}
	return pcapng_flush(w);
}

/* Switches to the next file of the ring. */
static int pcapng_next_file(struct pcapng *w)
{
	char old[sizeof(w->path)];
	int ret = pcapng_end_file(w, w->ns);

	if (close(w->out.fd) && !ret)
		ret = pcapng_fail(w, errno);
	w->out.fd = -1;
	if (ret)
		return ret;
	ret = pcapng_open_file(w);
	if (ret)
		return pcapng_fail(w, -ret);
	if (w->ring_files && w->stat.files >= w->ring_files) {
		pcapng_ring_path(w->base, w->stat.files + 1 - w->ring_files, old, sizeof(old));
		/* Another process may have moved it away. */
		unlink(old);
	}
	return pcapng_begin_file(w);
}

static bool pcapng_file_is_full(const struct pcapng *w, u32 len)
{
	if (!w->file_packets)
		return false;
	if (w->ring_packets && w->file_packets >= w->ring_packets)
		return true;
	return w->ring_bytes && w->flushed + w->used + len + w->stats_len > w->ring_bytes;
}

/* --- interface --- */

static int pcapng_take_path(struct pcapng *w, const struct pcapng_opts *o)
{
	if (!o->path) {
		w->out.fd = o->fd;
		return 0;
	}
	if (!strcmp(o->path, "-")) {
		w->out.fd = STDOUT_FILENO;
		w->keep_fd = true;
		return 0;
	}
	if (strlen(o->path) >= sizeof(w->base))
		return -ENAMETOOLONG;
	memcpy(w->base, o->path, strlen(o->path) + 1);
	return pcapng_open_file(w);
}

static void pcapng_free(struct pcapng *w)
{
	u32 i;

	for (i = 0; i < w->n_ifaces; i++)
		free(w->iface[i].block);
	free(w->iface);
	free(w->section);
	free(w);
}

void pcapng_drop(struct pcapng *w)
{
	if (!w->keep_fd && w->out.fd >= 0)
		close(w->out.fd);
	if (w->made)
		unlink(w->path);
	pcapng_free(w);
}

int pcapng_open(struct pcapng **out, const struct pcapng_opts *o)
{
	struct pcapng *w;
	int ret;

	if (o->ring_bytes || o->ring_packets) {
		if (!o->path || !strcmp(o->path, "-") ||
		    (o->ring_bytes && o->ring_bytes < RING_MIN))
			return -EINVAL;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return -ENOMEM;
	w->ring_bytes = o->ring_bytes;
	w->ring_packets = o->ring_packets;
	w->ring_files = o->ring_files;
	w->mode = o->mode;
	w->claim = o->claim;
	w->arg = o->arg;
	w->section = malloc(pcapng_block_section(NULL, o));
	ret = w->section ? pcapng_take_path(w, o) : -ENOMEM;
	if (ret) {
		pcapng_free(w);
		return ret;
	}
	pcapng_block_section(w->section, o);
	ret = pcapng_begin_file(w);
	if (!ret)
		ret = pcapng_flush(w);
	if (ret) {
		pcapng_drop(w);
		return ret;
	}
	*out = w;
	return 0;
}

static int pcapng_grow_ifaces(struct pcapng *w)
{
	u32 max = w->max_ifaces ? w->max_ifaces * 2 : 16;
	struct iface *more;

	if (w->n_ifaces < w->max_ifaces)
		return 0;
	if (w->n_ifaces >= PCAPNG_IFACES)
		return -ENOSPC;
	more = realloc(w->iface, max * sizeof(*more));
	if (!more)
		return -ENOMEM;
	w->iface = more;
	w->max_ifaces = max;
	return 0;
}

int pcapng_add_iface(struct pcapng *w, const struct pcapng_iface *i)
{
	struct pcapng_count none = { 0 };
	struct iface *f;
	int ret = w->error ? -w->error : pcapng_grow_ifaces(w);

	if (ret)
		return ret;
	f = &w->iface[w->n_ifaces];
	*f = (struct iface){ .block = malloc(pcapng_block_iface(NULL, i)) };
	if (!f->block)
		return -ENOMEM;
	pcapng_block_iface(f->block, i);
	ret = pcapng_copy_block(w, f->block);
	if (ret) {
		free(f->block);
		return ret;
	}
	w->stats_len += pcapng_block_stats(NULL, 0, 0, &none);
	return (int)w->n_ifaces++;
}

int pcapng_write(struct pcapng *w, const struct pcapng_pkt *p)
{
	struct pcapng_count *n;
	u32 len;
	u8 *at;
	int ret;

	if (p->iface >= w->n_ifaces || p->caplen > p->len || p->caplen > PCAPNG_SNAPLEN)
		return -EINVAL;
	len = pcapng_block_packet(NULL, p);
	if (pcapng_file_is_full(w, len)) {
		ret = pcapng_next_file(w);
		if (ret)
			return ret;
	}
	at = pcapng_reserve(w, len);
	if (!at)
		return -w->error;
	pcapng_block_packet(at, p);
	n = &w->iface[p->iface].n;
	n->packets++;
	n->dropped += p->dropped;
	w->stat.dropped += p->dropped;
	w->stat.waiting++;
	w->file_packets++;
	w->ns = p->ns;
	return 0;
}

void pcapng_count(struct pcapng *w, u32 iface, u64 filtered, u64 lost)
{
	if (iface >= w->n_ifaces)
		return;
	w->iface[iface].n.filtered += filtered;
	w->iface[iface].n.dropped += lost;
	w->stat.dropped += lost;
}

void pcapng_stat(const struct pcapng *w, struct pcapng_stat *out)
{
	*out = w->stat;
}

const char *pcapng_path(const struct pcapng *w)
{
	return w->path;
}

int pcapng_end(struct pcapng *w, u64 ns)
{
	if (w->ended)
		return -w->error;
	w->ended = true;
	return pcapng_end_file(w, ns);
}

int pcapng_close(struct pcapng *w, u64 ns)
{
	int ret = pcapng_end(w, ns);

	if (!w->keep_fd && w->out.fd >= 0 && close(w->out.fd) && !ret)
		ret = -errno;
	pcapng_free(w);
	return ret;
}
