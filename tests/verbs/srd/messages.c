/* SPDX-License-Identifier: MIT */
/*
 * Messages from one SRD queue pair to another one, whose results under fault rules tests compare.
 *	app_srd_messages send|read|write|wrong_key N SIZE
 *
 * Posts N receives and N messages of SIZE bytes at once. Prints a line for each completion, in
 * their order: "send ID STATUS VENDOR_ERR", and "recv ID STATUS NUMBER" with the number that the
 * message carries; then whether the queue pairs are in RTS. Payload that differs from its
 * message's is an error. wrong_key: SENDs whose L_Key is no region's.
 */
#include "tests/lib/c/vb.h"
#include "tests/lib/c/vb_srd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX   64
#define ROOM  65536u
#define RECV  1000u /* added to the wr_id of a receive */
#define QUIET 3 /* s in which nothing comes: that was all */

static struct ibv_context *ctx;
static struct ibv_pd *pd;
static struct ibv_mr *mr;
static struct ibv_cq *cq;
static struct ibv_ah *ah;
static uint8_t *from, *to;
static uint32_t size;
static bool bad;

static void open_device(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;

	ctx = list && list[0] ? ibv_open_device(list[0]) : NULL;
	pd = ctx ? ibv_alloc_pd(ctx) : NULL;
	from = aligned_alloc(4096, 2 * MAX * ROOM);
	if (!pd || !from || ibv_query_gid(ctx, 1, 0, &gid))
		die("no device");
	to = from + MAX * ROOM;
	mr = ibv_reg_mr(pd, from, 2 * MAX * ROOM,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	cq = ibv_create_cq(ctx, 4 * MAX, NULL, NULL, 0);
	ah = vb_srd_ah(pd, &gid);
	if (!mr || !cq || !ah)
		die("no objects");
	ibv_free_device_list(list);
}

static struct ibv_qp *qp_new(void)
{
	struct ibv_qp_init_attr_ex ex = { .send_cq = cq,
					  .recv_cq = cq,
					  .cap = { MAX, MAX, 2, 2, 32 },
					  .qp_type = IBV_QPT_DRIVER,
					  .comp_mask = IBV_QP_INIT_ATTR_PD |
						       IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					  .pd = pd,
					  .send_ops_flags = VB_SRD_OPS };
	struct efadv_qp_init_attr efa = { .driver_qp_type = EFADV_QP_DRIVER_TYPE_SRD };
	struct ibv_qp *qp = efadv_create_qp_ex(ctx, &ex, &efa, sizeof(efa));

	if (!qp || !vb_srd_to_rts(qp))
		die("no SRD queue pair: %m");
	return qp;
}

/* Message @i has its number in its first byte, and all others follow from it. */
static uint8_t byte_of(uint32_t i, uint32_t at)
{
	return (uint8_t)(at ? i * 31 + at * 7 : i);
}

static void check_payload(const uint8_t *p, uint32_t i)
{
	uint32_t at;

	for (at = 0; at < size; at++)
		if (p[at] != byte_of(i, at)) {
			printf("not its data: message %u byte %u\n", i, at);
			bad = true;
			return;
		}
}

static void post(struct ibv_qp *a, const struct ibv_qp *b, const char *op, uint32_t i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)to + i * ROOM, .length = size, .lkey = mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = RECV + i, .sg_list = &sge, .num_sge = 1 }, *worse;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(a);
	bool read = !strcmp(op, "read"), write = !strcmp(op, "write");
	uint32_t lkey = strcmp(op, "wrong_key") != 0 ? mr->lkey : mr->lkey ^ 1;
	uint8_t *local = (read ? to : from) + i * ROOM, *remote = (read ? from : to) + i * ROOM;

	if (!read && !write && ibv_post_recv((struct ibv_qp *)b, &recv, &worse))
		die("no receive");
	ibv_wr_start(ex);
	ex->wr_id = i;
	ex->wr_flags = IBV_SEND_SIGNALED;
	if (read)
		ibv_wr_rdma_read(ex, mr->rkey, (uintptr_t)remote);
	else if (write)
		ibv_wr_rdma_write(ex, mr->rkey, (uintptr_t)remote);
	else
		ibv_wr_send(ex);
	ibv_wr_set_ud_addr(ex, ah, b->qp_num, VB_SRD_QKEY);
	ibv_wr_set_sge(ex, lkey, (uintptr_t)local, size);
	if (ibv_wr_complete(ex))
		die("not posted");
}

static void report(const struct ibv_wc *wc, const char *op)
{
	bool recv = wc->wr_id >= RECV;
	uint32_t id = (uint32_t)(recv ? wc->wr_id - RECV : wc->wr_id);
	const uint8_t *p = to + (size_t)id * ROOM;

	printf("%s %u %s %u\n", recv ? "recv" : "send", id, ibv_wc_status_str(wc->status),
	       recv ? p[0] : wc->vendor_err);
	if (wc->status == IBV_WC_SUCCESS && (recv || !strcmp(op, "read") || !strcmp(op, "write")))
		check_payload(p, recv ? p[0] : id);
}

/* Report completions: @n of @a, and all others that come. */
static void poll_all(const struct ibv_qp *a, const char *op, uint32_t n)
{
	time_t last = time(NULL);
	struct ibv_wc wc;
	uint32_t done = 0;

	while (done < n || time(NULL) - last < 1) {
		if (ibv_poll_cq(cq, 1, &wc) > 0) {
			done += wc.qp_num == a->qp_num;
			last = time(NULL);
			report(&wc, op);
		} else if (time(NULL) - last > QUIET) {
			printf("%u completions do not come\n", n - done);
			bad = true;
			return;
		}
	}
}

static bool is_rts(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return !ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) && attr.qp_state == IBV_QPS_RTS;
}

int main(int argc, char **argv)
{
	uint32_t n = argc == 4 ? (uint32_t)atoi(argv[2]) : 0, i, at;
	struct ibv_qp *a, *b;

	size = argc == 4 ? (uint32_t)atoi(argv[3]) : 0;
	if (!n || n > MAX || !size || size > ROOM)
		die("usage: app_srd_messages send|read|write|wrong_key N SIZE");
	open_device();
	for (i = 0; i < n; i++)
		for (at = 0; at < size; at++)
			from[i * ROOM + at] = byte_of(i, at);
	a = qp_new();
	b = qp_new();
	for (i = 0; i < n; i++)
		post(a, b, argv[1], i);
	poll_all(a, argv[1], n);
	printf("RTS %d %d\n", is_rts(a), is_rts(b));
	return bad || ibv_destroy_qp(a) || ibv_destroy_qp(b) || ibv_destroy_ah(ah) ||
	       ibv_destroy_cq(cq) || ibv_dereg_mr(mr) || ibv_dealloc_pd(pd) ||
	       ibv_close_device(ctx);
}
