/* SPDX-License-Identifier: MIT */
/**
 * DOC: a capture of the live queue pair's port, which writes into a pipe.
 *
 * A thread reads the pipe, since libpcap blocks until it has a whole block, and keeps the packets
 * that the queue pair has sent to its peer in a ring. The thread never blocks on the ring: if it is
 * full, packets are lost and the run ends with an error.
 */
#include "emulator/obj.h"
#include "fabric/cli/cli.h"
#include "fabric/cli/inject/tool.h"
#include "fabric/common/pcap_library.h"
#include "fabric/proto/real_time.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define TAP_PACKETS 4096u
#define TAP_BYTES   (PROTO_FRAME + 512u)
#define SETTLE_NS   (10ULL * 1000000000) /* links may be slow, or busy with other traffic */
#define LOOK_NS	    (2ULL * 1000000)

struct tap_frame {
	u32 link;
	u32 len;
	u8 bytes[TAP_BYTES];
};

/**
 * struct inject_tap - see above.
 * @ring: packets @tail to @head; free running
 * @read: packets that the capture had, of any sender
 * @ignored: a bit for each enum fault_op that is not kept
 * @sock: the connection that holds the capture
 */
struct inject_tap {
	const struct inject_live *live;
	int sock;
	FILE *in;
	struct pcap_library pcap;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t more;
	u32 head, tail;
	u64 read;
	u64 ignored;
	bool ended, lost;
	struct tap_frame *ring;
	u8 taken[TAP_BYTES];
};

/*
 * Whether a packet is from the queue pair to its peer, or to a multicast group that the peer may
 * have joined.
 */
static bool inject_tap_is_from_qp(const struct inject_tap *t, const struct roce_pkt *p)
{
	const struct proto_inject *q = &t->live->q;

	if (q->type == QPT_UD && inject_is_multicast(p))
		return p->sqpn == q->qpn;
	if (q->link_layer == LINK_INFINIBAND) {
		if (p->slid != q->lid || (q->peer_lid && p->dlid != q->peer_lid))
			return false;
	} else if (memcmp(p->sgid, q->gid, 16) != 0 || memcmp(p->dgid, q->peer_gid, 16) != 0) {
		return false;
	}
	return q->type == QPT_UD ? p->sqpn == q->qpn || p->sqpn == GSI_QPN
				 : p->dqpn == q->peer_qpn || p->dqpn == GSI_QPN;
}

/* Lock held. */
static void inject_tap_keep(struct inject_tap *t, u32 link, const u8 *bytes, u32 len)
{
	struct tap_frame *f;

	if (t->head - t->tail == TAP_PACKETS || len > TAP_BYTES) {
		t->lost = true;
	} else {
		f = &t->ring[t->head++ % TAP_PACKETS];
		f->link = link;
		f->len = len;
		memcpy(f->bytes, bytes, len);
	}
}

static void *inject_tap_thread(void *arg)
{
	struct inject_tap *t = arg;
	char err[PCAP_ERRBUF_SIZE];
	pcap_t *in = t->pcap.fopen_offline(t->in, err);
	struct pcap_pkthdr *h;
	struct roce_pkt p;
	const u8 *bytes;
	bool ours;
	u32 link;

	if (in) {
		link = (u32)t->pcap.datalink(in);
		while (t->pcap.next_ex(in, &h, &bytes) == 1) {
			ours = !roce_parse(link, bytes, h->caplen, h->len, &p) &&
			       inject_tap_is_from_qp(t, &p);
			pthread_mutex_lock(&t->lock);
			if (ours && !(t->ignored & BIT64(inject_pkt_op(&p))))
				inject_tap_keep(t, link, bytes, h->caplen);
			t->read++;
			pthread_cond_signal(&t->more);
			pthread_mutex_unlock(&t->lock);
		}
		t->pcap.close(in);
	} else {
		fclose(t->in);
	}
	pthread_mutex_lock(&t->lock);
	t->ended = true;
	pthread_cond_signal(&t->more);
	pthread_mutex_unlock(&t->lock);
	return NULL;
}

/* Start the capture. Return: the pipe to read from, or -1 after one line on stderr. */
static int inject_tap_start(const struct opts *o, struct inject_tap *t, const char *path)
{
	const struct proto_inject *q = &t->live->q;
	struct proto_msg m = { .op = PROTO_CAPTURE_START, .flags = PROTO_F_HOLD };
	int fd[2], ret;

	snprintf(m.capture.node, sizeof(m.capture.node), "%s", q->node);
	snprintf(m.capture.dev, sizeof(m.capture.dev), "%s", q->dev);
	m.capture.port = q->port;
	snprintf(m.capture.path, sizeof(m.capture.path), "replay --inject");
	t->sock = ctl_connect(path);
	if (t->sock < 0)
		return -ctl_print_error(o, t->sock);
	if (pipe2(fd, O_CLOEXEC))
		return print_error("replay: a pipe: %s", strerror(errno));
	ret = ctl_call_fd(t->sock, &m, fd[1]);
	close(fd[1]);
	if (!ret)
		return fd[0];
	close(fd[0]);
	return print_error("replay: the packets of %s cannot be captured: %s", q->dev,
			   m.capture.text[0] ? m.capture.text : strerror(-ret));
}

static void inject_tap_free(struct inject_tap *t)
{
	if (t->sock >= 0)
		close(t->sock);
	free(t->ring);
	free(t);
}

struct inject_tap *inject_tap_open(const struct opts *o, const char *sock,
				   const struct inject_live *live)
{
	struct inject_tap *t = calloc(1, sizeof(*t));
	char why[PCAP_ERRBUF_SIZE];
	pthread_condattr_t attr;
	int fd = -1;

	if (!t) {
		print_error("replay: %s", strerror(ENOMEM));
		return NULL;
	}
	t->live = live;
	t->sock = -1;
	t->ring = calloc(TAP_PACKETS, sizeof(*t->ring));
	if (!t->ring)
		print_error("replay: %s", strerror(ENOMEM));
	else if (pcap_library_load(&t->pcap, why))
		print_error("replay: %s", why);
	else
		fd = inject_tap_start(o, t, sock);
	t->in = fd >= 0 ? fdopen(fd, "rb") : NULL;
	if (!t->in) {
		if (fd >= 0) {
			print_error("replay: %s", strerror(errno));
			close(fd);
		}
		inject_tap_free(t);
		return NULL;
	}
	pthread_mutex_init(&t->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&t->more, &attr);
	pthread_condattr_destroy(&attr);
	if (!pthread_create(&t->thread, NULL, inject_tap_thread, t))
		return t;
	print_error("replay: a thread: %s", strerror(EAGAIN));
	fclose(t->in);
	inject_tap_free(t);
	return NULL;
}

/* Return: as inject_tap_next(), without waiting for packets on their way here. */
static int inject_tap_take(struct inject_tap *t, u64 until, struct roce_pkt *p)
{
	struct timespec ts = { .tv_sec = (time_t)(until / 1000000000),
			       .tv_nsec = (long)(until % 1000000000) };
	const struct tap_frame *f;
	int ret = 0;

	pthread_mutex_lock(&t->lock);
	while (t->head == t->tail && !t->ended && !t->lost && !ret)
		ret = pthread_cond_timedwait(&t->more, &t->lock, &ts);
	if (t->lost) {
		ret = -ENOBUFS;
	} else if (t->head == t->tail) {
		ret = t->ended ? -EPIPE : -ETIMEDOUT;
	} else {
		f = &t->ring[t->tail++ % TAP_PACKETS];
		memcpy(t->taken, f->bytes, f->len);
		ret = roce_parse(f->link, t->taken, f->len, f->len, p);
	}
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/*
 * Wait until all packets that have been sent by now are in the ring: on a busy machine that may
 * take any time.
 * Return: 0, or -EPIPE.
 */
static int inject_tap_settle(struct inject_tap *t)
{
	static struct proto_msg m;
	u64 until = real_ns() + SETTLE_NS;
	int ret;

	m = (struct proto_msg){ .op = PROTO_INJECT_SETTLED, .settled.qpn = t->live->q.qpn };
	while ((ret = ctl_call(t->sock, &m, NULL)) == -EAGAIN && real_ns() < until)
		inject_sleep(LOOK_NS);
	if (ret && ret != -EAGAIN)
		return -EPIPE;
	pthread_mutex_lock(&t->lock);
	while (!ret && t->read < m.settled.packets && !t->ended)
		pthread_cond_wait(&t->more, &t->lock);
	pthread_mutex_unlock(&t->lock);
	return 0;
}

int inject_tap_next(struct inject_tap *t, u64 until, struct roce_pkt *p)
{
	int ret = inject_tap_take(t, until, p);

	if (ret != -ETIMEDOUT)
		return ret;
	ret = inject_tap_settle(t);
	return ret ? ret : inject_tap_take(t, 0, p);
}

int inject_tap_ignore(struct inject_tap *t, u64 ops)
{
	int ret = inject_tap_settle(t);

	pthread_mutex_lock(&t->lock);
	t->ignored = ops;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

void inject_tap_close(struct inject_tap *t)
{
	/* Closing the connection ends the capture, which closes the pipe. */
	close(t->sock);
	t->sock = -1;
	pthread_join(t->thread, NULL);
	pthread_cond_destroy(&t->more);
	pthread_mutex_destroy(&t->lock);
	inject_tap_free(t);
}
