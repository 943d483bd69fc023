/* SPDX-License-Identifier: MIT */
/*
 * WRITE, READ and SEND of many sizes to 8 MiB, or MOST bytes, with their data checked.
 *	app_cm_sizes serve ADDRESS PORT
 *	app_cm_sizes call ADDRESS PORT [MOST]
 *
 * The caller writes a pattern into the server's memory, reads it back, with the byte after it, and
 * sends it; the server compares what it has received with what was written, and answers with an
 * empty SEND. One from the caller ends both. They use public calls only, and run on any device.
 */
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST	  (8u << 20)
#define UNTOUCHED 0xa5

/** struct window - what the server tells its caller of its memory. */
struct window {
	uint64_t addr;
	uint32_t rkey;
};

static uint8_t pattern[LARGEST + 1], area[LARGEST + 1];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct rdma_cm_id *endpoint(const char *address, const char *port, int flags)
{
	struct rdma_addrinfo hints = { .ai_flags = flags, .ai_port_space = RDMA_PS_TCP }, *res;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.sq_sig_all = 1,
		.qp_type = IBV_QPT_RC,
	};
	struct rdma_cm_id *id;

	if (rdma_getaddrinfo(address, port, &hints, &res))
		die("rdma_getaddrinfo");
	if (rdma_create_ep(&id, res, NULL, &attr))
		die("rdma_create_ep");
	rdma_freeaddrinfo(res);
	return id;
}

static struct ibv_mr *memory(struct rdma_cm_id *id, void *addr, size_t len)
{
	const int access =
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *mr = ibv_reg_mr(id->pd, addr, len, access);

	if (!mr)
		die("ibv_reg_mr");
	return mr;
}

/* Wait for one completion. Return: its status. */
static enum ibv_wc_status completion(struct rdma_cm_id *id, bool send, uint32_t *len)
{
	struct ibv_wc wc;

	if ((send ? rdma_get_send_comp(id, &wc) : rdma_get_recv_comp(id, &wc)) != 1)
		die("a completion");
	*len = wc.byte_len;
	return wc.status;
}

static void must_succeed(struct rdma_cm_id *id, int ret, const char *what, uint32_t len)
{
	enum ibv_wc_status status;
	uint32_t none;

	if (ret)
		die(what);
	status = completion(id, true, &none);
	if (status) {
		printf("%s of %u bytes: %s\n", what, len, ibv_wc_status_str(status));
		exit(1);
	}
}

static void post_receive(struct rdma_cm_id *id, void *at, struct ibv_mr *mr)
{
	if (rdma_post_recv(id, NULL, at, LARGEST, mr))
		die("rdma_post_recv");
}

/* --- the server ------------------------------------------------------------------------------- */

/* Compare the data of a SEND with those of the WRITE before it. Return: false: they differ. */
static bool received(struct rdma_cm_id *id, struct ibv_mr *mr, const uint8_t *written, bool *end)
{
	enum ibv_wc_status status;
	uint32_t len;

	status = completion(id, false, &len);
	if (status) {
		printf("receive: %s\n", ibv_wc_status_str(status));
		return false;
	}
	*end = !len;
	if (*end)
		return true;
	if (memcmp(area, written, len) != 0) {
		printf("SEND of %u bytes: other data than by WRITE\n", len);
		return false;
	}
	post_receive(id, area, mr);
	must_succeed(id, rdma_post_send(id, NULL, area, 0, mr, 0), "answer", 0);
	return true;
}

static int serve(const char *address, const char *port)
{
	struct rdma_cm_id *listener = endpoint(address, port, RAI_PASSIVE), *id = NULL;
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .rnr_retry_count = 7 };
	struct ibv_mr *mr, *received_mr;
	struct window w;
	bool end = false, good = true;

	if (rdma_listen(listener, 1) || rdma_get_request(listener, &id))
		die("rdma_get_request");
	memset(pattern, UNTOUCHED, sizeof(pattern));
	mr = memory(id, pattern, sizeof(pattern));
	received_mr = memory(id, area, sizeof(area));
	post_receive(id, area, received_mr);
	w = (struct window){ (uintptr_t)pattern, mr->rkey };
	param.private_data = &w;
	param.private_data_len = sizeof(w);
	if (rdma_accept(id, &param))
		die("rdma_accept");
	while (good && !end)
		good = received(id, received_mr, pattern, &end);
	rdma_disconnect(id);
	ibv_dereg_mr(mr);
	ibv_dereg_mr(received_mr);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
	return !good;
}

/* --- the caller ------------------------------------------------------------------------------- */

/* One size. Return: whether what was read is what was written, and the byte after it is not. */
static bool transfer(struct rdma_cm_id *id, struct ibv_mr *out, struct ibv_mr *in, struct window w,
		     uint32_t len)
{
	uint32_t i, none;

	for (i = 0; i < len; i++)
		pattern[i] = (uint8_t)(i * 31 + i / 251 + len);
	memset(area, 0, len + 1);
	must_succeed(id, rdma_post_write(id, NULL, pattern, len, out, 0, w.addr, w.rkey), "WRITE",
		     len);
	must_succeed(id, rdma_post_read(id, NULL, area, len + 1, in, 0, w.addr, w.rkey), "READ",
		     len + 1);
	if (memcmp(area, pattern, len) != 0 || area[len] != UNTOUCHED) {
		printf("READ of %u bytes: other data than written\n", len + 1);
		return false;
	}
	post_receive(id, area, in);
	must_succeed(id, rdma_post_send(id, NULL, pattern, len, out, 0), "SEND", len);
	return completion(id, false, &none) == IBV_WC_SUCCESS;
}

/* Sizes do not get smaller: the byte after each has not been written before. */
static bool transfer_all(struct rdma_cm_id *id, struct ibv_mr *out, struct ibv_mr *in,
			 struct window w, uint32_t most, uint32_t *sizes)
{
	uint32_t base, len;
	int less;

	*sizes = 0;
	for (base = 2; base <= most; base *= 2)
		for (less = 1; less >= -1; less--) {
			len = base - (uint32_t)less;
			if (len > most)
				continue;
			++*sizes;
			if (!transfer(id, out, in, w, len))
				return false;
		}
	return true;
}

static int call(const char *address, const char *port, uint32_t most)
{
	struct rdma_cm_id *id = endpoint(address, port, 0);
	struct rdma_conn_param param = { .responder_resources = 4,
					 .initiator_depth = 4,
					 .retry_count = 7,
					 .rnr_retry_count = 7 };
	struct ibv_mr *out = memory(id, pattern, sizeof(pattern));
	struct ibv_mr *in = memory(id, area, sizeof(area));
	struct window w;
	uint32_t sizes;
	bool good;

	if (rdma_connect(id, &param))
		die("rdma_connect");
	memcpy(&w, id->event->param.conn.private_data, sizeof(w));
	good = transfer_all(id, out, in, w, most, &sizes);
	must_succeed(id, rdma_post_send(id, NULL, pattern, 0, out, 0), "SEND", 0);
	printf("%u sizes to %u bytes\n", sizes, most);
	rdma_disconnect(id);
	ibv_dereg_mr(out);
	ibv_dereg_mr(in);
	rdma_destroy_ep(id);
	return !good;
}

int main(int argc, char **argv)
{
	uint32_t most = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv[2], argv[3]);
	if (argc >= 4 && argc <= 5 && !strcmp(argv[1], "call"))
		most = argc == 5 ? (uint32_t)atoi(argv[4]) : LARGEST;
	if (most && most <= LARGEST)
		return call(argv[2], argv[3], most);
	fprintf(stderr, "usage: app_cm_sizes serve ADDRESS PORT | call ADDRESS PORT [MOST]\n");
	return 2;
}
