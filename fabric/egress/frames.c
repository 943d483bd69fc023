/* SPDX-License-Identifier: MIT */
/**
 * DOC: from frames to system calls.
 *
 * Frames of one length, which fabric/packet/ numbers from 0, leave in one piece: the kernel carries
 * them through its stack as one datagram and cuts that at its end (UDP_SEGMENT), or hands it to a
 * peer on the same host as it is. It refuses that for sockets without UDP checksums, with which all
 * other bursts leave: so a socket's checksums are turned on for a burst with a piece, and stay so
 * until another burst leaves by it. A burst takes one sendmmsg.
 */
#include "fabric/egress/calls.h"
#include "fabric/egress/egress.h"

#include <linux/udp.h>
#include <netinet/in.h>

#define FRAME_PARTS 3u

/**
 * struct frames_out - frames on their way.
 * @wire: the number of their wire
 * @head: bytes of each that the kernel writes
 * @room: where the frames of the next piece go
 */
struct frames_out {
	struct egress *egress;
	struct egress_socket *s;
	u32 wire;
	u8 *room;
	bool v4;
	u8 tclass;
	u32 head;
	const struct egress_batch *batch;
	socklen_t to_len;
	struct sockaddr_in to4;
	struct sockaddr_in6 to6;
};

/* Control messages: the traffic class, and where the kernel cuts. */
union frames_control {
	struct cmsghdr align;
	u8 buf[CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(u16))];
};

static void frames_add_control(struct msghdr *m, union frames_control *ctl, int level, int type,
			       const void *value, u32 len)
{
	struct cmsghdr *c = (void *)(ctl->buf + m->msg_controllen);

	m->msg_control = ctl;
	m->msg_controllen += CMSG_SPACE(len);
	c->cmsg_level = level;
	c->cmsg_type = type;
	c->cmsg_len = CMSG_LEN(len);
	memcpy(CMSG_DATA(c), value, len);
}

/* The parts of a frame, three at most, without the headers that the kernel writes. */
static u32 frames_add_parts(const struct frames_out *o, const struct roce_frame *fr,
			    struct iovec *iov)
{
	u32 n = 0;

	iov[n++] = (struct iovec){ (void *)(fr->head + o->head), fr->head_len - o->head };
	if (fr->payload_len)
		iov[n++] = (struct iovec){ (void *)fr->payload, fr->payload_len };
	iov[n++] = (struct iovec){ (void *)fr->tail, fr->tail_len };
	return n;
}

static u8 *frames_append(u8 *at, const struct iovec *part)
{
	memcpy(at, part->iov_base, part->iov_len);
	return at + part->iov_len;
}

/* Whether there is room between the payloads of frames for just what leaves with these. */
static bool frames_lie_apart(const struct frames_out *o, const struct roce_frame *fr, u32 n)
{
	u32 i;

	for (i = 1; i < n; i++)
		if (fr[i].payload != fr[i - 1].payload + fr[i - 1].payload_len +
					     fr[i - 1].tail_len + fr[i].head_len - o->head)
			return false;
	return true;
}

/* Make a piece where the payloads of its frames are. */
static struct iovec frames_complete(const struct frames_out *o, const struct roce_frame *fr, u32 n)
{
	u8 *at = (u8 *)fr->payload - (fr->head_len - o->head);
	struct iovec whole = { .iov_base = at };
	u32 i, head;

	for (i = 0; i < n; i++) {
		head = fr[i].head_len - o->head;
		memcpy(at, fr[i].head + o->head, head);
		at += head + fr[i].payload_len;
		memcpy(at, fr[i].tail, fr[i].tail_len);
		at += fr[i].tail_len;
	}
	whole.iov_len = (size_t)(at - (u8 *)whole.iov_base);
	return whole;
}

/*
 * Join the frames of a piece. The kernel copies with `rep movsb`, which costs more for three parts
 * of each frame, none aligned as its destination is, than a second copy here.
 */
static struct iovec frames_join(struct frames_out *o, const struct roce_frame *fr, u32 n)
{
	struct iovec part[FRAME_PARTS], whole = { .iov_base = o->room };
	u32 i, k, parts;

	if (frames_lie_apart(o, fr, n))
		return frames_complete(o, fr, n);
	for (i = 0; i < n; i++) {
		parts = frames_add_parts(o, fr + i, part);
		for (k = 0; k < parts; k++)
			o->room = frames_append(o->room, &part[k]);
	}
	whole.iov_len = (size_t)(o->room - (u8 *)whole.iov_base);
	return whole;
}

/* A message of @n frames from number @from on. @iov: room for the parts of one */
static struct msghdr frames_message(struct frames_out *o, u32 from, u32 n, struct iovec *iov,
				    union frames_control *ctl)
{
	struct msghdr m = { .msg_name = o->v4 ? (void *)&o->to4 : &o->to6,
			    .msg_namelen = o->to_len,
			    .msg_iov = iov,
			    .msg_iovlen = 1 };
	const struct roce_frame *fr = o->egress->frames + from;
	const u16 step = (u16)(fr->head_len - o->head + fr->payload_len + fr->tail_len);
	const int tclass = o->tclass;

	if (n > 1)
		*iov = frames_join(o, fr, n);
	else
		m.msg_iovlen = frames_add_parts(o, fr, iov);
	if (tclass)
		frames_add_control(&m, ctl, o->v4 ? IPPROTO_IP : IPPROTO_IPV6,
				   o->v4 ? IP_TOS : IPV6_TCLASS, &tclass, sizeof(tclass));
	if (n > 1)
		frames_add_control(&m, ctl, IPPROTO_UDP, UDP_SEGMENT, &step, sizeof(step));
	return m;
}

static bool frames_must_wait(int err)
{
	return err == EAGAIN || err == ENOBUFS;
}

static void frames_set_sums(struct frames_out *o, bool on)
{
	if (o->s->sums != on)
		egress_socket_set_sums(o->s->fd, o->v4, on);
	o->s->sums = on;
}

/* Processes count without the token. */
static void count_add(u64 *count, u64 n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

void egress_count_lost(struct hca *hca, const struct cap_rec *rec, u32 n)
{
	count_add(&hca->wires.n_lost[egress_wire(hca, rec->sgid) % HCA_WIRES], n);
}

/*
 * Send the first frame of a piece that was refused on its own. It is numbered 0, as a single frame
 * is. Return: 0, or errno's value.
 */
static int frames_send_first(struct frames_out *o, u32 from)
{
	union frames_control ctl;
	struct iovec iov[FRAME_PARTS];
	struct mmsghdr m = { .msg_hdr = frames_message(o, from, 1, iov, &ctl) };
	int ret = egress_call_sendmmsg(o->s->fd, &m, 1);

	return ret < 0 ? -ret : 0;
}

/*
 * The first message was not taken, @n frames from number @from on. Return: how many of them are
 * lost; 0: the socket is full.
 */
static u32 frames_lose(struct frames_out *o, u32 from, u32 n, int err)
{
	struct hca_wires *wires = &o->egress->hca->wires;
	const u32 why = (u32)err;
	u32 sent = 0;

	if (n > 1 && (err == EIO || err == EINVAL || err == EOPNOTSUPP)) {
		/* Linux before 6.14 says EINVAL also where the path MTU is less than a frame. */
		err = frames_send_first(o, from);
		sent = !err;
	}
	if (frames_must_wait(err))
		return 0;
	if (sent) {
		/* The kernel does not cut for that interface: no piece leaves any more. */
		wires->bursts_error = why;
		store_relaxed(&wires->bursts, 0);
	} else {
		/* An ICMP error of an earlier datagram, or the like. */
		o->egress->refused = err;
	}
	count_add(&wires->n_sent[o->wire], sent);
	count_add(&wires->n_lost[o->wire], n - sent);
	return n;
}

/* Send frames from number @from on. Return: how many were taken or lost; 0: the socket is full. */
static u32 frames_send(struct frames_out *o, u32 from)
{
	union frames_control ctl[EGRESS_BATCH];
	struct mmsghdr m[EGRESS_BATCH];
	struct iovec iov[EGRESS_BATCH][FRAME_PARTS];
	u32 n = 0, at;
	int ret, i;

	o->room = o->egress->pieces;
	for (at = from; at < o->batch->n; at += o->batch->run[at], n++)
		m[n].msg_hdr = frames_message(o, at, o->batch->run[at], iov[n], &ctl[n]);
	ret = egress_call_sendmmsg(o->s->fd, m, n);
	if (ret <= 0)
		return frames_lose(o, from, o->batch->run[from], -ret);
	for (i = 0, at = from; i < ret; i++)
		at += o->batch->run[at];
	count_add(&o->egress->hca->wires.n_sent[o->wire], at - from);
	return at - from;
}

u32 egress_frames(struct egress *egress, struct egress_socket *s, const struct cap_rec *rec,
		  const struct egress_batch *batch)
{
	struct frames_out o = { .egress = egress,
				.s = s,
				.wire = egress_wire(egress->hca, rec->sgid) % HCA_WIRES,
				.v4 = gid_is_v4(rec->dgid),
				.tclass = rec->av.traffic_class,
				.head = ROCE_ETH + roce_ip_udp(rec->dgid),
				.batch = batch,
				.to4 = { .sin_family = AF_INET, .sin_port = htons(ROCE_UDP_PORT) },
				.to6 = { .sin6_family = AF_INET6,
					 .sin6_port = htons(ROCE_UDP_PORT) } };
	u32 done = 0, n = 1;

	memcpy(&o.to4.sin_addr, rec->dgid + 12, 4);
	memcpy(&o.to6.sin6_addr, rec->dgid, 16);
	o.to_len = o.v4 ? sizeof(o.to4) : sizeof(o.to6);
	frames_set_sums(&o, batch->sums);
	for (; done < batch->n && n; done += n)
		n = frames_send(&o, done);
	return done;
}
