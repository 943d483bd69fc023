/* SPDX-License-Identifier: MIT */
/**
 * DOC: payload that leaves from a program's pages.
 *
 * Lent memory of a program is mapped here, so a large payload need not be gathered into the
 * connection's buffer before the socket copies it. Its frame has its place in the buffer as any
 * other, so that all accounts stay as they are; only its payload is not there yet:
 *
 *	head                  tail, before                      tail
 *	| frames that wait    | header | place of the payload   |
 *	                                 bytes: struct jloan
 *
 * Invariant: a loan ends in the call that begins it. jconn_flush_loan() lets the socket, or the
 * seal, take what it takes now, and copies the rest to its place. Its caller has the token, and a
 * program that takes pages back, deregisters them or is reaped waits for the token or, in an
 * isolated fabric, for an answer of this process. So no frame that waits refers to a page, and what
 * happens to the program's memory later does not matter to it. This is also why MSG_ZEROCOPY is not
 * used: the kernel would refer to the pages until the peer has acknowledged them.
 */
#include "fabric/join/conn.h"
#include "fabric/join/mesh.h"

u32 jloan_left(const struct jconn *c)
{
	return c->loan.len ? min_u32(c->loan.len, jconn_pending(c)) : 0;
}

u32 jloan_rest(const struct jconn *c, struct iovec *v)
{
	u32 left = jloan_left(c), skip = c->loan.len - left, i, n = 0;
	const struct iovec *from;

	for (i = 0; left && i < c->loan.n; i++) {
		from = &c->loan.v[i];
		if (skip >= from->iov_len) {
			skip -= (u32)from->iov_len;
			continue;
		}
		v[n].iov_base = (u8 *)from->iov_base + skip;
		v[n++].iov_len = from->iov_len - skip;
		skip = 0;
	}
	return n;
}

/* Copy what is left of the loan to its place. */
static void jloan_settle(struct jconn *c)
{
	struct iovec v[JOIN_LOAN_PIECES];
	u32 n = jloan_rest(c, v), i;
	u8 *to = c->tx.mem + c->tx.tail - jloan_left(c);

	for (i = 0; i < n; i++) {
		memcpy(to, v[i].iov_base, v[i].iov_len);
		to += v[i].iov_len;
	}
	c->loan.len = 0;
}

void jconn_flush_loan(struct fabric *f, struct jconn *c, const struct jloan *l)
{
	c->loan = *l;
	jconn_flush(f, c);
	if (c->state != JC_FREE)
		jloan_settle(c);
	c->loan.len = 0;
}
