/* SPDX-License-Identifier: MIT */
/**
 * DOC: raw packet queue pairs for tests: ends that send or receive frames, and frames.
 */
#ifndef TESTS_LIB_C_RAW_H
#define TESTS_LIB_C_RAW_H

#include <infiniband/verbs.h>

#include "tests/lib/c/rc.h"

#define RAW_SLOT  16384u /* bytes of buffer for each receive */
#define RAW_RECVS 64u
#define RAW_HDRS  54u /* Ethernet, IPv4, TCP */

/**
 * struct raw_end - a queue pair in RTS, and memory.
 * @out: where raw_send() sends from; @in: where receive i is laid, RAW_SLOT bytes each
 */
struct raw_end {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *out, *in;
	uint32_t posted; /* receives, counted */
};

/** struct raw_pkt - a frame to be built. */
struct raw_pkt {
	uint8_t dmac[6];
	uint16_t vlan; /* 0: no tag */
	int ip; /* 4, 6, 0: none */
	int proto; /* IPPROTO_TCP, IPPROTO_UDP */
	const char *src, *dst;
	uint16_t sport, dport;
	uint32_t payload;
};

/**
 * raw_open() - an end of its own. @flags: of creation; @tso: bytes of TSO header. Exits on error.
 */
void raw_open(struct raw_end *r, struct ibv_context *ctx, uint32_t flags, uint32_t tso);
void raw_close(struct raw_end *r);
/** raw_memory() - PD, buffer and CQs only: for what is not sent or received by the end's own QP. */
void raw_memory(struct raw_end *r, struct ibv_context *ctx);
/** raw_udp4() - a UDP datagram between two IPv4 addresses. */
struct raw_pkt raw_udp4(const uint8_t dmac[6], uint16_t sport, uint16_t dport, uint32_t payload);
/** raw_build() - the frame's bytes, checksums left 0, payload filled() with @seed. Its length. */
uint32_t raw_build(uint8_t *p, const struct raw_pkt *k, uint64_t seed);
/** raw_headers() - bytes of it before the payload. */
uint32_t raw_headers(const struct raw_pkt *k);
/** raw_send() - what lies in r->out, and wait for its completion. Return: WC status, -errno. */
int raw_send(struct raw_end *r, uint32_t len, unsigned int flags);
/** raw_recvs() - post @n receives of @len bytes; they go round the slots. Return: as the verb. */
int raw_recvs(struct raw_end *r, uint32_t n, uint32_t len);
/**
 * raw_poll() - the next completion of a CQ, within a long time if @wait. Return: whether there was.
 */
bool raw_poll(struct ibv_cq *cq, struct ibv_wc *wc, bool wait);
/** raw_slot() - where a receive was laid, by wr_id. */
static inline uint8_t *raw_slot(struct raw_end *r, uint64_t wr_id)
{
	return r->in + (wr_id % RAW_RECVS) * RAW_SLOT;
}

/** struct raw_rule - a flow attribute with room for specifications. */
struct raw_rule {
	struct ibv_flow_attr attr;
	uint8_t specs[512];
	uint32_t used;
};

void raw_rule(struct raw_rule *r, enum ibv_flow_attr_type type, uint16_t priority);
/** raw_spec() - append one. */
void raw_spec(struct raw_rule *r, const void *spec, size_t size);
/** raw_spec_dmac() - append: to that address. */
void raw_spec_dmac(struct raw_rule *r, const uint8_t mac[6]);
/** raw_flow_dmac() - a flow of its own for that address. Exits on error. */
struct ibv_flow *raw_flow_dmac(struct ibv_qp *qp, const uint8_t mac[6]);

#endif
