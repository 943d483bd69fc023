/* SPDX-License-Identifier: MIT */
/**
 * DOC: a capture's thread: from the ring to a file.
 *
 * The thread waits for nothing but its file. It polls the ring, less often the longer that is
 * empty, and is woken when the ring fills up and when the capture is to end.
 */
#include "emulator/journal/text.h"
#include "fabric/capture/control.h"
#include "fabric/capture/filter.h"
#include "fabric/packet/packet.h"
#include "fabric/proto/version.h"
#include "traces/formats/pcapng.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NAP_MIN_MS 1
#define NAP_MAX_MS 20
#define TURN	   (1u << 20) /* bytes of ring to read before they are released for writing */
#define FRAME_ROOM ROCE_FRAME_MAX
#define NO_IFACE   (-1)
#define TAIL_MAX   9u /* after a payload: pad, ICRC, VCRC */

/**
 * struct writer - the state of a capture's thread.
 * @iface: by port; NO_IFACE: not added yet; @dropped: by kind of link: Ethernet, InfiniBand
 * @lost: packets that had no room in the ring, as last read; @untold: those that the file does not
 *	record yet
 */
struct writer {
	struct capture *c;
	const struct hca *hca;
	struct pcapng *out;
	int iface[HCA_MAX_DEVS][HCA_MAX_PORTS + 1];
	int dropped[2];
	struct capture_filter filter;
	u64 lost, untold;
	u64 last_ns;
	bool unflushed;
	u8 frame[ROCE_ERF_LEN + FRAME_ROOM];
};

/* Record a failure. @what: its subject; "": the file. Return: -1. */
static int writer_fail(struct capture *c, int err, const char *what)
{
	c->err = err < 0 ? -err : err;
	/* writer_claim_file() has set the reason. */
	if (c->err == EBUSY && !*what && c->why[0])
		return -1;
	snprintf(c->why, sizeof(c->why), "%.*s", (int)sizeof(c->why) - 1, what);
	return -1;
}

static u32 writer_snaplen(const struct capture *c)
{
	return c->ask.snaplen ? c->ask.snaplen : PCAPNG_SNAPLEN;
}

/* --- interfaces --- */

static int writer_add_iface(struct writer *w, const char *name, const char *description, bool ib)
{
	struct pcapng_iface i = {
		.name = name,
		.description = description,
		.filter = w->c->ask.filter[0] ? w->c->ask.filter : NULL,
		.link = ROCE_LINK_ETHERNET,
		.snaplen = w->c->ask.snaplen,
	};
	int ret;

	if (ib)
		i.link = w->c->ask.erf ? ROCE_LINK_ERF : ROCE_LINK_IB;
	if (ib && w->c->ask.erf && i.snaplen)
		i.snaplen += ROCE_ERF_LEN;
	ret = pcapng_add_iface(w->out, &i);
	return ret < 0 ? writer_fail(w->c, ret, "") : ret;
}

/* Return: the interface of a port, or -1. */
static int writer_iface(struct writer *w, u32 dev, u32 port)
{
	const struct hca_dev *d = &w->hca->dev[dev];
	char name[sizeof(d->name) + PROTO_NODE_SIZE + 8];
	int *i = &w->iface[dev][port];

	if (*i == NO_IFACE) {
		snprintf(name, sizeof(name), "%s/%s/%u", w->hca->node[d->node % HCA_MAX_NODES].name,
			 d->name, port);
		*i = writer_add_iface(w, name, NULL, d->link_layer != LINK_ETHERNET);
	}
	return *i;
}

static int writer_iface_dropped(struct writer *w, bool ib)
{
	if (w->dropped[ib] == NO_IFACE)
		w->dropped[ib] = writer_add_iface(w, "dropped",
						  "packets that did not get to their port", ib);
	return w->dropped[ib];
}

/* --- start --- */

/* Whether one of the capture's ports is an InfiniBand port. */
static bool writer_any_ib_port(const struct writer *w)
{
	u32 d, p;

	for (d = 0; d < load_acquire(&w->hca->n_devs); d++)
		for (p = 1; p <= w->hca->dev[d].n_ports; p++)
			if (w->hca->dev[d].link_layer != LINK_ETHERNET &&
			    capture_has_port(w->hca, &w->c->ask, d, p))
				return true;
	return false;
}

static int writer_compile_filter(struct writer *w)
{
	char why[PCAP_ERRBUF_SIZE];
	int ret = capture_filter_compile(&w->filter, w->c->ask.filter, writer_any_ib_port(w), why);

	return ret ? writer_fail(w->c, ret, why) : 0;
}

/* Claim a file of a ring. */
static int writer_claim_file(void *arg, int fd, const char *path)
{
	struct capture *c = arg;
	struct captures *all = c->f->captures;
	const char *name = strrchr(path, '/');
	u32 id = 0;
	int ret;

	pthread_mutex_lock(&all->lock);
	ret = capture_claim_file(all, c, fd, &id);
	pthread_mutex_unlock(&all->lock);
	if (ret == -EBUSY)
		snprintf(c->why, sizeof(c->why), "%.200s: capture %u writes to it already",
			 name ? name + 1 : path, id);
	return ret;
}

static int writer_open_file(struct writer *w)
{
	const struct proto_capture *q = &w->c->ask;
	struct pcapng_opts o = {
		.fd = w->c->fd,
		.path = w->c->fd < 0 ? q->path : NULL,
		.ring_bytes = q->ring_bytes,
		.ring_files = q->ring_files,
		.mode = S_IFREG | (q->mode & 0666),
		.claim = writer_claim_file,
		.arg = w->c,
		.application = "rdmaemu " RDMAEMU_VERSION,
		.comment = "times are the fabric's clock since the fabric's start",
	};
	bool ib = w->hca->dev[0].link_layer != LINK_ETHERNET, any = false;
	u32 d, p;
	int ret = pcapng_open(&w->out, &o);

	if (ret)
		return writer_fail(w->c, ret, "");
	/* The writer owns the descriptor now; its number stays valid until the thread has ended. */
	for (d = 0; d < load_acquire(&w->hca->n_devs); d++)
		for (p = 1; p <= w->hca->dev[d].n_ports; p++) {
			if (!capture_has_port(w->hca, q, d, p))
				continue;
			if (writer_iface(w, d, p) < 0)
				return -1;
			if (!any)
				ib = w->hca->dev[d].link_layer != LINK_ETHERNET;
			any = true;
		}
	/* The same kind as the ports: a file of InfiniBand ports alone has a single link type. */
	if (writer_iface_dropped(w, ib) < 0)
		return -1;
	ret = pcapng_flush(w->out);
	return ret ? writer_fail(w->c, ret, "") : 0;
}

/* --- packets --- */

/*
 * Count the packets that had no room in the ring. Not for each packet: senders write to that cache
 * line.
 */
static void writer_count_lost(struct writer *w)
{
	u64 all = load_relaxed(&w->hca->capture.lost[w->c->bit]), n = all - w->lost;

	w->lost = all;
	w->untold += n;
	store_relaxed(&w->c->count.lost, w->c->count.lost + n);
}

static void writer_update_counts(struct writer *w)
{
	struct pcapng_stat s;

	pcapng_stat(w->out, &s);
	store_relaxed(&w->c->count.packets, s.packets);
	store_relaxed(&w->c->count.taken, s.packets + s.waiting);
	store_relaxed(&w->c->count.bytes, s.bytes);
	store_relaxed(&w->c->count.files, s.files);
}

/* Write the first @cap bytes of a frame of @len bytes. Return: 0 or -1. */
static int writer_put_frame(struct writer *w, const struct cap_rec *r, const u8 *frame, u32 cap,
			    u32 len, bool ib, const char *text)
{
	bool dropped = r->fate & CAP_DROPPED;
	int iface = dropped ? writer_iface_dropped(w, ib)
			    : writer_iface(w, r->b.src_dev, r->b.src_port),
	    ret;
	struct pcapng_pkt p = {
		.ns = r->ns - min_u64(r->ns, w->c->f->started),
		.frame = frame,
		.caplen = min_u32(cap, writer_snaplen(w->c)),
		.len = len,
		.comment = text,
	};

	if (iface < 0)
		return -1;
	p.iface = (u32)iface;
	if (!capture_filter_passes(&w->filter, ib, frame, len, cap)) {
		pcapng_count(w->out, p.iface, 1, 0);
		store_relaxed(&w->c->count.filtered, w->c->count.filtered + 1);
		return 0;
	}
	/* writer_build_frame() has left room before the frame. */
	if (ib && w->c->ask.erf) {
		roce_erf_header(w->frame, p.ns, p.caplen, len);
		p.frame = w->frame;
		p.caplen += ROCE_ERF_LEN;
		p.len += ROCE_ERF_LEN;
	}
	p.dropped = w->untold;
	w->untold = 0;
	ret = pcapng_write(w->out, &p);
	w->unflushed = true;
	w->last_ns = p.ns;
	return ret ? writer_fail(w->c, ret, "") : 0;
}

/* The cause of a drop, for a record without a text. */
static void writer_drop_reason(const struct writer *w, const struct cap_view *v, char *text,
			       size_t size)
{
	struct journal_entry j = { .kind = JRN_DROP,
				   .cause = (u8)v->rec->cause,
				   .info = v->rec->info };
	size_t n = (size_t)snprintf(text, size, "dropped: ");

	journal_why_text(w->hca, &j, w->c->f->started, NULL, text + n, size - n);
}

/*
 * Build a frame in w->frame, after room for a header. @next: roce_build_next() can be used
 * Return: its bytes.
 */
static int writer_build_frame(struct writer *w, const struct roce_pkt *p, u32 snap, bool next,
			      u32 *len)
{
	u8 *frame = w->frame + ROCE_ERF_LEN;
	u32 missing = p->payload_len - p->payload_cap + TAIL_MAX, whole,
	    room = min_u32(snap, FRAME_ROOM);
	int n = next ? roce_build_next(p, frame, room, len) : roce_build(p, frame, room, len);

	if (likely(n != -EINVAL))
		return n;
	whole = roce_frame_len(p);
	/* Part of the payload is missing: leave pad and checksums out. */
	return whole > missing ? roce_build(p, frame, min_u32(snap, whole - missing), len) : n;
}

/* The comment of a record's packets. */
static void writer_comment(const struct writer *w, const struct cap_view *v, char text[CAP_TEXT])
{
	text[0] = '\0';
	if (v->rec->text)
		snprintf(text, CAP_TEXT, "%.*s", (int)min_u32(v->rec->text, CAP_TEXT - 1), v->text);
	else if (v->rec->fate & CAP_DROPPED)
		writer_drop_reason(w, v, text, CAP_TEXT);
}

static int writer_put_burst(struct writer *w, const struct cap_view *v, const char *text)
{
	struct roce_pkt p;
	u32 n = packet_frame_begin(w->hca, v, &p), i, len;
	struct packet_run run = { 0 };
	bool next;
	int ret = 0;

	for (i = 0; i < n && !ret; i++) {
		next = packet_frame_next(w->hca, v, i, &p, &run);
		ret = writer_build_frame(w, &p, writer_snaplen(w->c), next, &len);
		if (ret >= 0)
			ret = writer_put_frame(w, v->rec, w->frame + ROCE_ERF_LEN, (u32)ret, len,
					       p.net >= ROCE_IB, text);
		else
			ret = 0; /* no frame has such fields: a program has written them */
	}
	return ret;
}

static int writer_put_record(struct writer *w, const struct cap_view *v)
{
	const struct cap_rec *r = v->rec;
	char text[CAP_TEXT];

	if (!(r->takers & 1u << w->c->bit) || r->b.src_dev >= HCA_MAX_DEVS ||
	    r->b.src_port > HCA_MAX_PORTS)
		return 0;
	writer_comment(w, v, text);
	if (r->kind == CAP_BURST)
		return writer_put_burst(w, v, text);
	return writer_put_frame(w, r, v->payload, min_u32(r->keep, r->frame_len), r->frame_len,
				false, text);
}

/* --- the loop --- */

/* Release the ring up to the position of the slowest capture. */
static void writer_advance_tail(struct capture *c, u64 at)
{
	struct captures *all = c->f->captures;
	struct hca_capture *ring = &c->f->hca->capture;
	u64 least = at;
	u32 i;

	pthread_mutex_lock(&all->lock);
	c->at = at;
	for (i = 0; i < CAPTURES; i++)
		if (all->of[i] && all->of[i] != c && all->of[i]->reads)
			least = min_u64(least, all->of[i]->at);
	store_release(&ring->tail, least);
	exchange(&ring->rung, 0);
	pthread_mutex_unlock(&all->lock);
}

/* Write the records up to @end. Return: 1: some; 0: none; -1: it has failed. */
static int writer_drain_ring(struct writer *w, u64 end)
{
	u64 at = w->c->at, from = at;
	struct cap_view v;

	writer_count_lost(w);
	while (at - from < TURN && cap_rec_next(w->hca, &at, end, &v))
		if (writer_put_record(w, &v))
			return -1;
	if (at == from && at != end)
		return writer_fail(w->c, EBADMSG,
				   "the ring of packets was overwritten by a program");
	if (at == from)
		return 0;
	writer_update_counts(w);
	writer_advance_tail(w->c, at);
	return 1;
}

static void writer_sleep(struct capture *c, int ms)
{
	struct pollfd p = { .fd = c->wake, .events = POLLIN };
	u64 n;

	if (poll(&p, 1, ms) == 1 && read(c->wake, &n, sizeof(n)) < 0)
		return;
}

static int writer_run(struct writer *w)
{
	struct capture *c = w->c;
	int ms = NAP_MIN_MS, ret = 0;
	bool stopping;

	while (ret >= 0) {
		stopping = load_acquire(&c->state) == CAPTURE_STOPPING;
		ret = writer_drain_ring(w, stopping ? c->stop_at
						    : load_acquire(&w->hca->capture.head));
		if (ret) {
			ms = NAP_MIN_MS;
			continue;
		}
		if (stopping)
			break;
		ret = w->unflushed ? pcapng_flush(w->out) : 0;
		if (ret)
			return writer_fail(c, ret, "");
		if (w->unflushed)
			writer_update_counts(w);
		w->unflushed = false;
		writer_sleep(c, ms);
		ms = ms * 2 < NAP_MAX_MS ? ms * 2 : NAP_MAX_MS;
	}
	return ret;
}

static void writer_set_state(struct capture *c, u32 state)
{
	const u64 one = 1;

	store_release(&c->state, state);
	store_release(&c->f->captures->news, 1);
	if (write(c->f->loop.kick.fd, &one, sizeof(one)) != sizeof(one))
		return; /* the eventfd is full: the loop has not looked yet */
}

static struct writer *writer_begin(struct capture *c)
{
	struct writer *w = malloc(sizeof(*w));
	u32 d, p;

	if (!w)
		return NULL;
	w->c = c;
	w->hca = c->f->hca;
	w->out = NULL;
	w->lost = w->untold = w->last_ns = 0;
	w->unflushed = false;
	memset(&w->filter, 0, sizeof(w->filter));
	w->dropped[0] = w->dropped[1] = NO_IFACE;
	for (d = 0; d < HCA_MAX_DEVS; d++)
		for (p = 0; p <= HCA_MAX_PORTS; p++)
			w->iface[d][p] = NO_IFACE;
	return w;
}

static void writer_end(struct writer *w)
{
	struct capture *c = w->c;
	int ret;

	if (w->out && load_acquire(&c->state) == CAPTURE_OPENING) {
		/* The capture was refused: remove its file. */
		pcapng_drop(w->out);
	} else if (w->out) {
		writer_count_lost(w);
		if (w->untold)
			pcapng_count(w->out, 0, 0, w->untold);
		ret = pcapng_end(w->out, w->last_ns);
		if (ret && !c->err)
			writer_fail(c, ret, "");
		writer_update_counts(w);
		pthread_mutex_lock(&c->f->captures->lock);
		c->closing = true;
		pthread_mutex_unlock(&c->f->captures->lock);
		ret = pcapng_close(w->out, w->last_ns);
		if (ret && !c->err)
			writer_fail(c, ret, "");
	} else if (c->fd >= 0) {
		close(c->fd);
	}
	capture_filter_free(&w->filter);
	free(w);
}

void *capture_writer_thread(void *arg)
{
	struct capture *c = arg;
	struct writer *w = writer_begin(c);

	prctl(PR_SET_NAME, "capture");
	if (!w) {
		writer_fail(c, ENOMEM, "");
		if (c->fd >= 0)
			close(c->fd);
	} else if (!writer_compile_filter(w) && !writer_open_file(w)) {
		w->lost = load_relaxed(&w->hca->capture.lost[c->bit]);
		writer_set_state(c, CAPTURE_READY);
		while (load_acquire(&c->state) == CAPTURE_READY)
			writer_sleep(c, NAP_MAX_MS);
		writer_run(w);
	}
	if (w)
		writer_end(w);
	writer_set_state(c, CAPTURE_ENDED);
	return NULL;
}
