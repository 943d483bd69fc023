/* SPDX-License-Identifier: MIT */
/*
 * Statistics: the hardware counters of ports, as in hw_counters/ of sysfs. Queue pairs have no
 * counters of their own that could be bound, as with rxe, and regions have none either.
 */
#include "emulator/port_counter.h"
#include "emulator/verbs/port_counter_files.h"
#include "fabric/nldev/model.h"

#define COUNTER_NAME 64u
#define MODE_NONE    0u /* RDMA_COUNTER_MODE_NONE */

static int stat_port(struct nldev *n, struct hca *hca, const struct nldev_request *q, u32 *dev)
{
	int ret = nldev_find_dev(n, hca, q);

	if (ret < 0)
		return ret;
	*dev = (u32)ret;
	ret = nldev_find_port(hca, *dev, q);
	return ret ? ret : -EINVAL;
}

static void stat_begin(struct nldev *n, const struct hca_dev *d, const struct nldev_request *q,
		       u32 port)
{
	nlmsg_begin(n, q->cmd, q->seq, 0);
	nldev_put_handle(n, d);
	nlattr_put_u32(n, NLA_PORT_INDEX, port);
}

/* Either values, or, for a status, indices. */
static void stat_put_counters(struct nldev *n, const struct hca_dev *d, u32 port, bool status)
{
	u32 table = nlattr_nest(n, NLA_STAT_HWCOUNTERS), entry, i;
	const char *name;
	u64 value;

	for (i = 0; (name = port_file_name(DIR_HW_COUNTERS, i)); i++) {
		/* A setting, which the kernel keeps in sysfs only. */
		if (!strcmp(name, "lifespan") ||
		    !port_file_value(d, port, DIR_HW_COUNTERS, name, &value))
			continue;
		entry = nlattr_nest(n, NLA_STAT_HWCOUNTER_ENTRY);
		nlattr_put_str(n, NLA_STAT_HWCOUNTER_ENTRY_NAME, name, COUNTER_NAME);
		if (status)
			nlattr_put_u32(n, NLA_STAT_HWCOUNTER_INDEX, i);
		else
			nlattr_put_u64(n, NLA_STAT_HWCOUNTER_ENTRY_VALUE, value);
		nlattr_nest_end(n, entry);
	}
	nlattr_nest_end(n, table);
}

static int stat_get_counters(struct nldev *n, struct hca *hca, const struct nldev_request *q,
			     bool status)
{
	struct hca_dev now;
	u32 dev;
	int port = stat_port(n, hca, q, &dev);

	if (port < 0)
		return port;
	hca_dev_snapshot(hca, dev, &now);
	stat_begin(n, &now, q, (u32)port);
	stat_put_counters(n, &now, (u32)port, status);
	nlmsg_end(n);
	return 0;
}

/* How counters are bound to queue pairs: they are not. */
static int stat_get_mode(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	u32 dev;
	int port = stat_port(n, hca, q, &dev);

	if (port < 0)
		return port;
	if (!nlattr_has(q, NLA_STAT_MODE))
		return nlattr_has(q, NLA_STAT_COUNTER_ID) ? -ENOENT : -EINVAL;
	stat_begin(n, &hca->dev[dev], q, (u32)port);
	nlattr_put_u32(n, NLA_STAT_MODE, MODE_NONE);
	nlmsg_end(n);
	return 0;
}

int nldev_get_stat(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	if (!nlattr_has(q, NLA_STAT_RES))
		return stat_get_counters(n, hca, q, false);
	switch (nlattr_u32(q, NLA_STAT_RES)) {
	case NLA_RES_QP:
		return stat_get_mode(n, hca, q);
	case NLA_RES_MR:
		return nldev_get_object(n, hca, q);
	}
	return -EINVAL;
}

int nldev_get_stat_status(struct nldev *n, struct hca *hca, const struct nldev_request *q)
{
	return stat_get_counters(n, hca, q, true);
}

int nldev_stat_res(const struct nldev_request *q)
{
	u32 res = nlattr_has(q, NLA_STAT_RES) ? nlattr_u32(q, NLA_STAT_RES) : 0;

	return res == NLA_RES_QP || res == NLA_RES_MR ? (int)res : -EINVAL;
}
