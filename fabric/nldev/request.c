/* SPDX-License-Identifier: MIT */
/*
 * Requests and what answers them: a reply, an acknowledgement or error, or a dump in pieces.
 */
#include "fabric/nldev/model.h"

/** enum nldev_right - who may send a request. */
enum nldev_right {
	RIGHT_ANY,
	RIGHT_ADMIN, /* with CAP_NET_ADMIN */
};

/**
 * struct command - a command. @get, @dump: NULL: the kernel has it not
 * @err: @get is NULL: its error for those who have the right
 */
struct command {
	int (*get)(struct nldev *n, struct hca *hca, const struct nldev_request *q);
	bool (*dump)(struct nldev *n, struct hca *hca);
	enum nldev_right right;
	int err;
};

static const struct command commands[] = {
	[NLC_GET] = { nldev_get_dev, nldev_dump_devs, RIGHT_ANY, 0 },
	[NLC_SET] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	[NLC_NEWLINK] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	[NLC_DELLINK] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	[NLC_PORT_GET] = { nldev_get_port, nldev_dump_ports, RIGHT_ANY, 0 },
	[NLC_SYS_GET] = { nldev_get_system, NULL, RIGHT_ANY, 0 },
	[NLC_SYS_SET] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	[NLC_RES_GET] = { nldev_get_summary, nldev_dump_summaries, RIGHT_ANY, 0 },
	[NLC_RES_QP_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_RES_CM_ID_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_RES_CQ_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_RES_MR_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_RES_PD_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_GET_CHARDEV] = { nldev_get_chardev, NULL, RIGHT_ANY, 0 },
	[NLC_STAT_SET] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	[NLC_STAT_GET] = { nldev_get_stat, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_STAT_DEL] = { NULL, NULL, RIGHT_ADMIN, -EOPNOTSUPP },
	/* As for a driver that has no raw data of its objects. */
	[NLC_RES_QP_GET_RAW] = { NULL, NULL, RIGHT_ADMIN, -EINVAL },
	[NLC_RES_CQ_GET_RAW] = { NULL, NULL, RIGHT_ADMIN, -EINVAL },
	[NLC_RES_MR_GET_RAW] = { NULL, NULL, RIGHT_ADMIN, -EINVAL },
	[NLC_RES_CTX_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_RES_SRQ_GET] = { nldev_get_object, nldev_dump_objects, RIGHT_ANY, 0 },
	[NLC_STAT_GET_STATUS] = { nldev_get_stat_status, NULL, RIGHT_ANY, 0 },
};

/* Find the device and port of a dump. Return: 0 or the error that it ends with. */
static int dump_prepare(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	int dev, port;

	if (q->cmd == NLC_GET || q->cmd == NLC_RES_GET)
		return 0;
	dev = nldev_find_dev(n, hca, q);
	if (dev < 0)
		return dev;
	port = nldev_find_port(hca, (u32)dev, q);
	if (port < 0)
		return port;
	n->dump.dev = (u32)dev;
	n->dump.port = (u32)port;
	if (q->cmd != NLC_STAT_GET)
		return 0;
	dev = nldev_stat_res(q);
	/* Counters of queue pairs: there are none. */
	if (dev == NLA_RES_QP)
		n->dump.at = ~0u;
	return dev < 0 ? dev : 0;
}

/* Return: 0: there is a reply in @out; 1: a dump has begun; -errno. */
static int request_serve(struct nldev *n, struct hca *hca, const struct nlmsghdr *h)
{
	u32 cmd = h->nlmsg_type & 0x3ff;
	const struct command *c = cmd < ARRAY_SIZE(commands) ? &commands[cmd] : NULL;
	struct nldev_request q;
	int ret;

	if (h->nlmsg_type >> 10 != NLDEV_CLIENT || !c || (!c->get && !c->err))
		return -EINVAL;
	if (c->right == RIGHT_ADMIN && !n->admin)
		return -EPERM;
	if (!c->get)
		return c->err;
	ret = nlmsg_parse(h, &q);
	/* Either bit, as the kernel looks at it. */
	if (!(h->nlmsg_flags & NLM_F_DUMP))
		return ret ? ret : c->get(n, hca, &q);
	if (!c->dump)
		return -EINVAL;
	n->dump = (struct nldev_dump){ .on = true, .cmd = cmd, .seq = h->nlmsg_seq };
	n->dump.err = ret ? ret : dump_prepare(n, hca, &q);
	return 1;
}

/* Take one message from @in. Return: whether there is a datagram in @out. */
static bool message_take(struct nldev *n, struct hca *hca)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(n->in + n->in_pos);
	u32 left = n->in_len - n->in_pos;
	int ret = 0;

	if (left < NLMSG_HDRLEN || h->nlmsg_len < NLMSG_HDRLEN || h->nlmsg_len > left) {
		n->in_len = n->in_pos = 0;
		return false;
	}
	if ((h->nlmsg_flags & NLM_F_REQUEST) && h->nlmsg_type >= NLMSG_MIN_TYPE)
		ret = request_serve(n, hca, h);
	if (n->full) {
		n->full = false;
		n->out_len = 0;
		ret = -EMSGSIZE;
	}
	if (ret < 0 || (!ret && (h->nlmsg_flags & NLM_F_ACK)))
		n->ack = (struct nldev_ack){ true, ret, n->in_pos };
	n->in_pos += min_u32(ALIGN_UP(h->nlmsg_len, 4u), left);
	return n->out_len > 0;
}

/* An error repeats the whole request, if that fits; success its header. */
static void ack_put(struct nldev *n)
{
	const struct nlmsghdr *h = (const struct nlmsghdr *)(n->in + n->ack.pos);
	bool whole = n->ack.err && h->nlmsg_len <= NLDEV_OUT - 2 * NLMSG_HDRLEN;
	u32 len = whole ? h->nlmsg_len : NLMSG_HDRLEN;
	u8 *body = nlmsg_begin_type(n, NLMSG_ERROR, h->nlmsg_seq, whole ? 0 : NLM_F_CAPPED,
				    (u32)sizeof(int) + len);

	n->ack.due = false;
	if (!body)
		return;
	memcpy(body, &n->ack.err, sizeof(int));
	memcpy(body + sizeof(int), h, len);
	nlmsg_end(n);
}

static void dump_piece(struct nldev *n, struct hca *hca)
{
	int *err;

	if (!n->dump.err && commands[n->dump.cmd].dump(n, hca))
		return;
	n->dump.on = false;
	err = nlmsg_begin_type(n, NLMSG_DONE, n->dump.seq, NLM_F_MULTI, sizeof(int));
	if (err)
		*err = n->dump.err;
	nlmsg_end(n);
}

bool nldev_next(struct nldev *n, struct hca *hca)
{
	n->out_len = 0;
	while (n->ack.due || n->dump.on || n->in_pos < n->in_len) {
		if (n->ack.due)
			ack_put(n);
		else if (n->dump.on)
			dump_piece(n, hca);
		else if (!message_take(n, hca))
			continue;
		if (n->out_len)
			return true;
	}
	n->in_len = n->in_pos = 0;
	return false;
}
