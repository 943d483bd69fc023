/* SPDX-License-Identifier: MIT */
/* Requests that the shim would never send: which listener gets them, and which are rejected. */
#include "emulator/mad.h"
#include "emulator/transport/wire.h"
#include "tests/lib/c/cu.h"
#include "tests/lib/engine/emu_cm.h"

#define PEERS 4u

static u8 *last_mad(struct emu *m)
{
	return m->hca->cm_mad[(m->hca->cm_sent - 1) % HCA_CM_MADS].mad;
}

/* The message comes to port 1 of device 0, from itself. */
static void input(struct emu *m, const u8 mad[MAD_SIZE])
{
	struct hca_av av = { .is_global = 1, .port_num = 1, .dst_port = 1, .hop_limit = 64 };
	struct hca_mem mem = { .client = HCA_SELF, .kind = MEM_SEG, .n = 1 };
	struct burst b = {
		.op = BOP_SEND,
		.flags = BF_FIRST | BF_LAST,
		.src_port = 1,
		.dst_port = 1,
		.pkey = IB_DEFAULT_PKEY,
		.src_qpn = GSI_QPN,
		.dst_qpn = GSI_QPN,
		.dst_type = QPT_UD,
		.npkts = 1,
		.qkey = GSI_QKEY,
		.len = MAD_SIZE,
		.av = &av,
		.mem = &mem,
	};

	memcpy(av.dgid, m->hca->dev[0].port[1].gid[0].raw, 16);
	memcpy(m->hca->cm_mad[HCA_CM_MADS - 1].mad, mad, MAD_SIZE);
	mem.iov[0].addr = offsetof(struct hca, cm_mad[HCA_CM_MADS - 1].mad);
	mem.iov[0].len = MAD_SIZE;
	CU_ASSERT_EQUAL_FATAL(engine_enter(&m->fabric), 0);
	CU_ASSERT_EQUAL(hca_input(&m->fabric, &b), 0);
	engine_leave(&m->fabric);
}

/* A REQ for the listener, which another one was that it has seen. */
static void request(struct emu_cm *c, u8 req[MAD_SIZE])
{
	struct emu_id a = emu_cm_active(c), b;

	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	memcpy(req, emu_cmid(c->m, &a)->mad, MAD_SIZE);
	b = emu_cm_request(c);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &b), 0);
	CU_ASSERT_EQUAL(emu_cm_destroy(c->m, &a), 0);
	mad_set(req, F_LOCAL_ID, 0x12345678);
}

/* 0: RC, 1: UC, 2: RD, which is not supported, 3: extended; XRC is 3 followed by 1. */
static void test_transport(void)
{
	struct emu_cm *c = emu_cm_new(1, CM_PS_TCP, 0);
	u32 transport, ext;
	struct cm_event ev;
	u8 req[MAD_SIZE];

	request(c, req);
	while (emu_cm_next(c, 1, &ev))
		;
	for (transport = 0; transport < 4; transport++)
		for (ext = 0; ext < 3; ext++) {
			mad_set(req, F_REQ_TRANSPORT, transport);
			mad_set(req, F_REQ_EXT_TRANSPORT, ext);
			mad_set(req, F_LOCAL_ID, 0x100 + transport * 16 + ext);
			mad_set(req, F_REQ_QPN, 0x100 + transport * 16 + ext);
			input(c->m, req);
			if (!transport) {
				CU_ASSERT(emu_cm_want(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev));
				continue;
			}
			CU_ASSERT(!emu_cm_next(c, 1, &ev));
			CU_ASSERT_EQUAL(mad_get(last_mad(c->m), F_ATTR), MAD_REJ);
			CU_ASSERT_EQUAL(mad_get(last_mad(c->m), F_REJ_REASON),
					CM_REJ_CONSUMER_DEFINED);
		}
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

/* A service id has the port space and the port, and nothing above them. */
static void test_service(void)
{
	struct emu_cm *c = emu_cm_new(2, CM_PS_TCP, 0);
	u8 req[MAD_SIZE], rej[MAD_SIZE];
	struct cm_event ev;
	u64 service;
	u32 bit;

	request(c, req);
	while (emu_cm_next(c, 1, &ev))
		;
	service = mad_get(req, F_REQ_SERVICE_ID);
	for (bit = 0; bit < 64; bit++) {
		mad_set(req, F_REQ_SERVICE_ID, service ^ BIT64(bit));
		input(c->m, req);
		memcpy(rej, last_mad(c->m), MAD_SIZE);
		CU_ASSERT(!emu_cm_next(c, 1, &ev));
		CU_ASSERT_EQUAL(mad_get(rej, F_ATTR), MAD_REJ);
		CU_ASSERT_EQUAL(mad_get(rej, F_REJ_REASON), CM_REJ_INVALID_SERVICE_ID);
		CU_ASSERT_EQUAL(mad_get(rej, F_REMOTE_ID), 0x12345678);
	}
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

/* RDMA_OPTION_ID_ACK_TIMEOUT takes any byte, and messages have five bits. */
static void test_long_timeout(void)
{
	struct emu_cm *c = emu_cm_new(3, CM_PS_TCP, 0);
	struct emu_id a = emu_cm_active(c);
	struct hca_cmid *id = emu_cmid(c->m, &a);

	id->lifetime = 254;
	CU_ASSERT_EQUAL(emu_cm_connect(c->m, &a, NULL), 0);
	CU_ASSERT_EQUAL(mad_get(id->mad, F_REQ_ACK_TIMEOUT), 31);
	CU_ASSERT_EQUAL(id->timeout, 31);
	CU_ASSERT_EQUAL(id->response, (2ULL * (1 << 23) + (1 << 12)) * 1000000);
	CU_ASSERT_EQUAL(cm_time_ns(31), cm_time_ns(254));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

/* The listener's port has a wire, over which hosts outside of the fabric are reached. */
static void wire_make(struct hca *hca)
{
	int node = hca_node_begin(hca, "outside", PEERS);
	struct hca_dev *d;
	u32 first;

	CU_ASSERT_FATAL(node >= 0);
	first = hca->node[node].first_dev;
	for (d = &hca->dev[first]; d < &hca->dev[first + PEERS]; d++) {
		d->link_layer = LINK_ETHERNET;
		d->lim = hca->dev[0].lim;
		d->member = HCA_MEMBER_WIRE;
		d->n_ports = 1;
		d->port[1].state = PORT_ACTIVE;
		d->port[1].max_mtu = d->port[1].active_mtu = 5;
		d->port[1].pkey[0] = IB_DEFAULT_PKEY;
		d->valid = 1;
	}
	hca->node[node].member = HCA_MEMBER_WIRE;
	hca_node_publish(hca, (u32)node);
	hca->wires = (struct hca_wires){ .n = 1, .first_peer = first, .n_peers = PEERS };
	memcpy(hca->wires.gid[0], hca->dev[0].port[1].gid[0].raw, 16);
}

/* Programs need the places of hosts outside, and a request may name any address as its sender's. */
static void test_requests_take_no_places_of_peers(void)
{
	struct emu_cm *c = emu_cm_new(4, CM_PS_TCP, 0);
	struct hca *hca = c->m->hca;
	u8 req[MAD_SIZE], gid[16];
	struct cm_event ev;
	u32 i;

	wire_make(hca);
	request(c, req);
	while (emu_cm_next(c, 1, &ev))
		;
	memcpy(gid, req + REQ_LOCAL_GID, sizeof(gid));
	for (i = 1; i <= 2 * PEERS; i++) {
		mad_set(req, F_LOCAL_ID, 0x100 + i);
		mad_set(req, F_REQ_QPN, 0x100 + i);
		req[REQ_LOCAL_GID + 15] = (u8)(gid[15] + i);
		input(c->m, req);
		CU_ASSERT(!emu_cm_next(c, 1, &ev));
		CU_ASSERT_EQUAL(mad_get(last_mad(c->m), F_ATTR), MAD_REJ);
		CU_ASSERT_EQUAL(mad_get(last_mad(c->m), F_REJ_REASON), CM_REJ_INVALID_GID);
	}
	CU_ASSERT_EQUAL(hca->wires.n_used, 0);
	/* One that is known is answered. */
	req[REQ_LOCAL_GID + 15] = (u8)(gid[15] + 1);
	CU_ASSERT(hca_peer_add(hca, req + REQ_LOCAL_GID) >= 0);
	input(c->m, req);
	CU_ASSERT(emu_cm_want(c, 1, CM_EV_CONNECT_REQUEST, 0, &ev));
	CU_ASSERT(emu_cm_audit(c->m));
	emu_cm_free(c);
}

int main(void)
{
	static const struct cu_test tests[] = {
		{ "transports", test_transport },
		{ "service ids", test_service },
		{ "a timeout that no message can carry is rounded to the longest",
		  test_long_timeout },
		{ "requests take no places of peers", test_requests_take_no_places_of_peers },
		{ NULL, NULL },
	};

	return cu_run("cmreq", tests);
}
