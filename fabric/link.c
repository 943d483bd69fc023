/* SPDX-License-Identifier: MIT */
/**
 * DOC: the links between ports and the fabric's switch.
 */
#include "fabric/fabric.h"

int link_send(struct fabric *f, const struct burst *b)
{
	return hca_input(&f->engine, b);
}

int link_input(struct fabric *f, const struct burst *b)
{
	return hca_input(&f->engine, b);
}
