/* SPDX-License-Identifier: MIT */
/** DOC: copies through helper threads of clients. See helper.c. */
#ifndef FABRIC_SERVER_HELPER_H
#define FABRIC_SERVER_HELPER_H

#include "fabric/core/fabric.h"

#define MAX_XFERS 256u

enum xfer_phase {
	XFER_START,
	XFER_READ, /* the source's helper fills its bounce buffer */
	XFER_WRITE, /* the destination's helper empties its own */
};

/** struct xfer - a copy through helper threads, over several holdings of the token. */
struct xfer {
	bool used;
	u8 phase; /* enum xfer_phase */
	u32 slot; /* QP that it is for; from HCA_MAX_QP on: link_flow() */
	u32 qpn;
	u64 key;
	u64 off; /* bytes done */
	u64 doff, soff, len;
	u64 orig; /* atomic: the value before */
	struct client *src; /* clients whose helpers it has taken, or NULL */
	struct client *dst;
};

/** helper_copy() - as engine_ops.copy, where a side needs its helper. */
int helper_copy(struct fabric *f, const struct hca_mem *dst, u64 doff, const struct hca_mem *src,
		u64 soff, u64 len, u64 key);
/** helper_atomic() - as engine_ops.atomic, through the client's helper. */
int helper_atomic(struct fabric *f, u32 client, u64 addr, u32 op, u64 compare_add, u64 swap,
		  struct atomic_res *res, u64 key);
/** helpers_check_done() - ring the QPs that wait for helpers if one has finished. */
void helpers_check_done(struct fabric *f);
/** helper_ready() - a client has named its helper's eventfd. */
void helper_ready(struct fabric *f, struct client *cl);
/** helper_client_freed() - a client is freed: drop the transfers that touch it. */
void helper_client_freed(struct fabric *f, struct client *cl);

#endif
