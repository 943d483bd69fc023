/* SPDX-License-Identifier: MIT */
/** DOC: how much of a flow waits in the buffer of the connection to its receiver. */
#include "fabric/join/flow.h"

void flow_queue_add(struct flow_queue *q, u64 end, u32 len)
{
	u32 last = q->n ? q->n - 1 : 0;

	if (!q->n || (q->n < FLOW_PARTS && q->part[last].len >= FLOW_PART)) {
		last = q->n++;
		q->part[last].len = 0;
	}
	q->part[last].end = end;
	q->part[last].len += len;
}

u64 flow_queue_len(struct flow_queue *q, u64 written)
{
	u32 done = 0, i;
	u64 len = 0;

	while (done < q->n && q->part[done].end <= written)
		done++;
	q->n -= done;
	for (i = 0; i < q->n; i++) {
		q->part[i] = q->part[i + done];
		len += q->part[i].len;
	}
	return len;
}
