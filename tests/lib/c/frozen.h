/* SPDX-License-Identifier: MIT */
/**
 * DOC: memory of a test that gets its first content back in some 50 microseconds, for fuzzers: an
 * input must find what every other one finds.
 */
#ifndef TESTS_LIB_C_FROZEN_H
#define TESTS_LIB_C_FROZEN_H

#include "emulator/types.h"

/** frozen_map() - memory, zeroed, for frozen_add(). */
void *frozen_map(size_t size);
/**
 * frozen_add() - the memory has its content of now after each frozen_restore(). @mem: a page's
 * first byte, in a mapping
 */
void frozen_add(void *mem, size_t size);
/** frozen_restore() - give frozen memory its content back. */
void frozen_restore(void);

#endif
