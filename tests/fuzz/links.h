/* SPDX-License-Identifier: MIT */
/**
 * DOC: what fuzz targets of frames share.
 */
#ifndef TESTS_FUZZ_LINKS_H
#define TESTS_FUZZ_LINKS_H

#include "traces/formats/roce.h"

#include <stdlib.h>

/* Link types, by the number that stands in an input; tests/fuzz/corpus.py has the same. */
static const u32 links[] = { ROCE_LINK_ETHERNET, ROCE_LINK_RAW, ROCE_LINK_SLL,
			     ROCE_LINK_ERF,	 ROCE_LINK_IB,	ROCE_LINK_SLL2 };

static inline void must(bool is)
{
	if (!is)
		abort();
}

#endif
