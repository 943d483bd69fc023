/* SPDX-License-Identifier: MIT */
/**
 * DOC: what the files of this folder share: numbers of the kernel's interface, the
 * builder of messages, and the requests that they answer.
 */
#ifndef FABRIC_NLDEV_MODEL_H
#define FABRIC_NLDEV_MODEL_H

#include "fabric/nldev/nldev.h"

#define NLDEV_CLIENT 5u /* RDMA_NL_NLDEV */

/** enum nldev_cmd - RDMA_NLDEV_CMD_*. */
enum nldev_cmd {
	NLC_GET = 1,
	NLC_SET = 2,
	NLC_NEWLINK = 3,
	NLC_DELLINK = 4,
	NLC_PORT_GET = 5,
	NLC_SYS_GET = 6,
	NLC_SYS_SET = 7,
	NLC_RES_GET = 9,
	NLC_RES_QP_GET = 10,
	NLC_RES_CM_ID_GET = 11,
	NLC_RES_CQ_GET = 12,
	NLC_RES_MR_GET = 13,
	NLC_RES_PD_GET = 14,
	NLC_GET_CHARDEV = 15,
	NLC_STAT_SET = 16,
	NLC_STAT_GET = 17,
	NLC_STAT_DEL = 18,
	NLC_RES_QP_GET_RAW = 19,
	NLC_RES_CQ_GET_RAW = 20,
	NLC_RES_MR_GET_RAW = 21,
	NLC_RES_CTX_GET = 22,
	NLC_RES_SRQ_GET = 23,
	NLC_STAT_GET_STATUS = 24,
};

/** enum nldev_attr - RDMA_NLDEV_ATTR_*. */
enum nldev_attr {
	NLA_DEV_INDEX = 1,
	NLA_DEV_NAME = 2,
	NLA_PORT_INDEX = 3,
	NLA_CAP_FLAGS = 4,
	NLA_FW_VERSION = 5,
	NLA_NODE_GUID = 6,
	NLA_SYS_IMAGE_GUID = 7,
	NLA_SUBNET_PREFIX = 8,
	NLA_LID = 9,
	NLA_SM_LID = 10,
	NLA_LMC = 11,
	NLA_PORT_STATE = 12,
	NLA_PORT_PHYS_STATE = 13,
	NLA_DEV_NODE_TYPE = 14,
	NLA_RES_SUMMARY = 15,
	NLA_RES_SUMMARY_ENTRY = 16,
	NLA_RES_SUMMARY_ENTRY_NAME = 17,
	NLA_RES_SUMMARY_ENTRY_CURR = 18,
	NLA_RES_QP = 19,
	NLA_RES_QP_ENTRY = 20,
	NLA_RES_LQPN = 21,
	NLA_RES_RQPN = 22,
	NLA_RES_RQ_PSN = 23,
	NLA_RES_SQ_PSN = 24,
	NLA_RES_PATH_MIG_STATE = 25,
	NLA_RES_TYPE = 26,
	NLA_RES_STATE = 27,
	NLA_RES_PID = 28,
	NLA_RES_CM_ID = 30,
	NLA_RES_CM_ID_ENTRY = 31,
	NLA_RES_PS = 32,
	NLA_RES_SRC_ADDR = 33,
	NLA_RES_DST_ADDR = 34,
	NLA_RES_CQ = 35,
	NLA_RES_CQ_ENTRY = 36,
	NLA_RES_CQE = 37,
	NLA_RES_USECNT = 38,
	NLA_RES_MR = 40,
	NLA_RES_MR_ENTRY = 41,
	NLA_RES_RKEY = 42,
	NLA_RES_LKEY = 43,
	NLA_RES_MRLEN = 45,
	NLA_RES_PD = 46,
	NLA_RES_PD_ENTRY = 47,
	NLA_NDEV_INDEX = 50,
	NLA_NDEV_NAME = 51,
	NLA_RES_PDN = 60,
	NLA_RES_CQN = 61,
	NLA_RES_MRN = 62,
	NLA_RES_CM_IDN = 63,
	NLA_RES_CTXN = 64,
	NLA_SYS_NETNS_MODE = 66,
	NLA_DEV_PROTOCOL = 67,
	NLA_CHARDEV_TYPE = 69,
	NLA_CHARDEV_NAME = 70,
	NLA_CHARDEV_ABI = 71,
	NLA_CHARDEV = 72,
	NLA_STAT_MODE = 74,
	NLA_STAT_RES = 75,
	NLA_STAT_COUNTER_ID = 78,
	NLA_STAT_HWCOUNTERS = 80,
	NLA_STAT_HWCOUNTER_ENTRY = 81,
	NLA_STAT_HWCOUNTER_ENTRY_NAME = 82,
	NLA_STAT_HWCOUNTER_ENTRY_VALUE = 83,
	NLA_DEV_DIM = 84,
	NLA_RES_CTX = 86,
	NLA_RES_CTX_ENTRY = 87,
	NLA_RES_SRQ = 88,
	NLA_RES_SRQ_ENTRY = 89,
	NLA_RES_SRQN = 90,
	NLA_MIN_RANGE = 91,
	NLA_MAX_RANGE = 92,
	NLA_SYS_COPY_ON_FORK = 93,
	NLA_STAT_HWCOUNTER_INDEX = 94,
	NLA_WANTED = 96, /* attributes of a request with that number and above are ignored */
};

/** struct nldev_request - a request, parsed. @attr: by type; NULL: not there */
struct nldev_request {
	u32 cmd; /* enum nldev_cmd */
	u32 seq;
	const struct nlattr *attr[NLA_WANTED];
};

/* --- message.c --- */

/* A message that does not fit sets @full, and what is too much of it is left out. */

/** nlmsg_begin() - begin a message of type @cmd in @out. */
void nlmsg_begin(struct nldev *n, u32 cmd, u32 seq, u32 flags);
/** nlmsg_begin_type() - the same, of any type, with room for @len bytes after the header. */
void *nlmsg_begin_type(struct nldev *n, u32 type, u32 seq, u32 flags, u32 len);
void nlmsg_end(struct nldev *n);
void nlattr_put(struct nldev *n, u32 type, const void *data, u32 len);
void nlattr_put_u8(struct nldev *n, u32 type, u8 value);
void nlattr_put_u32(struct nldev *n, u32 type, u32 value);
void nlattr_put_u64(struct nldev *n, u32 type, u64 value);
/** nlattr_put_str() - at most @max bytes of a string, and a NUL. */
void nlattr_put_str(struct nldev *n, u32 type, const char *text, u32 max);
/** nlattr_nest() - begin an attribute of attributes. Return: for nlattr_nest_end(). */
u32 nlattr_nest(struct nldev *n, u32 type);
void nlattr_nest_end(struct nldev *n, u32 nest);
/** nlmsg_parse() - collect attributes. Return: 0, or -EINVAL: one is malformed. */
int nlmsg_parse(const struct nlmsghdr *h, struct nldev_request *q);
/** nlattr_has() - whether the request has it; nlattr_u32(): its value. */
static inline bool nlattr_has(const struct nldev_request *q, u32 type)
{
	return q->attr[type] != NULL;
}
u32 nlattr_u32(const struct nldev_request *q, u32 type);

/* --- device.c --- */

/** nldev_find_dev() - the device that a request names. Return: its number in the HCA, or -EINVAL */
int nldev_find_dev(const struct nldev *n, const struct hca *hca, const struct nldev_request *q);
/** nldev_find_port() - the port that it names. Return: number, 0: none is named, or -EINVAL. */
int nldev_find_port(const struct hca *hca, u32 dev, const struct nldev_request *q);
void nldev_put_handle(struct nldev *n, const struct hca_dev *d);
/* Answers to requests without a dump. Return: 0, with a message in @out, or -errno. */
int nldev_get_dev(struct nldev *n, struct hca *hca, const struct nldev_request *q);
int nldev_get_port(struct nldev *n, struct hca *hca, const struct nldev_request *q);
int nldev_get_system(struct nldev *n, struct hca *hca, const struct nldev_request *q);
int nldev_get_chardev(struct nldev *n, struct hca *hca, const struct nldev_request *q);
/* Pieces of dumps: messages in @out, and @dump.at moved on. Return: false at the end. */
bool nldev_dump_devs(struct nldev *n, struct hca *hca);
bool nldev_dump_ports(struct nldev *n, struct hca *hca);

/* --- resource.c --- */

int nldev_get_summary(struct nldev *n, struct hca *hca, const struct nldev_request *q);
int nldev_get_object(struct nldev *n, struct hca *hca, const struct nldev_request *q);
bool nldev_dump_summaries(struct nldev *n, struct hca *hca);
bool nldev_dump_objects(struct nldev *n, struct hca *hca);

/* --- object.c --- */

/**
 * enum nldev_object - kinds of objects, in the kernel's order. The number of one is that of its
 * slot + 1, a queue pair's is its QPN.
 */
enum nldev_object {
	NLO_PD,
	NLO_CQ,
	NLO_QP,
	NLO_CM_ID,
	NLO_MR,
	NLO_CTX,
	NLO_SRQ,
	NLO_COUNT,
};

/** struct nldev_kind - a kind of object. @per_dev: not of a port */
struct nldev_kind {
	const char *name;
	u32 cmd;
	u32 tab; /* enum hca_table */
	u32 table, entry, id; /* attributes */
	bool per_dev;
	/* Whether the object in a slot that is used is shown. */
	bool (*is_shown)(const struct hca *hca, u32 slot, u32 dev);
	/* Its port; 0: none. NULL: it has none. */
	u32 (*port)(const struct hca *hca, u32 slot);
	void (*put)(struct nldev *n, struct hca *hca, u32 slot);
};

/** nldev_kind_of() - kind @i. */
const struct nldev_kind *nldev_kind_of(enum nldev_object i);

/* --- stat.c --- */

int nldev_get_stat(struct nldev *n, struct hca *hca, const struct nldev_request *q);
int nldev_get_stat_status(struct nldev *n, struct hca *hca, const struct nldev_request *q);
/** nldev_stat_res() - the command whose dump shows what a dump of statistics is about. */
int nldev_stat_res(const struct nldev_request *q);

#endif
