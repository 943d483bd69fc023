/* SPDX-License-Identifier: MIT */
/*
 * A queue pair without a peer: it is connected to a QP number at a node's address that no QP has.
 * It executes commands from stdin, and prints the result of each on a line.
 *	app_qp_ghost_peer NODE RC|UC|UD|XRC_RECV|XRC_SEND QPN [4|6 [LID]]
 * An InfiniBand port's GID stands for NODE, with 6 and its LID.
 */
#include "tests/lib/c/vb.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct vb_side *s;
static struct vb_side ghost;
static struct vb_spec spec;

static bool is_ib(void)
{
	return s->info.port.link_layer == IBV_LINK_LAYER_INFINIBAND;
}

static bool find(const char *node, int family)
{
	struct addrinfo hints = { .ai_family = family }, *a;
	uint8_t *raw = ghost.addr[0].gid.raw;

	if (getaddrinfo(node, NULL, &hints, &a))
		return false;
	memset(raw, 0, 16);
	if (family == AF_INET) {
		memset(raw + 10, 0xff, 2);
		memcpy(raw + 12, &((struct sockaddr_in *)(void *)a->ai_addr)->sin_addr, 4);
	} else {
		memcpy(raw, &((struct sockaddr_in6 *)(void *)a->ai_addr)->sin6_addr, 16);
	}
	freeaddrinfo(a);
	return true;
}

/* The side's GID of the same family. An InfiniBand port has one. */
static bool find_gid(int family)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	union ibv_gid g;

	if (is_ib())
		return true;
	for (s->gid_index = 0; s->gid_index < s->info.port.gid_tbl_len; s->gid_index++)
		if (!ibv_query_gid(s->ctx, 1, s->gid_index, &g) && g.raw[0] != 0xfe &&
		    (g.raw[0] || g.raw[11]) && (memcmp(g.raw, v4, 12) == 0) == (family == AF_INET))
			return true;
	return false;
}

static enum ibv_qp_type type_of(const char *name)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND,
						  IBV_QPT_XRC_RECV };
	size_t i;

	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(name, vb_type_str(types[i])))
			return types[i];
	return IBV_QPT_RC;
}

/* --- lines --- */

static void post(const char *op, unsigned long id, unsigned long len)
{
	static const struct {
		const char *name;
		enum ibv_wr_opcode op;
	} ops[] = {
		{ "send", IBV_WR_SEND },
		{ "write", IBV_WR_RDMA_WRITE },
		{ "read", IBV_WR_RDMA_READ },
		{ "fadd", IBV_WR_ATOMIC_FETCH_AND_ADD },
	};
	struct vb_wr w;
	size_t i;

	for (i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, op) != 0)
			continue;
		w = vb_wr(ops[i].op, id, s, s->buf + 65536, (uint32_t)len);
		w.raddr = 0x1000;
		w.rkey = 0x1234;
		w.swap = w.compare = 1;
		w.srqn = 0x1234;
		printf("posted %lu: %s\n", id, strerror(vb_send(s, 0, false, &w)));
	}
}

static void wait_one(enum vb_cq which)
{
	struct ibv_wc wc;

	if (which == VB_RCQ && spec.type == IBV_QPT_XRC_RECV)
		which = VB_SRQ_CQ;
	if (!vb_poll(s, 0, which, VB_WAIT, &wc))
		printf("nothing\n");
	else if (wc.status)
		printf("%lu %s\n", (unsigned long)wc.wr_id, ibv_wc_status_str(wc.status));
	else if (which != VB_SCQ)
		printf("%lu received %u bytes%s\n", (unsigned long)wc.wr_id, wc.byte_len,
		       is_ib() && wc.wc_flags & IBV_WC_GRH ? " behind a GRH" : "");
	else
		printf("%lu done\n", (unsigned long)wc.wr_id);
}

static void set(unsigned long byte, unsigned long len)
{
	memset(s->buf, (int)byte, len);
	printf("filled %lu\n", len);
}

static void show(unsigned long off, unsigned long len)
{
	while (len--)
		printf("%02x", s->buf[off++ % VB_BUF]);
	printf("\n");
}

/* Group 239.0.0.N, or ff12:401b:ffff::N of LID 0xc000 + N. */
static void join(unsigned long n)
{
	union ibv_gid g = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff } };

	if (!is_ib())
		g = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff, [12] = 239 } };
	g.raw[15] = (uint8_t)n;
	printf("join %lu: %s\n", n,
	       strerror(ibv_attach_mcast(s->qp[0].qp, &g, (uint16_t)(0xc000 + n))));
}

static void line(const char *cmd, unsigned long a, unsigned long b)
{
	int to = spec.type == IBV_QPT_XRC_RECV ? -1 : 0;

	if (!strcmp(cmd, "recv"))
		printf("recv %lu: %s\n", a, strerror(vb_recv1(s, to, a, s->buf, (uint32_t)b)));
	else if (!strcmp(cmd, "join"))
		join(a);
	else if (!strcmp(cmd, "received"))
		wait_one(VB_RCQ);
	else if (!strcmp(cmd, "sent"))
		wait_one(VB_SCQ);
	else if (!strcmp(cmd, "fill"))
		set(a, b);
	else if (!strcmp(cmd, "mem"))
		show(a, b);
	else if (!strcmp(cmd, "state"))
		printf("state %d\n", vb_state(s, 0));
	else if (!strcmp(cmd, "event"))
		printf("event %s\n", ibv_event_type_str((enum ibv_event_type)vb_event(s, VB_WAIT)));
	else
		post(cmd, a, b);
}

int main(int argc, char **argv)
{
	int family = argc > 4 && *argv[4] == '6' ? AF_INET6 : AF_INET, ret = 0;
	unsigned long a, b;
	char text[128], cmd[16];

	if (argc < 4)
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	s = vb_local();
	vb_open(s);
	spec = vb_spec_of(type_of(argv[2]));
	ghost.addr[0].qpn = (uint32_t)strtoul(argv[3], NULL, 0);
	ghost.addr[0].psn = 0xfffff0;
	ghost.addr[0].lid = argc > 5 ? (uint16_t)strtoul(argv[5], NULL, 0) : 0;
	if (!find(argv[1], family) || !find_gid(family)) {
		printf("no address\n");
		return 1;
	}
	if (spec.type == IBV_QPT_XRC_RECV)
		ret = vb_srq(s, 0, 64, 4, true);
	if (!ret)
		ret = vb_create(s, 0, &spec);
	if (!ret)
		ret = vb_connect(s, 0, &ghost, 0, &spec);
	printf("qp 0x%06x: %s\n", s->addr[0].qpn, strerror(ret));
	while (!ret && fgets(text, sizeof(text), stdin)) {
		a = b = 0;
		if (sscanf(text, "%15s %lu %lu", cmd, &a, &b) > 0)
			line(cmd, a, b);
	}
	vb_close(s);
	return ret != 0;
}
