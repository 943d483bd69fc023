/* SPDX-License-Identifier: MIT */
/**
 * DOC: identifiers of the rdma_cm for tests, in one process or in two.
 *
 * Theory of operation
 * -------------------
 * Identifiers, channels and the latest event of each are in tables of their process, which a test
 * names by index. Each function below runs on a side (tests/lib/c/vb.h), here or
 * there; when both sides of a test are one process they are the same side, so a test never uses an
 * index for both. By convention 0..7 are the connecting side's and 8..15 the listening one's,
 * channels likewise 0, 1 and 2, 3.
 *
 * A function returns 0 or the errno value of the rdma_cm call that failed.
 */
#ifndef TESTS_LIB_C_RDMACM_H
#define TESTS_LIB_C_RDMACM_H

#include "tests/lib/c/vb.h"

#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#define CM_IDS	 16
#define CM_CHANS 4
#define CM_SYNC	 (-1) /* no channel: calls block */
#define CM_NONE	 (-1)

/** struct cm_ev - an event; @id, @listen: indices, CM_NONE for none. */
struct cm_ev {
	int event, status;
	int id, listen;
	bool ud;
	bool data_null; /* private_data was NULL */
	uint8_t len; /* private_data_len */
	uint8_t responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count,
		srq;
	uint32_t qpn, qkey;
	struct ibv_ah_attr ah;
	uint8_t data[256];
};

/** struct cm_parm - struct rdma_conn_param, with the data in it. */
struct cm_parm {
	uint8_t len, responder_resources, initiator_depth, flow_control, retry_count;
	uint8_t rnr_retry_count, srq;
	uint32_t qpn;
	uint8_t data[256];
};

extern struct rdma_cm_id *cm_ids[CM_IDS];
extern struct rdma_event_channel *cm_chans[CM_CHANS];

/** cm_sides() - @a and @b: one process ("local"), or two ("remote"). */
void cm_sides(const char *how, struct vb_side **a, struct vb_side **b);
void cm_sides_end(struct vb_side *a, struct vb_side *b);
/** cm_parm() - what is used if nothing is said: @len bytes of data of the pattern of @seed. */
struct cm_parm cm_parm(uint8_t len, uint64_t seed);
/** cm_data() - whether an event brought @sent bytes of pattern @seed, and zeros up to @len. */
bool cm_data(const struct cm_ev *ev, unsigned int sent, uint64_t seed, unsigned int len);
/** cm_addr() - a socket address from text; @ip NULL: of no address at all. */
socklen_t cm_addr(const char *ip, unsigned int port, struct sockaddr_storage *ss);

int cm_chan(struct vb_side *s, int ch);
int cm_chan_close(struct vb_side *s, int ch);
int cm_create(struct vb_side *s, int i, int ch, enum rdma_port_space ps);
int cm_destroy(struct vb_side *s, int i);
/** cm_bind() - *@port: in: wanted, out: what rdma_get_src_port() says. */
int cm_bind(struct vb_side *s, int i, const char *ip, unsigned int *port);
int cm_resolve(struct vb_side *s, int i, const char *src, const char *dst, unsigned int port);
int cm_route(struct vb_side *s, int i);
int cm_listen(struct vb_side *s, int i, int backlog);
int cm_qp(struct vb_side *s, int i);
int cm_qp_destroy(struct vb_side *s, int i);
int cm_qp_state(struct vb_side *s, int i);
/** cm_connect(), cm_accept() - @p may be NULL. */
int cm_connect(struct vb_side *s, int i, const struct cm_parm *p);
int cm_accept(struct vb_side *s, int i, const struct cm_parm *p);
int cm_reject(struct vb_side *s, int i, unsigned int len, uint64_t seed);
int cm_disconnect(struct vb_side *s, int i);
int cm_establish(struct vb_side *s, int i);
int cm_notify(struct vb_side *s, int i, enum ibv_event_type event);
int cm_migrate(struct vb_side *s, int i, int ch);
int cm_option(struct vb_side *s, int i, int level, int name, int val, size_t len);

/**
 * cm_event() - the next event of a channel within @ms.
 * @into: where the identifier of a CONNECT_REQUEST is put
 * It is acknowledged right away, unless @keep (then cm_ack()). Return: false when there was none.
 */
bool cm_event(struct vb_side *s, int ch, int ms, int into, struct cm_ev *ev);
/** cm_waits() - wait until a channel has an event, and leave it there. */
bool cm_waits(struct vb_side *s, int ch);
bool cm_event_keep(struct vb_side *s, int ch, int ms, int into, struct cm_ev *ev);
int cm_ack(struct vb_side *s);
/** cm_expect() - ok() when the next event is this one, of that identifier and status. */
bool cm_expect(struct vb_side *s, int ch, int id, enum rdma_cm_event_type event, int status,
	       struct cm_ev *ev, const char *what);
/** is_errno() - ok() when a call failed with that errno value. */
bool is_errno(int got, int wanted, const char *what);
/** cm_quiet() - ok() when no event comes for a while. */
bool cm_quiet(struct vb_side *s, int ch, const char *what);

/** cm_resolved() - channel, id, address and route; die()s when that fails. */
void cm_resolved(struct vb_side *s, int i, int ch, enum rdma_port_space ps, const char *ip,
		 unsigned int port);
/** cm_listening() - the same for a listening one; returns its port. */
unsigned int cm_listening(struct vb_side *s, int i, int ch, enum rdma_port_space ps, const char *ip,
			  int backlog);
/** cm_pair() - connect id @i of @a (channel 0) to a new id @j of @b (channel 2), with QPs. */
bool cm_pair(struct vb_side *a, int i, struct vb_side *b, int j, unsigned int port);
/**
 * cm_fence() - wait until all that identifiers of @a have said to @b has got there, and what was
 * answered is here. ok() when none of that is an event of channel @ch. @i: an id of @a that is free
 */
bool cm_fence(struct vb_side *a, int i, int ch, struct vb_side *b, const char *what);
/** cm_traffic() - whether a SEND goes from one identifier's QP to the other's. */
bool cm_traffic(struct vb_side *a, int i, struct vb_side *b, int j);

#endif
