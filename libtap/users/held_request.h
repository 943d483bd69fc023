/* SPDX-License-Identifier: MIT */
/** DOC: a copy of a work request, with all that the library reads when it is posted. */
#ifndef LIBTAP_USERS_HELD_REQUEST_H
#define LIBTAP_USERS_HELD_REQUEST_H

#include "libtap/tap.h"

/** union work_wr - a receive has the members that a send begins with. */
union work_wr {
	struct ibv_recv_wr recv;
	struct ibv_send_wr send;
};

#define SAME_PLACE(member)                                                                         \
	_Static_assert(offsetof(struct ibv_recv_wr, member) ==                                     \
			       offsetof(struct ibv_send_wr, member),                               \
		       #member)
SAME_PLACE(wr_id);
SAME_PLACE(next);
SAME_PLACE(sg_list);
SAME_PLACE(num_sge);
#undef SAME_PLACE

/**
 * struct held_request - a work request that is posted later.
 * @wr: what it points to stands after this struct
 * @due: real time; not before, nor before those that were posted to its queue earlier
 * @posts: so many more requests of its queue end the wait; 0: none does
 * @hit: ordinal of its hit, 0: none
 */
struct held_request {
	struct held_request *next;
	union work_wr wr;
	u64 due;
	u32 posts;
	u64 hit;
};

/**
 * held_request_check() - whether a queue pair with these limits takes a request. Return: 0 or an
 * error of the post.
 */
int held_request_check(const union work_wr *wr, bool recv, const struct ibv_qp_cap *cap);
/** held_request_new() - copy a request that is right. Return: NULL: no memory. */
struct held_request *held_request_new(const union work_wr *wr, bool recv);
/** held_request_empty() - make a request of it that has no data, and completes in any case. */
void held_request_empty(struct held_request *h, bool recv);
/**
 * held_request_names() - whether the send, of a queue pair of that type, points to an address
 * handle, memory window or memory region.
 */
bool held_request_names(const struct held_request *h, enum ibv_qp_type type, const void *object);

#endif
