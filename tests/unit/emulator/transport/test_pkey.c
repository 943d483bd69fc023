/* SPDX-License-Identifier: MIT */
/*
 * P_Keys: QPs communicate if they are in the same partition and one of them is a full member (IBTA
 * 10.9.3), on every path that packets can take.
 */
#include "emulator/verbs/port.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu.h"

#define SEC    1000000000ULL
#define WRITES 8u

static struct emu *m;
static struct emu_qp a, b;

static void set_pkey(u32 index, u16 pkey)
{
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	port_set_pkey(&m->fabric, 0, 1, index, pkey);
	engine_leave(&m->fabric);
}

/* A pair of QPs on the P_Keys of these indices, from the next set_pkey() on. */
static void up(u32 index_a, u32 index_b)
{
	struct emu_conn o = emu_conn_defaults;

	m->hca->dev[0].lim.pkeys = 2;
	o.timeout = 8;
	o.retry_cnt = 2;
	emu_connect(m, 0, 1, &o, &a, &b);
	m->hca->qp[a.slot].attr.pkey_index = index_a;
	m->hca->qp[b.slot].attr.pkey_index = index_b;
}

/* Return: status of what @n WRITEs and a SEND become. */
static u32 talk(u32 n)
{
	struct cqe c = { 0 };
	u32 i, status = WCS_SUCCESS;

	emu_recv(m, &b, 1, m->c[1].mem, 64);
	for (i = 0; i < n; i++)
		emu_remote(m, emu_post(m, &a, WR_RDMA_WRITE, i, m->c[0].mem, 8), 1,
			   m->c[1].mem + 4096 + 64 * i);
	if (!n)
		emu_post(m, &a, WR_SEND, 9, m->c[0].mem, 8);
	m->c[0].mem[0] = 0x5a;
	emu_ring(m, &a);
	emu_run(m, m->clock + SEC);
	while (emu_poll(m, &a.scq, &c, NULL))
		if (!status)
			status = c.status;
	CU_ASSERT_EQUAL(m->c[1].mem[4096], n && !status ? 0x5a : 0);
	return status;
}

static void test_limited(void)
{
	u32 n;

	for (n = 0; n <= WRITES; n += WRITES) {
		m = emu_new(1);
		up(0, 0);
		CU_ASSERT_EQUAL(talk(n), WCS_SUCCESS);
		emu_free(m);
		/* Two limited members of one partition. */
		m = emu_new(1);
		up(0, 0);
		set_pkey(0, 0x7fff);
		CU_ASSERT_EQUAL(talk(n), WCS_RETRY_EXC_ERR);
		emu_free(m);
	}
}

/* One limited, one full. */
static void test_full(void)
{
	u32 n;

	for (n = 0; n <= WRITES; n += WRITES) {
		m = emu_new(1);
		up(0, 1);
		set_pkey(1, 0x7fff);
		CU_ASSERT_EQUAL(talk(n), WCS_SUCCESS);
		emu_free(m);
	}
}

static void test_taken(void)
{
	u32 n;

	for (n = 0; n <= WRITES; n += WRITES) {
		m = emu_new(1);
		up(0, 0);
		set_pkey(0, 0);
		CU_ASSERT_EQUAL(talk(n), WCS_RETRY_EXC_ERR);
		/* And given back. */
		emu_free(m);
		m = emu_new(1);
		up(0, 0);
		set_pkey(0, 0);
		set_pkey(0, 0xffff);
		CU_ASSERT_EQUAL(talk(n), WCS_SUCCESS);
		emu_free(m);
	}
}

static void test_other(void)
{
	u32 n;

	for (n = 0; n <= WRITES; n += WRITES) {
		m = emu_new(1);
		up(0, 1);
		set_pkey(1, 0x8001);
		CU_ASSERT_EQUAL(talk(n), WCS_RETRY_EXC_ERR);
		emu_free(m);
	}
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "two limited members", test_limited },
		{ "a limited and a full member", test_full },
		{ "a P_Key that the port does not have any more", test_taken },
		{ "another partition", test_other },
		{ NULL, NULL },
	};

	return cu_run("pkey", tests);
}
