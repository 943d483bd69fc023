/* SPDX-License-Identifier: MIT */
/** DOC: carriers of bursts to devices of other hosts: see link.h. */
#include "fabric/link/link.h"
#include "fabric/link/transit.h"

#include "emulator/qp.h"

void link_add_carrier(struct fabric *f, const struct link_carrier *c)
{
	u32 i;

	for (i = 0; i < LINK_CARRIERS - 1 && f->link->carrier[i]; i++)
		;
	f->link->carrier[i] = c;
}

static const struct link_carrier *link_carrier_of(const struct fabric *f, u32 member)
{
	const struct link_carrier *c;
	u32 i;

	for (i = 0; i < LINK_CARRIERS && (c = f->link->carrier[i]); i++)
		if (c->carries(f, member))
			return c;
	return NULL;
}

int link_carry(struct fabric *f, u32 member, const struct burst *b)
{
	const struct link_carrier *c = link_carrier_of(f, member);

	return c ? c->send(f, member, b) : 0;
}

int link_carry_damaged(struct fabric *f, u32 member, const struct burst *b)
{
	const struct link_carrier *c = link_carrier_of(f, member);

	return c && c->send_damaged ? c->send_damaged(f, member, b) : 0;
}

bool link_under_way(struct fabric *f, struct hca_qp *qp)
{
	u32 member = f->hca->dev[qp->path.dst_dev].member;
	const struct link_carrier *c = member ? link_carrier_of(f, member) : NULL;

	return c && c->under_way && c->under_way(f, member, qp);
}
