/* SPDX-License-Identifier: MIT */
/** DOC: carries out calls. */
#ifndef TRACES_REPLAY_INVOKE_H
#define TRACES_REPLAY_INVOKE_H

#include "traces/replay/replay.h"

/** rp_call_invoke() - carry out a call with parsed arguments. Returns its result. */
uint64_t rp_call_invoke(enum vcall call, const uint64_t *args);

#endif
