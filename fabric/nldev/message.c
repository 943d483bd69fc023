/* SPDX-License-Identifier: MIT */
/* Messages of netlink: headers and attributes, see netlink(7). */
#include "fabric/nldev/model.h"

static void *out_reserve(struct nldev *n, u32 len)
{
	u32 room = ALIGN_UP(len, 4u);
	void *at = n->out + n->out_len;

	if (n->full || room > NLDEV_OUT - n->out_len) {
		n->full = true;
		return NULL;
	}
	memset(at, 0, room);
	n->out_len += room;
	return at;
}

void *nlmsg_begin_type(struct nldev *n, u32 type, u32 seq, u32 flags, u32 len)
{
	struct nlmsghdr *h;

	n->msg = n->out_len;
	h = out_reserve(n, NLMSG_HDRLEN + len);
	if (!h)
		return NULL;
	h->nlmsg_type = (u16)type;
	h->nlmsg_flags = (u16)flags;
	h->nlmsg_seq = seq;
	h->nlmsg_pid = n->portid;
	return NLMSG_DATA(h);
}

void nlmsg_begin(struct nldev *n, u32 cmd, u32 seq, u32 flags)
{
	nlmsg_begin_type(n, NLDEV_CLIENT << 10 | cmd, seq, flags, 0);
}

void nlmsg_end(struct nldev *n)
{
	struct nlmsghdr *h = (struct nlmsghdr *)(n->out + n->msg);

	if (n->out_len >= n->msg + sizeof(*h))
		h->nlmsg_len = n->out_len - n->msg;
}

void nlattr_put(struct nldev *n, u32 type, const void *data, u32 len)
{
	struct nlattr *a = out_reserve(n, NLA_HDRLEN + len);

	if (!a)
		return;
	a->nla_type = (u16)type;
	a->nla_len = (u16)(NLA_HDRLEN + len);
	memcpy((u8 *)a + NLA_HDRLEN, data, len);
}

void nlattr_put_u8(struct nldev *n, u32 type, u8 value)
{
	nlattr_put(n, type, &value, sizeof(value));
}

void nlattr_put_u32(struct nldev *n, u32 type, u32 value)
{
	nlattr_put(n, type, &value, sizeof(value));
}

void nlattr_put_u64(struct nldev *n, u32 type, u64 value)
{
	nlattr_put(n, type, &value, sizeof(value));
}

void nlattr_put_str(struct nldev *n, u32 type, const char *text, u32 max)
{
	u32 len = (u32)strnlen(text, max);
	struct nlattr *a = out_reserve(n, NLA_HDRLEN + len + 1);

	if (!a)
		return;
	a->nla_type = (u16)type;
	a->nla_len = (u16)(NLA_HDRLEN + len + 1);
	memcpy((u8 *)a + NLA_HDRLEN, text, len);
}

u32 nlattr_nest(struct nldev *n, u32 type)
{
	u32 nest = n->out_len;
	struct nlattr *a = out_reserve(n, NLA_HDRLEN);

	/* Without NLA_F_NESTED: nldev is older than that flag's use. */
	if (a)
		a->nla_type = (u16)type;
	return nest;
}

void nlattr_nest_end(struct nldev *n, u32 nest)
{
	struct nlattr *a = (struct nlattr *)(n->out + nest);

	if (n->out_len >= nest + sizeof(*a))
		a->nla_len = (u16)(n->out_len - nest);
}

/* Least lengths of attributes that requests are read for; 0: any length. */
static u32 attr_min_len(u32 type)
{
	switch (type) {
	case NLA_DEV_INDEX:
	case NLA_PORT_INDEX:
	case NLA_RES_LQPN:
	case NLA_RES_PDN:
	case NLA_RES_CQN:
	case NLA_RES_MRN:
	case NLA_RES_CM_IDN:
	case NLA_RES_CTXN:
	case NLA_RES_SRQN:
	case NLA_STAT_MODE:
	case NLA_STAT_RES:
	case NLA_STAT_COUNTER_ID:
		return sizeof(u32);
	case NLA_CHARDEV_TYPE:
		return 1;
	default:
		return 0;
	}
}

int nlmsg_parse(const struct nlmsghdr *h, struct nldev_request *q)
{
	const u8 *at = (const u8 *)h + NLMSG_HDRLEN, *end = (const u8 *)h + h->nlmsg_len;
	const struct nlattr *a;
	u32 type, len;

	memset(q, 0, sizeof(*q));
	q->cmd = h->nlmsg_type & 0x3ff;
	q->seq = h->nlmsg_seq;
	/* As the kernel does: bytes after the last whole attribute are no error. */
	for (; end - at >= NLA_HDRLEN; at += min_u64(ALIGN_UP((u64)len, 4u), (u64)(end - at))) {
		a = (const struct nlattr *)at;
		type = a->nla_type & NLA_TYPE_MASK;
		len = a->nla_len;
		if (len < NLA_HDRLEN || len > (size_t)(end - at))
			break;
		if (!type || type >= NLA_WANTED)
			continue;
		if (len - NLA_HDRLEN < attr_min_len(type))
			return -EINVAL;
		q->attr[type] = a;
	}
	return 0;
}

u32 nlattr_u32(const struct nldev_request *q, u32 type)
{
	u32 value;

	memcpy(&value, (const u8 *)q->attr[type] + NLA_HDRLEN, sizeof(value));
	return value;
}
