/* SPDX-License-Identifier: MIT */
/* Devices, ports, settings of the whole RDMA subsystem, and device nodes. */
#include "emulator/port_counter.h"
#include "fabric/nldev/model.h"

#include <stdio.h>

#define NODE_TYPE_CA	1 /* RDMA_NODE_IB_CA */
#define PHYS_LINK_UP	5
#define PHYS_DISABLED	3
#define PORT_CM_SUP	(1u << 16)
#define UVERBS_MAJOR	231u
#define UVERBS_MINOR	192u
#define UVERBS_ABI	1u
#define NETNS_IS_SHARED 1

int nldev_find_dev(const struct nldev *n, const struct hca *hca, const struct nldev_request *q)
{
	const struct hca_node *node = &hca->node[n->node];
	u32 index;

	if (!nlattr_has(q, NLA_DEV_INDEX))
		return -EINVAL;
	index = nlattr_u32(q, NLA_DEV_INDEX);
	return index < node->n_devs ? (int)(node->first_dev + index) : -EINVAL;
}

int nldev_find_port(const struct hca *hca, u32 dev, const struct nldev_request *q)
{
	u32 port;

	if (!nlattr_has(q, NLA_PORT_INDEX))
		return 0;
	port = nlattr_u32(q, NLA_PORT_INDEX);
	return port - 1 < min_u32(hca->dev[dev].n_ports, HCA_MAX_PORTS) ? (int)port : -EINVAL;
}

void nldev_put_handle(struct nldev *n, const struct hca_dev *d)
{
	nlattr_put_u32(n, NLA_DEV_INDEX, d->number);
	nlattr_put_str(n, NLA_DEV_NAME, d->name, sizeof(d->name));
}

static void dev_put(struct nldev *n, const struct hca_dev *d)
{
	nldev_put_handle(n, d);
	nlattr_put_u32(n, NLA_PORT_INDEX, d->n_ports);
	nlattr_put_u64(n, NLA_CAP_FLAGS, d->lim.caps);
	if (d->fw[0])
		nlattr_put_str(n, NLA_FW_VERSION, d->fw, sizeof(d->fw));
	nlattr_put_u64(n, NLA_NODE_GUID, d->guid);
	nlattr_put_u64(n, NLA_SYS_IMAGE_GUID, d->guid);
	nlattr_put_u8(n, NLA_DEV_NODE_TYPE, NODE_TYPE_CA);
	nlattr_put_u8(n, NLA_DEV_DIM, 0);
	nlattr_put_str(n, NLA_DEV_PROTOCOL, d->link_layer == LINK_ETHERNET ? "roce" : "ib", 8);
}

/* The interface that a RoCE port is on. */
static void port_put_ndev(struct nldev *n, const struct hca_port *p)
{
	u32 i;

	for (i = 0; i < HCA_GIDS; i++) {
		const struct hca_gid *g = &p->gid[i];

		if (!g->valid || !g->ndev[0])
			continue;
		nlattr_put_u32(n, NLA_NDEV_INDEX, g->ifindex);
		nlattr_put_str(n, NLA_NDEV_NAME, g->ndev, sizeof(g->ndev));
		return;
	}
}

static void port_put(struct nldev *n, const struct hca_dev *d, u32 port)
{
	const struct hca_port *p = &d->port[port];
	u64 prefix = 0;
	u32 i;

	nldev_put_handle(n, d);
	nlattr_put_u32(n, NLA_PORT_INDEX, port);
	if (d->link_layer == LINK_INFINIBAND) {
		for (i = 0; i < 8; i++)
			prefix = prefix << 8 | p->gid[0].raw[i];
		nlattr_put_u64(n, NLA_CAP_FLAGS, PORT_CM_SUP);
		nlattr_put_u64(n, NLA_SUBNET_PREFIX, prefix);
		nlattr_put_u32(n, NLA_LID, p->lid);
		nlattr_put_u32(n, NLA_SM_LID, p->sm_lid);
		nlattr_put_u8(n, NLA_LMC, 0);
	}
	nlattr_put_u8(n, NLA_PORT_STATE, (u8)p->state);
	nlattr_put_u8(n, NLA_PORT_PHYS_STATE,
		      p->state == PORT_ACTIVE ? PHYS_LINK_UP : PHYS_DISABLED);
	if (d->link_layer == LINK_ETHERNET)
		port_put_ndev(n, p);
}

int nldev_get_dev(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	int dev = nldev_find_dev(n, hca, q);

	if (dev < 0)
		return dev;
	nlmsg_begin(n, NLC_GET, q->seq, 0);
	dev_put(n, &hca->dev[dev]);
	nlmsg_end(n);
	return 0;
}

int nldev_get_port(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	int dev = nldev_find_dev(n, hca, q), port = dev < 0 ? dev : nldev_find_port(hca, dev, q);

	if (port <= 0)
		return -EINVAL;
	/* The kernel's answer has this type, too. */
	nlmsg_begin(n, NLC_GET, q->seq, 0);
	port_put(n, &hca->dev[dev], (u32)port);
	nlmsg_end(n);
	return 0;
}

int nldev_get_system(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	(void)hca;
	nlmsg_begin(n, NLC_SYS_GET, q->seq, 0);
	nlattr_put_u8(n, NLA_SYS_NETNS_MODE, NETNS_IS_SHARED);
	nlattr_put_u8(n, NLA_SYS_COPY_ON_FORK, 1);
	nlmsg_end(n);
	return 0;
}

/* A device number as the kernel gives it to programs: huge_encode_dev(). */
static u64 chardev_number(u32 major, u32 minor)
{
	return (minor & 0xff) | major << 8 | (u64)(minor & ~0xffu) << 12;
}

int nldev_get_chardev(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	static const char uverbs[] = "uverbs";
	const struct nlattr *type = q->attr[NLA_CHARDEV_TYPE];
	char name[24];
	int dev;

	if (!type)
		return -EINVAL;
	/* umad, issm and rdma_cm have no nodes. */
	if (type->nla_len != NLA_HDRLEN + sizeof(uverbs) ||
	    memcmp((const u8 *)type + NLA_HDRLEN, uverbs, sizeof(uverbs)) != 0)
		return -ENODEV;
	dev = nldev_find_dev(n, hca, q);
	if (dev < 0)
		return dev;
	snprintf(name, sizeof(name), "uverbs%u", hca->dev[dev].number);
	nlmsg_begin(n, NLC_GET_CHARDEV, q->seq, 0);
	nlattr_put_u64(n, NLA_CHARDEV,
		       chardev_number(UVERBS_MAJOR, UVERBS_MINOR + hca->dev[dev].number));
	nlattr_put_u64(n, NLA_CHARDEV_ABI, UVERBS_ABI);
	nlattr_put_str(n, NLA_CHARDEV_NAME, name, sizeof(name));
	nlmsg_end(n);
	return 0;
}

/* Close a message of a dump. Return: whether it fits; if not, it is not there. */
static bool dump_msg_end(struct nldev *n)
{
	if (n->full) {
		n->full = false;
		n->out_len = n->msg;
		return false;
	}
	nlmsg_end(n);
	n->dump.at++;
	return true;
}

bool nldev_dump_devs(struct nldev *n, struct hca *hca)
{
	const struct hca_node *node = &hca->node[n->node];

	while (n->dump.at < node->n_devs) {
		nlmsg_begin(n, NLC_GET, n->dump.seq, NLM_F_MULTI);
		dev_put(n, &hca->dev[node->first_dev + n->dump.at]);
		if (!dump_msg_end(n))
			return true;
	}
	return n->out_len > 0;
}

bool nldev_dump_ports(struct nldev *n, struct hca *hca)
{
	const struct hca_dev *d = &hca->dev[n->dump.dev];

	while (n->dump.at < min_u32(d->n_ports, HCA_MAX_PORTS)) {
		nlmsg_begin(n, NLC_PORT_GET, n->dump.seq, NLM_F_MULTI);
		port_put(n, d, n->dump.at + 1);
		if (!dump_msg_end(n))
			return true;
	}
	return n->out_len > 0;
}
