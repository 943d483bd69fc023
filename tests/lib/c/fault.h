/* SPDX-License-Identifier: MIT */
/**
 * DOC: fault rules set from within a test, and the clock, by the command that RDMAEMU_BIN names.
 */
#ifndef TESTS_LIB_C_FAULT_H
#define TESTS_LIB_C_FAULT_H

/** fault_add() - a rule; exits when it is refused. */
void fault_add(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/** fault_clear() - none any more. */
void fault_clear(void);
/** fault_hits() - of the rule that was added last. */
int fault_hits(void);
/**
 * fault_advance() - move the fabric's clock ahead by so many seconds: what is due till then is
 * done.
 */
void fault_advance(int seconds);
/** fault_advance_us() - the same in microseconds. */
void fault_advance_us(long us);

#endif
