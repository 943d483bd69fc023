/* SPDX-License-Identifier: MIT */
/** DOC: datagrams that arrive at a wire: see wire.h. */
#include "fabric/roce/wire.h"

#include "emulator/av.h"
#include "emulator/packet_fault.h"
#include "emulator/qp.h"
#include "emulator/transport/relay.h"
#include "emulator/transport/responder.h"
#include "emulator/transport/untrusted.h"
#include "emulator/transport/wire.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#define TURN	 (16u * EGRESS_BATCH) /* datagrams of a wire in one holding of the token */
#define AGAIN_NS (200 * NSEC_PER_USEC)

/* A group's datagram that this fabric has sent: the switch has delivered it. */
static bool datagram_is_echo(const struct roce *r, const struct roce_inbox *box, const u8 sgid[16])
{
	u32 i;

	for (i = 0; gid_is_mcast(box->gid) && i < r->n; i++)
		if (!memcmp(r->wire[i].box.gid, sgid, 16))
			return true;
	return false;
}

/*
 * Whether a datagram from an unknown address may give a peer that address: it goes to a QP that
 * takes datagrams from anybody.
 */
static bool datagram_may_introduce(struct hca *hca, const struct roce_pkt *p)
{
	const struct hca_qp *qp = hca_qp_by_num(hca, p->dqpn);

	if (p->opcode >> 5 != ROCE_UD)
		return false;
	return p->dqpn == GSI_QPN || gid_is_mcast(p->dgid) || (qp && qp->type == QPT_UD);
}

/* Whether the request is for that queue pair, whose responder takes requests. */
static bool datagram_reaches(const struct hca_qp *qp, const struct burst *b)
{
	return qp && qp_addressed(qp, b) &&
	       (qp->state == QPS_RTR || qp->state == QPS_RTS || qp->state == QPS_SQD);
}

/*
 * Whether the responder answers a portion. @direct: it has done so by now, and its PSN has come to
 * the portion's end, now or, for a duplicate, before.
 */
static bool datagram_is_answered(struct hca *hca, const struct hca_qp *qp, const struct burst *part,
				 bool direct)
{
	u32 next = psn_add(part->psn, packets_of(part->len, qp->mtu));

	return resp_allows_read(hca, qp, part) && (!direct || psn_diff(qp->resp.epsn, next) >= 0);
}

/* Bytes of a portion: what leaves in one piece, where the queue pair says how much that is. */
static u64 datagram_read_portion(const struct hca_qp *qp, const struct burst *b)
{
	return datagram_reaches(qp, b) ? min_u64(qp_chunk(qp), ROCE_READ_MAX) : ROCE_READ_MAX;
}

/*
 * Hand a READ request to the responder. Other devices ask for up to 2 GiB at once: the responder
 * answers in portions, since each of its steps is bounded. Where it refuses one, no other follows:
 * the request may be anybody's. Return: 0, or -EAGAIN: go on later.
 */
static int datagram_read(struct fabric *f, struct roce_in *in, const struct burst *b)
{
	const struct hca_qp *qp = hca_qp_by_num(f->hca, b->dst_qpn);
	u64 end = in->asked + ROCE_READ_TURN;
	struct burst part = *b;
	bool direct;
	int ret;

	while (in->asked < b->len && (!in->asked || datagram_reaches(qp, b))) {
		if (in->asked >= end)
			return -EAGAIN;
		part.off = in->asked;
		part.len = min_u64(b->len - in->asked, datagram_read_portion(qp, b));
		/* One that has never left RESET has no path MTU. */
		part.psn = in->asked ? psn_add(b->psn, in->asked / qp->mtu) : b->psn;
		direct = link_is_direct(f, &part);
		ret = link_input(f, &part);
		if (ret)
			return ret;
		in->asked += (u32)part.len;
		if (datagram_reaches(qp, b) && !datagram_is_answered(f->hca, qp, &part, direct))
			break;
	}
	return 0;
}

/* Make a burst of a packet. Return: as roce_datagram_parse(). */
static enum roce_drop datagram_to_burst(struct fabric *f, const struct roce_pkt *p,
					struct roce_in *in, u32 *fault)
{
	const struct burst *b = &in->burst.b;
	struct hca *hca = f->hca;
	int ret = roce_datagram_burst(hca, p, in, fault);

	if (ret == -ENXIO && datagram_may_introduce(hca, p) && roce_peers_introduce(f, p->sgid))
		ret = roce_datagram_burst(hca, p, in, fault);
	if (ret || !hca_dev_is_peer(hca, b->src_dev))
		return ROCE_DROP_STRANGER;
	hca_peer_use(hca, b->src_dev);
	if (b->dst_dev >= hca->n_devs && !burst_is_mcast(b))
		return ROCE_DROP_NO_PORT;
	return ROCE_DROPS;
}

/* Hand a datagram to the engine. Return: 0, or -EAGAIN: offer it again later. */
static int datagram_deliver(struct fabric *f, struct roce_inbox *box, struct roce_in *in)
{
	enum roce_drop why = ROCE_DROP_FILTERED;
	u64 *numbered = &f->hca->wires.n_numbered[box->wire - f->roce->wire];
	struct burst *b = &in->burst.b;
	struct roce_pkt p;
	u8 sgid[16];
	u32 fault;

	f->roce->bytes = in->bytes;
	if (in->held) {
		roce_datagram_resume(in);
		return link_input(f, b);
	}
	roce_datagram_source(in, sgid);
	if (datagram_is_echo(f->roce, box, sgid))
		return 0;
	if (!f->roce->filters || wire_peers_has(&f->roce->peers, sgid))
		why = roce_datagram_parse(sgid, box->gid, in, &p);
	if (why == ROCE_DROPS) {
		/* cppcheck-suppress uninitvar ; roce_datagram_parse() has set @p */
		roce_datagram_count(in, &p, numbered);
	}
	if (why == ROCE_DROPS && p.opcode == ROCE_OPCODE_CNP)
		why = roce_cnp_input(f, box->wire, &p) ? ROCE_DROPS : ROCE_DROP_STRANGER;
	else if (why == ROCE_DROPS)
		why = datagram_to_burst(f, &p, in, &fault);
	if (why != ROCE_DROPS) {
		roce_drop(f, box->wire, why, sgid);
		return 0;
	}
	if (p.opcode == ROCE_OPCODE_CNP)
		return 0;
	if (roce_is_marked(in) && !in->told) {
		in->told = true;
		roce_cnp_send(f, box->wire, &p, b);
	}
	if (fault == PKT_FAULTS && roce_read_is_long(b))
		return datagram_read(f, in, b);
	if (fault != PKT_FAULTS) {
		untrusted_drop(&f->engine, b, fault);
		return 0;
	}
	roce_merge(f->hca, in, sgid, box->gid, numbered);
	/* The kernel hands datagrams with different marks out apart. */
	if (roce_is_marked(in))
		box->wire->n.ecn_marked += b->npkts - 1;
	return link_input(f, b);
}

void roce_inbox_read(struct fabric *f, struct roce_inbox *box)
{
	int n = ingress_read(box->w.fd, box->got, box->room);

	if (n > 0)
		f->hca->wires.n_received[box->wire - f->roce->wire] += (u64)n;
}

u32 roce_inbox_events(const struct roce_inbox *box)
{
	bool out = box->wire->full == &box->w;

	return (box->paused || box->deferred ? 0u : (u32)EPOLLIN) | (out ? (u32)EPOLLOUT : 0u);
}

bool roce_inbox_has_left(const struct roce_inbox *box)
{
	return !load_acquire(&box->got->owner) && box->got->at < load_acquire(&box->got->n);
}

/* The loop waits for datagrams again when what was read before has been delivered. */
static void inbox_pause(struct fabric *f, struct roce_inbox *box)
{
	box->paused = true;
	loop_watch_events(f, &box->w, roce_inbox_events(box));
}

static void inbox_event(struct fabric *f, struct watch *watch, u32 events)
{
	struct roce_inbox *box = container_of(watch, struct roce_inbox, w);

	if (events & EPOLLOUT && box->wire->full == watch)
		roce_writable(f, box->wire);
	if (!(events & (EPOLLIN | EPOLLERR)))
		return;
	if (box->shared) {
		if (roce_defer_begin(f, box))
			return;
		/* An inbox that programs use is read with the token. */
		if (f->roce->due)
			inbox_pause(f, box);
		f->roce->due = true;
	} else if (roce_inbox_has_left(box)) {
		inbox_pause(f, box);
	} else {
		roce_inbox_read(f, box);
		f->roce->due |= box->got->n > 0;
	}
}

/* The inbox, in memory that programs can map, but not make shorter. Return: 0 or -errno. */
static int inbox_map(struct roce_inbox *box)
{
	const u64 size = ingress_box_size(box->room);
	void *at;

	box->mem_fd = memfd_create("rdmaemu-inbox", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (box->mem_fd < 0 || ftruncate(box->mem_fd, (off_t)size) ||
	    fcntl(box->mem_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, box->mem_fd, 0);
	if (at == MAP_FAILED)
		return -errno;
	box->got = at;
	return 0;
}

int roce_inbox_open(struct fabric *f, struct roce_inbox *box, int fd, u32 room)
{
	int ret;

	box->paused = box->shared = box->deferred = false;
	box->room = room;
	box->got = NULL;
	ret = inbox_map(box);
	if (!ret)
		ret = loop_watch_add(f, &box->w, fd, inbox_event);
	if (ret) {
		close(fd);
		box->w.fd = -1;
		roce_inbox_close(box);
	}
	return ret;
}

void roce_inbox_close(struct roce_inbox *box)
{
	loop_watch_close(&box->w);
	if (box->got)
		munmap(box->got, ingress_box_size(box->room));
	box->got = NULL;
	if (box->mem_fd >= 0)
		close(box->mem_fd);
	box->mem_fd = -1;
}

/* Hand over what the kernel has handed out at once. Return: 0 or -EAGAIN; @n: counts datagrams */
static int inbox_deliver_entry(struct fabric *f, struct roce_inbox *box, u32 *n)
{
	struct roce_in *in = &box->got->in[box->got->at];

	do {
		++*n;
		if (datagram_deliver(f, box, in) == -EAGAIN)
			return -EAGAIN;
	} while (roce_datagram_next(in, in->held ? in->held : in->at + in->len));
	box->got->at++;
	return 0;
}

/* Return: 0, or -EAGAIN: some datagrams remain. */
static int inbox_deliver(struct fabric *f, struct roce_inbox *box)
{
	bool read = !box->shared; /* what is there may be what a program has left: few */
	u32 n = 0;

	ingress_recover(box->got);
	while (n < TURN) {
		/* The loop may not have asked the socket for long. */
		if (!roce_inbox_has_left(box)) {
			roce_inbox_read(f, box);
			read = true;
		}
		while (roce_inbox_has_left(box) && n < TURN)
			if (inbox_deliver_entry(f, box, &n) == -EAGAIN)
				return -EAGAIN;
		if (read && box->got->n < box->room)
			break;
	}
	if (!roce_inbox_has_left(box) && box->paused) {
		box->paused = false;
		loop_watch_events(f, &box->w, roce_inbox_events(box));
	}
	return 0;
}

static void inbox_input(struct fabric *f, struct roce_inbox *box)
{
	if (inbox_deliver(f, box) == -EAGAIN)
		f->roce->retry_at = real_ns() + AGAIN_NS;
	else if (roce_inbox_has_left(box))
		f->roce->due = true;
}

bool roce_has_left(const struct fabric *f)
{
	const struct roce *r = f->roce;
	u32 i;

	for (i = 0; i < r->n; i++)
		if (r->wire[i].box.shared && roce_inbox_has_left(&r->wire[i].box))
			return r->retry_at == NEVER;
	return false;
}

bool roce_due(struct fabric *f, u64 now)
{
	const struct roce *r = f->roce;

	return r && (r->due || now >= r->retry_at || roce_defer_ends(f, now) || roce_has_left(f) ||
		     roce_groups_changed(f) || roce_peers_are_rare(f));
}

void *roce_datagrams(const struct fabric *f)
{
	return f->roce->bytes;
}

u64 roce_next(const struct fabric *f)
{
	return f->roce ? min_u64(f->roce->retry_at, f->roce->defer.check_at) : NEVER;
}

void roce_input(struct fabric *f)
{
	struct roce *r = f->roce;
	u32 i;

	r->due = false;
	r->retry_at = NEVER;
	roce_note_bursts(f);
	if (roce_groups_changed(f))
		roce_groups_update(f);
	roce_peers_keep_free(f);
	roce_defer_check(f);
	for (i = 0; i < r->n; i++)
		inbox_input(f, &r->wire[i].box);
	for (i = 0; i < ROCE_GROUPS; i++)
		if (r->group[i].box.wire)
			inbox_input(f, &r->group[i].box);
}
