/* SPDX-License-Identifier: MIT */
/* Timestamps of completions: who may have which format, and what it shows. */
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#include "emulator/verbs/cmd.h"

static struct emu *m;

/* The result of making a CQ of this format on the device of client 0. */
static int made(u32 ts_format, u32 *handle)
{
	struct emu_cq lender = emu_cq_new(m, 0, 4); /* of its ring: nothing completes here */
	struct hca_cmd cmd = { .op = CMD_CREATE_CQ,
			       .cq = { .ring = lender.ring, .depth = 4, .ts_format = ts_format } };
	int ret = emu_cmd(m, 0, &cmd);

	*handle = cmd.handle;
	return ret;
}

static void test_refused(void)
{
	u32 cq;

	m = emu_new(1);
	CU_ASSERT_EQUAL(made(TS_NONE, &cq), 0);
	CU_ASSERT_EQUAL(made(TS_FREE_RUNNING, &cq), 0);
	CU_ASSERT_EQUAL(made(TS_REAL_TIME, &cq), -EINVAL);
	m->hca->dev[0].lim.real_time_ts = 1;
	CU_ASSERT_EQUAL(made(TS_REAL_TIME, &cq), 0);
	CU_ASSERT_EQUAL(made(TS_FORMATS, &cq), -EINVAL);
	CU_ASSERT_EQUAL(made(~0u, &cq), -EINVAL);
	emu_free(m);
}

static int qp_made(u32 type, u32 scq, u32 rcq)
{
	struct hca_cmd cmd = { .op = CMD_CREATE_QP,
			       .qp = { .type = type, .pd = m->c[0].pd, .scq = scq, .rcq = rcq } };

	return emu_cmd(m, 0, &cmd);
}

static void test_one_format(void)
{
	u32 none, free, real;

	m = emu_new(1);
	m->hca->dev[0].lim.real_time_ts = 1;
	CU_ASSERT_EQUAL(made(TS_NONE, &none), 0);
	CU_ASSERT_EQUAL(made(TS_FREE_RUNNING, &free), 0);
	CU_ASSERT_EQUAL(made(TS_REAL_TIME, &real), 0);
	CU_ASSERT_EQUAL(qp_made(QPT_RC, none, free), 0);
	CU_ASSERT_EQUAL(qp_made(QPT_RC, real, real), 0);
	CU_ASSERT_EQUAL(qp_made(QPT_RC, real, none), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(qp_made(QPT_RC, free, real), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(qp_made(QPT_UD, none, real), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(qp_made(QPT_XRC_SEND, real, real), -EOPNOTSUPP);
	CU_ASSERT_EQUAL(qp_made(QPT_XRC_SEND, free, real), 0);
	CU_ASSERT_EQUAL(qp_made(QPT_RAW_PACKET, real, none), 0);
	emu_free(m);
}

/* The timestamps of a SEND and of its receive, when the clock is at @at. */
static void stamps(u32 ts_format, u64 at, u64 ts[2])
{
	struct emu_qp q[2];
	struct cqe cqe;
	u8 data[64];

	m = emu_new(1);
	emu_connect(m, 0, 1, &emu_conn_defaults, &q[0], &q[1]);
	m->hca->cq[q[0].scq.index].ts_format = ts_format;
	m->hca->cq[q[1].rcq.index].ts_format = ts_format;
	m->clock = at;
	emu_recv(m, &q[1], 0, m->c[1].mem, 64);
	emu_post(m, &q[0], WR_SEND, 0, m->c[0].mem, 8);
	emu_ring(m, &q[0]);
	CU_ASSERT_TRUE_FATAL(emu_poll(m, &q[0].scq, &cqe, data));
	ts[0] = cqe.ts;
	CU_ASSERT_TRUE_FATAL(emu_poll(m, &q[1].rcq, &cqe, data));
	ts[1] = cqe.ts;
	emu_free(m);
}

static void test_stamps(void)
{
	const u64 at = 5 * 1000000000ull + 999999999;
	u64 ts[2];

	stamps(TS_NONE, at, ts);
	CU_ASSERT(ts[0] == 0 && ts[1] == 0);
	stamps(TS_FREE_RUNNING, at, ts);
	CU_ASSERT(ts[0] == at && ts[1] == at);
	stamps(TS_REAL_TIME, at, ts);
	CU_ASSERT(ts[0] == ts[1]);
	CU_ASSERT_EQUAL(ts[0] >> 32, EMU_WALL / 1000000000 + 5);
	CU_ASSERT_EQUAL(ts[0] & 0xffffffff, 999999999);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "a device has the formats of its profile", test_refused },
		{ "a QP has one format", test_one_format },
		{ "what they show", test_stamps },
		{ NULL, NULL },
	};

	return cu_run("cq_timestamp", tests);
}
